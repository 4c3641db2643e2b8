// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact values of up to 128 bits and their encoding with one rounding.

#include "ashlar/Numerics/BlockArithmetic.h"

#include <algorithm>
#include <bit>
#include <cassert>

using namespace llvm;

namespace ashlar::numerics {

namespace {
__extension__ using Wide = unsigned __int128;
} // namespace

static constexpr StringLiteral kNames[] = {"blockAdd", "blockSub", "blockMul",
                                           "blockDiv"};
static constexpr StringLiteral kKinds[] = {"add", "sub", "mul", "div"};

static std::optional<BlockFunction> findName(ArrayRef<StringLiteral> names,
                                             StringRef name) {
  const auto *found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<BlockFunction>(found - names.begin());
}

StringRef name(BlockFunction function) {
  return kNames[static_cast<unsigned>(function)];
}

std::optional<BlockFunction> parseBlockFunction(StringRef name) {
  return findName(kNames, name);
}

std::optional<BlockFunction> blockFunctionOf(StringRef kind) {
  return findName(kKinds, kind);
}

StringRef kindOf(BlockFunction function) {
  return kKinds[static_cast<unsigned>(function)];
}

static Wide magnitudeOf(const WideValue &value) {
  return (static_cast<Wide>(value.high) << 64) | value.low;
}

static WideValue make(Wide magnitude, int exponent, bool negative) {
  WideValue value;
  value.high = static_cast<uint64_t>(magnitude >> 64);
  value.low = static_cast<uint64_t>(magnitude);
  value.exponent = exponent;
  value.negative = negative;
  return value;
}

static uint64_t absolute(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value)
                   : static_cast<uint64_t>(value);
}

WideValue wideValue(int64_t acc, int exponent) {
  return make(absolute(acc), exponent, acc < 0);
}

WideValue wideValue(float value) {
  uint32_t bits = floatBits(value);
  uint32_t field = (bits >> 23) & 0xff, fraction = bits & 0x7fffff;
  bool negative = (bits >> 31) != 0;
  if (field == 0xff) {
    WideValue special;
    special.negative = negative;
    special.unbounded = fraction == 0;
    return special;
  }
  return make(field == 0 ? fraction : fraction | 0x800000u,
              static_cast<int>(field == 0 ? 1 : field) - 150, negative);
}

int floorLog2(const WideValue &value) {
  int bits = value.high != 0 ? 64 + std::bit_width(value.high)
                             : std::bit_width(value.low);
  return bits - 1 + value.exponent;
}

static WideValue blockSum(int64_t mA, int eA, int64_t mB, int eB) {
  if (mA == 0 || mB == 0)
    return mA == 0 ? wideValue(mB, eB) : wideValue(mA, eA);
  if (eA < eB) {
    std::swap(mA, mB);
    std::swap(eA, eB);
  }
  // Beyond 64 places the smaller operand only says on which side of the
  // greater one the sum lies; a step of an encoding is never that small.
  int64_t distance = int64_t(eA) - eB;
  int low = eB;
  if (distance > 64) {
    mB = mB < 0 ? -1 : 1;
    low = eA - 64;
    distance = 64;
  }
  Wide left = static_cast<Wide>(absolute(mA)) << distance;
  Wide right = absolute(mB);
  if ((mA < 0) == (mB < 0))
    return make(left + right, low, mA < 0);
  return left >= right ? make(left - right, low, mA < 0)
                       : make(right - left, low, mB < 0);
}

static WideValue blockQuotient(int64_t mA, int eA, int64_t mB, int eB) {
  if (mB == 0) {
    WideValue result;
    result.unbounded = mA != 0;
    result.negative = mA < 0;
    return result;
  }
  uint64_t dividend = absolute(mA) << 40, divisor = absolute(mB);
  uint64_t quotient = dividend / divisor;
  bool rest = dividend % divisor != 0;
  return make((static_cast<Wide>(quotient) << 1) | (rest ? 1 : 0), eA - eB - 41,
              (mA < 0) != (mB < 0));
}

