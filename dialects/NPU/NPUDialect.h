// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The npu dialect and its operations.

#ifndef ASHLAR_DIALECTS_NPU_NPUDIALECT_H
#define ASHLAR_DIALECTS_NPU_NPUDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/NPU/NPUDialect.h.inc"
#define GET_OP_CLASSES
#include "dialects/NPU/NPUOps.h.inc"

#endif // ASHLAR_DIALECTS_NPU_NPUDIALECT_H
