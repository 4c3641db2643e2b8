// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which graph inputs decide a value: for messages about what must be known.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_SOURCES_H
#define ASHLAR_LIB_FRONTEND_ONNX_SOURCES_H

#include "mlir/IR/Value.h"

#include <string>

namespace ashlar::frontend {

/// The remedy for a value that must be known at compile time and is not: the
/// end of a sentence, with the graph inputs that it is computed from. Empty if
/// there are none.
std::string remedyForRunTime(mlir::Value value);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_SOURCES_H
