// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation: planned npu operations to a program of the machine.

#ifndef ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H
#define ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H

#include "ashlar/Container/Container.h"
#include "ashlar/Isa/Instruction.h"
#include "mlir/IR/BuiltinOps.h"

namespace ashlar::codegen {

/// A program before encoding: `program.code` is still empty.
struct GeneratedProgram {
  container::Program program;
  std::vector<isa::Instruction> instructions;
};

/// Generates the instructions of a module that has left the plan phase (its
/// operations carry their names in the numeric plan as attributes).
llvm::Expected<GeneratedProgram> generateProgram(mlir::ModuleOp module);

} // namespace ashlar::codegen

#endif // ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H
