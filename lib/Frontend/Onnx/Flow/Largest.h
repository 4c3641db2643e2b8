// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What integers can be at most: the bound of loops whose trip counts depend on
// run-time data.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FLOW_LARGEST_H
#define ASHLAR_LIB_FRONTEND_ONNX_FLOW_LARGEST_H

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace ashlar::frontend {

/// A number that no element of the integer or boolean tensor `value` exceeds,
/// whatever the inputs of the graph: by constants, minima, the indices that
/// arg_reduce counts, and types of 8 bits. Nothing if what computes the value
/// has no such bound.
std::optional<int64_t> largestOf(mlir::Value value);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FLOW_LARGEST_H
