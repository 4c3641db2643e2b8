// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear attention, one token after the other, and causal convolution.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Sizes of the heads; fails where operands do not fit them.
struct Heads {
  int64_t batch, length, queries, keys, keySize, valueSize;
  int64_t window; ///< States of the last tokens; 0 for the last one alone.

  /// `windows`: com.microsoft's form, which has more of both.
  Heads(Call &call, bool windows)
      : batch(call.operand(0).shape[0]), length(call.operand(0).shape[1]),
        queries(call.getInt("q_num_heads", 0)),
        keys(call.getInt("kv_num_heads", 0)), keySize(0), valueSize(0),
        window(windows ? call.getInt("state_window", 0) : 0) {
    if (!call.require(
            keys > 0 && queries > 0 && window >= 0 &&
                (queries % keys == 0 || (windows && keys % queries == 0)),
            "heads do not fit"))
      return;
    keySize = call.operand(1).shape[2] / keys;
    valueSize = call.operand(2).shape[2] / keys;
    const Shape tokens = {batch, length};
    auto fits = [&](size_t i, int64_t width) {
      Shape shape(tokens);
      shape.push_back(width);
      return call.operand(i).isFloat() && call.operand(i).shape == shape;
    };
    call.require(
        fits(0, queries * keySize) && fits(1, keys * keySize) &&
            fits(2, keys * valueSize) &&
            (!call.has(4) || fits(4, keys) || fits(4, keys * keySize)) &&
            (!call.has(5) || fits(5, keys) || fits(5, 1)) &&
            (!call.has(3) || call.operand(3).size() == slots() * stateSize()),
        "operands do not fit");
  }
  int64_t slots() const { return std::max<int64_t>(window, 1); }
  int64_t stateSize() const { return batch * keys * keySize * valueSize; }
};

/// Head `head` of token `token` of an operand with `size` numbers per head.
const double *part(const Tensor &x, int64_t token, int64_t head, int64_t size) {
  return &x.floats[token * x.shape[2] + head * size];
}

/// One token for one head of keys; `state` is [keySize, valueSize].
void takeToken(Call &call, const Heads &h, int64_t token, int64_t head,
               double *state) {
  const double *key = part(call.operand(1), token, head, h.keySize),
               *value = part(call.operand(2), token, head, h.valueSize);
  if (call.has(4)) {
    const Tensor &decay = call.operand(4);
    const bool perHead = decay.shape[2] == h.keys;
    for (int64_t d = 0; d < h.keySize; ++d) {
      const double *log = perHead ? part(decay, token, head, 1)
                                  : part(decay, token, head, h.keySize) + d;
      for (int64_t m = 0; m < h.valueSize; ++m)
        state[d * h.valueSize + m] *= std::exp(*log);
    }
  }
  std::vector<double> written(value, value + h.valueSize);
  if (call.has(5)) {
    const Tensor &beta = call.operand(5);
    const double rate = *part(beta, token, beta.shape[2] == 1 ? 0 : head, 1);
    for (int64_t m = 0; m < h.valueSize; ++m) {
      for (int64_t d = 0; d < h.keySize; ++d)
        written[m] -= state[d * h.valueSize + m] * key[d];
      written[m] *= rate;
    }
  }
  for (int64_t d = 0; d < h.keySize; ++d)
    for (int64_t m = 0; m < h.valueSize; ++m)
      state[d * h.valueSize + m] += key[d] * written[m];
}

/// What a head of queries, or of several keys, reads of the state.
double readState(const Heads &h, const double *query, const double *state,
                 int64_t m) {
  double sum = 0;
  for (int64_t d = 0; d < h.keySize; ++d)
    sum += query[d] * state[d * h.valueSize + m];
  return sum;
}

void runLinearAttention(Call &call, bool windows) {
  for (size_t i = 0; i < 3; ++i)
    if (!call.require(rankOf(call.operand(i)) == 3, "expected 3 dimensions"))
      return;
  const Heads h(call, windows);
  if (call.failed())
    return;
  double scale = call.getFloat("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(h.keySize));
  const Tensor &q = call.operand(0);
  const int64_t readers = std::max(h.queries, h.keys),
                each = h.keySize * h.valueSize, size = h.stateSize();
  Tensor y(q.type, {h.batch, h.length, readers * h.valueSize});
  Shape shape = {h.batch, h.keys, h.keySize, h.valueSize};
  if (h.window > 0)
    shape.insert(shape.begin(), h.window);
  Tensor kept(call.has(3) ? call.operand(3).type : q.type, shape);
  std::vector<double> state(size, 0.0);
  if (call.has(3))
    state.assign(call.operand(3).floats.end() - size,
                 call.operand(3).floats.end());
  for (int64_t t = 0; t < h.length; ++t) {
    for (int64_t b = 0; b < h.batch; ++b) {
      const int64_t token = b * h.length + t;
      for (int64_t head = 0; head < h.keys; ++head)
        takeToken(call, h, token, head, &state[(b * h.keys + head) * each]);
      for (int64_t r = 0; r < readers; ++r)
        for (int64_t m = 0; m < h.valueSize; ++m)
          y.floats[(token * readers + r) * h.valueSize + m] =
              scale *
              readState(h, part(q, token, r * h.queries / readers, h.keySize),
                        &state[(b * h.keys + r * h.keys / readers) * each], m);
    }
    const int64_t slot = h.slots() - h.length + t;
    if (slot >= 0)
      std::copy(state.begin(), state.end(), kept.floats.begin() + slot * size);
  }
  call.setResult(0, std::move(y));
  call.setResult(1, std::move(kept));
}

void linearAttention(Call &call) { runLinearAttention(call, false); }
void contribLinearAttention(Call &call) { runLinearAttention(call, true); }

/// [batch, rows, channels..] as [batch, channels, rows].
Tensor rowsLast(const Tensor &x) {
  const int64_t rows = x.shape[1],
                channels =
                    elementCount(ArrayRef<int64_t>(x.shape).drop_front(2));
  return rearranged(x, {x.shape[0], channels, rows}, [&](ArrayRef<int64_t> at) {
    return (at[0] * rows + at[2]) * channels + at[1];
  });
}

/// And back, with the channels of a shape.
Tensor channelsBack(const Tensor &x, ArrayRef<int64_t> like) {
  Shape shape = {x.shape[0], x.shape[2]};
  shape.append(like.begin() + 2, like.end());
  Tensor y(x.type, shape);
  forEachIndex(x.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    y.floats[(at[0] * x.shape[2] + at[2]) * x.shape[1] + at[1]] = x.floats[i];
  });
  return y;
}

