// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result shapes of the `nn` operations as plain functions of operand shapes and
// attributes. Verifiers and the ONNX importer share them, so that what the
// importer builds is what the verifier accepts. All arithmetic is checked:
// a shape that overflows is an error, never a wrapped number.

#ifndef ASHLAR_DIALECTS_NN_NNSHAPES_H
#define ASHLAR_DIALECTS_NN_NNSHAPES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <string>

namespace ashlar::nn {

using Shape = llvm::SmallVector<int64_t>;
using ShapeRef = llvm::ArrayRef<int64_t>;
/// A shape, or an error whose message is ready for a diagnostic.
using ShapeOr = llvm::Expected<Shape>;

/// "2x3x4"; "scalar" for rank 0.
std::string shapeToString(ShapeRef shape);

/// Product of the dimensions, or -1 if it does not fit in int64.
int64_t elementCount(ShapeRef shape);

/// Window geometry shared by convolution, pooling and im2col. `pads` holds all
/// begins, then all ends.
struct Window {
  ShapeRef kernel, strides, pads, dilations;
};

/// How an incomplete last window counts.
enum class Rounding { Floor, Ceil };

/// Spatial sizes of the windows over `spatial` (batch and channel removed).
/// Ceil drops a last window that would start in the end padding.
ShapeOr inferWindows(ShapeRef spatial, const Window &window, Rounding rounding);

/// conv: x [N, C, s...], w [O, C/group, k...].
ShapeOr inferConv(ShapeRef x, ShapeRef w, ShapeRef strides, ShapeRef pads,
                  ShapeRef dilations, int64_t group);
/// conv_transpose: x [N, C, s...], w [C, O/group, k...]; pads may be negative.
ShapeOr inferConvTranspose(ShapeRef x, ShapeRef w, ShapeRef strides,
                           ShapeRef pads, ShapeRef dilations, int64_t group);
ShapeOr inferIm2Col(ShapeRef x, const Window &window);
ShapeOr inferPool(ShapeRef x, const Window &window, Rounding rounding);
ShapeOr inferMatMul(ShapeRef a, ShapeRef b);

/// numpy broadcast of two shapes.
ShapeOr inferBroadcast(ShapeRef a, ShapeRef b);
/// Checks that `from` broadcasts to exactly `to`.
llvm::Error checkBroadcastTo(ShapeRef from, ShapeRef to);

/// `axes` strictly increasing.
ShapeOr inferReduce(ShapeRef x, ShapeRef axes, bool keepdims);
ShapeOr inferConcat(llvm::ArrayRef<Shape> inputs, int64_t axis);
ShapeOr inferInterleave(llvm::ArrayRef<Shape> inputs, ShapeRef factors);
ShapeOr inferPad(ShapeRef x, ShapeRef low, ShapeRef high, ShapeRef interior);
ShapeOr inferTranspose(ShapeRef x, ShapeRef perm);
ShapeOr inferGather(ShapeRef x, int64_t axis, ShapeRef indices);
/// take: `indices` broadcasts to x but for the axis.
ShapeOr inferTake(ShapeRef x, ShapeRef indices, int64_t axis);
/// Work of the host; nothing may be empty.
ShapeOr inferNonzero(ShapeRef x);
/// `keep` elements along `axis`.
ShapeOr inferArgSort(ShapeRef x, int64_t axis, int64_t keep);
ShapeOr inferUnique(ShapeRef x);
/// `keep` boxes of each batch and class.
ShapeOr inferNms(ShapeRef boxes, ShapeRef scores, int64_t keep);
/// Checks starts and steps of a slice with result sizes `sizes`.
llvm::Error checkSlice(ShapeRef x, ShapeRef starts, ShapeRef steps,
                       ShapeRef sizes);

} // namespace ashlar::nn

#endif // ASHLAR_DIALECTS_NN_NNSHAPES_H
