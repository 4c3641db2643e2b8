// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with narrow floats that have a scale for each block, and with blobs
// of 4 bits.

#include "lib/Frontend/OnnxReference/Convolution.h"
#include "lib/Frontend/OnnxReference/Narrow.h"
#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>
#include <cstring>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// x times the transpose of w [columns, depth], whose numbers are of the type
/// of x, and a bias.
void setProduct(Call &call, const Tensor &x, const Tensor &w, size_t biasAt) {
  const int64_t columns = w.shape[0], depth = w.shape[1];
  Tensor turned = rearranged(w, {depth, columns}, [&](ArrayRef<int64_t> at) {
    return at[1] * depth + at[0];
  });
  reference::roundToType(turned, x.type);
  Tensor y = multiplyMatrices(call, x, turned);
  if (!call.failed() && call.has(biasAt))
    y = zip(call, y, call.operand(biasAt), y.type,
            [](auto p, auto q) { return p + q; });
  call.setResult(0, std::move(y));
}

/// The place of the scale of element i of [columns, depth].
int64_t blockOf(Call &call, int64_t i, int64_t depth, int64_t block) {
  const int64_t blocks = (depth + block - 1) / block,
                place = i / depth * blocks + i % depth / block;
  return call.require(block > 0 && place < call.operand(2).size(),
                      "there are too few scales")
             ? place
             : 0;
}

void matmulOfFloat8(Call &call) {
  const frontend::NarrowType &type = *frontend::findNarrow("float8e4m3fn");
  Tensor x = call.operand(0), w = call.operand(1);
  const int64_t block = call.getInt("block_size", 128);
  if (!call.require(rankOf(w) == 2 && w.isFloat() && x.isFloat() && block > 0,
                    "operands do not fit"))
    return;
  for (int64_t i = 0; i < w.size() && !call.failed(); ++i)
    w.floats[i] *= call.operand(2).floats[blockOf(call, i, w.shape[1], block)];
  w.type = ElementType::F32;
  if (call.has(3)) {
    const double scale = call.operand(3).floats[0];
    for (double &value : x.floats)
      value = nearestIn(type, static_cast<float>(value / scale), true) * scale;
    reference::roundToType(x, x.type);
  }
  if (!call.failed())
    setProduct(call, x, w, 4);
}

void matmulOfFloat4(Call &call) {
  const Tensor &bytes = call.operand(1), &codes = call.operand(2);
  const int64_t block = call.getInt("block_size", 16);
  if (!call.require(rankOf(bytes) == 2 && block > 0 &&
                        call.operand(3).size() == 1,
                    "operands do not fit"))
    return;
  const int64_t depth = 2 * bytes.shape[1];
  Tensor own(ElementType::I64, {bytes.shape[0], depth});
  for (int64_t i = 0; i < own.size(); ++i)
    own.ints[i] = i % 2 ? bytes.ints[i / 2] / 16 : bytes.ints[i / 2] % 16;
  const Tensor numbers = valuesOf(own, *frontend::findNarrow("float4e2m1")),
               scales = valuesOf(codes, *frontend::findNarrow("float8e4m3fn"));
  Tensor w(ElementType::F32, own.shape);
  for (int64_t i = 0; i < w.size() && !call.failed(); ++i)
    w.floats[i] = numbers.floats[i] * call.operand(3).floats[0] *
                  scales.floats[blockOf(call, i, depth, block)];
  if (!call.failed())
    setProduct(call, call.operand(0), w, 5);
}

void matmulOfBlobs(Call &call) {
  const int64_t kind = call.getInt("blk_quant_type", 1),
                size = kind == 2 ? 64 : 32, head = kind == 1 ? 5 : 4,
                blob = head + size / 2;
  const SmallVector<int64_t> shape = call.integers(2);
  if (!call.require(shape.size() == 2 && shape[0] > 0 && shape[1] > 0,
                    "the shape is not of a matrix"))
    return;
  const int64_t depth = shape[0], blocks = (depth + size - 1) / size;
  const Tensor &bytes = call.operand(1);
  if (!call.require(bytes.size() == shape[1] * blocks * blob,
                    "the blob's size"))
    return;
  Tensor w(ElementType::F32, {shape[1], depth});
  for (int64_t block = 0; block < shape[1] * blocks; ++block) {
    const int64_t *at = &bytes.ints[block * blob];
    unsigned char raw[4];
    for (int i = 0; i < 4; ++i)
      raw[i] = static_cast<unsigned char>(at[i]);
    float scale;
    std::memcpy(&scale, raw, sizeof(scale));
    const int64_t zero = kind == 1 ? at[4] : 8;
    // Element l of 32 is in byte l of 16, or in the high half of byte l - 16.
    for (int64_t l = 0; l < size; ++l) {
      const int64_t k = block % blocks * size + l,
                    byte = at[head + l / 32 * 16 + l % 16];
      if (k < depth)
        w.floats[block / blocks * depth + k] =
            static_cast<double>((l % 32 < 16 ? byte % 16 : byte / 16) - zero) *
            static_cast<double>(scale);
    }
  }
  setProduct(call, call.operand(0), w, ~size_t(0));
}

} // namespace

std::vector<EvaluatorRow> onnxref::scaledWeightEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity steps = Continuity::OpenSteps,
                       smooth = Continuity::Smooth;
  return {
      {"MatMulBlockQuantizedFp8Weight", {1}, 3, matmulOfFloat8, steps, domain},
      {"MatMulBlockQuantizedFp4Weight", {1}, 4, matmulOfFloat4, smooth, domain},
      {"MatMulFpQ4", {1}, 3, matmulOfBlobs, smooth, domain},
  };
}
