// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the operations of the `bfp` dialect.

#ifndef ASHLAR_DIALECTS_BFP_BFPOPS_H
#define ASHLAR_DIALECTS_BFP_BFPOPS_H

#include "dialects/BFP/BFPDialect.h"
#include "dialects/BFP/BFPTypes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/BFP/BFPOps.h.inc"

namespace ashlar::bfp {

/// True if an epilogue can apply the function of this name, spelled as
/// `nn.unary` spells it; "copy" is the identity.
bool isEpilogueFunction(llvm::StringRef name);

} // namespace ashlar::bfp

#endif // ASHLAR_DIALECTS_BFP_BFPOPS_H
