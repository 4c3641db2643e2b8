// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes on the instructions of a program.

#ifndef ASHLAR_TRANSFORMS_ISA_PASSES_H
#define ASHLAR_TRANSFORMS_ISA_PASSES_H

#include "dialects/ISA/ISADialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ashlar::isadialect {

#define GEN_PASS_DECL
#include "ashlar/Transforms/ISA/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ashlar/Transforms/ISA/Passes.h.inc"

} // namespace ashlar::isadialect

#endif // ASHLAR_TRANSFORMS_ISA_PASSES_H
