// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of com.microsoft with its projections, and the embedding before it,
// one element after the other.

#include "../Registry.h"
#include "../Walk.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// The operands of one node by their extents.
struct Packed {
  const Tensor &x, &w;
  int64_t heads, batch, queries, past, keys;
  int64_t first[3], size[3]; ///< Columns of query, key and value of a head.

  /// Element d of a head in part `part` at position i, without the past.
  double at(Call &call, int part, int64_t b, int64_t i, int64_t h,
            int64_t d) const {
    const int64_t column = first[part] + h * size[part] + d, depth = x.shape[2];
    double sum = call.has(2) ? call.operand(2).floats[column] : 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += x.floats[(b * queries + i) * depth + k] *
             w.floats[k * w.shape[1] + column];
    return sum;
  }
};

/// Keys (part 1) or values (part 2), [batch, heads, keys, size].
Tensor rowsOf(Call &call, const Packed &p, int part) {
  Tensor all(p.x.type, {p.batch, p.heads, p.keys, p.size[part]});
  forEachIndex(all.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    if (at[2] >= p.past) {
      all.floats[i] = p.at(call, part, at[0], at[2] - p.past, at[1], at[3]);
      return;
    }
    const Tensor &past = call.operand(4);
    const int64_t row =
        (((part - 1) * p.batch + at[0]) * p.heads + at[1]) * p.past + at[2];
    all.floats[i] = past.floats[row * p.size[part] + at[3]];
  });
  return all;
}

/// Whether a mask_index keeps a key for a query: flags for keys, for queries
/// and keys, or lengths and then starts of the sequences.
bool keeps(const Tensor &mask, const Packed &p, int64_t b, int64_t i,
           int64_t j) {
  if (rankOf(mask) == 3)
    return mask.ints[(b * p.queries + i) * p.keys + j] > 0;
  if (rankOf(mask) == 2)
    return mask.ints[b * p.keys + j] > 0;
  return j < mask.ints[b] &&
         (mask.size() == p.batch || j >= mask.ints[p.batch + b]);
}

double biasAt(const Tensor &bias, ArrayRef<int64_t> index) {
  int64_t place = 0;
  for (size_t d = 0; d < bias.shape.size(); ++d)
    place = place * bias.shape[d] +
            (bias.shape[d] == 1 ? 0 : index[4 - bias.shape.size() + d]);
  return bias.floats[place];
}

bool readSizes(Call &call, Packed &p) {
  if (!call.require(rankOf(p.x) == 3 && rankOf(p.w) == 2 && p.heads > 0,
                    "ranks do not fit"))
    return false;
  SmallVector<int64_t> widths = call.getInts("qkv_hidden_sizes");
  if (widths.empty())
    widths.assign(3, p.w.shape[1] / 3);
  if (!call.require(widths.size() == 3 &&
                        widths[0] + widths[1] + widths[2] == p.w.shape[1] &&
                        p.w.shape[0] == p.x.shape[2],
                    "the weights do not fit"))
    return false;
  for (int64_t part = 0, start = 0; part < 3; start += widths[part], ++part) {
    p.first[part] = start;
    p.size[part] = widths[part] / p.heads;
  }
  p.batch = p.x.shape[0];
  p.queries = p.x.shape[1];
  p.past = call.has(4) ? call.operand(4).shape[3] : 0;
  p.keys = p.past + p.queries;
  return true;
}

/// The scores of one query, before the softmax.
void score(Call &call, const Packed &p, const Tensor &keys, int64_t b,
           int64_t h, int64_t i, std::vector<double> &row) {
  const double filter = call.getFloat("mask_filter_value", -10000);
  const bool causal = call.getInt("unidirectional", 0) != 0;
  double scale = call.getFloat("scale", 0);
  scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(p.size[0]));
  SmallVector<double> query;
  for (int64_t d = 0; d < p.size[0]; ++d)
    query.push_back(p.at(call, 0, b, i, h, d));
  for (int64_t j = 0; j < p.keys; ++j) {
    double sum = 0;
    for (int64_t d = 0; d < p.size[0]; ++d)
      sum += query[d] *
             keys.floats[((b * p.heads + h) * p.keys + j) * p.size[1] + d];
    row[j] = sum * scale;
    if (call.has(5))
      row[j] += biasAt(call.operand(5), {b, h, i, j});
    if (call.has(3) && !keeps(call.operand(3), p, b, i, j))
      row[j] += filter;
    if (causal && j > i + p.past)
      row[j] = -std::numeric_limits<double>::infinity();
  }
}

