// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices whose starts or ends are known at run time.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_RUNTIMESLICE_H
#define ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_RUNTIMESLICE_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

/// The slice of \p x along \p axis from entry \p entry of the vector
/// \p starts to that of \p ends, by ONNX's rules; \p step is not 0. The result
/// has room for the most elements, \p extent says how many there are.
Value sliceAtRunTime(Node &n, Value x, int64_t axis, int64_t step, Value starts,
                     Value ends, int64_t entry, RunTimeExtent &extent);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_RUNTIMESLICE_H
