// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of com.microsoft with its projections, and the embedding before it:
// what optimisers make of encoders like BERT.

#include "../Attention/Heads.h"

#include "lib/Frontend/Onnx/Registry.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Extents of one node.
struct Sizes {
  int64_t batch, queries, past, keys, heads;
};

/// [batch, heads, rows, keys] flags of keys that are no padding, from the mask
/// in one of its forms; null after recording an error.
Value keptKeys(Node &n, Value mask, const Sizes &s) {
  const Shape shape(shapeOf(mask));
  mask = n.cast(mask, n.indexType());
  auto before = [&](Value a, Value b) {
    return n.compare(CompareKind::Less, a, b);
  };
  const Value zero = n.integers(0, {}, n.indexType()),
              key = n.iota(s.keys, 3, 4, n.indexType());
  if (shape == Shape{s.batch})
    return before(key, n.reshape(mask, {s.batch, 1, 1, 1}));
  if (shape == Shape{2 * s.batch}) {
    Value ends =
        n.reshape(n.sliceAxis(mask, 0, 0, s.batch), {s.batch, 1, 1, 1});
    Value starts =
        n.reshape(n.sliceAxis(mask, 0, s.batch, s.batch), {s.batch, 1, 1, 1});
    return n.logical(LogicalKind::And, before(key, ends),
                     n.compare(CompareKind::GreaterOrEqual, key, starts));
  }
  if (shape == Shape{s.batch, s.keys})
    return before(zero, n.reshape(mask, {s.batch, 1, 1, s.keys}));
  if (shape == Shape{s.batch, s.queries, s.keys})
    return before(zero, n.reshape(mask, {s.batch, 1, s.queries, s.keys}));
  return n.unsupported("a mask_index {} for {} sequences of {} keys, expected "
                       "one or two lengths or flags for each",
                       shapeToString(shape), s.batch, s.keys);
}

/// What is added to the scores: padding, keys after the query, the bias.
Value masked(Node &n, Value scores, const Sizes &s, double filter,
             bool causal) {
  if (!scores)
    return nullptr;
  const Type element = elementOf(scores);
  auto where = [&](Value kept, double otherwise) {
    return n.where(kept, n.splat(0, element), n.splat(otherwise, element));
  };
  if (Value mask = n.optionalInput(3))
    scores = n.binary<AddOp>(scores, where(keptKeys(n, mask, s), filter));
  if (Value bias = n.optionalInput(5))
    scores = n.binary<AddOp>(scores, bias);
  if (!causal)
    return scores;
  Value own = n.binary<AddOp>(n.iota(s.queries, 2, 4, n.indexType()),
                              n.integers(s.past, {}, n.indexType()));
  return n.binary<AddOp>(
      scores, where(n.compare(CompareKind::LessOrEqual,
                              n.iota(s.keys, 3, 4, n.indexType()), own),
                    -std::numeric_limits<double>::infinity()));
}

/// Queries, keys and values [batch, heads, length, size] of the projection.
bool project(Node &n, int64_t heads, ArrayRef<int64_t> widths, Value parts[3]) {
  Value x = n.input(0), w = n.input(1), bias = n.optionalInput(2);
  if (!x || !w)
    return false;
  if (rankOf(x) != 3 || rankOf(w) != 2 || heads < 1) {
    n.malformed("operands are {} and {} for {} heads, expected 3 and 2 "
                "dimensions",
                typeText(x), typeText(w), heads);
    return false;
  }
  const int64_t third = shapeOf(w)[1] / 3;
  SmallVector<int64_t> sizes(widths);
  if (sizes.empty())
    sizes.assign(3, third);
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != shapeOf(w)[1] ||
      sizes[0] != sizes[1]) {
    n.malformed("weights {} for sizes {} of query, key and value", typeText(w),
                shapeToString(sizes));
    return false;
  }
  Value all = n.matmul(x, w);
  if (bias)
    all = n.binary<AddOp>(all, bias);
  for (int64_t i = 0, start = 0; i < 3; start += sizes[i], ++i)
    parts[i] = all ? splitHeads(n, n.sliceAxis(all, 2, start, sizes[i]), heads,
                                "num_heads")
                   : Value();
  return !n.failed() && parts[0] && parts[1] && parts[2];
}

/// Keys and values after those of the past, [2, batch, heads, length, size].
bool joinPast(Node &n, Value parts[3]) {
  Value past = n.optionalInput(4);
  Value present[2];
  for (int64_t i : {0, 1}) {
    Value &fresh = parts[i + 1];
    const Shape shape(shapeOf(fresh));
    if (past) {
      if (rankOf(past) != 5 || shapeOf(past)[0] != 2 ||
          shapeOf(past)[1] != shape[0] || shapeOf(past)[2] != shape[1] ||
          shapeOf(past)[4] != shape[3]) {
        n.malformed("a past of {} for rows {}", typeText(past),
                    typeText(fresh));
        return false;
      }
      Value old =
          n.reshape(n.sliceAxis(past, 0, i, 1), shapeOf(past).drop_front());
      fresh = n.concat({old, fresh}, 2);
    }
    if (!fresh)
      return false;
    Shape led(shapeOf(fresh));
    led.insert(led.begin(), 1);
    present[i] = n.reshape(fresh, led);
  }
  if (n.outputUsed(1))
    n.setOutput(1, n.concat({present[0], present[1]}, 0));
  return !n.failed();
}

