// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run leaves for the next.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_EMITKEPT_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_EMITKEPT_H

#include "../Generator.h"

namespace ashlar::codegen {

/// Replaces arguments by results for the next run (nn::Kept), after everything
/// that reads them.
void emitKept(Generator &generator, mlir::ModuleOp module);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_EMITKEPT_H
