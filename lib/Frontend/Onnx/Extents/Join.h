// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A choice between values whose extents differ.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_JOIN_H
#define ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_JOIN_H

#include "RunTimeExtents.h"

#include "lib/Frontend/Onnx/Emitter.h"

namespace ashlar::frontend {

/// \p yes where the boolean number \p condition is true, else \p no. They may
/// differ in one extent, which becomes data-dependent; an error of \p e if they
/// differ in more.
Value chooseWithExtents(Emitter &e, RunTimeExtents &extents, Value condition,
                        Value yes, Value no);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_JOIN_H
