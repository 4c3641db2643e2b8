// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and rotary positions, one element after the other.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// [batch, length, heads * size] as [batch, heads, length, size].
Tensor apart(Call &call, const Tensor &x, int64_t heads) {
  if (rankOf(x) == 4)
    return x;
  if (!call.require(rankOf(x) == 3 && heads > 0 && x.shape[2] % heads == 0,
                    "heads do not fit"))
    return {};
  const int64_t length = x.shape[1], size = x.shape[2] / heads;
  return rearranged(
      x, {x.shape[0], heads, length, size}, [&](ArrayRef<int64_t> at) {
        return ((at[0] * length + at[2]) * heads + at[1]) * size + at[3];
      });
}

/// `past` and then `x` along the length.
Tensor joined(Call &call, size_t past, const Tensor &x) {
  if (!call.has(past))
    return x;
  const Tensor &before = call.operand(past);
  if (!call.require(rankOf(before) == 4, "the past does not fit"))
    return {};
  Shape shape(x.shape);
  shape[2] += before.shape[2];
  Tensor y(x.type, shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> at, int64_t i) {
    const bool old = at[2] < before.shape[2];
    const Tensor &from = old ? before : x;
    const int64_t row = old ? at[2] : at[2] - before.shape[2];
    y.floats[i] =
        from.floats[((at[0] * shape[1] + at[1]) * from.shape[2] + row) *
                        shape[3] +
                    at[3]];
  });
  return y;
}

/// What is added to a score: given mask, causal mask, windows, keys that are
/// padding.
class Mask {
public:
  Mask(Call &call, int64_t queries, int64_t past)
      : call(call), queries(queries), past(past),
        left(call.getInt("left_window_size", -1)),
        right(call.getInt("right_window_size", -1)),
        causal(call.getInt("is_causal", 0) != 0) {
    if (call.has(6))
      lengths = call.integers(6);
  }

  double at(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const double none = -std::numeric_limits<double>::infinity();
    if (!lengths.empty() && j >= lengths[b])
      return none;
    const bool external = !lengths.empty() && !call.has(4);
    const int64_t offset = external ? lengths[b] - queries : past;
    const int64_t distance = i + offset - j;
    if ((causal && distance < 0) || (left >= 0 && distance > left) ||
        (right >= 0 && -distance > right))
      return none;
    if (!call.has(3))
      return 0;
    const Tensor &given = call.operand(3);
    const ArrayRef<int64_t> shape = given.shape;
    const int64_t index[4] = {b, h, i, j};
    if (j >= shape.back() && shape.back() != 1)
      return none;
    int64_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      place =
          place * shape[d] + (shape[d] == 1 ? 0 : index[4 - shape.size() + d]);
    if (given.isFloat())
      return given.floats[place];
    if (given.type != ElementType::Bool)
      return static_cast<double>(given.ints[place]);
    return given.ints[place] ? 0 : none;
  }

private:
  Call &call;
  int64_t queries, past, left, right;
  bool causal;
  SmallVector<int64_t> lengths;
};

/// Softmax of a row in place; zeros if all of it is masked.
void softmax(double *row, int64_t count) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t j = 0; j < count; ++j)
    top = std::max(top, row[j]);
  if (top == -std::numeric_limits<double>::infinity()) {
    std::fill(row, row + count, 0.0);
    return;
  }
  for (int64_t j = 0; j < count; ++j)
    sum += row[j] = std::exp(row[j] - top);
  for (int64_t j = 0; j < count; ++j)
    row[j] /= sum;
}

