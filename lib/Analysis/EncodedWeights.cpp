// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoding and aligning of constant weights.

#include "ashlar/Analysis/EncodedWeights.h"

#include "ashlar/Analysis/StationaryPlan.h"
#include "ashlar/Analysis/StorageType.h"
#include "ashlar/Numerics/Encode.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace ashlar::analysis {

std::vector<float> constantFloats(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant ? nn::floatElements(constant.getValue())
                  : std::vector<float>();
}

std::vector<uint32_t> constantWords(Value value) {
  std::vector<uint32_t> words;
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  if (!constant || (!element.isF32() && !element.isSignlessInteger(32)))
    return words;
  std::vector<char> storage;
  if (auto bytes = nn::rawElements(constant.getValue(), storage)) {
    words.resize(bytes->size() / sizeof(uint32_t));
    std::memcpy(words.data(), bytes->data(), bytes->size());
  }
  return words;
}

/// The constant behind the weights of a product; zeros where it has no elements
/// to read, which the conversion to instructions refuses.
static std::vector<float> weightFloats(Operation *op, int64_t count) {
  Value weights = op->getOperand(1);
  auto encode = weights.getDefiningOp<bfp::EncodeOp>();
  std::vector<float> values =
      constantFloats(encode ? encode.getInput() : weights);
  values.resize(count);
  return values;
}

EncodedWeights::EncodedWeights(Operation *op) {
  Value encoded = op->getOperand(1);
  ProductShape product = productShape(op);
  mantissaBits = product.weightFormat.mantissa;
  range = product.weightFormat.range;
  taps = product.taps;
  channels = product.channels / product.groups;
  blockLength =
      product.weightFormat.block > 0 ? product.weightFormat.block : channels;
  blocks = llvm::divideCeil(channels, blockLength);
  if (!storageOf(encoded).encoded) {
    packIntegers(op, product.outputs);
    return;
  }
  std::vector<float> values =
      weightFloats(op, product.outputs * channels * taps);
  mantissas.resize(values.size());
  cells.resize(product.outputs * taps * blocks);
  scales.resize(product.outputs);
  bool isConv = !isa<npu::PeMatmulOp>(op);
  if (product.weightFormat.block == numerics::BlockFormat::kTensor)
    encodeTensor(values, isConv);
  else
    for (int64_t o = 0; o < product.outputs; ++o) {
      // Convolutions store [O, C, taps], matrix products [K, N].
      if (isConv)
        encodeOutput(o, values.data() + o * channels * taps, 1, taps);
      else
        encodeOutput(o, values.data() + o, 0, product.outputs);
    }
}

llvm::ArrayRef<uint32_t> EncodedWeights::nonZeros(int64_t output) const {
  if (counts.empty() && taps > 0) {
    const size_t width = channels;
    counts.resize(mantissas.size() / taps);
    for (size_t row = 0; row * width < mantissas.size(); ++row) {
      uint32_t *own = counts.data() + row / taps * width;
      const int16_t *mantissa = mantissas.data() + row * width;
      for (size_t c = 0; c < width; ++c)
        own[c] += mantissa[c] != 0;
    }
  }
  return llvm::ArrayRef(counts).slice(output * channels, channels);
}

void EncodedWeights::packIntegers(Operation *op, int64_t outputs) {
  std::vector<float> values = weightFloats(op, outputs * channels * taps);
  mantissas.resize(values.size());
  cells.resize(outputs * taps * blocks);
  scales.resize(outputs);
  bool isConv = !isa<npu::PeMatmulOp>(op);
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < channels; ++c)
        mantissas[(o * taps + tap) * channels + c] = static_cast<int16_t>(
            values[isConv ? (o * channels + c) * taps + tap : c * outputs + o]);
}

void EncodedWeights::encodeTensor(llvm::ArrayRef<float> values, bool isConv) {
  numerics::EncodeCounters counters;
  std::vector<int16_t> codes(values.size());
  int8_t cell = numerics::encodeBlock(values, mantissaBits, codes, counters);
  const auto outputs = static_cast<int64_t>(scales.size());
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < channels; ++c)
        mantissas[(o * taps + tap) * channels + c] =
            codes[isConv ? (o * channels + c) * taps + tap : c * outputs + o];
  // Every output has the scale of the one block, which is then not shifted.
  llvm::fill(scales, numerics::stepExponent(cell, mantissaBits));
  llvm::fill(cells, cell == numerics::kZeroBlock
                        ? cell
                        : static_cast<int8_t>(mantissaBits - 2));
}

void EncodedWeights::encodeOutput(int64_t output, const float *values,
                                  int64_t tapStride, int64_t channelStride) {
  numerics::EncodeCounters counters;
  std::vector<float> block(blockLength);
  int scale = numerics::kClearedScale;
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t b = 0; b < blocks; ++b) {
      int64_t first = b * blockLength;
      int64_t count = std::min(blockLength, channels - first);
      for (int64_t i = 0; i < count; ++i)
        block[i] = values[tap * tapStride + (first + i) * channelStride];
      int64_t at = (output * taps + tap) * channels + first;
      int8_t cell = numerics::encodeBlock(
          llvm::ArrayRef(block).take_front(count), mantissaBits,
          llvm::MutableArrayRef(mantissas).slice(at, count), counters);
      cells[(output * taps + tap) * blocks + b] = cell;
      if (cell != numerics::kZeroBlock)
        scale = std::max(scale, numerics::stepExponent(cell, mantissaBits));
    }
  if (scale == numerics::kClearedScale)
    scale = numerics::scaleOrDefault(numerics::kClearedScale, mantissaBits);
  scales[output] = scale;
  // Blocks more than D octaves below the scale round a second time, once and
  // for all; what is stored is relative to the scale.
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t b = 0; b < blocks; ++b) {
      int8_t &cell = cells[(output * taps + tap) * blocks + b];
      if (cell == numerics::kZeroBlock)
        continue;
      int shift = scale - numerics::stepExponent(cell, mantissaBits);
      int extra = std::max(shift - range, 0);
      int64_t first = (output * taps + tap) * channels + b * blockLength;
      int64_t count = std::min(blockLength, channels - b * blockLength);
      for (int64_t i = 0; extra > 0 && i < count; ++i)
        mantissas[first + i] = static_cast<int16_t>(
            numerics::shiftRightEven(mantissas[first + i], extra));
      cell = static_cast<int8_t>(mantissaBits - 2 - (shift - extra));
    }
}

} // namespace ashlar::analysis
