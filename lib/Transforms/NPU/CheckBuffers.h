// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check of a memory plan (VerifyPlan.cpp): what shares the bytes of a
// partition at any time.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_CHECKBUFFERS_H
#define ASHLAR_LIB_TRANSFORMS_NPU_CHECKBUFFERS_H

#include "ashlar/Machine/Description.h"
#include "mlir/IR/BuiltinOps.h"

namespace ashlar::npu {

/// Checks that resident results, the scratch memory of every operation, the
/// buffers of every tile in it, and the weight ring lie within a partition and
/// apart from each other while they are in use. Emits an error for each
/// operation where they do not.
llvm::LogicalResult checkBuffers(mlir::ModuleOp module,
                                 const machine::Description &machine);

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_CHECKBUFFERS_H
