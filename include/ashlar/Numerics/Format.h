// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block floating point formats: parameters, text form, and the proof that an
// exact accumulator cannot overflow (docs/Numerics.md 1 and 4).

#ifndef ASHLAR_NUMERICS_FORMAT_H
#define ASHLAR_NUMERICS_FORMAT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace ashlar::numerics {

/// One block floating point element type. The default is `bfp8`.
struct BlockFormat {
  /// Value of `block` meaning one block per row of the block axis.
  static constexpr int kAxis = 0;
  /// Value of `block` meaning one block for the whole tensor.
  static constexpr int kTensor = -1;
  /// Value of `rows` meaning the quadrants of each tensor of weights.
  static constexpr int kQuadrant = 0;
  /// Largest value of `rows`.
  static constexpr int kMostRows = 4096;

  /// Mantissa width W in bits, sign included: 3..16.
  int mantissa = 8;
  /// Block length B in elements: 8, 16, 32, 64, kAxis or kTensor.
  int block = 16;
  /// Octaves D that alignment keeps exactly: 0, 1, 3, 7 or 15.
  int range = 7;
  /// Of weights: neighbouring output channels that share the exponents of their
  /// blocks, 1 to kMostRows, or kQuadrant.
  int rows = 1;
  /// Requested: tensors without negative values store W bits and no sign.
  bool dropsSigns = false;
  /// Of a stored format: elements have no sign bit. `mantissa` still counts
  /// one, and the arithmetic is that of blocks with signs.
  bool isUnsigned = false;

  bool operator==(const BlockFormat &other) const = default;

  /// Bits of one stored mantissa.
  int storedBits() const { return mantissa - (isUnsigned ? 1 : 0); }
  /// Bytes of one stored mantissa: 1 up to 8 bits, else 2.
  int mantissaBytes() const { return storedBits() <= 8 ? 1 : 2; }
  /// The format of a tensor that is not a constant factor of a product.
  BlockFormat withoutRows() const {
    BlockFormat format = *this;
    format.rows = 1;
    return format;
  }
  /// The format of constant weights of \p outputs output channels and \p
  /// length elements along the block axis: `rows` is at most the channels. For
  /// quadrants it is half of the channels, and `block` the shortest that covers
  /// half of the axis, or the longest if none does.
  BlockFormat ofWeights(int64_t outputs, int64_t length) const;
  /// The format of a tensor that has no negative values.
  BlockFormat withoutSigns() const {
    BlockFormat format = *this;
    if (dropsSigns && !isUnsigned && mantissa <= 8) {
      format.isUnsigned = true;
      ++format.mantissa;
    }
    return format;
  }
};

/// Checks the parameter sets named in docs/Numerics.md 1 (usage error).
llvm::Error validate(const BlockFormat &format);

/// Parses `bfp8`, `bfp16` (any `bfp<W>`) or a comma list of `w=`, `block=`,
/// `range=`, `unsigned=auto` or `off`, `rows=` (`block=axis`, `block=tensor`
/// and `rows=quadrant` allowed; omitted keys keep their defaults; `bfp<W>` may
/// lead the list). Errors are usage errors.
llvm::Expected<BlockFormat> parseFormat(llvm::StringRef text);

/// Canonical text, e.g. `w=8,block=16,range=7`; parseFormat reads it back.
std::string toString(const BlockFormat &format);

/// Left side of the accumulator proof, docs/Numerics.md 4:
/// (WA-1) + (WW-1) + DA + DW + ceil(log2 K) + 1. K = 0 counts as 1.
int accumulatorBits(int mantissaA, int rangeA, int mantissaW, int rangeW,
                    uint64_t k);

/// True if K aligned products provably fit an int64 accumulator.
inline bool provesAccumulator(int mantissaA, int rangeA, int mantissaW,
                              int rangeW, uint64_t k) {
  return accumulatorBits(mantissaA, rangeA, mantissaW, rangeW, k) <= 63;
}

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_FORMAT_H
