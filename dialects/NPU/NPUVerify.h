// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that the verifiers of several npu operations share.

#ifndef ASHLAR_DIALECTS_NPU_NPUVERIFY_H
#define ASHLAR_DIALECTS_NPU_NPUVERIFY_H

#include "dialects/NN/NNShapes.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::npu {

/// The type and the shape of a tensor.
inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return tensorTypeOf(value).getShape();
}

/// The result has the inferred shape.
mlir::LogicalResult checkShape(mlir::Operation *op, nn::ShapeOr expected);

/// Engines make no empty tensors and read none: constants and data movement do.
mlir::LogicalResult checkFull(mlir::Operation *op);

/// Shapes of a window reduction from `x` to `y` (npu_vec_pool_c2, c3).
mlir::LogicalResult checkWindows(mlir::Operation *op, llvm::ArrayRef<int64_t> x,
                                 llvm::ArrayRef<int64_t> y,
                                 const nn::Window &window);

/// The function of this name exists.
mlir::LogicalResult checkFunction(mlir::Operation *op, llvm::StringRef name);

/// npu_pe_conv_c8.
mlir::LogicalResult checkPackedRows(PeConvOp op);

/// npu_pe_conv_c12, of a convolution or product.
mlir::LogicalResult checkVectorShare(mlir::Operation *op);

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_NPUVERIFY_H
