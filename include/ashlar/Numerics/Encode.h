// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scalar numerics contract: encode, decode, align, accumulator to float
// (docs/Numerics.md 2, 3, 5 and 6). Integer arithmetic only, so that results
// depend neither on the rounding mode of the host nor on its math library.

#ifndef ASHLAR_NUMERICS_ENCODE_H
#define ASHLAR_NUMERICS_ENCODE_H

#include "llvm/ADT/ArrayRef.h"

#include <bit>
#include <cstdint>

namespace ashlar::numerics {

/// Stored exponent cell of a block of zeros.
inline constexpr int8_t kZeroBlock = -128;
/// State of a scale-exponent register into which nothing was merged.
inline constexpr int16_t kClearedScale = -32768;

/// What encoding did to its inputs. All counts are elements.
struct EncodeCounters {
  uint64_t saturated = 0; ///< SAT: finite values limited to +-(2^(W-1) - 1).
  uint64_t underflow = 0; ///< UNF: finite non-zero values that became zero.
  uint64_t nan = 0;       ///< NaN values, stored as zero.
  uint64_t infinite = 0;  ///< Infinities, stored as that limit, or zero.
  /// Blocks that kept their own exponent because the given one was too low.
  uint64_t repaired = 0;

  void add(const EncodeCounters &other) {
    saturated += other.saturated;
    underflow += other.underflow;
    nan += other.nan;
    infinite += other.infinite;
    repaired += other.repaired;
  }
};

/// Running result of encoding many blocks of one encode event.
struct EncodeStats {
  EncodeCounters counters;
  /// Maximum of e over the non-zero blocks, or kClearedScale.
  int16_t maxExponent = kClearedScale;
};

/// Step exponent of a block: e = x - (W - 2).
inline int stepExponent(int cell, int mantissa) {
  return cell - (mantissa - 2);
}

/// Cell of a block with the finite maximum `maxAbs` >= 0:
/// clamp(floor(log2 maxAbs), -127, 127), or kZeroBlock for 0.
int8_t blockExponent(float maxAbs);
int8_t blockExponent(double maxAbs);

/// Encodes one block: writes values.size() mantissas and returns the cell.
/// Rounds once from the original value (nearest, ties to even).
int8_t encodeBlock(llvm::ArrayRef<float> values, int mantissa,
                   llvm::MutableArrayRef<int16_t> mantissas,
                   EncodeCounters &counters);
int8_t encodeBlock(llvm::ArrayRef<double> values, int mantissa,
                   llvm::MutableArrayRef<int16_t> mantissas,
                   EncodeCounters &counters);

/// Operand fetch: sign-extends the low W bits of a stored mantissa and clamps
/// the illegal code -2^(W-1) to -(2^(W-1)-1), so that no byte voids a proof.
inline int32_t fetchMantissa(int32_t stored, int mantissa) {
  int drop = 32 - mantissa;
  int32_t m =
      static_cast<int32_t>(static_cast<uint32_t>(stored) << drop) >> drop;
  int32_t least = -((int32_t(1) << (mantissa - 1)) - 1);
  return m < least ? least : m;
}

/// The same of a mantissa that is stored without its sign: the low W - 1 bits.
inline int16_t fetchUnsigned(uint8_t stored, int mantissa) {
  return static_cast<int16_t>(stored & ((1 << (mantissa - 1)) - 1));
}

/// The stored form without a sign: negative mantissas become zero.
inline uint8_t withoutSign(int32_t m) {
  return static_cast<uint8_t>(m < 0 ? 0 : m);
}

/// Exact value m * 2^e of a fetched mantissa; always representable.
float decode(int32_t m, int cell, int mantissa);

/// Integer that the multiplying array sees: m' << (D - s), s = scale - e
/// clamped to [0, D] as docs/Numerics.md 3 says. `saturated` counts the
/// elements limited because the scale was fixed too low.
int32_t align(int32_t m, int cell, int scale, int mantissa, int range,
              uint64_t &saturated);

/// max of a scale register and the step exponent of a non-zero block.
inline int16_t mergeScale(int16_t scale, int16_t other) {
  return scale > other ? scale : other;
}

/// Scale exponent to use: -128 - (W-2) if the register is still cleared.
inline int scaleOrDefault(int16_t scale, int mantissa) {
  return scale == kClearedScale ? stepExponent(kZeroBlock, mantissa) : scale;
}

/// round_to_nearest_even(value * 2^-shift); shift >= 0 of any size, exact.
int64_t shiftRightEven(int64_t value, int shift);

/// rne_f32(acc * 2^exponent), one rounding, denormals and overflow included.
float accToFloat(int64_t acc, int exponent);

/// Bits and value of a float, shared by all integer code paths.
inline uint32_t floatBits(float value) {
  return std::bit_cast<uint32_t>(value);
}
inline float floatFromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_ENCODE_H
