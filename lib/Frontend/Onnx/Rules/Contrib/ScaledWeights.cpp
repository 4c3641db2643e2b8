// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant weights as narrow floats with a scale for each block, and as blobs
// of 4 bits: to the numbers they stand for, at compile time.

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"
#include "lib/Frontend/Onnx/Types/NarrowValues.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Products stay far below 2^63.
constexpr int64_t kMost = int64_t(1) << 24;

/// A matrix of \p columns by \p depth and the blocks of its rows.
struct Matrix {
  int64_t columns, depth, block;

  int64_t blocks() const { return llvm::divideCeil(depth, block); }
};

/// A times the transpose of the matrix whose elements \p at gives, and a bias.
void setProduct(Node &n, Value x, const Matrix &f, Value bias,
                llvm::function_ref<double(int64_t column, int64_t k)> at) {
  if (n.failed() || !x)
    return;
  if (rankOf(x) < 1 || shapeOf(x).back() != f.depth) {
    n.malformed("A is {}, expected {} in its last dimension", typeText(x),
                f.depth);
    return;
  }
  if (!n.reserve(f.depth * f.columns, sizeof(double) + sizeof(float)))
    return;
  std::vector<double> weights(f.depth * f.columns);
  for (int64_t column = 0; column < f.columns; ++column)
    for (int64_t k = 0; k < f.depth; ++k)
      weights[k * f.columns + column] = at(column, k);
  Value w = n.floats(weights, {f.depth, f.columns}, elementOf(x));
  Shape shape(shapeOf(x));
  Value rows = n.reshape(x, {elementCount(shape) / f.depth, f.depth});
  shape.back() = f.columns;
  Value y = n.reshape(n.matmul(rows, w), shape);
  n.setOutput(0, bias ? n.binary<AddOp>(y, bias) : y);
}

/// Extents of operand 1 as a matrix; `packing` elements lie in each.
std::optional<Matrix> readMatrix(Node &n, int64_t packing, int64_t block) {
  Matrix f{0, 0, n.getInt("block_size", block)};
  Value x = n.input(0), w = n.input(1);
  if (n.failed() || !x || !w)
    return std::nullopt;
  if (rankOf(w) == 2) {
    f.columns = shapeOf(w)[0];
    f.depth = packing * shapeOf(w)[1];
  }
  if (f.columns >= 1 && f.depth >= 1 && f.columns <= kMost &&
      f.depth <= kMost && f.block >= 1 && f.block <= kMost)
    return f;
  n.malformed("B is {} and block_size {}, expected a matrix and a positive "
              "number",
              typeText(w), f.block);
  return std::nullopt;
}

/// float8e4m3fn weights; with a scale the input is rounded to that type too.
void matmulOfFloat8(Node &n) {
  std::optional<Matrix> f = readMatrix(n, 1, 128);
  if (!f)
    return;
  const NarrowType *type = findNarrow("float8e4m3fn");
  Value x = n.input(0);
  if (n.narrowInput(1) != type) {
    n.malformed("B is {}, expected float8e4m3fn", typeText(n.input(1)));
    return;
  }
  auto numbers = n.constantNumbers(1, "B", f->columns * f->depth);
  auto scales = n.constantNumbers(2, "b_scale", f->columns * f->blocks());
  if (!numbers || !scales)
    return;
  if (n.hasInput(3)) {
    Value scale = n.input(3);
    if (elementCount(shapeOf(scale)) != 1) {
      n.malformed("a_scale is {}, expected one number", typeText(scale));
      return;
    }
    scale = n.reshape(n.cast(scale, f32Of(n)), {});
    Value q = n.binary<DivOp>(n.cast(x, f32Of(n)), scale);
    q = n.cast(castToNarrow(n, q, *type, /*saturate=*/true), f32Of(n));
    x = n.cast(n.binary<MulOp>(q, scale), elementOf(x));
  }
  setProduct(n, x, *f, n.optionalInput(4), [&](int64_t column, int64_t k) {
    return (*numbers)[column * f->depth + k] *
           (*scales)[column * f->blocks() + k / f->block];
  });
}

/// Two float4e2m1 codes in each byte, a float8e4m3fn code for each block as a
/// scale, and a scale of all.
void matmulOfFloat4(Node &n) {
  std::optional<Matrix> f = readMatrix(n, 2, 16);
  if (!f)
    return;
  const NarrowType &number = *findNarrow("float4e2m1"),
                   &factor = *findNarrow("float8e4m3fn");
  auto bytes = n.constantNumbers(1, "B", f->columns * f->depth / 2);
  auto codes = n.constantNumbers(2, "weight_scale", f->columns * f->blocks());
  auto whole = n.constantNumber(3, "weight_scale_2");
  if (!bytes || !codes || !whole)
    return;
  setProduct(n, n.input(0), *f, n.optionalInput(5),
             [&](int64_t column, int64_t k) {
               const auto byte =
                   static_cast<unsigned>((*bytes)[(column * f->depth + k) / 2]);
               const auto code = static_cast<unsigned>(
                   (*codes)[column * f->blocks() + k / f->block]);
               return decode(number, byte >> (k % 2 * 4) & 15) * *whole *
                      decode(factor, code);
             });
}

/// Blobs of one block after the other down each column: a scale of binary32, a
/// zero point of one byte where there is one, and 16 bytes for every 32
/// elements, whose second half is in the high bits.
void matmulOfBlobs(Node &n) {
  const int64_t kind = n.getInt("blk_quant_type", 1);
  auto shape = n.constantIntegers(2, "B_shape");
  auto bytes = n.constantIntegers(1, "B");
  if (n.failed() || !shape || !bytes)
    return;
  if (kind < 0 || kind > 2 || shape->size() != 2 || (*shape)[0] < 1 ||
      (*shape)[1] < 1 || (*shape)[0] > kMost || (*shape)[1] > kMost) {
    n.malformed(
        "blk_quant_type is {} and B_shape [{}], expected 0 to 2 and two "
        "extents",
        kind, fmt::join(*shape, ", "));
    return;
  }
  const Matrix f{(*shape)[1], (*shape)[0], kind == 2 ? 64 : 32};
  const int64_t head = kind == 1 ? 5 : 4, blob = head + f.block / 2;
  if (static_cast<int64_t>(bytes->size()) != f.columns * f.blocks() * blob) {
    n.malformed("B has {} bytes, expected {}", bytes->size(),
                f.columns * f.blocks() * blob);
    return;
  }
  setProduct(n, n.input(0), f, Value(), [&](int64_t column, int64_t k) {
    const int64_t *at =
        bytes->data() + (column * f.blocks() + k / f.block) * blob;
    uint32_t word = 0;
    for (int i = 0; i < 4; ++i)
      word |= static_cast<uint32_t>(at[i] & 255) << (8 * i);
    const int64_t place = k % f.block, zero = kind == 1 ? at[4] & 255 : 8,
                  byte = at[head + place / 32 * 16 + place % 16];
    const int64_t q = byte >> (place % 32 / 16 * 4) & 15;
    return static_cast<double>(q - zero) *
           static_cast<double>(llvm::bit_cast<float>(word));
  });
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::scaledWeightRows() {
  constexpr const char *domain = "com.microsoft",
                       *note = "matmul with the weights' numbers; weights and "
                               "scales must be constant";
  return {
      {"MatMulBlockQuantizedFp8Weight", {1}, matmulOfFloat8, note, domain},
      {"MatMulBlockQuantizedFp4Weight", {1}, matmulOfFloat4, note, domain},
      {"MatMulFpQ4", {1}, matmulOfBlobs, note, domain},
  };
}
