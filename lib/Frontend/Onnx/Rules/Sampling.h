// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads at computed places: taps of each dimension and their products.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_RULES_SAMPLING_H
#define ASHLAR_LIB_FRONTEND_ONNX_RULES_SAMPLING_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

/// What is read outside the input.
enum class SamplePadding { Zeros, Border, Reflection };

struct Sampler {
  bool alignCorners = false;
  SamplePadding padding = SamplePadding::Zeros;
  int taps = 2; ///< Per dimension: nearest 1, linear 2, cubic 4.
};

/// Where a dimension is read for one tap, and how much it counts.
struct Tap {
  Value index;  ///< Of 64 bits, within the dimension.
  Value weight; ///< Of the type of the coordinates; null for 1.
};

/// The taps of a dimension of \p extent points for places counted in points.
SmallVector<Tap> tapsAt(Node &n, const Sampler &s, Value place, int64_t extent);

/// Sums over the taps of all dimensions of \p x [batch, channels, points], of
/// which \p extents are the dimensions; indices and weights of the taps are
/// [batch, 1, samples].
Value readTaps(Node &n, Value x, ArrayRef<SmallVector<Tap>> taps,
               ShapeRef extents);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_RULES_SAMPLING_H
