// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decision `kept` of a convolution on the sparse cluster and the operations
// around it.

#ifndef ASHLAR_DIALECTS_NPU_NPUKEPT_H
#define ASHLAR_DIALECTS_NPU_NPUKEPT_H

#include "dialects/NPU/NPUDialect.h"

namespace ashlar::npu {

/// npu_tcu_conv_c8: who makes an operand that is kept, and who else reads it.
mlir::LogicalResult verifyKept(TcuConvOp op);

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_NPUKEPT_H