void attention(Call &call) {
  Packed p{call.operand(0),
           call.operand(1),
           call.getInt("num_heads", 0),
           0,
           0,
           0,
           0,
           {},
           {}};
  if (!readSizes(call, p))
    return;
  const Tensor keys = rowsOf(call, p, 1), values = rowsOf(call, p, 2);
  Tensor y(p.x.type, {p.batch, p.queries, p.heads * p.size[2]});
  std::vector<double> row(p.keys);
  forEachIndex({p.batch, p.heads, p.queries}, [&](ArrayRef<int64_t> at,
                                                  int64_t) {
    const int64_t b = at[0], h = at[1], i = at[2];
    score(call, p, keys, b, h, i, row);
    double top = row[0], sum = 0;
    for (double value : row)
      top = std::max(top, value);
    for (double &value : row)
      sum += value = std::exp(value - top);
    for (int64_t d = 0; d < p.size[2]; ++d) {
      double &out =
          y.floats[((b * p.queries + i) * p.heads + h) * p.size[2] + d];
      for (int64_t j = 0; j < p.keys; ++j)
        out += row[j] / sum *
               values.floats[((b * p.heads + h) * p.keys + j) * p.size[2] + d];
    }
  });
  call.setResult(0, std::move(y));
  if (call.numResults() < 2 || p.size[1] != p.size[2])
    return;
  Shape shape = {2};
  shape.append(keys.shape.begin(), keys.shape.end());
  Tensor present(p.x.type, shape);
  for (int64_t i = 0; i < keys.size(); ++i) {
    present.floats[i] = keys.floats[i];
    present.floats[keys.size() + i] = values.floats[i];
  }
  call.setResult(1, std::move(present));
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

void embedLayerNorm(Call &call) {
  if (!call.require(call.has(2) && call.has(3) && call.has(5) && call.has(6),
                    "a table, the scale or the shift is omitted"))
    return;
  const Tensor &words = call.operand(0), &table = call.operand(2);
  const double epsilon = call.getFloat("epsilon", 1e-12f);
  if (!call.require(rankOf(words) == 2 && rankOf(table) == 2, "ranks"))
    return;
  const int64_t batch = words.shape[0], length = words.shape[1],
                width = table.shape[1];
  Tensor sum(table.type, {batch, length, width}), y = sum;
  Tensor counts(ElementType::I32, {batch});
  const SmallVector<int64_t> places =
      call.has(8) ? call.integers(8) : SmallVector<int64_t>();
  for (int64_t i = 0; i < batch * length && !call.failed(); ++i) {
    double *row = &sum.floats[i * width];
    addRow(call, table, words.ints[i], row);
    const auto known = static_cast<int64_t>(places.size());
    addRow(call, call.operand(3), known > 0 ? places[i % known] : i % length,
           row);
    if (call.has(1) && call.has(4))
      addRow(call, call.operand(4), call.operand(1).ints[i], row);
    double mean = 0, variance = 0;
    for (int64_t d = 0; d < width; ++d)
      mean += row[d] / static_cast<double>(width);
    for (int64_t d = 0; d < width; ++d)
      variance +=
          (row[d] - mean) * (row[d] - mean) / static_cast<double>(width);
    for (int64_t d = 0; d < width; ++d)
      y.floats[i * width + d] = (row[d] - mean) /
                                    std::sqrt(variance + epsilon) *
                                    call.operand(5).floats[d] +
                                call.operand(6).floats[d];
    if (call.has(7) && call.getInt("mask_index_type", 1) != 0)
      counts.ints[i / length] += call.operand(7).ints[i];
  }
  call.setResult(0, std::move(y));
  call.setResult(1, std::move(counts));
  call.setResult(2, std::move(sum));
}

} // namespace

std::vector<EvaluatorRow> onnxref::packedAttentionEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity smooth = Continuity::Smooth;
  return {
      {"Attention", {1}, 2, attention, smooth, domain},
      {"EmbedLayerNormalization", {1}, 1, embedLayerNorm, smooth, domain},
  };
}
