// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Factors of output channels. A product multiplies its sums by a number per
// output channel, so the weights of a channel may be multiplied by any factor
// before they are encoded; what changes is how they round (docs/Numerics.md 2
// and 6). The factor chosen here has the smallest expected error of the sums.

#ifndef ASHLAR_NUMERICS_CHANNELFACTOR_H
#define ASHLAR_NUMERICS_CHANNELFACTOR_H

#include "ashlar/Numerics/Format.h"
#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace ashlar::numerics {

/// Factors tried are 1 + k / n, k = 0 ... n - 1. n is a power of two from
/// kLeastFactors to kMostFactors, as large as n times the number of weights
/// stays within kFactorEffort: the fewer weights, the more their error varies.
inline constexpr int kLeastFactors = 8, kMostFactors = 128;
inline constexpr size_t kFactorEffort = 8192;

/// Share of the expected error that a factor has to take away.
inline constexpr double kLeastGain = 1.0 / 16;

/// Square of the mean over the variance of max(0, x), x normal: 1/(2 pi)
/// against 1/2 - 1/(2 pi), about 0.47.
inline constexpr double kRectifiedMean = 0.5;

/// Largest magnitudes of the blocks of an output channel, row by row.
std::vector<float> blockTops(llvm::ArrayRef<float> values, size_t rowLength,
                             const BlockFormat &format);

/// The weights of one output channel: rows of `rowLength` elements, each
/// divided into blocks separately. Keeps a reference to the values.
class ChannelRounding {
public:
  /// \p format must not have blocks of the whole tensor: they span channels.
  ChannelRounding(llvm::ArrayRef<float> values, size_t rowLength,
                  const BlockFormat &format);

  /// The same for a channel that shares exponents with others: \p tops are the
  /// largest magnitudes of each block over all of them. Factors that would
  /// raise an exponent are not chosen.
  ChannelRounding(llvm::ArrayRef<float> values, size_t rowLength,
                  const BlockFormat &format, llvm::ArrayRef<float> tops);

  /// Expected square error of a sum of products, in the unit of the weights,
  /// if they are multiplied by \p factor, encoded and aligned to the channel's
  /// scale exponent, and the sum divided by it. Data are taken for independent,
  /// of variance 1, with the mean of a rectified normal distribution: the mean
  /// carries the sum of the weights' errors, the rest their squares. The
  /// largest weight must be 0 or from 2^-64 to 2^64.
  double errorWith(float factor) const;

  /// The first of the factors with the smallest error; 1 where none takes away
  /// kLeastGain of it, and where the largest weight is not finite or outside of
  /// 2^-64 to 2^64: scaling it could cost range.
  float chooseFactor() const;

private:
  /// True if the largest weights of all blocks stay below the next power of two
  /// of the blocks that they are in.
  bool keepsExponents(float factor) const;

  llvm::ArrayRef<float> values;
  size_t rowLength, blockLength;
  BlockFormat format;
  /// Largest magnitude of each block, row by row, and of all.
  std::vector<float> tops;
  float top = 0;
  /// The largest number of each block's octave, where exponents are shared.
  std::vector<float> limits;
};

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_CHANNELFACTOR_H
