// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns of weights as bits, eight or four of them at a time.

#include "ashlar/Analysis/Array/WeightPattern.h"

#include "ashlar/Analysis/Array/EncodedWeights.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "dialects/NPU/NPUPatterns.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace ashlar::analysis {

/// The low four bits tell which of four mantissas are not zero.
static uint64_t nonZeroBits(const int16_t *four) {
  constexpr uint64_t low = 0x7fff7fff7fff7fffu;
  uint64_t word;
  std::memcpy(&word, four, sizeof(word));
  // The top bit of each mantissa, then all of them side by side.
  const uint64_t tops = ((((word & low) + low) | word) & ~low) >> 15;
  return (tops | tops >> 15 | tops >> 30 | tops >> 45) & 15;
}

static std::shared_ptr<const std::vector<uint64_t>>
bitsOf(llvm::ArrayRef<int16_t> mantissas) {
  std::vector<uint64_t> bits(mantissas.size() / 64 + 2);
  size_t i = 0;
  for (; i + 4 <= mantissas.size(); i += 4)
    bits[i / 64] |= nonZeroBits(mantissas.data() + i) << i % 64;
  for (; i < mantissas.size(); ++i)
    bits[i / 64] |= uint64_t(mantissas[i] != 0) << i % 64;
  return std::make_shared<const std::vector<uint64_t>>(std::move(bits));
}

/// What the encoded weights of a product depend on; nothing for weights that
/// are not constant.
static std::optional<npu::WeightPatterns::Key> keyOf(Operation *op) {
  Value weights = op->getOperand(1);
  auto encode = weights.getDefiningOp<bfp::EncodeOp>();
  Value value = encode ? encode.getInput() : weights;
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant)
    return std::nullopt;
  const ProductShape product = productShape(op);
  return npu::WeightPatterns::Key{
      {constant.getValue().getAsOpaquePointer(),
       weights.getType().getAsOpaquePointer()},
      {product.outputs, product.channels, product.groups, product.taps,
       product.weightFormat.mantissa, product.weightFormat.block,
       product.weightFormat.range, isa<npu::PeMatmulOp>(op)}};
}

void WeightPattern::keep(Operation *op, const EncodedWeights &weights) {
  if (auto key = keyOf(op))
    npu::WeightPatterns::of(op->getContext())
        .keep(*key, bitsOf(weights.allMantissas()));
}

void WeightPattern::setShape(const EncodedWeights &weights) {
  outputs = weights.numOutputs();
  taps = weights.numTaps();
  channels = weights.numChannels();
  blockLength = weights.blockSize();
}

WeightPattern::WeightPattern(const EncodedWeights &weights)
    : bits(bitsOf(weights.allMantissas())) {
  setShape(weights);
}

WeightPattern::WeightPattern(Operation *op) {
  auto key = keyOf(op);
  auto &patterns = npu::WeightPatterns::of(op->getContext());
  if (key)
    bits = patterns.find(*key);
  if (bits) {
    const ProductShape product = productShape(op);
    outputs = product.outputs;
    taps = product.taps;
    channels = product.channels / product.groups;
    blockLength =
        product.weightFormat.block > 0 ? product.weightFormat.block : channels;
    return;
  }
  const EncodedWeights weights(op);
  bits = bitsOf(weights.allMantissas());
  setShape(weights);
  if (key)
    patterns.keep(*key, bits);
}

/// A one in each byte whose bit of `byte` is set.
static uint64_t spread(uint64_t byte) {
  const uint64_t apart = byte * 0x0101010101010101u & 0x8040201008040201u;
  return (apart + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

/// Adds the bits from `first` on, as many as there are sums, each to its byte.
static void addBits(llvm::ArrayRef<uint64_t> bits, uint64_t first,
                    llvm::MutableArrayRef<uint8_t> sums) {
  for (size_t at = 0; at < sums.size(); at += 64, first += 64) {
    const uint64_t from = first / 64, shift = first % 64;
    uint64_t word = bits[from] >> shift;
    if (shift > 0)
      word |= bits[from + 1] << (64 - shift);
    const size_t count = std::min<size_t>(sums.size() - at, 64);
    size_t i = 0;
    for (; i + 8 <= count; i += 8, word >>= 8) {
      uint64_t eight;
      std::memcpy(&eight, sums.data() + at + i, sizeof(eight));
      eight += spread(word & 0xff);
      std::memcpy(sums.data() + at + i, &eight, sizeof(eight));
    }
    for (; i < count; ++i, word >>= 1)
      sums[at + i] += word & 1;
  }
}

void WeightPattern::count() const {
  constexpr int64_t most = 255; // that a byte counts
  counts.assign(outputs * channels, 0);
  std::vector<uint8_t> sums(channels);
  for (int64_t output = 0; output < outputs; ++output)
    for (int64_t tap = 0; tap < taps; tap += most) {
      std::fill(sums.begin(), sums.end(), 0);
      for (int64_t t = tap; t < std::min(tap + most, taps); ++t)
        addBits(*bits, (output * taps + t) * channels, sums);
      for (int64_t c = 0; c < channels; ++c)
        counts[output * channels + c] += sums[c];
    }
}

llvm::ArrayRef<uint32_t> WeightPattern::nonZeros(int64_t output) const {
  if (counts.empty())
    count();
  return llvm::ArrayRef(counts).slice(output * channels, channels);
}

} // namespace ashlar::analysis