void attention(Call &call) {
  const int64_t keyHeads = call.getInt("kv_num_heads", 0),
                shown = call.getInt("qk_matmul_output_mode", 0);
  const Tensor q = apart(call, call.operand(0), call.getInt("q_num_heads", 0));
  Tensor k = apart(call, call.operand(1), keyHeads),
         v = apart(call, call.operand(2), keyHeads);
  if (call.failed())
    return;
  k = joined(call, 4, k);
  v = joined(call, 5, v);
  if (call.failed() ||
      !call.require(q.shape[3] == k.shape[3] && k.shape[2] == v.shape[2] &&
                        k.shape[1] == v.shape[1] && k.shape[1] > 0 &&
                        q.shape[1] % k.shape[1] == 0,
                    "operands do not fit"))
    return;
  const int64_t batch = q.shape[0], heads = q.shape[1], queries = q.shape[2],
                keys = k.shape[2], size = q.shape[3], width = v.shape[3];
  const double scale =
      call.getFloat("scale", 1 / std::sqrt(static_cast<double>(size)));
  const double cap = call.getFloat("softcap", 0);
  const Mask mask(call, queries, call.has(4) ? call.operand(4).shape[2] : 0);
  Tensor y(q.type, {batch, heads, queries, width}),
      scores(q.type, {batch, heads, queries, keys});
  const int64_t group = heads / k.shape[1];
  std::vector<double> row(keys);
  forEachIndex({batch, heads, queries}, [&](ArrayRef<int64_t> at, int64_t n) {
    const int64_t b = at[0], h = at[1], i = at[2],
                  source = b * k.shape[1] + h / group;
    double *out = &scores.floats[n * keys];
    for (int64_t j = 0; j < keys; ++j) {
      double sum = 0;
      for (int64_t d = 0; d < size; ++d)
        sum +=
            q.floats[n * size + d] * k.floats[(source * keys + j) * size + d];
      sum *= scale;
      const double capped = cap > 0 ? cap * std::tanh(sum / cap) : sum;
      row[j] = capped + mask.at(b, h, i, j);
      out[j] = shown == 0 ? sum : shown == 1 ? capped : row[j];
    }
    softmax(row.data(), keys);
    for (int64_t j = 0; j < keys; ++j) {
      out[j] = shown == 3 ? row[j] : out[j];
      for (int64_t d = 0; d < width; ++d)
        y.floats[n * width + d] +=
            row[j] * v.floats[(source * keys + j) * width + d];
    }
  });
  if (rankOf(call.operand(0)) == 3)
    y = rearranged(
        y, {batch, queries, heads * width}, [&](ArrayRef<int64_t> at) {
          return ((at[0] * heads + at[2] / width) * queries + at[1]) * width +
                 at[2] % width;
        });
  call.setResult(0, std::move(y));
  call.setResult(1, std::move(k));
  call.setResult(2, std::move(v));
  call.setResult(3, std::move(scores));
}

void rotaryEmbedding(Call &call) {
  const Tensor &x = call.operand(0), &cosines = call.operand(1),
               &sines = call.operand(2);
  const bool interleaved = call.getInt("interleaved", 0) != 0,
             flat = rankOf(x) == 3;
  const Tensor split = apart(call, x, call.getInt("num_heads", 0));
  if (call.failed())
    return;
  const int64_t heads = split.shape[1], length = split.shape[2],
                size = split.shape[3];
  int64_t rotated = call.getInt("rotary_embedding_dim", 0);
  rotated = rotated == 0 ? size : rotated;
  const int64_t half = rotated / 2;
  SmallVector<int64_t> positions;
  if (call.has(3))
    positions = call.integers(3);
  Tensor y(x.type, split.shape);
  forEachIndex(split.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    const int64_t d = at[3];
    if (d >= rotated) {
      y.floats[i] = split.floats[i];
      return;
    }
    const int64_t row = at[0] * length + at[2],
                  pair = interleaved ? d / 2 : d % half;
    const bool second = interleaved ? d % 2 : d >= half;
    const int64_t entry =
        (positions.empty() ? row : positions[row]) * half + pair;
    if (!call.require(entry >= 0 && entry < cosines.size() &&
                          entry < sines.size(),
                      "a position is out of range"))
      return;
    const double c = cosines.floats[entry], s = sines.floats[entry];
    const int64_t first = i - d + (interleaved ? 2 * pair : pair),
                  other = first + (interleaved ? 1 : half);
    const double a = split.floats[first], b = split.floats[other];
    y.floats[i] = second ? s * a + c * b : c * a - s * b;
  });
  if (flat)
    y = rearranged(y, x.shape, [&](ArrayRef<int64_t> at) {
      return ((at[0] * heads + at[2] / size) * length + at[1]) * size +
             at[2] % size;
    });
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::attentionEvaluators() {
  return {
      {"Attention", {23, 24, 25}, 3, attention},
      {"RotaryEmbedding", {23}, 3, rotaryEmbedding},
  };
}
