// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds planned operations to engines: nn and bfp operations with storage
// types become npu operations.

#ifndef ASHLAR_CONVERSION_NNTONPU_NNTONPU_H
#define ASHLAR_CONVERSION_NNTONPU_NNTONPU_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace ashlar {

/// The pass `ashlar-convert-nn-to-npu`. Fails with one diagnostic per
/// operation that no engine can run.
std::unique_ptr<mlir::Pass> createConvertNNToNPUPass();
void registerConvertNNToNPUPass();

} // namespace ashlar

#endif // ASHLAR_CONVERSION_NNTONPU_NNTONPU_H
