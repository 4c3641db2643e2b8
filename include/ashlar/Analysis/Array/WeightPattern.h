// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which weights of a product are not zero once they are encoded. Most choices
// of the compiler ask for nothing else.

#ifndef ASHLAR_ANALYSIS_ARRAY_WEIGHTPATTERN_H
#define ASHLAR_ANALYSIS_ARRAY_WEIGHTPATTERN_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ashlar::analysis {

class EncodedWeights;

/// Indexed by output, tap and channel of the group, as EncodedWeights are.
class WeightPattern {
public:
  /// Of the constant of the second operand of a product operation, which is
  /// encoded unless its context still knows the pattern.
  explicit WeightPattern(mlir::Operation *op);
  /// Of these weights alone.
  explicit WeightPattern(const EncodedWeights &weights);

  /// Lets the context of a product know the pattern of its weights.
  static void keep(mlir::Operation *op, const EncodedWeights &weights);

  bool isZero(int64_t output, int64_t tap, int64_t channel) const {
    const auto bit =
        static_cast<uint64_t>((output * taps + tap) * channels + channel);
    return ((*bits)[bit / 64] >> bit % 64 & 1) == 0;
  }
  /// Coefficients of an output that are not zero over all taps, by channel of
  /// the group. The first call counts all outputs and must not run
  /// concurrently with another.
  llvm::ArrayRef<uint32_t> nonZeros(int64_t output) const;
  /// Channels that share an exponent.
  int64_t blockSize() const { return blockLength; }

private:
  void setShape(const EncodedWeights &weights);
  void count() const;

  int64_t outputs = 0, taps = 1, channels = 1, blockLength = 1;
  /// One more word than the weights take.
  std::shared_ptr<const std::vector<uint64_t>> bits;
  mutable std::vector<uint32_t> counts; ///< by output and channel
};

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_ARRAY_WEIGHTPATTERN_H
