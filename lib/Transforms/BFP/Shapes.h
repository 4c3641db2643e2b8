// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes of the values that passes of this folder rewrite.

#ifndef ASHLAR_LIB_TRANSFORMS_BFP_SHAPES_H
#define ASHLAR_LIB_TRANSFORMS_BFP_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Value.h"

namespace ashlar::bfp {

/// Shape of a ranked tensor.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

/// True for binary32, alone or the elements of a tensor.
inline bool isF32(mlir::Value value) {
  return mlir::getElementTypeOrSelf(value.getType()).isF32();
}

} // namespace ashlar::bfp

#endif // ASHLAR_LIB_TRANSFORMS_BFP_SHAPES_H
