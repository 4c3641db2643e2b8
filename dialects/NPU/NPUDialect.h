// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The npu dialect and its operations.

#ifndef ASHLAR_DIALECTS_NPU_NPUDIALECT_H
#define ASHLAR_DIALECTS_NPU_NPUDIALECT_H

#include "dialects/NN/NNTypes.h"
#include "dialects/NPU/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "dialects/NPU/NPUDialect.h.inc"
#include "dialects/NPU/NPUInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/NPU/NPUAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/NPU/NPUOps.h.inc"

namespace ashlar::npu {

/// On a product of the dense array: the activations are the stationary operand
/// and the weights move.
inline constexpr llvm::StringLiteral kActivationsStationaryAttr =
    "npu.activations_stationary";

/// True for such a product.
bool hasStationaryActivations(mlir::Operation *op);

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_NPUDIALECT_H
