// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which epilogues of products stay in integers (docs/Numerics.md 6).

#ifndef ASHLAR_DIALECTS_BFP_INTEGEREPILOGUE_H
#define ASHLAR_DIALECTS_BFP_INTEGEREPILOGUE_H

#include "dialects/BFP/BFPTypes.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/APFloat.h"

namespace ashlar::bfp {

/// What follows the sums of a product. A bias is always possible.
struct Epilogue {
  mlir::Value scale, residual;
  llvm::StringRef function;
  llvm::APFloat alpha, beta;

  /// Of an operation of `bfp` or `npu`.
  template <typename Op>
  static Epilogue of(Op op) {
    return {op.getScale(), op.getResidual(), op.getFunction(), op.getAlpha(),
            op.getBeta()};
  }
};

/// True if the sums can be added to bias and residual as integers and encoded
/// as a tensor of type \p result with one rounding.
bool mayBeInteger(mlir::Type result, const Epilogue &epilogue);

/// Emits an error on \p op if they cannot.
mlir::LogicalResult verifyIntegerEpilogue(mlir::Operation *op,
                                          const Epilogue &epilogue);

} // namespace ashlar::bfp

#endif // ASHLAR_DIALECTS_BFP_INTEGEREPILOGUE_H
