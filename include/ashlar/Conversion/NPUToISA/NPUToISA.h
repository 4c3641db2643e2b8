// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation: planned npu operations to a program of the machine.

#ifndef ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H
#define ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace ashlar {

/// Replaces the function `main` of a module that has left the plan phase by an
/// `isa.program`, right when executed in program order; semaphores are the
/// matter of ashlar-isa-insert-semaphores. Errors: Capacity for what the
/// machine has too little of, Unsupported for what no instruction expresses;
/// both name the ONNX node.
llvm::Error convertNPUToISA(mlir::ModuleOp module);

/// The same as the pass `ashlar-convert-npu-to-isa`.
std::unique_ptr<mlir::Pass> createConvertNPUToISAPass();
void registerConvertNPUToISAPass();

} // namespace ashlar

#endif // ASHLAR_CONVERSION_NPUTOISA_NPUTOISA_H
