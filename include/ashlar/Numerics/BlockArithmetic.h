// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic that stays in block floating point: exact element-wise results
// and exact accumulators encoded with one rounding, encoding under an exponent
// that was fixed ahead, and sums of integers aligned to one exponent
// (docs/Numerics.md 2, 4, 5 and 6). Integer arithmetic only.

#ifndef ASHLAR_NUMERICS_BLOCKARITHMETIC_H
#define ASHLAR_NUMERICS_BLOCKARITHMETIC_H

#include "ashlar/Numerics/Encode.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace ashlar::numerics {

/// What happens to a mantissa above the limit.
enum class Overflow : uint8_t {
  Saturate, ///< +-(2^(W-1)-1)
  Wrap,     ///< modulo 2^W, two's complement; may give the code -2^(W-1)
};

/// How a value between two mantissas is rounded.
enum class Rounding : uint8_t {
  NearestEven,
  TowardZero,
};

/// Element-wise functions of two encoded operands.
enum class BlockFunction : uint8_t { Add, Sub, Mul, Div };

/// "blockAdd", "blockSub", "blockMul", "blockDiv": the machine's names.
llvm::StringRef name(BlockFunction function);
std::optional<BlockFunction> parseBlockFunction(llvm::StringRef name);

/// The function that `add`, `sub`, `mul` or `div` is of encoded operands.
std::optional<BlockFunction> blockFunctionOf(llvm::StringRef kind);
llvm::StringRef kindOf(BlockFunction function);

/// sign * magnitude * 2^exponent. A lowest bit of a magnitude of more than 24
/// significant bits may stand for "and something below" (a sticky bit), which
/// no encoding with at most 16 bits can tell from the exact value.
struct WideValue {
  /// High and low half of the magnitude.
  uint64_t high = 0;
  uint64_t low = 0;
  int exponent = 0;
  bool negative = false;
  /// x / 0 with x != 0: encoded like an infinity, counted as saturated.
  bool unbounded = false;

  bool zero() const { return high == 0 && low == 0 && !unbounded; }
};

/// acc * 2^exponent.
WideValue wideValue(int64_t acc, int exponent);

/// The value of a finite float; `unbounded` for infinities, zero for NaN.
WideValue wideValue(float value);

/// floor(log2 |value|) of a finite non-zero value.
int floorLog2(const WideValue &value);

/// mA*2^eA op mB*2^eB for fetched mantissas (at most 16 bits). x/0 is
/// unbounded with the sign of x, 0/0 is 0.
WideValue blockApply(BlockFunction function, int32_t mA, int eA, int32_t mB,
                     int eB);

/// Encodes one block of exact values: cell from the largest bounded one, each
/// mantissa rounded once (nearest, ties to even), saturated symmetrically.
/// Unbounded elements become +-limit, or zero in a block that has no other
/// non-zero element; both count in SAT.
int8_t encodeWide(llvm::ArrayRef<WideValue> values, int mantissa,
                  llvm::MutableArrayRef<int16_t> mantissas,
                  EncodeCounters &counters);

/// Encoding under an exponent fixed ahead.
struct FixedRule {
  int mantissa = 8; ///< W
  int scale = 0;    ///< step exponent e of all mantissas (kClearedScale: least)
  Overflow overflow = Overflow::Saturate;
  Rounding rounding = Rounding::NearestEven;
};

/// Cell of the blocks of a fixed encoding: e + W-2 limited to [-127, 127].
/// The mantissas are in steps of stepExponent(cell), also where it was limited.
int8_t fixedCell(int scale, int mantissa);

/// One mantissa of a fixed encoding. Overflow counts in SAT in both modes.
int16_t encodeFixed(const WideValue &value, const FixedRule &rule,
                    EncodeCounters &counters);

/// Encodes one block under a fixed exponent and returns its cell, kZeroBlock
/// if all mantissas are zero. NaN becomes 0, infinities saturate (counted).
/// Under kClearedScale, which nothing has been merged into, all become zero.
int8_t encodeBlockFixed(llvm::ArrayRef<float> values, const FixedRule &rule,
                        llvm::MutableArrayRef<int16_t> mantissas,
                        EncodeCounters &counters);
int8_t encodeBlockFixed(llvm::ArrayRef<WideValue> values, const FixedRule &rule,
                        llvm::MutableArrayRef<int16_t> mantissas,
                        EncodeCounters &counters);

/// A block under a given exponent.
struct GivenBlock {
  int8_t cell = kZeroBlock; ///< Stored.
  /// What it would be by itself (docs/Numerics.md 2), kZeroBlock for zeros.
  int8_t own = kZeroBlock;
};

/// Encodes one block as encodeBlockFixed does. It is encoded by itself instead
/// under kClearedScale, which says that no exponent is known, and, with
/// \p repair, if its own cell is above the given one; the latter counts in
/// `repaired`.
GivenBlock encodeBlockGiven(llvm::ArrayRef<float> values, const FixedRule &rule,
                            bool repair,
                            llvm::MutableArrayRef<int16_t> mantissas,
                            EncodeCounters &counters);
GivenBlock encodeBlockGiven(llvm::ArrayRef<WideValue> values,
                            const FixedRule &rule, bool repair,
                            llvm::MutableArrayRef<int16_t> mantissas,
                            EncodeCounters &counters);

/// An integer times a power of two.
struct ScaledInteger {
  int64_t value = 0;
  int exponent = 0;
};

/// A bias as a mantissa of 16 bits and its exponent: rounded once to nearest
/// even, limited to +-32767; zero for zero, NaN and infinities.
ScaledInteger biasTerm(float bias);

/// The exponent at which \p term, of at most 16 bits, can be added to integers
/// of exponent \p exponent: that, or the least one at which the term has at
/// most 61 bits.
int addendExponent(int exponent, const ScaledInteger &term);

/// \p value in units of 2^exponent: to the left exactly, to the right to
/// nearest even. Limited to 63 bits and a sign.
int64_t inUnits(const ScaledInteger &value, int exponent);

/// A limit of a clip in units of 2^exponent, to nearest even; zero for NaN.
int64_t limitInUnits(float limit, int exponent);

/// An accumulator below 2^62 plus up to two terms of at most 16 bits. All are
/// brought to one exponent, which is the accumulator's wherever the terms fit;
/// their sum then always has 63 bits and a sign (docs/Numerics.md 4).
ScaledInteger alignedSum(const ScaledInteger &accumulator,
                         llvm::ArrayRef<ScaledInteger> terms);

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_BLOCKARITHMETIC_H
