// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What numbers can be at least and at most: bounds of loops and of tensors
// whose counts and extents depend on run-time data.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_NUMBERRANGE_H
#define ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_NUMBERRANGE_H

#include "RunTimeExtents.h"

#include <cstdint>

namespace ashlar::frontend {

/// Numbers that no element is below or above; nothing where none is known.
struct NumberRange {
  std::optional<int64_t> least, most;
};

/// The range of all elements of \p value, whatever the inputs of the graph: by
/// constants, minima and maxima, the extents of \p extents, the indices that
/// arg_reduce counts, narrow types, and sums and products of these. Floats have
/// one if they are casts of integers that they hold exactly.
NumberRange rangeOf(mlir::Value value, const RunTimeExtents &extents);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_NUMBERRANGE_H
