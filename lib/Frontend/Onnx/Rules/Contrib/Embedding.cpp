// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of tables at indices, and the embedding before encoders like BERT, of
// floats and of quantised numbers.

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Rows of a table at indices of any shape.
Value rowsAt(Node &n, Value table, Value indices) {
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

/// The embedding's operands; parameters of numbers that are not floats are
/// scales and zero points by operand.
struct Embedding {
  /// Operand i as floats, or its rows at indices: table, scale, zero point.
  struct Numbers {
    size_t at, scale, zero;
  };
  Value words, segments, positions, mask;
  Numbers table, places, kinds, scale, shift;
};

/// (q - zero) * scale where there is a scale; floats stay.
Value asFloats(Node &n, Value q, const Embedding::Numbers &numbers) {
  if (!q || numbers.scale == numbers.at)
    return q;
  Value scale = n.input(numbers.scale), zero = n.input(numbers.zero);
  if (!scale || !zero)
    return nullptr;
  if (!isSmallInteger(elementOf(q), 8) || elementOf(zero) != elementOf(q) ||
      elementCount(shapeOf(scale)) != 1 || elementCount(shapeOf(zero)) != 1)
    return n.malformed("numbers {} with scale {} and zero point {}, expected "
                       "integers of 8 bits and one number each",
                       typeText(q), typeText(scale), typeText(zero));
  Value centred = n.binary<SubOp>(n.cast(q, f32Of(n)),
                                  n.cast(n.reshape(zero, {}), f32Of(n)));
  return n.binary<MulOp>(centred, n.reshape(scale, {}));
}

Value rowsOf(Node &n, const Embedding::Numbers &table, Value indices) {
  return asFloats(n, rowsAt(n, n.input(table.at), indices), table);
}

/// Words, positions and segments, and a normalisation of the last axis. The sum
/// before it is the result.
Value embed(Node &n, const Embedding &e, double epsilon) {
  if (rankOf(e.words) != 2)
    return n.malformed("input_ids are {}, expected 2 dimensions",
                       typeText(e.words));
  Value scale = asFloats(n, n.input(e.scale.at), e.scale),
        shift = asFloats(n, n.input(e.shift.at), e.shift);
  Value x = rowsOf(n, e.table, e.words);
  Value places = e.positions ? e.positions
                             : n.iota(shapeOf(e.words)[1], 1, 2, n.indexType());
  x = n.binary<AddOp>(x, rowsOf(n, e.places, places));
  if (e.segments)
    x = n.binary<AddOp>(x, rowsOf(n, e.kinds, e.segments));
  if (!x || !scale || !shift)
    return nullptr;
  Value centred =
      n.binary<SubOp>(x, n.reduce(ReduceKind::Mean, x, {2}, /*keepdims=*/true));
  Value variance =
      n.reduce(ReduceKind::Mean, n.binary<MulOp>(centred, centred), {2}, true);
  Value deviation =
      n.unary(UnaryFunction::Sqrt,
              n.binary<AddOp>(variance, n.splat(epsilon, elementOf(x))));
  Value y = n.binary<MulOp>(n.binary<DivOp>(centred, deviation), scale);
  n.setOutput(0, n.binary<AddOp>(y, shift));
  return x;
}

/// Output 1: how many words of each sequence the mask keeps, or zeros.
void setCounts(Node &n, const Embedding &e, Value flags) {
  if (!n.outputUsed(1))
    return;
  const Type narrow = mlir::IntegerType::get(n.context(), 32);
  if (!e.mask)
    n.setOutput(1, n.splat(0, narrow, {shapeOf(e.words)[0]}));
  else
    n.setOutput(1, n.reduce(ReduceKind::Sum, n.cast(flags, narrow), {1},
                            /*keepdims=*/false));
}

void embedLayerNorm(Node &n) {
  const double epsilon = n.getFloat("epsilon", 1e-12f);
  const int64_t kind = n.getInt("mask_index_type", 1);
  Embedding e;
  e.words = n.input(0);
  e.segments = n.hasInput(4) ? n.optionalInput(1) : Value();
  e.positions = n.optionalInput(8);
  e.mask = kind == 0 ? Value() : n.optionalInput(7);
  e.table = {2, 2, 2};
  e.places = {3, 3, 3};
  e.kinds = {4, 4, 4};
  e.scale = {5, 5, 5};
  e.shift = {6, 6, 6};
  Value sum = e.words ? embed(n, e, epsilon) : Value();
  if (!sum)
    return;
  n.setOutput(2, sum);
  setCounts(n, e, e.mask);
}

/// Tables, scale and shift are integers of 8 bits.
void quantisedEmbedLayerNorm(Node &n) {
  const double epsilon = n.getFloat("epsilon", 1e-12f);
  Embedding e;
  e.words = n.input(0);
  e.segments = n.optionalInput(1);
  e.mask = n.optionalInput(7);
  e.table = {2, 8, 13};
  e.places = {3, 9, 14};
  e.kinds = {4, 10, 15};
  e.scale = {5, 11, 16};
  e.shift = {6, 12, 17};
  for (size_t i : {4, 10, 15})
    if (n.hasInput(i) != n.hasInput(1))
      n.malformed("inputs 1, 4, 10 and 15 (the segments) are not all there or "
                  "all omitted");
  if (n.failed() || !e.words || !embed(n, e, epsilon))
    return;
  // Flags other than 1 do not count.
  Value one = e.mask ? n.integers(1, {}, elementOf(e.mask)) : Value();
  setCounts(n, e,
            e.mask ? n.compare(CompareKind::Equal, e.mask, one) : Value());
}

/// What its other operands say is about gradients.
void torchEmbedding(Node &n) {
  n.setOutput(0, rowsAt(n, n.input(0), n.input(1)));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::embeddingRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"EmbedLayerNormalization",
       {1},
       embedLayerNorm,
       "reads of tables, reductions and element-wise operations",
       domain},
      {"QEmbedLayerNormalization",
       {1},
       quantisedEmbedLayerNorm,
       "as EmbedLayerNormalization, with the numbers' formula",
       domain},
      {"TorchEmbedding", {1}, torchEmbedding, "reads of a table", domain},
  };
}
