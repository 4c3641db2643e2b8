// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The naive machine's statistics, selectors and exact block results, in the
// widest floats of the host: every sample and every sum that the differential
// test can make is exact in 64 significant bits, or a sticky bit tells.

#include "NaiveMachine.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace ashlar;
using namespace ashlar::test;

/// Calls fn(channel, index) for every element of a source.
template <typename Op, typename Fn>
static void forSource(const Op &op, Fn fn) {
  for (uint64_t channel = 0; channel < op.channels; ++channel)
    for (int64_t i = 0; i < op.n0; ++i)
      for (int64_t j = 0; j < op.n1; ++j)
        for (int64_t k = 0; k < op.n2; ++k) {
          const int64_t index[3] = {i, j, k};
          fn(channel, index);
        }
}

void NaiveMachine::run(const isa::VecStat &op) {
  const Tensor source{op.type,       op.mantissa,
                      op.part,       op.offset,
                      op.tileStride, {op.stride0, op.stride1, op.stride2},
                      false};
  std::vector<double> &into = samples[op.sr];
  if (op.clear)
    into.clear();
  forSource(op, [&](uint64_t channel, const int64_t *index) {
    into.push_back(
        std::fabs(static_cast<double>(load(source, channel, index))));
  });
}

void NaiveMachine::run(const isa::VecMeasure &op) {
  const Tensor source{op.type,       op.mantissa,
                      op.part,       op.offset,
                      op.tileStride, {op.stride0, op.stride1, op.stride2},
                      false};
  double most = 0;
  forSource(op, [&](uint64_t channel, const int64_t *index) {
    const double v =
        std::fabs(static_cast<double>(load(source, channel, index)));
    most = std::isfinite(v) ? std::max(most, v) : most;
  });
  if (op.clear)
    xr[op.xr] = cleared;
  if (most == 0)
    return;
  int lead = std::ilogb(most);
  if (op.lead == isa::Lead::Ceil && most > std::ldexp(1.0, lead))
    ++lead;
  const int step = std::clamp(lead, -127, 127) - (int(op.mantissa) - 2);
  if (std::nearbyint(std::ldexp(most, -step)) != 0)
    xr[op.xr] = std::max(xr[op.xr], step);
}

/// lead(log2(mean + k/16 * deviation)) of magnitudes that are not all zero.
static int spreadOf(const std::vector<double> &values, unsigned k,
                    isa::Lead lead) {
  const auto n = static_cast<long double>(values.size());
  long double sum = 0, squares = 0;
  for (double v : values) {
    sum += v;
    squares += static_cast<long double>(v) * v;
  }
  const long double deviation =
      std::sqrt(std::max(0.0L, n * squares - sum * sum));
  const long double range = (sum + k / 16.0L * deviation) / n;
  const int floor = std::ilogb(range);
  return floor + (lead == isa::Lead::Ceil && range > std::ldexp(1.0L, floor));
}

/// The exponent after `used`, by what the samples can lose.
static int afterErrors(const std::vector<double> &values, double most, int used,
                       const isa::XrSelect &op) {
  const int width = static_cast<int>(op.mantissa);
  const int highest = spreadOf({most}, 0, op.lead) - (width - 2);
  if (used == NaiveMachine::cleared)
    return highest;
  auto loss = [&](int step) {
    long double total = 0;
    for (double v : values) {
      if (v == 0)
        continue;
      const int place = std::ilogb(v);
      if (place > step + width - 2)
        total +=
            std::ldexp(1.0L, place + 1) - std::ldexp(1.0L, step + width - 1);
      else
        total += std::ldexp(1.0L, place < step - 1 ? place + 1 : step - 1);
    }
    return total;
  };
  long double sum = 0;
  for (double v : values)
    sum += v;
  int best = used;
  if (std::ldexp(loss(used), static_cast<int>(op.k)) <= sum)
    return best;
  for (int step : {used - 1, used + 1, highest})
    if (loss(step) < loss(best))
      best = step;
  return best;
}

void NaiveMachine::run(const isa::XrSelect &op) {
  const std::vector<double> &values = samples[op.sr];
  const double most =
      values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  if (most == 0) {
    xr[op.dst] = cleared;
    return;
  }
  if (op.rule == isa::SelectRule::Error) {
    xr[op.dst] = afterErrors(values, most, xr[op.dst], op);
    return;
  }
  const bool stats = op.rule == isa::SelectRule::Stats;
  xr[op.dst] =
      (stats ? spreadOf(values, op.k, op.lead) : spreadOf({most}, 0, op.lead)) -
      (int(op.mantissa) - 2);
}

void NaiveMachine::run(const isa::XrPick &op) {
  xr[op.dst] = xr[op.preferred] == cleared ? xr[op.fallback] : xr[op.preferred];
}

