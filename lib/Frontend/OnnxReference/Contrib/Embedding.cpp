// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The embedding before encoders, word by word, and reads of tables.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// Operand `at` as numbers, of 8 bits with a scale and a zero point.
struct Numbers {
  size_t at, scale = 0, zero = 0;
};

Tensor floatsOf(Call &call, const Numbers &numbers) {
  const Tensor &q = call.operand(numbers.at);
  if (numbers.scale == 0)
    return q;
  Tensor y(ElementType::F32, q.shape);
  for (int64_t i = 0; i < q.size(); ++i)
    y.floats[i] = (numberAt(q, i) - numberAt(call.operand(numbers.zero), 0)) *
                  numberAt(call.operand(numbers.scale), 0);
  return y;
}

/// Adds row \p index of a table.
void addRow(Call &call, const Tensor &table, int64_t index, double *to) {
  if (!call.require(rankOf(table) == 2, "a table is no matrix"))
    return;
  index += index < 0 ? table.shape[0] : 0;
  if (call.require(index >= 0 && index < table.shape[0], "an index is outside"))
    for (int64_t d = 0; d < table.shape[1]; ++d)
      to[d] += table.floats[index * table.shape[1] + d];
}

struct Tables {
  Numbers words, places, kinds, scale, shift;
  bool hasKinds;
  SmallVector<int64_t> positions; ///< Counted if empty.
};

/// gamma * (sum - mean) / sqrt(variance + epsilon) + beta of every word.
void embed(Call &call, const Tables &t, double epsilon) {
  const Tensor &words = call.operand(0);
  const Tensor table = floatsOf(call, t.words),
               places = floatsOf(call, t.places),
               kinds = t.hasKinds ? floatsOf(call, t.kinds) : Tensor(),
               scale = floatsOf(call, t.scale), shift = floatsOf(call, t.shift);
  if (!call.require(rankOf(words) == 2 && rankOf(table) == 2, "ranks"))
    return;
  const int64_t length = words.shape[1], width = table.shape[1];
  if (!call.require(scale.size() == width && shift.size() == width, "widths"))
    return;
  Tensor sum(table.type, {words.shape[0], length, width}), y = sum;
  for (int64_t i = 0; i < words.size() && !call.failed(); ++i) {
    double *row = &sum.floats[i * width];
    const auto known = static_cast<int64_t>(t.positions.size());
    addRow(call, table, words.ints[i], row);
    addRow(call, places, known > 0 ? t.positions[i % known] : i % length, row);
    if (t.hasKinds)
      addRow(call, kinds, call.operand(1).ints[i], row);
    double mean = 0, variance = 0;
    for (int64_t d = 0; d < width; ++d)
      mean += row[d] / static_cast<double>(width);
    for (int64_t d = 0; d < width; ++d)
      variance +=
          (row[d] - mean) * (row[d] - mean) / static_cast<double>(width);
    for (int64_t d = 0; d < width; ++d)
      y.floats[i * width + d] =
          (row[d] - mean) / std::sqrt(variance + epsilon) * scale.floats[d] +
          shift.floats[d];
  }
  call.setResult(0, std::move(y));
  call.setResult(2, std::move(sum));
}

/// The sum of the flags of every sequence, or how many of them are 1.
void setCounts(Call &call, bool used, bool onlyOnes) {
  const Tensor &words = call.operand(0);
  Tensor counts(ElementType::I32, Shape{words.shape[0]});
  for (int64_t i = 0; used && i < words.size(); ++i) {
    const int64_t own = call.operand(7).ints[i];
    counts.ints[i / words.shape[1]] += onlyOnes ? own == 1 : own;
  }
  call.setResult(1, std::move(counts));
}

void embedLayerNorm(Call &call) {
  if (!call.require(call.has(2) && call.has(3) && call.has(5) && call.has(6),
                    "a table, the scale or the shift is omitted"))
    return;
  embed(call,
        {{2},
         {3},
         {4},
         {5},
         {6},
         call.has(1) && call.has(4),
         call.has(8) ? call.integers(8) : SmallVector<int64_t>()},
        call.getFloat("epsilon", 1e-12f));
  if (!call.failed())
    setCounts(call, call.has(7) && call.getInt("mask_index_type", 1) != 0,
              /*onlyOnes=*/false);
}

void quantisedEmbedLayerNorm(Call &call) {
  for (size_t i : {2, 3, 5, 6, 8, 9, 11, 12, 13, 14, 16, 17})
    if (!call.require(call.has(i), "an operand is omitted"))
      return;
  embed(call,
        {{2, 8, 13},
         {3, 9, 14},
         {4, 10, 15},
         {5, 11, 16},
         {6, 12, 17},
         call.has(1),
         {}},
        call.getFloat("epsilon", 1e-12f));
  if (!call.failed())
    setCounts(call, call.has(7), /*onlyOnes=*/true);
}

void torchEmbedding(Call &call) {
  const Tensor &table = call.operand(0), &indices = call.operand(1);
  if (!call.require(rankOf(table) == 2, "the table is no matrix"))
    return;
  Shape shape(indices.shape);
  shape.push_back(table.shape[1]);
  for (int64_t index : indices.ints)
    if (!call.require(index >= -table.shape[0] && index < table.shape[0],
                      "an index is outside"))
      return;
  call.setResult(0, rearranged(table, shape, [&](ArrayRef<int64_t> at) {
                   int64_t place = 0;
                   for (size_t d = 0; d + 1 < at.size(); ++d)
                     place = place * shape[d] + at[d];
                   const int64_t index = indices.ints[place];
                   return (index < 0 ? index + table.shape[0] : index) *
                              table.shape[1] +
                          at.back();
                 }));
}

} // namespace

std::vector<EvaluatorRow> onnxref::embeddingEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity smooth = Continuity::Smooth;
  return {
      {"EmbedLayerNormalization", {1}, 1, embedLayerNorm, smooth, domain},
      {"QEmbedLayerNormalization",
       {1},
       1,
       quantisedEmbedLayerNorm,
       smooth,
       domain},
      {"TorchEmbedding", {1}, 2, torchEmbedding, smooth, domain},
  };
}
