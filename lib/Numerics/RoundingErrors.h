// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding errors of weights, summed in lanes of a fixed number and order: the
// sums have the same bits whatever the width of a host's vectors. Included once
// by each instruction-set file, for the reason given in RowKernels.h.

#ifndef ASHLAR_LIB_NUMERICS_ROUNDINGERRORS_H
#define ASHLAR_LIB_NUMERICS_ROUNDINGERRORS_H

#include "Elementary.h"

#include "ashlar/Numerics/Kernels.h"

namespace ashlar::numerics {

using ErrorLanes =
    float __attribute__((vector_size(kErrorLanes * sizeof(float))));

/// How the elements of a block become integers.
struct BlockSteps {
  float perUnit; ///< encoded steps in a unit of the values
  float limit;   ///< largest magnitude of a mantissa
  float aligned; ///< aligned steps in an encoded one, a power of two <= 1
  float size;    ///< an encoded step in the unit that errors are summed in
};

/// Rounds a magnitude below 2^16 to an integer, ties to even as in encodeBlock.
/// Vectors are passed by reference: how they are returned depends on the host.
template <typename Float>
ASHLAR_INLINE void roundToInteger(Float &value) {
  constexpr float round = 0x1.8p23f;
  value = (value + round) - round;
}

/// floor(log2 value) of a positive normal number; -127 for denormal ones, which
/// the range of a channel never reaches.
ASHLAR_INLINE int exponentOf(float value) {
  return static_cast<int>(elementary::bitsOf(value) >> 23) - 127;
}

/// 2^exponent, a normal number.
ASHLAR_INLINE float normalPower(int exponent) {
  return elementary::floatOf(static_cast<uint32_t>(exponent + 127) << 23);
}

/// Adds the errors of `exact / steps.perUnit` to the sums. `Limited`: an
/// element may be limited or rounded again.
template <bool Limited>
ASHLAR_INLINE void addErrors(const ErrorLanes &values, const BlockSteps &steps,
                             ErrorLanes &plain, ErrorLanes &square) {
  const ErrorLanes exact = values * steps.perUnit;
  ErrorLanes rounded = exact;
  roundToInteger(rounded);
  if (Limited) {
    const ErrorLanes limit = ErrorLanes{} + steps.limit;
    rounded = rounded + 0.0f;
    rounded = rounded < -limit ? -limit : rounded;
    rounded = limit < rounded ? limit : rounded;
    rounded = rounded * steps.aligned;
    roundToInteger(rounded);
    rounded = rounded / steps.aligned;
  }
  const ErrorLanes error = (rounded - exact) * steps.size;
  plain += error;
  square += error * error;
}

template <bool Limited>
ASHLAR_INLINE void addBlock(const float *values, size_t count,
                            const BlockSteps &steps, ErrorLanes &plain,
                            ErrorLanes &square) {
  ErrorLanes own;
  for (; count >= kErrorLanes; values += kErrorLanes, count -= kErrorLanes) {
    __builtin_memcpy(&own, values, sizeof(own));
    addErrors<Limited>(own, steps, plain, square);
  }
  // Zeros have no error. What is left goes to the first half of the lanes.
  constexpr size_t half = kErrorLanes / 2;
  while (count > 0) {
    const size_t taken = count < half ? count : half;
    own = ErrorLanes{};
    for (size_t i = 0; i < taken; ++i)
      own[i] = values[i];
    addErrors<Limited>(own, steps, plain, square);
    values += taken;
    count -= taken;
  }
}

/// The roundingErrors of the tables.
static void sumRoundingErrors(const WeightBlocks &weights, float factor,
                              RoundingErrors *errors) {
  auto stepOf = [&](float most) {
    return exponentOf(most * factor) - (weights.mantissa - 2);
  };
  // Blocks more than the range below the channel's exponent round again.
  const int highest = stepOf(weights.top), least = highest - weights.range;
  const auto limit =
      static_cast<float>((int32_t(1) << (weights.mantissa - 1)) - 1);
  ErrorLanes plain{}, square{};
  const float *most = weights.tops;
  for (size_t row = 0; row < weights.rows; ++row) {
    const float *values = weights.values + row * weights.rowLength;
    for (size_t at = 0; at < weights.rowLength;
         at += weights.blockLength, ++most) {
      if (*most == 0)
        continue;
      const size_t left = weights.rowLength - at;
      const size_t count =
          left < weights.blockLength ? left : weights.blockLength;
      // Nothing is left of blocks further below.
      const int own = stepOf(*most), lowest = least - weights.mantissa;
      const int step = own < lowest ? lowest : own;
      const BlockSteps steps = {normalPower(-step) * factor, limit,
                                normalPower(step < least ? step - least : 0),
                                normalPower(step - highest)};
      float largest = *most * steps.perUnit;
      roundToInteger(largest);
      if (steps.aligned == 1 && largest <= limit)
        addBlock<false>(values + at, count, steps, plain, square);
      else
        addBlock<true>(values + at, count, steps, plain, square);
    }
  }
  __builtin_memcpy(errors->plain, &plain, sizeof(plain));
  __builtin_memcpy(errors->square, &square, sizeof(square));
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_ROUNDINGERRORS_H
