// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check of a memory plan (VerifyPlan.cpp): what shares the bytes of a
// partition at any time.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_CHECKBUFFERS_H
#define ASHLAR_LIB_TRANSFORMS_NPU_CHECKBUFFERS_H

#include "ashlar/Machine/Description.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace ashlar::npu {

/// Tiles of one operation at most: a plan with more is not one of ours, and
/// looking at each would take forever.
inline constexpr int64_t kMostTiles = int64_t(1) << 24;

/// Number of tiles of \p tile that cover \p shape, or kMostTiles + 1 if there
/// are more than kMostTiles.
int64_t countTiles(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> tile);

/// Checks that resident results, the scratch memory of every operation, the
/// buffers of every tile in it, and the weight ring lie within a partition and
/// apart from each other while they are in use. Emits an error for each
/// operation where they do not.
llvm::LogicalResult checkBuffers(mlir::ModuleOp module,
                                 const machine::Description &machine);

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_CHECKBUFFERS_H
