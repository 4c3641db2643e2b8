// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of the partition dimension that no operation of the model requests:
// an operation reads its operand across another axis than the one across which
// it lies, or a result is stored in rows that its axis cuts into single
// elements. Private to the passes of `npu`.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_AXISCHANGES_H
#define ASHLAR_LIB_TRANSFORMS_NPU_AXISCHANGES_H

#include "ashlar/Machine/Description.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace ashlar::npu {

/// The kind of a data movement that changes only the axis across partitions.
inline constexpr llvm::StringLiteral kAxisChange = "layout";

/// Makes every such change of plain tensors a data movement of its own, which
/// all readers across the same axis share.
void exposeAxisChanges(mlir::ModuleOp module,
                       const machine::Description &machine);

/// Takes out a data movement of exposeAxisChanges(): its readers load their
/// operands tile by tile, as they do without it.
void dropAxisChange(DmaMoveOp move);

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_AXISCHANGES_H
