// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movements of the nn dialect as access patterns of npu.dma.move.

#ifndef ASHLAR_LIB_CONVERSION_NNTONPU_PIECES_H
#define ASHLAR_LIB_CONVERSION_NNTONPU_PIECES_H

#include "dialects/NN/NNOps.h"
#include "dialects/NPU/AccessPattern.h"
#include <optional>

namespace ashlar {

/// The copies of one movement.
struct Movement {
  llvm::SmallVector<npu::AccessPattern, 4> patterns;
  std::optional<double> fill; ///< value of elements that no pattern writes
};

/// The data movement that `op` is, or nothing for operations that compute.
std::optional<Movement> movementOf(mlir::Operation *op);

} // namespace ashlar

#endif // ASHLAR_LIB_CONVERSION_NNTONPU_PIECES_H
