// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoding and aligning of constant weights.

#include "ashlar/Analysis/Array/EncodedWeights.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Numerics/Encode.h"
#include "ashlar/Numerics/Kernels.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Threading.h"
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
  nn::ElementStorage storage;
  if (auto bytes = nn::rawElements(constant.getValue(), storage)) {
    words.resize(bytes->size() / sizeof(uint32_t));
    std::memcpy(words.data(), bytes->data(), bytes->size());
  }
  return words;
}

/// Elements of filters, and columns of a matrix, that a thread takes at once.
static constexpr int64_t partElements = 65536, partColumns = 64;

namespace {
/// The constant that becomes the weights of a product as binary32.
class WeightFloats {
public:
  WeightFloats(Operation *op, int64_t count) {
    Value weights = op->getOperand(1);
    auto encode = weights.getDefiningOp<bfp::EncodeOp>();
    Value value = encode ? encode.getInput() : weights;
    if (auto constant = value.getDefiningOp<nn::ConstantOp>()) {
      elements.emplace(constant.getValue());
      values = elements->get();
    }
    if (values.size() == static_cast<size_t>(count))
      return;
    // Zeros where it has no elements to read, which the conversion to
    // instructions refuses.
    copy = values.vec();
    copy.resize(count);
    values = copy;
  }
  WeightFloats(const WeightFloats &) = delete;

  llvm::ArrayRef<float> get() const { return values; }
  /// True if these are the elements of the constant and nothing else.
  bool isWhole() const { return copy.empty(); }

private:
  std::optional<nn::FloatElements> elements;
  std::vector<float> copy;
  llvm::ArrayRef<float> values;
};
} // namespace

EncodedWeights::EncodedWeights(Operation *op, Also also) {
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
  const WeightFloats weights(op, product.outputs * channels * taps);
  llvm::ArrayRef<float> values = weights.get();
  if (also == Also::SourceZeros && weights.isWhole())
    zerosBefore = llvm::count(values, 0.0f);
  mantissas.resize(values.size());
  cells.resize(product.outputs * taps * blocks);
  scales.resize(product.outputs);
  bool isConv = !isa<npu::PeMatmulOp>(op);
  if (product.weightFormat.block == numerics::BlockFormat::kTensor)
    encodeTensor(values, isConv);
  else if (const int64_t rows = product.weightFormat.rows; rows > 1)
    mlir::parallelFor(op->getContext(), 0,
                      llvm::divideCeil(product.outputs, rows), [&](size_t i) {
                        numerics::FloatEnvironment environment;
                        const auto begin = static_cast<int64_t>(i) * rows;
                        encodeRows(values.data(), isConv, begin,
                                   std::min(begin + rows, product.outputs));
                      });
  else
    encodeOutputs(op->getContext(), values.data(), isConv);
}

void EncodedWeights::encodeRows(const float *values, bool isConv, int64_t begin,
                                int64_t end) {
  const auto outputs = static_cast<int64_t>(scales.size());
  numerics::EncodeCounters counters;
  std::vector<float> tile;
  std::vector<int16_t> codes;
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t first = b * blockLength;
      const int64_t last = std::min(first + blockLength, channels);
      tile.clear();
      for (int64_t o = begin; o < end; ++o)
        for (int64_t c = first; c < last; ++c)
          tile.push_back(values[isConv ? (o * channels + c) * taps + tap
                                       : c * outputs + o]);
      codes.resize(tile.size());
      const int8_t cell = numerics::encodeBlock(llvm::ArrayRef(tile),
                                                mantissaBits, codes, counters);
      const int16_t *from = codes.data();
      for (int64_t o = begin; o < end; ++o, from += last - first) {
        cells[(o * taps + tap) * blocks + b] = cell;
        std::copy_n(from, last - first,
                    mantissas.begin() + (o * taps + tap) * channels + first);
      }
    }
  // All of them have the same cells, and so the same scale exponent.
  for (int64_t o = begin; o < end; ++o)
    alignOutput(o);
}

void EncodedWeights::encodeOutputs(MLIRContext *context, const float *values,
                                   bool isConv) {
  const auto outputs = static_cast<int64_t>(scales.size());
  const int64_t length = std::max<int64_t>(channels * taps, 1);
  // Rows of matrices are read by whole cache lines.
  const int64_t part =
      isConv ? std::max<int64_t>(partElements / length, 1) : partColumns;
  mlir::parallelFor(context, 0, llvm::divideCeil(outputs, part), [&](size_t i) {
    numerics::FloatEnvironment environment;
    const int64_t begin = static_cast<int64_t>(i) * part;
    const int64_t end = std::min(begin + part, outputs);
    if (isConv)
      encodeFilters(values, begin, end);
    else
      encodeColumns(values, begin, end);
  });
}

