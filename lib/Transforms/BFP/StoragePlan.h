// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tensors are stored encoded, and along which dimension, without
// changing the IR (docs/Numerics.md 1, "What is encoded"). Private to the
// quantise phase.

#ifndef ASHLAR_LIB_TRANSFORMS_BFP_STORAGEPLAN_H
#define ASHLAR_LIB_TRANSFORMS_BFP_STORAGEPLAN_H

#include "dialects/BFP/BFPTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ashlar::bfp {

/// Storage decisions for one function of one block, taken in one backward walk:
/// when the producer of a value is reached, all its uses have been seen.
class StoragePlan {
public:
  /// `format` gives mantissa, block and range; its axis is ignored.
  StoragePlan(mlir::func::FuncOp function, BlockType format);

  /// The dimension along which the operand must be encoded, or nothing if its
  /// reader has no such need.
  std::optional<int64_t> getRequiredAxis(mlir::OpOperand &use) const;

  /// The dimension along which `value` itself is stored encoded, or nothing if
  /// it keeps its float type.
  std::optional<int64_t> getStoredAxis(mlir::Value value) const;

  BlockType getFormat() const { return format; }

private:
  void visitResult(mlir::OpResult result);
  bool canStoreEncoded(mlir::Operation *op, int64_t axis) const;

  BlockType format;
  llvm::DenseMap<mlir::Value, int64_t> storedAxis;
};

/// True if the constant operand is a factor whose output channels own a scale
/// exponent each: the second operand of a convolution, or of a product with a
/// matrix of rank 2.
bool isWeightUse(mlir::OpOperand &use);

/// True for an op whose operands are decoded as they are read, so that an
/// encoded operand needs no explicit decode.
bool readsEncoded(mlir::Operation *op);

} // namespace ashlar::bfp

#endif // ASHLAR_LIB_TRANSFORMS_BFP_STORAGEPLAN_H
