// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators whose results have shapes that are computed at run time.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_RUNTIMESHAPE_H
#define ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_RUNTIMESHAPE_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

/// Expand by entries of which data decide some, or of an operand with a
/// data-dependent extent.
void expandAtRunTime(Node &n);
/// ConstantOfShape of such a shape, of the one element of \p value.
void fillAtRunTime(Node &n, mlir::ElementsAttr value);
/// Range to a limit, or from a start, that data decide.
void rangeAtRunTime(Node &n);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_RUNTIMESHAPE_H
