// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products.

#include "Attention/Unread.h"
#include "Factor.h"
#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Products of integers that the array does not multiply: every product, and a
/// sum along the inner axis, modulo the type as ONNX defines.
Value integerProduct(Node &n, Value a, Value b) {
  Shape left(shapeOf(a)), right(shapeOf(b));
  left.push_back(1);
  right.insert(right.end() - 2, 1);
  const int64_t axis =
      static_cast<int64_t>(std::max(left.size(), right.size())) - 2;
  Value parts = n.binary<MulOp>(n.reshape(a, left), n.reshape(b, right));
  return n.reduce(ReduceKind::Sum, parts, {axis}, /*keepdims=*/false);
}

/// The product of matrices of any type of ONNX's.
Value product(Node &n, Value a, Value b) {
  if (n.failed() || !a || !b)
    return nullptr;
  if (isFloatElement(a) || elementOf(a) != elementOf(b) ||
      shapeOf(a).back() != shapeOf(b)[rankOf(b) - 2])
    return n.matmul(a, b);
  return integerProduct(n, a, b);
}

/// A vector on the left is a row, on the right a column; the added dimension
/// leaves the result again.
void matmul(Node &n) {
  Value a = n.input(0), b = n.input(1);
  if (!a || !b)
    return;
  if (rankOf(a) == 0 || rankOf(b) == 0) {
    n.malformed("an operand is a scalar: {} and {}", typeText(a), typeText(b));
    return;
  }
  if (Value y = quantisedMatmul(n, a, b, /*transposed=*/false, Value())) {
    n.setOutput(0, y);
    return;
  }
  b = withoutUnread(n, a, b);
  if (!b)
    return;
  bool rowVector = rankOf(a) == 1, columnVector = rankOf(b) == 1;
  if (rowVector)
    a = n.reshape(a, {1, shapeOf(a)[0]});
  if (columnVector)
    b = n.reshape(b, {shapeOf(b)[0], 1});
  Value y = product(n, a, b);
  if (y && (rowVector || columnVector)) {
    Shape shape(shapeOf(y));
    if (columnVector)
      shape.pop_back();
    if (rowVector)
      shape.erase(shape.end() - (columnVector ? 1 : 2));
    y = n.reshape(y, shape);
  }
  n.setOutput(0, y);
}

void gemm(Node &n) {
  double alpha = n.getFloat("alpha", 1.0f), beta = n.getFloat("beta", 1.0f);
  bool transA = n.getInt("transA", 0), transB = n.getInt("transB", 0);
  // Operator set 6: broadcasting of C was to be asked for; set 7 always does.
  if (n.opset() < 7)
    n.getInt("broadcast", 0);
  Value a = n.input(0), b = n.input(1), c = n.optionalInput(2);
  if (!a || !b || n.failed())
    return;
  if (rankOf(a) != 2 || rankOf(b) != 2) {
    n.malformed("operands are {} and {}, expected matrices", typeText(a),
                typeText(b));
    return;
  }
  if (alpha == 1.0 && beta == 1.0 && !transA)
    if (Value y = quantisedMatmul(n, a, b, transB, c)) {
      n.setOutput(0, y);
      return;
    }
  if (transA)
    a = n.transpose(a, {1, 0});
  if (transB)
    b = n.transpose(b, {1, 0});
  Value sums = product(n, a, b);
  Value y = scaled(n, sums, alpha);
  if (y && c && beta != 0.0) {
    y = n.binary<AddOp>(y, scaled(n, c, beta));
    if (y && shapeOf(y) != shapeOf(sums))
      n.malformed("operand C {} does not broadcast to {}", typeText(c),
                  typeText(sums));
  }
  n.setOutput(0, y);
}

/// Sums modulo 2^32 of products of integers of 16 bits; of two unsigned ones
/// the result is unsigned.
void matmulInteger16(Node &n) {
  Value a = n.input(0), b = n.input(1);
  if (!a || !b)
    return;
  for (Value x : {a, b})
    if (!elementOf(x).isInteger(16) || rankOf(x) < 2)
      n.malformed("an operand is {}, expected matrices of integers of 16 bits",
                  typeText(x));
  if (n.failed())
    return;
  const bool isUnsigned =
      elementOf(a).isUnsignedInteger() && elementOf(b).isUnsignedInteger();
  const Type wide = mlir::IntegerType::get(n.context(), 32),
             result = isUnsigned
                          ? mlir::IntegerType::get(n.context(), 32,
                                                   mlir::IntegerType::Unsigned)
                          : wide;
  if (shapeOf(a).back() != shapeOf(b)[rankOf(b) - 2]) {
    n.malformed("operands are {} and {}", typeText(a), typeText(b));
    return;
  }
  Value y = integerProduct(n, n.cast(a, result), n.cast(b, result));
  n.setOutput(0, y);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::gemmRows() {
  return {
      {"MatMul",
       {1, 9, 13},
       matmul,
       "one operation; vectors are reshaped to matrices; an integer product "
       "if operands are dequantised; integers of 32 and 64 bits by products "
       "and a sum"},
      {"Gemm",
       {1, 6, 7, 9, 11, 13},
       gemm,
       "matmul with transposes, scaling by alpha and beta, and an addition; an "
       "integer product if operands are dequantised"},
      {"MatMulInteger16",
       {1},
       matmulInteger16,
       "products and a sum in 32 bits",
       "com.microsoft"},
  };
}