WideValue blockApply(BlockFunction function, int32_t mA, int eA, int32_t mB,
                     int eB) {
  switch (function) {
  case BlockFunction::Add:
    return blockSum(mA, eA, mB, eB);
  case BlockFunction::Sub:
    return blockSum(mA, eA, -int64_t(mB), eB);
  case BlockFunction::Mul:
    return wideValue(int64_t(mA) * mB, eA + eB);
  case BlockFunction::Div:
    return blockQuotient(mA, eA, mB, eB);
  }
  return {};
}

/// magnitude * 2^-shift rounded; results above 2^40 need not be exact unless
/// `wrap`, where the low 16 bits are.
static uint64_t shifted(Wide magnitude, int64_t shift, Rounding rounding,
                        bool wrap) {
  if (magnitude == 0)
    return 0;
  if (shift <= 0) {
    int64_t left = -shift;
    if (wrap)
      return left >= 64 ? 0 : static_cast<uint64_t>(magnitude) << left;
    bool large =
        left > 40 || (magnitude >> 40) != 0 || (magnitude << left) >> 40 != 0;
    return large ? uint64_t(1) << 40 : static_cast<uint64_t>(magnitude << left);
  }
  if (shift > 128)
    return 0;
  Wide kept = shift == 128 ? 0 : magnitude >> shift;
  Wide tie = Wide(1) << (shift - 1);
  Wide rest = magnitude & (tie | (tie - 1));
  bool up = rounding == Rounding::NearestEven &&
            (rest > tie || (rest == tie && (kept & 1) != 0));
  kept += up ? 1 : 0;
  if (!wrap && (kept >> 40) != 0)
    return uint64_t(1) << 40;
  return static_cast<uint64_t>(kept);
}

static int16_t signedMantissa(uint64_t m, bool negative) {
  return static_cast<int16_t>(negative ? -static_cast<int32_t>(m)
                                       : static_cast<int32_t>(m));
}

/// Low W bits of +-m as two's complement.
static int16_t wrapped(uint64_t m, bool negative, int mantissa) {
  uint32_t bits = static_cast<uint32_t>(negative ? 0 - m : m);
  int drop = 32 - mantissa;
  return static_cast<int16_t>(static_cast<int32_t>(bits << drop) >> drop);
}

static int16_t encodeStep(const WideValue &value, int step,
                          const FixedRule &rule, EncodeCounters &counters) {
  uint64_t limit = (uint64_t(1) << (rule.mantissa - 1)) - 1;
  // No finite element has set the exponent: a block of zeros.
  if (rule.scale == kClearedScale) {
    counters.underflow += !value.unbounded && !value.zero();
    return 0;
  }
  if (value.unbounded) {
    ++counters.saturated;
    return signedMantissa(limit, value.negative);
  }
  Wide magnitude = magnitudeOf(value);
  int64_t shift = int64_t(step) - value.exponent;
  uint64_t m = shifted(magnitude, shift, rule.rounding, false);
  if (m == 0 && magnitude != 0)
    ++counters.underflow;
  if (m <= limit)
    return signedMantissa(m, value.negative);
  ++counters.saturated;
  if (rule.overflow == Overflow::Saturate)
    return signedMantissa(limit, value.negative);
  return wrapped(shifted(magnitude, shift, rule.rounding, true), value.negative,
                 rule.mantissa);
}

int8_t encodeWide(ArrayRef<WideValue> values, int mantissa,
                  MutableArrayRef<int16_t> mantissas,
                  EncodeCounters &counters) {
  assert(values.size() == mantissas.size() && "one mantissa per value");
  bool found = false;
  int top = 0;
  for (const WideValue &value : values)
    if (!value.unbounded && !value.zero()) {
      int place = floorLog2(value);
      top = found ? std::max(top, place) : place;
      found = true;
    }
  if (!found) {
    for (size_t i = 0; i < values.size(); ++i) {
      counters.saturated += values[i].unbounded ? 1 : 0;
      mantissas[i] = 0;
    }
    return kZeroBlock;
  }
  FixedRule rule;
  rule.mantissa = mantissa;
  rule.scale = stepExponent(std::clamp(top, -127, 127), mantissa);
  return encodeBlockFixed(values, rule, mantissas, counters);
}

