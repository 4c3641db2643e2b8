// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes on the attributes that all dialects share; docs/Passes.md describes
// each pass.

#ifndef ASHLAR_TRANSFORMS_ASHLAR_PASSES_H
#define ASHLAR_TRANSFORMS_ASHLAR_PASSES_H

#include "dialects/Ashlar/AshlarDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ashlar::records {

#define GEN_PASS_DECL
#include "ashlar/Transforms/Ashlar/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ashlar/Transforms/Ashlar/Passes.h.inc"

} // namespace ashlar::records

#endif // ASHLAR_TRANSFORMS_ASHLAR_PASSES_H
