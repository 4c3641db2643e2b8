// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an operation needs of the state buffer at least, and what is there for
// it when everything else is in DRAM. Private to the passes of `npu`.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_SMALLESTTILE_H
#define ASHLAR_LIB_TRANSFORMS_NPU_SMALLESTTILE_H

#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "mlir/IR/BuiltinOps.h"

namespace ashlar::npu {

/// No chunk of weights takes less of a partition.
inline constexpr int64_t kLeastChunk = 64;
/// The part of a partition that the records of moving weights may take where
/// memory is short: an eighth.
inline constexpr int64_t kRecordPart = 8;

/// Extents of the smallest tile that a model allows.
analysis::Shape smallestTile(const analysis::TilingModel &model);

/// Bytes of a partition that the smallest tile of `op` takes if operands and
/// result are in DRAM.
int64_t smallestTileBytes(mlir::Operation *op,
                          const machine::Description &machine);

/// Bytes of a partition that are there for the tile of any operation when all
/// tensors are in DRAM and weights come in their smallest parts, next to the
/// identity that transposes share.
int64_t leastScratch(mlir::ModuleOp module,
                     const machine::Description &machine);

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_SMALLESTTILE_H
