// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of sequences in a program.

#ifndef ASHLAR_LIB_TRANSFORMS_TILE_EMISSIONORDER_H
#define ASHLAR_LIB_TRANSFORMS_TILE_EMISSIONORDER_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace ashlar::tile {

/// Indices of `nodes` in the order of their code: that of the nodes, except
/// that what shares memory and only merges scale exponents (a concatenation
/// that its parts write, a view) stands before its first reader that needs its
/// exponent, or after its last reader if none does. Blocks are decoded without
/// it: vector operations follow the producers of the parts.
std::vector<size_t> emissionOrder(llvm::ArrayRef<mlir::Operation *> nodes);

} // namespace ashlar::tile

#endif // ASHLAR_LIB_TRANSFORMS_TILE_EMISSIONORDER_H
