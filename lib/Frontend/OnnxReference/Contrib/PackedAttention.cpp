// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of com.microsoft with its projections, one element after the other.

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
  const Tensor *bias, *mask, *past, *terms; ///< Null if omitted.
  int64_t heads = 0, batch = 0, queries = 0, pastLength = 0, keys = 0;
  int64_t first[3] = {},
          size[3] = {}; ///< Columns of query, key and value of a head.

  /// Element d of a head in part `part` at position i, without the past.
  double at(int part, int64_t b, int64_t i, int64_t h, int64_t d) const {
    const int64_t column = first[part] + h * size[part] + d, depth = x.shape[2];
    double sum = bias ? bias->floats[column] : 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += x.floats[(b * queries + i) * depth + k] *
             w.floats[k * w.shape[1] + column];
    return sum;
  }
};

/// Keys (part 1) or values (part 2), [batch, heads, keys, size].
Tensor rowsOf(const Packed &p, int part) {
  Tensor all(p.x.type, {p.batch, p.heads, p.keys, p.size[part]});
  forEachIndex(all.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    if (at[2] >= p.pastLength) {
      all.floats[i] = p.at(part, at[0], at[2] - p.pastLength, at[1], at[3]);
      return;
    }
    const int64_t row =
        (((part - 1) * p.batch + at[0]) * p.heads + at[1]) * p.pastLength +
        at[2];
    all.floats[i] = p.past->floats[row * p.size[part] + at[3]];
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
  p.pastLength = p.past ? p.past->shape[3] : 0;
  p.keys = p.pastLength + p.queries;
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
    query.push_back(p.at(0, b, i, h, d));
  for (int64_t j = 0; j < p.keys; ++j) {
    double sum = 0;
    for (int64_t d = 0; d < p.size[0]; ++d)
      sum += query[d] *
             keys.floats[((b * p.heads + h) * p.keys + j) * p.size[1] + d];
    row[j] = sum * scale;
    if (p.terms)
      row[j] += biasAt(*p.terms, {b, h, i, j});
    if (p.mask && !keeps(*p.mask, p, b, i, j))
      row[j] += filter;
    if (causal && j > i + p.pastLength)
      row[j] = -std::numeric_limits<double>::infinity();
  }
}

/// The exponents of a row over their sum.
void softmax(std::vector<double> &row) {
  double top = row[0], sum = 0;
  for (double value : row)
    top = std::max(top, value);
  for (double &value : row)
    sum += value = std::exp(value - top);
  for (double &value : row)
    value /= sum;
}

void attend(Call &call, Packed p) {
  p.heads = call.getInt("num_heads", 0);
  if (!readSizes(call, p))
    return;
  const Tensor keys = rowsOf(p, 1), values = rowsOf(p, 2);
  Tensor y(p.x.type, {p.batch, p.queries, p.heads * p.size[2]});
  std::vector<double> row(p.keys);
  forEachIndex({p.batch, p.heads, p.queries}, [&](ArrayRef<int64_t> at,
                                                  int64_t) {
    const int64_t b = at[0], h = at[1], i = at[2];
    score(call, p, keys, b, h, i, row);
    softmax(row);
    for (int64_t d = 0; d < p.size[2]; ++d) {
      double &out =
          y.floats[((b * p.queries + i) * p.heads + h) * p.size[2] + d];
      for (int64_t j = 0; j < p.keys; ++j)
        out += row[j] *
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

const Tensor *operandOrNull(Call &call, size_t i) {
  return call.has(i) ? &call.operand(i) : nullptr;
}

void attention(Call &call) {
  attend(call, {call.operand(0), call.operand(1), operandOrNull(call, 2),
                operandOrNull(call, 3), operandOrNull(call, 4),
                operandOrNull(call, 5)});
}

/// The numbers that integers of operand i stand for; parameters are one, or one
/// for each column.
Tensor dequantised(Call &call, size_t i, size_t scale, size_t zero,
                   ElementType type) {
  const Tensor &q = call.operand(i);
  Tensor y(type, q.shape);
  for (int64_t k = 0; k < q.size(); ++k) {
    auto parameter = [&](size_t at, double otherwise) {
      return call.has(at)
                 ? numberAt(call.operand(at), k % call.operand(at).size())
                 : otherwise;
    };
    y.floats[k] = (numberAt(q, k) - parameter(zero, 0)) * parameter(scale, 1);
  }
  return y;
}

void quantisedAttention(Call &call) {
  const ElementType type = call.operand(2).type;
  const Tensor x = dequantised(call, 0, 3, 6, type),
               w = dequantised(call, 1, 4, 7, type);
  attend(call, {x, w, &call.operand(2), operandOrNull(call, 5),
                operandOrNull(call, 8), nullptr});
}

/// Keys and values of DecoderAttention and its queries, [batch, heads, length,
/// size], where a cache has what comes first.
struct Decoder {
  Call &call;
  int64_t heads, batch, width, size;

  explicit Decoder(Call &call)
      : call(call), heads(call.getInt("num_heads", 0)),
        batch(call.operand(0).shape[1]), width(call.operand(0).shape[2]),
        size(heads > 0 ? width / heads : 0) {}

  /// Part 0 of the weights of queries, 1 and 2 of those of keys and values.
  double project(const Tensor &rows, int part, int64_t t, int64_t b,
                 int64_t column) const {
    const Tensor &w = call.operand(part == 0 ? 2 : 3);
    const int64_t first = part == 2 ? width : 0;
    double sum = call.operand(4).floats[part * width + column];
    for (int64_t k = 0; k < width; ++k)
      sum += rows.floats[(t * batch + b) * width + k] *
             w.floats[k * w.shape[1] + first + column];
    return sum;
  }
  Tensor heads4(const Tensor *cache, const Tensor *rows, int part) const {
    const int64_t old = cache ? cache->shape[2] : 0;
    Tensor y(call.operand(0).type,
             {batch, heads, old + (rows ? rows->shape[0] : 0), size});
    forEachIndex(y.shape, [&](ArrayRef<int64_t> at, int64_t i) {
      y.floats[i] =
          at[2] < old
              ? cache->floats[((at[0] * heads + at[1]) * old + at[2]) * size +
                              at[3]]
              : project(*rows, part, at[2] - old, at[0], at[1] * size + at[3]);
    });
    return y;
  }
};

bool flag(Call &call, size_t i) {
  return call.has(i) && call.integers(i)[0] != 0;
}

void decoderAttention(Call &call) {
  const Tensor &x = call.operand(0);
  if (!call.require(rankOf(x) == 3 && rankOf(call.operand(1)) == 3 &&
                        x.isFloat(),
                    "ranks do not fit"))
    return;
  const Decoder d(call);
  if (!call.require(d.size > 0, "heads do not fit"))
    return;
  const bool cross = flag(call, 8), state = flag(call, 10),
             cached = flag(call, 9) && state;
  const Tensor *source = cached && cross ? nullptr
                         : cross         ? &call.operand(1)
                                         : &x;
  const Tensor q = d.heads4(nullptr, &x, 0),
               k = d.heads4(cached ? &call.operand(6) : nullptr, source, 1),
               v = d.heads4(cached ? &call.operand(7) : nullptr, source, 2);
  const int64_t keys = k.shape[2];
  Tensor y(x.type, x.shape);
  std::vector<double> row(keys);
  forEachIndex({d.batch, d.heads, x.shape[0]}, [&](ArrayRef<int64_t> at,
                                                   int64_t i) {
    const int64_t first = (at[0] * d.heads + at[1]) * keys;
    for (int64_t j = 0; j < keys; ++j) {
      row[j] = 0;
      for (int64_t c = 0; c < d.size; ++c)
        row[j] += q.floats[i * d.size + c] * k.floats[(first + j) * d.size + c];
      row[j] /= std::sqrt(static_cast<double>(d.size));
      if (flag(call, 11) && call.operand(5).ints[at[0] * keys + j] != 0)
        row[j] = -std::numeric_limits<double>::infinity();
    }
    softmax(row);
    for (int64_t c = 0; c < d.size; ++c) {
      double &out =
          y.floats[(at[2] * d.batch + at[0]) * d.width + at[1] * d.size + c];
      for (int64_t j = 0; j < keys; ++j)
        out += row[j] * v.floats[(first + j) * d.size + c];
    }
  });
  call.setResult(0, std::move(y));
  if (!state)
    return;
  call.setResult(1, k);
  call.setResult(2, v);
}

} // namespace

std::vector<EvaluatorRow> onnxref::packedAttentionEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity smooth = Continuity::Smooth;
  return {
      {"Attention", {1}, 2, attention, smooth, domain},
      {"DecoderMaskedSelfAttention", {1}, 3, attention, smooth, domain},
      {"QAttention", {1}, 5, quantisedAttention, smooth, domain},
      {"DecoderAttention", {1}, 5, decoderAttention, smooth, domain},
  };
}
