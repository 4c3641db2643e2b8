// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the operations of the `bfp` dialect and the list of functions that
// an epilogue can apply.

#ifndef ASHLAR_DIALECTS_BFP_BFPOPS_H
#define ASHLAR_DIALECTS_BFP_BFPOPS_H

#include "dialects/BFP/BFPDialect.h"
#include "dialects/BFP/BFPTypes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

// Generated code leaves parameters unused.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define GET_OP_CLASSES
#include "dialects/BFP/BFPOps.h.inc"
#pragma GCC diagnostic pop

namespace ashlar::bfp {

/// Names of the unary functions of the contract, spelled as `nn.unary` and the
/// numeric plan spell them; "copy" is the identity.
llvm::ArrayRef<llvm::StringLiteral> getEpilogueFunctions();

/// True if an epilogue can apply the function of this name.
bool isEpilogueFunction(llvm::StringRef name);

} // namespace ashlar::bfp

#endif // ASHLAR_DIALECTS_BFP_BFPOPS_H
