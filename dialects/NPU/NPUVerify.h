// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that the verifiers of several npu operations share.

#ifndef ASHLAR_DIALECTS_NPU_NPUVERIFY_H
#define ASHLAR_DIALECTS_NPU_NPUVERIFY_H

#include "dialects/NPU/NPUDialect.h"

namespace ashlar::npu {

/// npu_pe_conv_c8.
mlir::LogicalResult checkPackedRows(PeConvOp op);

/// npu_pe_conv_c12, of a convolution or product.
mlir::LogicalResult checkVectorShare(mlir::Operation *op);

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_NPUVERIFY_H