void EncodedWeights::unfoldDepth(int64_t depth, int64_t width) {
  const int64_t plane = taps / depth, ownBlocks = blocks;
  const int64_t planeBlocks =
      ownBlocks == 1 ? 1 : llvm::divideCeil(width, blockLength);
  const auto outputs = static_cast<int64_t>(scales.size());
  support::RawVector<int16_t> spread(outputs * plane * depth * width);
  llvm::fill(spread, 0);
  std::vector<int8_t> spreadCells(outputs * plane * depth * planeBlocks,
                                  numerics::kZeroBlock);
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t tap = 0; tap < plane; ++tap) {
        const int64_t from = o * taps + k * plane + tap;
        const int64_t to = (o * plane + tap) * depth + k;
        std::copy_n(mantissas.begin() + from * channels, channels,
                    spread.begin() + to * width);
        std::copy_n(cells.begin() + from * ownBlocks, ownBlocks,
                    spreadCells.begin() + to * planeBlocks);
      }
  if (ownBlocks == 1)
    blockLength = width;
  mantissas = std::move(spread);
  cells = std::move(spreadCells);
  taps = plane, channels = depth * width, blocks = depth * planeBlocks;
}

int64_t EncodedWeights::numNonZeros() const {
  return static_cast<int64_t>(mantissas.size()) -
         llvm::count(mantissas, int16_t(0));
}

void EncodedWeights::packIntegers(Operation *op, int64_t outputs) {
  const WeightFloats weights(op, outputs * channels * taps);
  llvm::ArrayRef<float> values = weights.get();
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

void EncodedWeights::encodeFilters(const float *values, int64_t begin,
                                   int64_t end) {
  const numerics::KernelTable &kernels = numerics::bestKernels();
  numerics::EncodeStats stats;
  std::vector<float> turned(taps > 1 ? channels * taps : 0);
  for (int64_t o = begin; o < end; ++o) {
    const float *filter = values + o * channels * taps;
    for (int64_t c = 0; taps > 1 && c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap)
        turned[tap * channels + c] = filter[c * taps + tap];
    for (int64_t tap = 0; tap < taps; ++tap)
      kernels.encodeLine(taps > 1 ? turned.data() + tap * channels : filter,
                         channels, blockLength, mantissaBits,
                         mantissas.data() + (o * taps + tap) * channels,
                         cells.data() + (o * taps + tap) * blocks, &stats);
    alignOutput(o);
  }
}

/// Reads whole rows: a column alone would touch a cache line for each element.
void EncodedWeights::encodeColumns(const float *values, int64_t begin,
                                   int64_t end) {
  const numerics::KernelTable &kernels = numerics::bestKernels();
  const auto outputs = static_cast<int64_t>(scales.size());
  const int64_t width = end - begin, longest = std::min(blockLength, channels);
  numerics::EncodeStats stats;
  std::vector<int16_t> codes(longest * width);
  std::vector<int8_t> own(width);
  std::vector<const float *> rows(longest);
  std::vector<int16_t *> to(longest);
  for (int64_t i = 0; i < longest; ++i)
    to[i] = codes.data() + i * width;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t first = b * blockLength;
    const int64_t count = std::min(blockLength, channels - first);
    for (int64_t i = 0; i < count; ++i)
      rows[i] = values + (first + i) * outputs + begin;
    kernels.encode16(rows.data(), width,
                     {static_cast<size_t>(count), mantissaBits, to.data(),
                      own.data(), &stats});
    for (int64_t o = 0; o < width; ++o) {
      cells[(begin + o) * blocks + b] = own[o];
      int16_t *mantissa = mantissas.data() + (begin + o) * channels + first;
      for (int64_t i = 0; i < count; ++i)
        mantissa[i] = codes[i * width + o];
    }
  }
  for (int64_t o = begin; o < end; ++o)
    alignOutput(o);
}

void EncodedWeights::alignOutput(int64_t output) {
  int8_t *own = cells.data() + output * taps * blocks;
  int scale = numerics::kClearedScale;
  for (int64_t i = 0; i < taps * blocks; ++i)
    if (own[i] != numerics::kZeroBlock)
      scale = std::max(scale, numerics::stepExponent(own[i], mantissaBits));
  if (scale == numerics::kClearedScale)
    scale = numerics::scaleOrDefault(numerics::kClearedScale, mantissaBits);
  scales[output] = scale;
  // Blocks more than D octaves below the scale round a second time, once and
  // for all; what is stored is relative to the scale.
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t b = 0; b < blocks; ++b) {
      int8_t &cell = own[tap * blocks + b];
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

std::optional<int64_t> weightZeroOf(Value weights) {
  StorageType type = storageOf(weights);
  if (type.encoded || type.plain != support::ElementType::I16)
    return std::nullopt;
  std::vector<float> values = constantFloats(weights);
  if (values.empty())
    return std::nullopt;
  auto [low, high] = std::minmax_element(values.begin(), values.end());
  float least = std::min(*low, 0.0f), most = std::max(*high, 0.0f);
  if (most - least > 255)
    return std::nullopt;
  return static_cast<int64_t>(-least);
}

} // namespace ashlar::analysis
