// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant weights in the form the array reads: encoded per block, aligned to
// the scale exponent of their output channel (docs/Numerics.md 2, 3, 5).

#ifndef ASHLAR_ANALYSIS_ARRAY_ENCODEDWEIGHTS_H
#define ASHLAR_ANALYSIS_ARRAY_ENCODEDWEIGHTS_H

#include "ashlar/Support/RawVector.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace ashlar::analysis {

/// Weights of one product, indexed by output, tap and channel of the group.
class EncodedWeights {
public:
  /// What to compute in addition, while the constant is in memory.
  enum class Also { Nothing, SourceZeros };

  /// Encodes the constant of the second operand of a product operation.
  explicit EncodedWeights(mlir::Operation *op, Also also = Also::Nothing);

  int16_t mantissa(int64_t output, int64_t tap, int64_t channel) const {
    return mantissas[(output * taps + tap) * channels + channel];
  }
  /// Exponent cell relative to the output's scale exponent.
  int8_t cell(int64_t output, int64_t tap, int64_t channel) const {
    return cells[(output * taps + tap) * blocks + channel / blockLength];
  }
  /// By output, tap and channel.
  llvm::ArrayRef<int16_t> allMantissas() const { return mantissas; }
  int64_t numOutputs() const { return static_cast<int64_t>(scales.size()); }
  int64_t numTaps() const { return taps; }
  int64_t numChannels() const { return channels; }
  /// Non-zero coefficients of all outputs.
  int64_t numNonZeros() const;
  /// Elements of the constant that are zero before they are encoded; nothing
  /// unless requested by `Also::SourceZeros` and the constant is the operand
  /// itself.
  std::optional<int64_t> sourceZeros() const { return zerosBefore; }
  /// EW[output].
  int32_t scaleExponent(int64_t output) const { return scales[output]; }
  /// Turns the taps along the depth of a 3-D kernel into channels: tap d has
  /// the channels from d * `width` on. Channels in between have no
  /// coefficients.
  void unfoldDepth(int64_t depth, int64_t width);
  /// Channels that share an exponent.
  int64_t blockSize() const { return blockLength; }

private:
  /// Copies integers of 8 bits or signed 16 bits unchanged; no exponents.
  void packIntegers(mlir::Operation *op, int64_t outputs);
  void encodeTensor(llvm::ArrayRef<float> values, bool isConv);
  /// Encodes all outputs: convolutions store [O, C, taps], matrix products
  /// [K, N].
  void encodeOutputs(mlir::MLIRContext *context, const float *values,
                     bool isConv);
  /// Encodes outputs [begin, end) of a convolution [O, C, taps].
  void encodeFilters(const float *values, int64_t begin, int64_t end);
  /// Encodes columns [begin, end) of a matrix [channels, outputs].
  void encodeColumns(const float *values, int64_t begin, int64_t end);
  /// Encodes outputs [begin, end), which share the exponents of their blocks,
  /// of either form.
  void encodeRows(const float *values, bool isConv, int64_t begin, int64_t end);
  /// Makes cells relative to the scale exponent of their output.
  void alignOutput(int64_t output);

  int64_t taps = 1, channels = 1, blocks = 1, blockLength = 1;
  int mantissaBits = 8, range = 7;
  support::RawVector<int16_t> mantissas;
  std::vector<int8_t> cells;
  std::vector<int32_t> scales;
  std::optional<int64_t> zerosBefore;
};

/// The f32 elements of the constant `value` (an nn.constant result).
std::vector<float> constantFloats(mlir::Value value);

/// The elements of the constant `value` as 32-bit words: the bits of binary32
/// or i32; empty for other types.
std::vector<uint32_t> constantWords(mlir::Value value);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_ARRAY_ENCODEDWEIGHTS_H
