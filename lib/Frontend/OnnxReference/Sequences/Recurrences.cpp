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

  explicit Heads(Call &call)
      : batch(call.operand(0).shape[0]), length(call.operand(0).shape[1]),
        queries(call.getInt("q_num_heads", 0)),
        keys(call.getInt("kv_num_heads", 0)), keySize(0), valueSize(0) {
    if (!call.require(keys > 0 && queries > 0 && queries % keys == 0,
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
            (!call.has(3) ||
             call.operand(3).size() == batch * keys * keySize * valueSize),
        "operands do not fit");
  }
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

void linearAttention(Call &call) {
  for (size_t i = 0; i < 3; ++i)
    if (!call.require(rankOf(call.operand(i)) == 3, "expected 3 dimensions"))
      return;
  const Heads h(call);
  if (call.failed())
    return;
  double scale = call.getFloat("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(h.keySize));
  const Tensor &q = call.operand(0);
  Tensor y(q.type, {h.batch, h.length, h.queries * h.valueSize});
  Tensor state(call.has(3) ? call.operand(3).type : q.type,
               {h.batch, h.keys, h.keySize, h.valueSize});
  if (call.has(3))
    state.floats = call.operand(3).floats;
  const int64_t group = h.queries / h.keys, each = h.keySize * h.valueSize;
  for (int64_t token = 0; token < h.batch * h.length; ++token)
    for (int64_t head = 0; head < h.keys; ++head) {
      double *own = &state.floats[(token / h.length * h.keys + head) * each];
      takeToken(call, h, token, head, own);
      for (int64_t reader = head * group; reader < (head + 1) * group; ++reader)
        for (int64_t m = 0; m < h.valueSize; ++m) {
          double sum = 0;
          for (int64_t d = 0; d < h.keySize; ++d)
            sum +=
                part(q, token, reader, h.keySize)[d] * own[d * h.valueSize + m];
          y.floats[(token * h.queries + reader) * h.valueSize + m] =
              scale * sum;
        }
    }
  call.setResult(0, std::move(y));
  call.setResult(1, std::move(state));
}

void causalConvWithState(Call &call) {
  const Tensor &x = call.operand(0), &w = call.operand(1);
  const bool gated = call.getString("activation", "none") != "none";
  if (!call.require(rankOf(x) == 3 && rankOf(w) == 3 && x.isFloat() &&
                        w.shape[0] == x.shape[1] && w.shape[1] == 1 &&
                        w.shape[2] > 0,
                    "the weights do not fit"))
    return;
  const int64_t channels = x.shape[1], length = x.shape[2], taps = w.shape[2],
                past = taps - 1;
  if (!call.require((!call.has(2) || call.operand(2).size() == channels) &&
                        (!call.has(3) || call.operand(3).size() ==
                                             x.shape[0] * channels * past),
                    "bias or state do not fit"))
    return;
  // Place 0 is the first of the input; those before are of the state.
  auto at = [&](int64_t row, int64_t place) {
    if (place >= 0)
      return x.floats[row * length + place];
    return call.has(3) ? call.operand(3).floats[row * past + past + place] : 0;
  };
  Tensor y(x.type, x.shape), state(x.type, {x.shape[0], channels, past});
  for (int64_t row = 0; row < x.shape[0] * channels; ++row) {
    for (int64_t i = 0; i < length; ++i) {
      double sum = call.has(2) ? call.operand(2).floats[row % channels] : 0;
      for (int64_t tap = 0; tap < taps; ++tap)
        sum += w.floats[row % channels * taps + tap] * at(row, i - past + tap);
      y.floats[row * length + i] = gated ? sum * sigmoid(sum) : sum;
    }
    for (int64_t i = 0; i < past; ++i)
      state.floats[row * past + i] = at(row, length - past + i);
  }
  call.setResult(0, std::move(y));
  call.setResult(1, std::move(state));
}

} // namespace

std::vector<EvaluatorRow> onnxref::recurrenceEvaluators() {
  return {
      {"LinearAttention", {27}, 3, linearAttention},
      {"CausalConvWithState", {27}, 2, causalConvWithState},
  };
}