int8_t fixedCell(int scale, int mantissa) {
  return static_cast<int8_t>(std::clamp(scale + mantissa - 2, -127, 127));
}

int16_t encodeFixed(const WideValue &value, const FixedRule &rule,
                    EncodeCounters &counters) {
  int step = stepExponent(fixedCell(rule.scale, rule.mantissa), rule.mantissa);
  return encodeStep(value, step, rule, counters);
}

/// Mantissas `encode(i, step)` of a block under a given scale, and its cell.
template <typename Encode>
static int8_t encodeEach(const FixedRule &rule,
                         MutableArrayRef<int16_t> mantissas, Encode encode) {
  int8_t cell = fixedCell(rule.scale, rule.mantissa);
  int step = stepExponent(cell, rule.mantissa);
  bool any = false;
  for (size_t i = 0; i < mantissas.size(); ++i) {
    mantissas[i] = encode(i, step);
    any |= mantissas[i] != 0;
  }
  return any ? cell : kZeroBlock;
}

int8_t encodeBlockFixed(ArrayRef<float> values, const FixedRule &rule,
                        MutableArrayRef<int16_t> mantissas,
                        EncodeCounters &counters) {
  assert(values.size() == mantissas.size() && "one mantissa per value");
  return encodeEach(rule, mantissas, [&](size_t i, int step) {
    WideValue value = wideValue(values[i]);
    if (value.unbounded) {
      // Infinities have their own counter (docs/Numerics.md 2).
      ++counters.infinite;
      EncodeCounters ignored;
      return encodeStep(value, step, rule, ignored);
    }
    counters.nan += (floatBits(values[i]) & 0x7fffffff) > 0x7f800000 ? 1 : 0;
    return encodeStep(value, step, rule, counters);
  });
}

int8_t encodeBlockFixed(ArrayRef<WideValue> values, const FixedRule &rule,
                        MutableArrayRef<int16_t> mantissas,
                        EncodeCounters &counters) {
  assert(values.size() == mantissas.size() && "one mantissa per value");
  return encodeEach(rule, mantissas, [&](size_t i, int step) {
    return encodeStep(values[i], step, rule, counters);
  });
}

/// floor(log2) of the largest finite magnitude; nothing without one.
static std::optional<int> topPlace(ArrayRef<float> values) {
  uint32_t largest = 0; // magnitudes order as their bits do
  for (float value : values) {
    uint32_t bits = floatBits(value) & 0x7fffffff;
    largest = std::max(largest, bits < 0x7f800000 ? bits : 0);
  }
  if (largest == 0)
    return std::nullopt;
  return floorLog2(wideValue(floatFromBits(largest)));
}

static std::optional<int> topPlace(ArrayRef<WideValue> values) {
  std::optional<int> top;
  for (const WideValue &value : values)
    if (!value.unbounded && !value.zero())
      top = std::max(top.value_or(floorLog2(value)), floorLog2(value));
  return top;
}

static WideValue widened(const WideValue &value) { return value; }
static WideValue widened(float value) { return wideValue(value); }

/// The cell that encoding by itself would give a block.
template <typename Value>
static int8_t ownCell(ArrayRef<Value> values, int mantissa) {
  std::optional<int> top = topPlace(values);
  if (!top)
    return kZeroBlock;
  // Below the least cell even the largest element may round to zero.
  if (*top < -127) {
    EncodeCounters ignored;
    FixedRule rule;
    rule.mantissa = mantissa;
    rule.scale = stepExponent(-127, mantissa);
    auto survives = [&](const Value &value) {
      WideValue wide = widened(value);
      return !wide.unbounded && encodeFixed(wide, rule, ignored) != 0;
    };
    if (std::none_of(values.begin(), values.end(), survives))
      return kZeroBlock;
  }
  return static_cast<int8_t>(std::clamp(*top, -127, 127));
}

