// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inverses of small matrices by elimination: the row with the largest element
// of a column is that column's pivot.

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Each column of a matrix is some ten operations.
constexpr int64_t kMostRows = 16;

/// Matrices [batch, rows, 2 * rows], whose first half has become the identity
/// up to column \p k.
Value eliminateColumn(Node &n, Value all, int64_t k) {
  if (!all)
    return nullptr;
  const Shape shape(shapeOf(all));
  const int64_t batch = shape[0], rows = shape[1];
  const Type type = elementOf(all);
  Value column = n.sliceAxis(n.sliceAxis(all, 2, k, 1), 1, k, rows - k);
  Value pivot = n.argReduce(ArgKind::Max, n.unary(UnaryFunction::Abs, column),
                            1, /*keepdims=*/true, /*selectLast=*/false);
  Value row = n.iota(rows, 1, 3, n.indexType()),
        own = n.integers(k, {}, n.indexType());
  Value chosen =
      n.compare(CompareKind::Equal, row,
                n.binary<AddOp>(n.reshape(pivot, {batch, 1, 1}), own));
  // One term of the sum is not 0.
  Value top = n.reduce(ReduceKind::Sum, n.where(chosen, all, n.splat(0, type)),
                       {1}, true);
  Value unit = n.binary<DivOp>(top, n.sliceAxis(top, 2, k, 1));
  Value swapped = n.where(chosen, n.sliceAxis(all, 1, k, 1), all);
  Value rest = n.binary<SubOp>(
      swapped, n.binary<MulOp>(n.sliceAxis(swapped, 2, k, 1), unit));
  return n.where(n.compare(CompareKind::Equal, row, own), unit, rest);
}

void inverse(Node &n) {
  Value x = n.input(0);
  if (!x)
    return;
  const Shape shape(shapeOf(x));
  const int64_t rows = shape.size() < 2 ? 0 : shape.back();
  if (rows < 1 || shape[shape.size() - 2] != rows || !isFloatElement(x)) {
    n.malformed("the input is {}, expected square matrices of floats",
                typeText(x));
    return;
  }
  if (rows > kMostRows) {
    n.unsupported("matrices of {} rows, expected at most {}", rows, kMostRows);
    return;
  }
  const int64_t batch = elementCount(shape) / (rows * rows);
  const Type type = f32Of(n);
  SmallVector<double> identity;
  for (int64_t i = 0; i < rows * rows; ++i)
    identity.push_back(i / rows == i % rows);
  Value right = n.broadcast(n.floats(identity, {1, rows, rows}, type),
                            {batch, rows, rows});
  Value all =
      n.concat({n.reshape(n.cast(x, type), {batch, rows, rows}), right}, 2);
  for (int64_t k = 0; k < rows; ++k)
    all = eliminateColumn(n, all, k);
  Value y = all ? n.sliceAxis(all, 2, rows, rows) : Value();
  n.setOutput(0, y ? n.cast(n.reshape(y, shape), elementOf(x)) : Value());
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::inverseRows() {
  return {{"Inverse",
           {1},
           inverse,
           "its elimination in binary32; up to 16 rows",
           "com.microsoft"}};
}
