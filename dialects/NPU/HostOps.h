// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The work of the host in `nn` and here: the same operands and attributes.

#ifndef ASHLAR_DIALECTS_NPU_HOSTOPS_H
#define ASHLAR_DIALECTS_NPU_HOSTOPS_H

#include "mlir/IR/Builders.h"

namespace ashlar::npu {

/// Creates the operation of the host that does what \p op, of `nn`, says; null
/// for other operations.
mlir::Operation *bindToHost(mlir::OpBuilder &builder, mlir::Operation *op);

/// Creates the operation of `nn` that \p op does; null if it is none of the
/// host's.
mlir::Operation *unbindFromHost(mlir::OpBuilder &builder, mlir::Operation *op);

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_HOSTOPS_H