static int8_t encodeAlone(ArrayRef<float> values, int mantissa,
                          MutableArrayRef<int16_t> mantissas,
                          EncodeCounters &counters) {
  return encodeBlock(values, mantissa, mantissas, counters);
}
static int8_t encodeAlone(ArrayRef<WideValue> values, int mantissa,
                          MutableArrayRef<int16_t> mantissas,
                          EncodeCounters &counters) {
  return encodeWide(values, mantissa, mantissas, counters);
}

template <typename Value>
static GivenBlock encodeGiven(ArrayRef<Value> values, const FixedRule &rule,
                              bool repair, MutableArrayRef<int16_t> mantissas,
                              EncodeCounters &counters) {
  GivenBlock block;
  block.own = ownCell(values, rule.mantissa);
  const bool known = rule.scale != kClearedScale;
  const bool beyond = known && repair && block.own != kZeroBlock &&
                      block.own > fixedCell(rule.scale, rule.mantissa);
  counters.repaired += beyond ? 1 : 0;
  block.cell = !known || beyond
                   ? encodeAlone(values, rule.mantissa, mantissas, counters)
                   : encodeBlockFixed(values, rule, mantissas, counters);
  return block;
}

GivenBlock encodeBlockGiven(ArrayRef<float> values, const FixedRule &rule,
                            bool repair, MutableArrayRef<int16_t> mantissas,
                            EncodeCounters &counters) {
  return encodeGiven(values, rule, repair, mantissas, counters);
}

GivenBlock encodeBlockGiven(ArrayRef<WideValue> values, const FixedRule &rule,
                            bool repair, MutableArrayRef<int16_t> mantissas,
                            EncodeCounters &counters) {
  return encodeGiven(values, rule, repair, mantissas, counters);
}

ScaledInteger biasTerm(float bias) {
  const WideValue value = wideValue(bias);
  if (value.zero() || value.unbounded)
    return {};
  FixedRule rule;
  rule.mantissa = 16;
  rule.scale = floorLog2(value) - 14;
  EncodeCounters ignored;
  return {encodeStep(value, rule.scale, rule, ignored), rule.scale};
}

int addendExponent(int exponent, const ScaledInteger &term) {
  constexpr int room = 46; // 15 bits and these are 61.
  return term.value == 0 ? exponent : std::max(exponent, term.exponent - room);
}

int64_t inUnits(const ScaledInteger &value, int exponent) {
  const int64_t shift = int64_t(value.exponent) - exponent;
  if (value.value == 0)
    return 0;
  if (shift <= 0)
    return shiftRightEven(value.value,
                          static_cast<int>(std::min<int64_t>(-shift, 65)));
  if (shift + static_cast<int>(std::bit_width(absolute(value.value))) > 63)
    return value.value < 0 ? -INT64_MAX : INT64_MAX;
  return value.value * (int64_t(1) << shift);
}

int64_t limitInUnits(float limit, int exponent) {
  const WideValue value = wideValue(limit);
  if (value.unbounded)
    return value.negative ? -INT64_MAX : INT64_MAX;
  const auto magnitude = static_cast<int64_t>(value.low); // 24 bits
  return inUnits({value.negative ? -magnitude : magnitude, value.exponent},
                 exponent);
}

ScaledInteger alignedSum(const ScaledInteger &accumulator,
                         ArrayRef<ScaledInteger> terms) {
  int exponent = accumulator.exponent;
  for (const ScaledInteger &term : terms)
    exponent = addendExponent(exponent, term);
  int64_t sum = inUnits(accumulator, exponent);
  for (const ScaledInteger &term : terms)
    sum += inUnits(term, exponent);
  return {sum, exponent};
}

} // namespace ashlar::numerics
