// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile dialect: sequences of tile operations on buffers.

#ifndef ASHLAR_DIALECTS_TILE_TILEDIALECT_H
#define ASHLAR_DIALECTS_TILE_TILEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Tile/TileDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.h.inc"

namespace ashlar::tile {

/// Buffers of tiles in the bytes of all partitions.
struct StateBuffer : mlir::SideEffects::Resource::Base<StateBuffer> {
  llvm::StringRef getName() final { return "state buffer"; }
};
/// Operands and results of npu operations, wherever they lie.
struct Tensors : mlir::SideEffects::Resource::Base<Tensors> {
  llvm::StringRef getName() final { return "tensors"; }
};
/// Streamed weights in the state buffer.
struct WeightRing : mlir::SideEffects::Resource::Base<WeightRing> {
  llvm::StringRef getName() final { return "weight ring"; }
};

/// Iterations of one loop at most.
inline constexpr int64_t kMostIterations = int64_t(1) << 24;

} // namespace ashlar::tile

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

#endif // ASHLAR_DIALECTS_TILE_TILEDIALECT_H
