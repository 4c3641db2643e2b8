// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact statistics and scale-exponent selectors. The comparison
//   mean + k/16 * deviation >= 2^j
// is decided as k * sqrt(n*S2 - S1^2) >= 16 * (n * 2^j - S1) by squaring both
// sides in integers wide enough for every exponent in use.

#include "ashlar/Numerics/Statistics.h"

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <bit>

using namespace llvm;

namespace ashlar::numerics {

int compare(const Magnitude &a, const Magnitude &b) {
  if (a.m == 0 || b.m == 0)
    return a.m == b.m ? 0 : a.m == 0 ? -1 : 1;
  int topA = leadingExponent(a, Lead::Floor);
  int topB = leadingExponent(b, Lead::Floor);
  if (topA != topB)
    return topA < topB ? -1 : 1;
  // Same leading place: both fit 32 bits above the lower exponent.
  int low = std::min(a.e, b.e);
  uint64_t left = uint64_t(a.m) << (a.e - low);
  uint64_t right = uint64_t(b.m) << (b.e - low);
  return left < right ? -1 : left > right;
}

int leadingExponent(const Magnitude &magnitude, Lead lead) {
  int floor = static_cast<int>(std::bit_width(magnitude.m)) - 1 + magnitude.e;
  return lead == Lead::Ceil && !std::has_single_bit(magnitude.m) ? floor + 1
                                                                 : floor;
}

void Statistics::add(int32_t m, int e) {
  ++samples;
  if (m == 0)
    return;
  uint32_t magnitude =
      m < 0 ? 0 - static_cast<uint32_t>(m) : static_cast<uint32_t>(m);
  Sums &entry = sums[e];
  entry.absolute += magnitude;
  entry.squares += uint64_t(magnitude) * magnitude;
  entry.largest = std::max(entry.largest, magnitude);
  ++entry.byWidth[std::min<int>(std::bit_width(magnitude), 16)];
}

void Statistics::merge(const Statistics &other) {
  samples += other.samples;
  for (const auto &[e, from] : other.sums) {
    Sums &entry = sums[e];
    entry.absolute += from.absolute;
    entry.squares += from.squares;
    entry.largest = std::max(entry.largest, from.largest);
    for (auto [count, more] : llvm::zip(entry.byWidth, from.byWidth))
      count += more;
  }
}

void Statistics::clear() {
  samples = 0;
  sums.clear();
}

std::optional<Magnitude> Statistics::maximum() const {
  std::optional<Magnitude> best;
  // Ascending exponents: an equal value in a later form does not replace.
  for (const auto &[e, entry] : sums) {
    Magnitude candidate = {entry.largest, e};
    if (!best || compare(candidate, *best) > 0)
      best = candidate;
  }
  return best;
}

std::optional<int> Statistics::leadOfSpread(unsigned kSixteenths,
                                            Lead lead) const {
  if (sums.empty())
    return std::nullopt;
  // 64 places below the lowest exponent the mean of any count is above 1.
  int base = sums.begin()->first - 64;
  unsigned spread = static_cast<unsigned>(sums.rbegin()->first - base);
  unsigned width = 2 * spread + 320;
  APInt sum(width, 0), squares(width, 0), n(width, samples);
  for (const auto &[e, entry] : sums) {
    unsigned place = static_cast<unsigned>(e - base);
    sum += APInt(width, entry.absolute).shl(place);
    squares += APInt(width, entry.squares).shl(2 * place);
  }
  // n * S2 >= S1^2 always (Cauchy and Schwarz), so this is not negative.
  APInt variance = n * squares - sum * sum;
  APInt root2 = variance * APInt(width, uint64_t(kSixteenths) * kSixteenths);
  int j = static_cast<int>(sum.getActiveBits()) -
          static_cast<int>(n.getActiveBits()) - 1;
  bool exact = false;
  // The start is not above the mean; the loop ends at the first 2^j above.
  for (;; ++j) {
    APInt power = n.shl(static_cast<unsigned>(j));
    if (power.ule(sum)) {
      exact = power == sum && root2.isZero();
      continue;
    }
    APInt gap = (power - sum).shl(4);
    APInt gap2 = gap * gap;
    if (gap2.ugt(root2))
      break;
    exact = gap2 == root2;
  }
  int floor = j - 1 + base;
  return lead == Lead::Ceil && !exact ? floor + 1 : floor;
}

int Statistics::leastError(int first, ArrayRef<int> rest, int mantissa,
                           unsigned tolerance) const {
  // In units of 2^base nothing below has a fraction.
  int base = first, top = first + mantissa;
  for (int step : rest) {
    base = std::min(base, step);
    top = std::max(top, step + mantissa);
  }
  if (!sums.empty()) {
    base = std::min(base, sums.begin()->first);
    top = std::max(top, sums.rbegin()->first + 17);
  }
  base -= 1;
  const unsigned width = static_cast<unsigned>(top - base) + tolerance + 80;
  auto power = [&](int place) {
    return APInt(width, 1).shl(static_cast<unsigned>(place - base));
  };
  APInt total(width, 0);
  for (const auto &[e, entry] : sums)
    total += APInt(width, entry.absolute).shl(static_cast<unsigned>(e - base));
  auto lossOf = [&](int step) {
    APInt loss(width, 0);
    for (const auto &[e, entry] : sums)
      for (int bits = 1; bits < 17; ++bits) {
        if (entry.byWidth[bits] == 0)
          continue;
        const int place = bits - 1 + e;
        APInt each = power(step - 1);
        if (place > step + mantissa - 2)
          each = power(place + 1) - power(step + mantissa - 1);
        else if (place < step - 1)
          each = power(place + 1);
        loss += each * APInt(width, entry.byWidth[bits]);
      }
    return loss;
  };
  APInt least = lossOf(first);
  if (least.shl(tolerance).ule(total))
    return first;
  int best = first;
  for (int step : rest)
    if (APInt loss = lossOf(step); loss.ult(least)) {
      least = loss;
      best = step;
    }
  return best;
}

/// Places any exponent in a scale register; -32768 means cleared.
static int16_t toScale(int exponent) {
  return static_cast<int16_t>(std::clamp(exponent, -32767, 32767));
}

int16_t selectSpread(const Statistics &statistics, unsigned kSixteenths,
                     int mantissa, Lead lead) {
  std::optional<int> top = statistics.leadOfSpread(kSixteenths, lead);
  return top ? toScale(stepExponent(*top, mantissa)) : kClearedScale;
}

int16_t selectMaximum(const Statistics &statistics, int mantissa, Lead lead) {
  std::optional<Magnitude> top = statistics.maximum();
  return top ? toScale(stepExponent(leadingExponent(*top, lead), mantissa))
             : kClearedScale;
}

int16_t selectError(const Statistics &statistics, int16_t used,
                    unsigned tolerance, int mantissa, Lead lead) {
  int16_t largest = selectMaximum(statistics, mantissa, lead);
  if (used == kClearedScale || largest == kClearedScale)
    return largest;
  return toScale(statistics.leastError(used, {used - 1, used + 1, largest},
                                       mantissa, tolerance));
}

int16_t measureExponent(float value, int mantissa, Lead lead) {
  uint32_t bits = floatBits(value) & 0x7fffffff;
  if (bits == 0 || bits >= 0x7f800000)
    return kClearedScale;
  uint32_t field = bits >> 23, fraction = bits & 0x7fffff;
  Magnitude magnitude = {field == 0 ? fraction : fraction | 0x800000u,
                         static_cast<int>(field == 0 ? 1 : field) - 150};
  return toScale(stepExponent(leadingExponent(magnitude, lead), mantissa));
}

Prediction predictScale(MutableArrayRef<int16_t> history,
                        const Statistics &statistics, int16_t used,
                        int16_t observed, const PredictRule &rule) {
  int depth = static_cast<int>(history.size() / 2) - 1;
  Prediction result;
  bool known = used != kClearedScale && observed != kClearedScale;
  result.overflow = known && observed > used;
  result.underflow = known && used - observed > rule.range;
  bool damaged = history[0] < 0 || history[0] > depth || history[1] < 0 ||
                 history[1] >= depth;
  if (result.overflow || result.underflow || damaged)
    std::fill(history.begin(), history.end(), int16_t(0));
  if (std::optional<Magnitude> top = statistics.maximum()) {
    int place = history[1];
    history[2 + 2 * place] = static_cast<int16_t>(top->m);
    history[3 + 2 * place] = toScale(top->e + (result.overflow ? 1 : 0));
    history[1] = static_cast<int16_t>((place + 1) % depth);
    history[0] = static_cast<int16_t>(std::min<int>(history[0] + 1, depth));
  }
  int fill = history[0];
  if (fill == 0)
    return result;
  // The entries in use are the `fill` ones before the next write.
  Statistics window;
  int last = (history[1] + depth - 1) % depth;
  for (int i = 0; i < fill; ++i) {
    int place = (last + depth - i) % depth;
    window.add(history[2 + 2 * place], history[3 + 2 * place]);
  }
  std::optional<int> top = window.leadOfSpread(rule.kSixteenths, rule.lead);
  if (!top)
    return result;
  int16_t latest = history[2 + 2 * last];
  if (latest != 0) {
    uint32_t m = static_cast<uint32_t>(latest < 0 ? -int(latest) : latest);
    top =
        std::max(*top, leadingExponent({m, history[3 + 2 * last]}, rule.lead));
  }
  result.next = toScale(stepExponent(*top, rule.mantissa));
  return result;
}

} // namespace ashlar::numerics