void NaiveMachine::run(const isa::XrPredict &op) {
  const int used = xr[op.dst], seen = xr[op.observed];
  int *history = &xr[op.history];
  const int depth = static_cast<int>(op.depth);
  const bool known = used != cleared && seen != cleared;
  const bool over = known && seen > used;
  const bool damaged = history[0] < 0 || history[0] > depth || history[1] < 0 ||
                       history[1] >= depth;
  if (over || damaged || (known && used - seen > int(op.range)))
    std::fill(history, history + 2 + 2 * depth, 0);
  double most = 0;
  for (double v : samples[op.sr])
    most = std::max(most, v);
  if (most != 0) {
    int exponent = 0;
    double fraction = std::frexp(most, &exponent);
    // As the samples were stored: 16 bits at most, the lowest exponent that
    // any of the tensor's forms has does not matter to a value.
    auto m = static_cast<int>(std::ldexp(fraction, 15));
    history[2 + 2 * history[1]] = m;
    history[3 + 2 * history[1]] = exponent - 15 + over;
    history[1] = (history[1] + 1) % depth;
    history[0] = std::min(history[0] + 1, depth);
  }
  std::vector<double> window;
  for (int i = 0; i < history[0]; ++i) {
    const int at = 2 + 2 * ((history[1] + 2 * depth - 1 - i) % depth);
    window.push_back(std::fabs(
        std::ldexp(static_cast<double>(history[at]), history[at + 1])));
  }
  xr[op.dst] = cleared;
  if (window.empty() || *std::max_element(window.begin(), window.end()) == 0)
    return;
  int top = spreadOf(window, op.k, isa::Lead::Floor);
  if (window[0] != 0)
    top = std::max(top, std::ilogb(window[0]));
  xr[op.dst] = top - (int(op.mantissa) - 2);
}

/// One mantissa in steps of 2^step; infinities are at the limit.
static int64_t mantissaOf(long double value, int step, unsigned width,
                          bool wrap) {
  const long double limit = std::ldexp(1.0L, int(width) - 1) - 1;
  if (std::isnan(value))
    return 0;
  const long double m = std::nearbyint(std::ldexp(value, -step));
  if (!wrap || std::isinf(value))
    return static_cast<int64_t>(std::clamp(m, -limit, limit));
  if (std::fabs(m) <= limit)
    return static_cast<int64_t>(m);
  const long double turn = std::ldexp(1.0L, int(width));
  auto low = static_cast<int64_t>(std::fmod(m, turn));
  const int64_t half = int64_t(1) << (width - 1);
  return ((low + half) & (2 * half - 1)) - half;
}

int NaiveMachine::exactBlock(
    const Exact &x, const std::vector<std::vector<long double>> &values,
    uint64_t first, uint64_t end, uint64_t k, std::vector<int64_t> &mantissas) {
  const int width = static_cast<int>(x.tensor.mantissa);
  long double most = 0;
  for (uint64_t c = first; c < end; ++c)
    if (std::isfinite(values[c][k]))
      most = std::max(most, std::fabs(values[c][k]));
  auto encode = [&](int cell, bool wrap) {
    mantissas.clear();
    bool any = false;
    for (uint64_t c = first; c < end; ++c) {
      const int64_t m =
          cell == -128
              ? 0
              : mantissaOf(values[c][k], cell - (width - 2), width, wrap);
      mantissas.push_back(m);
      any |= m != 0;
    }
    return any ? cell : -128;
  };
  const int own =
      encode(most == 0 ? -128 : std::clamp(std::ilogb(most), -127, 127), false);
  unsigned collects = x.given ? x.ownXr : x.xr;
  if (own != -128 && (!x.given || x.keepOwn))
    xr[collects] = std::max(xr[collects], own - (width - 2));
  if (!x.given || xr[x.xr] == cleared)
    return own;
  const int given = std::clamp(xr[x.xr] + width - 2, -127, 127);
  return x.repair && own > given ? own : encode(given, x.wrap);
}

void NaiveMachine::finishExact(
    const Exact &x, const std::vector<std::vector<long double>> &values) {
  if (x.clear && (!x.given || x.keepOwn))
    xr[x.given ? x.ownXr : x.xr] = cleared;
  const uint64_t channels = values.size(),
                 length = x.block ? x.block : channels;
  const uint64_t *count = x.count;
  for (uint64_t k = 0; k < count[0] * count[1] * count[2]; ++k) {
    const int64_t index[3] = {static_cast<int64_t>(k / (count[1] * count[2])),
                              static_cast<int64_t>(k / count[2] % count[1]),
                              static_cast<int64_t>(k % count[2])};
    for (uint64_t first = 0; first < channels; first += length) {
      const uint64_t end = std::min(channels, first + length);
      std::vector<int64_t> mantissas;
      const int cell = exactBlock(x, values, first, end, k, mantissas);
      for (uint64_t c = first; c < end; ++c) {
        storeRaw(x.tensor, c, index, mantissas[c - first]);
        const Place at = placeOf(x.tensor, c, index);
        xm[at.partition / machine.xmGroup * machine.sb.bytesPerPartition +
           static_cast<uint64_t>(at.offset)] = static_cast<int8_t>(cell);
      }
    }
  }
}

/// a + b; what 64 bits do not hold moves the sum by one unit of theirs.
static long double sticky(long double a, long double b) {
  const long double sum = a + b, back = sum - a;
  const long double rest = (a - (sum - back)) + (b - back);
  if (rest == 0)
    return sum;
  return std::nextafter(sum, rest > 0 ? HUGE_VALL : -HUGE_VALL);
}

void NaiveMachine::blockFunction(const isa::VecMap &op, const Tensor &a,
                                 const Tensor &b, const Exact &dst) {
  std::vector<std::vector<long double>> values(op.channels);
  forSource(op, [&](uint64_t channel, const int64_t *index) {
    const long double x = load(a, channel, index), y = load(b, channel, index);
    long double z = 0;
    if (op.op == isa::Function::BlockAdd)
      z = sticky(x, y);
    else if (op.op == isa::Function::BlockSub)
      z = sticky(x, -y);
    else if (op.op == isa::Function::BlockMul)
      z = x * y;
    else if (y != 0)
      z = x / y;
    else if (x != 0)
      z = x > 0 ? HUGE_VALL : -HUGE_VALL;
    values[channel].push_back(z);
  });
  finishExact(dst, values);
}
