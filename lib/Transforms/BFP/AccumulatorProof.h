// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accumulator proof of docs/Numerics.md 4 of one product.
// Private to the quantise phase.

#ifndef ASHLAR_LIB_TRANSFORMS_BFP_ACCUMULATORPROOF_H
#define ASHLAR_LIB_TRANSFORMS_BFP_ACCUMULATORPROOF_H

#include "ashlar/Numerics/Format.h"

#include "mlir/IR/Operation.h"
#include <string>

namespace ashlar::bfp {

/// K of a bfp.conv or bfp.matmul, 0 for any other op.
int64_t getProductLength(mlir::Operation *op);

/// Lowers the ranges of a product's factors along 15, 7, 3, 1, 0, the larger
/// first, until its accumulator is proven. Returns why, empty if it was. Emits
/// an error and fails if no range suffices, or if `strict` and the ranges are
/// not proven.
mlir::FailureOr<std::string> proveProduct(mlir::Operation *op,
                                          numerics::BlockFormat &activations,
                                          numerics::BlockFormat &weights,
                                          bool strict);

} // namespace ashlar::bfp

#endif // ASHLAR_LIB_TRANSFORMS_BFP_ACCUMULATORPROOF_H
