// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `isa` dialect: one op per machine instruction.

#ifndef ASHLAR_DIALECTS_ISA_ISADIALECT_H
#define ASHLAR_DIALECTS_ISA_ISADIALECT_H

#include "ashlar/Isa/Instruction.h"
#include "dialects/Ashlar/AshlarDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/ISA/ISADialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/ISA/ISAOps.h.inc"

namespace ashlar::isadialect {

/// True for an op that is an instruction, false for the program and its
/// tables.
bool isInstruction(mlir::Operation *op);

/// The instruction that \p op is; the op must be one. An error of class
/// Capacity names the field that the instruction set cannot hold: an op may be
/// asked before its verifier has run.
llvm::Expected<isa::Instruction> toInstruction(mlir::Operation *op);

/// Creates the op of \p inst. Nothing is checked here: the op verifier and the
/// encoder both refuse values that do not fit.
mlir::Operation *createOp(mlir::OpBuilder &builder, mlir::Location location,
                          const isa::Instruction &inst);

} // namespace ashlar::isadialect

#endif // ASHLAR_DIALECTS_ISA_ISADIALECT_H
