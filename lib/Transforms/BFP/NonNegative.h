// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tensors have no negative values, whatever the inputs are: those may be
// stored without signs (docs/Numerics.md 1).

#ifndef ASHLAR_LIB_TRANSFORMS_BFP_NONNEGATIVE_H
#define ASHLAR_LIB_TRANSFORMS_BFP_NONNEGATIVE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace ashlar::bfp {

/// Answers for the values of one function, which does not change meanwhile.
class NonNegative {
public:
  /// True if no element of \p value is below zero; NaN counts as none.
  bool holds(mlir::Value value);

private:
  bool follows(mlir::Operation *op);
  bool all(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, bool> known;
};

} // namespace ashlar::bfp

#endif // ASHLAR_LIB_TRANSFORMS_BFP_NONNEGATIVE_H
