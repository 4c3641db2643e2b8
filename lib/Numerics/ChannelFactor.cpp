// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels sum errors in a fixed order, so the choice does not depend on the
// host.

#include "ashlar/Numerics/ChannelFactor.h"
#include "ashlar/Numerics/Bound.h"
#include "ashlar/Numerics/Encode.h"
#include "ashlar/Numerics/Kernels.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace llvm;

namespace ashlar::numerics {

/// Weights outside of this range and its inverse are not scaled.
static constexpr float kLargest = 0x1p64f;

/// The sum of all lanes, from the first to the last.
static double total(const float (&lanes)[kErrorLanes]) {
  double result = 0;
  for (float lane : lanes)
    result += lane;
  return result;
}

std::vector<float> blockTops(ArrayRef<float> values, size_t rowLength,
                             const BlockFormat &format) {
  assert(format.block != BlockFormat::kTensor && rowLength > 0 &&
         values.size() % rowLength == 0);
  const size_t blockLength = format.block > 0 ? format.block : rowLength;
  std::vector<float> tops;
  for (size_t row = 0; row < values.size(); row += rowLength)
    for (size_t at = 0; at < rowLength; at += blockLength) {
      float most = 0;
      size_t count = std::min(blockLength, rowLength - at);
      for (float value : values.slice(row + at, count))
        most = std::max(most, std::fabs(value));
      tops.push_back(most);
    }
  return tops;
}

ChannelRounding::ChannelRounding(ArrayRef<float> values, size_t rowLength,
                                 const BlockFormat &format)
    : values(values), rowLength(rowLength),
      blockLength(format.block > 0 ? format.block : rowLength), format(format),
      tops(blockTops(values, rowLength, format)) {
  for (float most : tops)
    top = std::max(top, most);
}

/// The largest number of the octave of \p top that any mantissa rounds up: so
/// that blocks count as such that may saturate.
static float octaveLimit(float top) {
  return top == 0 ? 0 : std::ldexp(2 - 0x1p-17f, std::ilogb(top));
}

ChannelRounding::ChannelRounding(ArrayRef<float> values, size_t rowLength,
                                 const BlockFormat &format,
                                 ArrayRef<float> shared)
    : ChannelRounding(values, rowLength, format) {
  assert(shared.size() == tops.size());
  for (float most : shared)
    limits.push_back(octaveLimit(most));
}

bool ChannelRounding::keepsExponents(float factor) const {
  return limits.empty() ||
         all_of(zip_equal(tops, limits), [&](const auto &block) {
           const auto [own, limit] = block;
           return own == 0 || own * factor <= limit;
         });
}

double ChannelRounding::errorWith(float factor) const {
  if (top == 0)
    return 0;
  // The kernel multiplies the largest of each block: shared ones stay.
  std::vector<float> scaled;
  for (float limit : limits)
    scaled.push_back(limit / factor);
  const std::vector<float> &most = limits.empty() ? tops : scaled;
  const float highestTop = limits.empty() ? top : *max_element(most);
  RoundingErrors errors;
  bestKernels().roundingErrors({values.data(), values.size() / rowLength,
                                rowLength, blockLength, most.data(), highestTop,
                                format.mantissa, format.range},
                               factor, &errors);
  const double sum = total(errors.plain);
  const int highest =
      stepExponent(blockExponent(highestTop * factor), format.mantissa);
  const double unit = powerOfTwo(highest) / factor;
  return (total(errors.square) + kRectifiedMean * sum * sum) * unit * unit;
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
    if (!keepsExponents(factor))
      break;
    double error = errorWith(factor);
    if (!(error < least))
      continue;
    least = error;
    best = factor;
  }
  return best;
}

} // namespace ashlar::numerics
