// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scalar numerics contract in integer arithmetic (docs/Numerics.md 2, 3
// and 6). A float is taken apart into integer * 2^exponent, so nothing here
// depends on the floating-point environment of the host.

#include "ashlar/Numerics/Encode.h"

#include <cassert>
#include <type_traits>

using namespace llvm;

namespace ashlar::numerics {

namespace {

/// |v| = magnitude * 2^exponent, exactly.
struct Parts {
  uint64_t magnitude;
  int exponent;
  bool negative;
  bool finite;
  bool nan;
};

} // namespace

static Parts takeApart(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t field = (bits >> 23) & 0xff, fraction = bits & 0x7fffff;
  bool special = field == 0xff;
  return {field == 0 ? fraction : fraction | 0x800000u,
          static_cast<int>(field == 0 ? 1 : field) - 150, (bits >> 31) != 0,
          !special, special && fraction != 0};
}

static Parts takeApart(double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint64_t field = (bits >> 52) & 0x7ff;
  uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
  bool special = field == 0x7ff;
  return {field == 0 ? fraction : fraction | (uint64_t(1) << 52),
          static_cast<int>(field == 0 ? 1 : field) - 1075, (bits >> 63) != 0,
          !special, special && fraction != 0};
}

/// rne(value * 2^-shift) of an unsigned value, shift >= 0.
static uint64_t shiftMagnitude(uint64_t value, int shift) {
  if (shift == 0)
    return value;
  if (shift > 64)
    return 0;
  if (shift == 64) // Half a unit at 2^63 is a tie with zero, which is even.
    return value > (uint64_t(1) << 63) ? 1 : 0;
  uint64_t kept = value >> shift;
  uint64_t rest = value & ((uint64_t(1) << shift) - 1);
  uint64_t tie = uint64_t(1) << (shift - 1);
  return kept + (rest > tie || (rest == tie && (kept & 1)) ? 1 : 0);
}

/// Cell of a block whose largest finite magnitude has this floor(log2).
static int8_t clampCell(int log2) {
  return static_cast<int8_t>(log2 < -127 ? -127 : log2 > 127 ? 127 : log2);
}

template <typename Float>
static int8_t cellOf(Float maxAbs) {
  Parts parts = takeApart(maxAbs);
  if (parts.magnitude == 0)
    return kZeroBlock;
  return clampCell(static_cast<int>(std::bit_width(parts.magnitude)) - 1 +
                   parts.exponent);
}

/// One mantissa; the caller counts NaN and infinities.
static int32_t encodeFinite(const Parts &parts, int e, int32_t limit,
                            EncodeCounters &counters) {
  int shift = e - parts.exponent;
  uint64_t m;
  if (shift >= 0)
    m = shiftMagnitude(parts.magnitude, shift);
  else if (static_cast<int>(std::bit_width(parts.magnitude)) - shift > 40)
    m = uint64_t(1) << 40; // Far above every limit; keeps the shift legal.
  else
    m = parts.magnitude << -shift;
  if (m > static_cast<uint64_t>(limit)) {
    m = static_cast<uint64_t>(limit);
    ++counters.saturated;
  }
  if (m == 0 && parts.magnitude != 0)
    ++counters.underflow;
  return parts.negative ? -static_cast<int32_t>(m) : static_cast<int32_t>(m);
}

template <typename Float>
static int8_t encodeAny(ArrayRef<Float> values, int mantissa,
                        MutableArrayRef<int16_t> mantissas,
                        EncodeCounters &counters) {
  assert(values.size() == mantissas.size() && "one mantissa per value");
  // Bit patterns of magnitudes order like the magnitudes themselves, also
  // where the host flushes denormals in comparisons.
  using Bits = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
  Bits maxBits = 0;
  for (Float value : values) {
    Bits magnitude = std::bit_cast<Bits>(value) & (~Bits(0) >> 1);
    if (takeApart(value).finite && magnitude > maxBits)
      maxBits = magnitude;
  }
  int8_t cell = cellOf(std::bit_cast<Float>(maxBits));
  int e = stepExponent(cell, mantissa);
  int32_t limit = (int32_t(1) << (mantissa - 1)) - 1;
  bool anyNonZero = false;
  for (size_t i = 0; i < values.size(); ++i) {
    Parts parts = takeApart(values[i]);
    int32_t m = 0;
    if (parts.finite)
      m = encodeFinite(parts, e, limit, counters);
    else if (parts.nan)
      ++counters.nan;
    else {
      ++counters.infinite;
      // Without a finite non-zero element there is no scale to saturate at.
      if (cell != kZeroBlock)
        m = parts.negative ? -limit : limit;
    }
    mantissas[i] = static_cast<int16_t>(m);
    anyNonZero |= m != 0;
  }
  return anyNonZero ? cell : kZeroBlock;
}

int8_t blockExponent(float maxAbs) { return cellOf(maxAbs); }
int8_t blockExponent(double maxAbs) { return cellOf(maxAbs); }

int8_t encodeBlock(ArrayRef<float> values, int mantissa,
                   MutableArrayRef<int16_t> mantissas,
                   EncodeCounters &counters) {
  return encodeAny(values, mantissa, mantissas, counters);
}

int8_t encodeBlock(ArrayRef<double> values, int mantissa,
                   MutableArrayRef<int16_t> mantissas,
                   EncodeCounters &counters) {
  return encodeAny(values, mantissa, mantissas, counters);
}

float decode(int32_t m, int cell, int mantissa) {
  return accToFloat(m, stepExponent(cell, mantissa));
}

int32_t align(int32_t m, int cell, int scale, int mantissa, int range,
              uint64_t &saturated) {
  if (m == 0)
    return 0;
  int s = scale - stepExponent(cell, mantissa);
  if (s > range)
    return static_cast<int32_t>(shiftRightEven(m, s - range));
  if (s >= 0)
    return static_cast<int32_t>(static_cast<uint32_t>(m) << (range - s));
  int64_t limit = (int64_t(1) << (mantissa - 1)) - 1;
  // Any non-zero mantissa exceeds the limit after 16 places.
  int64_t moved = int64_t(m) * (int64_t(1) << (s < -16 ? 16 : -s));
  if (moved > limit || moved < -limit) {
    moved = moved < 0 ? -limit : limit;
    ++saturated;
  }
  return static_cast<int32_t>(moved * (int64_t(1) << range));
}

int64_t shiftRightEven(int64_t value, int shift) {
  uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value)
                                 : static_cast<uint64_t>(value);
  uint64_t moved = shiftMagnitude(magnitude, shift);
  return static_cast<int64_t>(value < 0 ? 0 - moved : moved);
}

float accToFloat(int64_t acc, int exponent) {
  if (acc == 0)
    return 0;
  uint32_t sign = acc < 0 ? 0x80000000u : 0;
  uint64_t magnitude =
      acc < 0 ? 0 - static_cast<uint64_t>(acc) : static_cast<uint64_t>(acc);
  // 64-bit exponents: callers may pass any int.
  int64_t top =
      static_cast<int64_t>(std::bit_width(magnitude)) - 1 + int64_t(exponent);
  if (top > 127)
    return floatFromBits(sign | 0x7f800000u);
  int64_t unit = top - 23 < -149 ? -149 : top - 23; // exponent of the last bit
  int64_t shift = unit - exponent;
  uint64_t kept =
      shift <= 0 ? magnitude << -shift
                 : shiftMagnitude(magnitude,
                                  shift > 65 ? 65 : static_cast<int>(shift));
  // Adding instead of or-ing lets a carry move into the exponent, up to
  // infinity; denormals have unit = -149 and no implicit bit.
  uint32_t bits =
      (static_cast<uint32_t>(unit + 149) << 23) + static_cast<uint32_t>(kept);
  return floatFromBits(sign | bits);
}

} // namespace ashlar::numerics