/// The convolution of rows in the last dimension.
struct CausalConv {
  Call &call;
  const Tensor &x, &w;
  const Tensor *before; ///< The rows before the first, or null for zeros.
  int64_t dilation, taps, past, length;

  /// Place 0 is the first of the input; those before are of the state.
  double at(int64_t row, int64_t place) const {
    if (place >= 0)
      return x.floats[row * length + place];
    return before ? before->floats[row * past + past + place] : 0;
  }
  Tensor result() const {
    const bool gated = call.getString("activation", "none") != "none";
    const int64_t channels = x.shape[1];
    Tensor y(x.type, x.shape);
    for (int64_t i = 0; i < y.size(); ++i) {
      const int64_t row = i / length;
      double sum = call.has(2) ? call.operand(2).floats[row % channels] : 0;
      for (int64_t tap = 0; tap < taps; ++tap)
        sum += w.floats[row % channels * taps + tap] *
               at(row, i % length - past + tap * dilation);
      y.floats[i] = gated ? sum * sigmoid(sum) : sum;
    }
    return y;
  }
  /// The rows that the token after `end` of them reads.
  Tensor stateAfter(int64_t end) const {
    Tensor state(x.type, {x.shape[0], x.shape[1], past});
    for (int64_t i = 0; i < state.size(); ++i)
      state.floats[i] = at(i / past, end - past + i % past);
    return state;
  }
};

void runCausalConv(Call &call, bool windows) {
  const Tensor &given = call.operand(0), &w = call.operand(1);
  const bool last = windows && call.getInt("channels_last", 0) != 0;
  const int64_t dilation = windows ? call.getInt("dilation", 1) : 1,
                window = windows ? call.getInt("state_window", 0) : 0;
  if (!call.require(rankOf(given) >= 3 && given.isFloat() && rankOf(w) == 3 &&
                        dilation > 0 && window >= 0 &&
                        call.getInt("ndim", 1) == 1,
                    "operands do not fit"))
    return;
  const Tensor x = last ? rowsLast(given) : given;
  const int64_t past = (w.shape[2] - 1) * dilation,
                size = x.shape[0] * x.shape[1] * past,
                slots = std::max<int64_t>(window, 1);
  if (!call.require(
          rankOf(x) == 3 && w.shape[0] == x.shape[1] && w.shape[1] == 1 &&
              w.shape[2] > 0 &&
              (!call.has(2) || call.operand(2).size() == x.shape[1]) &&
              (!call.has(3) || call.operand(3).size() == slots * size),
          "weights, bias or state do not fit"))
    return;
  Tensor before;
  if (call.has(3)) {
    const std::vector<double> &all = call.operand(3).floats;
    before = Tensor(x.type, last ? Shape{x.shape[0], past, x.shape[1]}
                                 : Shape{x.shape[0], x.shape[1], past});
    before.floats.assign(all.end() - size, all.end());
    before = last ? rowsLast(before) : before;
  }
  const CausalConv conv{
      call,     x,          w,    call.has(3) ? &before : nullptr,
      dilation, w.shape[2], past, x.shape[2]};
  const Tensor y = conv.result();
  call.setResult(0, last ? channelsBack(y, given.shape) : y);
  Tensor states;
  for (int64_t slot = 0; slot < slots; ++slot) {
    const int64_t end = conv.length - slots + 1 + slot;
    Tensor own = conv.stateAfter(std::max<int64_t>(end, 0));
    if (last)
      own = channelsBack(own, given.shape);
    if (end <= 0 && window > 0)
      own.floats.assign(own.floats.size(), 0);
    if (slot == 0) {
      Shape shape(own.shape);
      if (window > 0)
        shape.insert(shape.begin(), window);
      states = Tensor(x.type, shape);
    }
    std::copy(own.floats.begin(), own.floats.end(),
              states.floats.begin() + slot * size);
  }
  call.setResult(1, std::move(states));
}

void causalConvWithState(Call &call) { runCausalConv(call, false); }
void contribCausalConv(Call &call) { runCausalConv(call, true); }

} // namespace

std::vector<EvaluatorRow> onnxref::recurrenceEvaluators() {
  return {
      {"LinearAttention", {27}, 3, linearAttention},
      {"CausalConvWithState", {27}, 2, causalConvWithState},
      {"LinearAttention",
       {1},
       3,
       contribLinearAttention,
       Continuity::Smooth,
       "com.microsoft"},
      {"CausalConvWithState",
       {1},
       2,
       contribCausalConv,
       Continuity::Smooth,
       "com.microsoft"},
  };
}
