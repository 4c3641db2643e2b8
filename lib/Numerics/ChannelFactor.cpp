// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors are summed in lanes that a compiler can keep in vector registers; the
// order of sums is fixed, so the choice does not depend on the host.

#include "ashlar/Numerics/ChannelFactor.h"
#include "ashlar/Numerics/Bound.h"
#include "ashlar/Numerics/Encode.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

using namespace llvm;

namespace ashlar::numerics {

/// Weights outside of this range and its inverse are not scaled.
static constexpr float kLargest = 0x1p64f;

/// floor(log2 value) of a positive normal number; -127 for denormal ones, which
/// the range of a channel never reaches.
static int exponentOf(float value) {
  return static_cast<int>(floatBits(value) >> 23) - 127;
}

/// 2^exponent, a normal number.
static float floatPower(int exponent) {
  return floatFromBits(static_cast<uint32_t>(exponent + 127) << 23);
}

namespace {
/// Numbers of one vector register on every host, and how many of these are
/// summed side by side.
constexpr size_t kLanes = 4, kVectors = 2;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

/// How the elements of a block become integers.
struct BlockSteps {
  float perUnit; ///< encoded steps in a unit of the values
  float limit;   ///< largest magnitude of a mantissa
  float aligned; ///< aligned steps in an encoded one, a power of two <= 1
  float size;    ///< an encoded step in the unit that errors are summed in
};

/// Sums of rounding errors and of their squares.
class ErrorSums {
public:
  /// Adds the errors of encoding and aligning the values of a block, whose
  /// largest magnitude is `top`.
  void add(ArrayRef<float> values, float top, const BlockSteps &steps) {
    if (steps.aligned == 1 && toInteger(top * steps.perUnit) <= steps.limit)
      addAll<false>(values, steps);
    else
      addAll<true>(values, steps);
  }

  double sum() const { return total(plain); }
  double sumOfSquares() const { return total(square); }

private:
  /// An integer next to a magnitude below 2^16, ties to even as in encodeBlock.
  template <typename Float>
  static Float toInteger(Float value) {
    constexpr float round = 0x1.8p23f;
    return (value + round) - round;
  }

  static double total(const std::array<Lanes, kVectors> &sums) {
    double result = 0;
    for (const Lanes &lanes : sums)
      for (size_t lane = 0; lane < kLanes; ++lane)
        result += lanes[lane];
    return result;
  }

  /// `Limited`: an element may be limited or rounded again.
  template <bool Limited>
  void addAll(ArrayRef<float> values, const BlockSteps &steps) {
    auto addTo = [&](size_t vector, const float *four) {
      Lanes exact;
      std::memcpy(&exact, four, sizeof(exact));
      exact *= steps.perUnit;
      Lanes rounded = toInteger(exact);
      if (Limited) {
        for (size_t lane = 0; lane < kLanes; ++lane)
          rounded[lane] =
              std::clamp(rounded[lane] + 0.0f, -steps.limit, steps.limit);
        rounded = toInteger(rounded * steps.aligned) / steps.aligned;
      }
      Lanes error = (rounded - exact) * steps.size;
      plain[vector] += error;
      square[vector] += error * error;
    };
    constexpr size_t stride = kLanes * kVectors;
    size_t whole = values.size() / stride * stride;
    for (size_t i = 0; i < whole; i += stride)
      for (size_t vector = 0; vector < kVectors; ++vector)
        addTo(vector, values.data() + i + vector * kLanes);
    // Zeros have no error; a constant index keeps the sums in registers.
    for (values = values.drop_front(whole); !values.empty();
         values = values.drop_front(std::min(values.size(), kLanes))) {
      std::array<float, kLanes> four{};
      llvm::copy(values.take_front(kLanes), four.begin());
      addTo(0, four.data());
    }
  }

  std::array<Lanes, kVectors> plain{}, square{};
};
} // namespace

ChannelRounding::ChannelRounding(ArrayRef<float> values, size_t rowLength,
                                 const BlockFormat &format)
    : values(values), rowLength(rowLength),
      blockLength(format.block > 0 ? format.block : rowLength), format(format) {
  assert(format.block != BlockFormat::kTensor && rowLength > 0 &&
         values.size() % rowLength == 0);
  for (size_t row = 0; row < values.size(); row += rowLength)
    for (size_t at = 0; at < rowLength; at += blockLength) {
      float most = 0;
      size_t count = std::min(blockLength, rowLength - at);
      for (float value : values.slice(row + at, count))
        most = std::max(most, std::fabs(value));
      tops.push_back(most);
      top = std::max(top, most);
    }
}

double ChannelRounding::errorWith(float factor) const {
  if (top == 0)
    return 0;
  auto stepOf = [&](float most) {
    return stepExponent(exponentOf(most * factor), format.mantissa);
  };
  // Blocks more than the range below the channel's exponent round again.
  const int highest = stepOf(top), least = highest - format.range;
  const auto limit = static_cast<float>(format.maxMantissa());
  ErrorSums errors;
  const float *most = tops.data();
  for (size_t row = 0; row < values.size(); row += rowLength)
    for (size_t at = 0; at < rowLength; at += blockLength, ++most) {
      if (*most == 0)
        continue;
      // Nothing is left of blocks further below.
      int step = std::max(stepOf(*most), least - format.mantissa);
      errors.add(
          values.slice(row + at, std::min(blockLength, rowLength - at)), *most,
          {floatPower(-step) * factor, limit,
           floatPower(std::min(step - least, 0)), floatPower(step - highest)});
    }
  double sum = errors.sum(), unit = powerOfTwo(highest) / factor;
  return (errors.sumOfSquares() + kRectifiedMean * sum * sum) * unit * unit;
}

/// How many factors to try for a channel of `count` weights.
static int factorSteps(size_t count) {
  int steps = kMostFactors;
  while (steps > kLeastFactors && steps * count > kFactorEffort)
    steps /= 2;
  return steps;
}

float ChannelRounding::chooseFactor() const {
  if (!(top >= 1 / kLargest && top <= kLargest))
    return 1;
  float best = 1;
  double least = errorWith(1) * (1 - kLeastGain);
  const int steps = factorSteps(values.size());
  for (int k = steps + 1; k < 2 * steps && least > 0; ++k) {
    float factor = static_cast<float>(k) / static_cast<float>(steps);
    double error = errorWith(factor);
    if (!(error < least))
      continue;
    least = error;
    best = factor;
  }
  return best;
}

} // namespace ashlar::numerics