void packedAttention(Node &n) {
  const int64_t heads = n.getInt("num_heads", 0);
  const SmallVector<int64_t> widths = n.getInts("qkv_hidden_sizes");
  const bool causal = n.getInt("unidirectional", 0) != 0;
  const double filter = n.getFloat("mask_filter_value", -10000);
  double scale = n.getFloat("scale", 0);
  if (n.getInt("do_rotary", 0) != 0)
    n.unsupported("do_rotary");
  if (n.getInt("past_present_share_buffer", 0) != 0 || n.hasInput(6))
    n.unsupported("a past in a buffer of this operator");
  n.ignore("rotary_embedding_dim");
  Value parts[3];
  if (n.failed() || !project(n, heads, widths, parts))
    return;
  const int64_t fresh = shapeOf(parts[1])[2];
  if (!joinPast(n, parts))
    return;
  const Shape shape(shapeOf(parts[0]));
  const int64_t keys = shapeOf(parts[1])[2];
  const Sizes s = {shape[0], shape[2], keys - fresh, keys, heads};
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(shape[3]));
  Value q = n.binary<MulOp>(parts[0], n.splat(scale, elementOf(parts[0])));
  Value scores = n.matmul(q, n.transpose(parts[1], {0, 1, 3, 2}));
  const Shape given(scores ? shapeOf(scores) : ShapeRef());
  scores = masked(n, scores, s, filter, causal);
  if (scores && shapeOf(scores) != ShapeRef(given)) {
    n.malformed("the bias {} does not fit scores {}", typeText(n.input(5)),
                shapeToString(given));
    return;
  }
  Value y = n.matmul(n.softmax(scores, 3, /*logarithm=*/false), parts[2]);
  if (!y)
    return;
  n.setOutput(0, n.reshape(n.transpose(y, {0, 2, 1, 3}),
                           {shape[0], shape[2], heads * shapeOf(y)[3]}));
}

/// Rows of a table at indices of any shape.
Value rowsOf(Node &n, Value table, Value indices) {
  if (!table || !indices)
    return nullptr;
  if (rankOf(table) != 2)
    return n.malformed("a table is {}, expected 2 dimensions", typeText(table));
  Shape shape(shapeOf(indices));
  const int64_t count = elementCount(shape);
  shape.push_back(shapeOf(table)[1]);
  Value rows =
      n.takeAt(table, n.reshape(n.cast(indices, n.indexType()), {count, 1}), 0);
  return n.reshape(rows, shape);
}

/// Words, positions and segments, a normalisation of the last axis, and the
/// number of words of each sequence.
void embedLayerNorm(Node &n) {
  const double epsilon = n.getFloat("epsilon", 1e-12f);
  const int64_t kind = n.getInt("mask_index_type", 1);
  Value words = n.input(0), scale = n.input(5), shift = n.input(6);
  if (!words || !scale || !shift || rankOf(words) != 2) {
    if (words && !n.failed())
      n.malformed("input_ids are {}, expected 2 dimensions", typeText(words));
    return;
  }
  const Shape shape(shapeOf(words));
  Value x = rowsOf(n, n.input(2), words);
  Value places =
      n.hasInput(8) ? n.input(8) : n.iota(shape[1], 1, 2, n.indexType());
  x = n.binary<AddOp>(x, rowsOf(n, n.input(3), places));
  if (n.hasInput(1) && n.hasInput(4))
    x = n.binary<AddOp>(x, rowsOf(n, n.input(4), n.input(1)));
  if (!x)
    return;
  n.setOutput(2, x);
  Value centred =
      n.binary<SubOp>(x, n.reduce(ReduceKind::Mean, x, {2}, /*keepdims=*/true));
  Value variance =
      n.reduce(ReduceKind::Mean, n.binary<MulOp>(centred, centred), {2}, true);
  Value deviation =
      n.unary(UnaryFunction::Sqrt,
              n.binary<AddOp>(variance, n.splat(epsilon, elementOf(x))));
  Value y = n.binary<MulOp>(n.binary<DivOp>(centred, deviation), scale);
  n.setOutput(0, n.binary<AddOp>(y, shift));
  if (!n.outputUsed(1))
    return;
  const Type narrow = mlir::IntegerType::get(n.context(), 32);
  if (kind == 0 || !n.hasInput(7))
    n.setOutput(1, n.splat(0, narrow, {shape[0]}));
  else
    n.setOutput(1, n.reduce(ReduceKind::Sum, n.cast(n.input(7), narrow), {1},
                            /*keepdims=*/false));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::packedAttentionRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"Attention",
       {1},
       packedAttention,
       "a product for all projections, then as Attention of ONNX; lengths or "
       "flags as the mask; no buffers and no rotary positions",
       domain},
      {"EmbedLayerNormalization",
       {1},
       embedLayerNorm,
       "reads of tables, reductions and element-wise operations",
       domain},
  };
}
