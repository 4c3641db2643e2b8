// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accumulator proof of docs/Numerics.md 4 over all products of a module.
// Private to the quantise phase.

#ifndef ASHLAR_LIB_TRANSFORMS_BFP_ACCUMULATORPROOF_H
#define ASHLAR_LIB_TRANSFORMS_BFP_ACCUMULATORPROOF_H

#include "ashlar/Numerics/Format.h"

#include "mlir/IR/BuiltinOps.h"

namespace ashlar::bfp {

/// K of a bfp.conv or bfp.matmul, 0 for any other op.
int64_t getProductLength(mlir::Operation *op);

/// Left side of the proof (at most 63 is proven) for factors of one format.
int getAccumulatorBits(const numerics::BlockFormat &format, int64_t length);

/// A format whose range every product is proven for.
struct ProvenFormat {
  numerics::BlockFormat format;
  /// Why the range is smaller than requested; empty if it is not.
  std::string reason;
};

/// The requested format, its range lowered to the largest of 15, 7, 3, 1, 0
/// that every product of `module` is proven for. Emits an error and fails if
/// there is none, or if `strict` and the requested range is not proven.
mlir::FailureOr<ProvenFormat>
proveFormat(mlir::ModuleOp module, const numerics::BlockFormat &requested,
            bool strict);

} // namespace ashlar::bfp

#endif // ASHLAR_LIB_TRANSFORMS_BFP_ACCUMULATORPROOF_H
