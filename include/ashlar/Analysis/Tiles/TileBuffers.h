// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The buffers of one tile of an operation in scratch memory: staged operands,
// the result on its way to DRAM, and further scratch of the operation. Planning
// sizes slots by them, the plan verifier checks each of them, and code
// generation takes its addresses from them.

#ifndef ASHLAR_ANALYSIS_TILES_TILEBUFFERS_H
#define ASHLAR_ANALYSIS_TILES_TILEBUFFERS_H

#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Partition/TilePolicy.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"
#include <string>

namespace ashlar::analysis {

using partition::kOverlapTiles;

/// One buffer in the bytes of every partition.
struct TileBuffer {
  enum class Role { Operand, Result, Scratch };

  Role role = Role::Scratch;
  unsigned index = 0; ///< of the operand, or of the scratch buffer
  /// The region of the operand or result that the buffer holds.
  Region region;
  View view;
  int64_t bytes = 0; ///< from view.base on

  int64_t end() const { return view.base + bytes; }
  /// The name of the buffer in diagnostics.
  std::string name() const;
};

/// The operands and results that a tile cannot access in place; each has a
/// buffer.
struct Staging {
  llvm::SmallVector<bool, 4> operands;
  bool result = false;
};

/// The values that the memory plan of a module keeps in the state buffer:
/// results with a placement, and small constants.
class Residents {
public:
  Residents(mlir::ModuleOp module, const machine::Description &machine);

  /// True if `value` is in the state buffer with partition axis `axis` and lane
  /// fold `lanes`.
  bool holds(mlir::Value value, int64_t axis, const Lanes &lanes) const;
  /// The operands and results that the tiles of a planned operation stage.
  Staging stagingOf(mlir::Operation *op, const TilingModel &model) const;

private:
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> constants;
};

/// The buffers of the tile that computes region `out` of the result of `op`,
/// packed from byte `base` of the partitions on.
llvm::SmallVector<TileBuffer, 6>
tileBuffers(mlir::Operation *op, const TilingModel &model,
            const Staging &staging, const Region &out, int64_t base,
            const machine::Description &machine);

/// Size of a slot: bytes of a partition that suffice for the buffers of any
/// tile of `extents`.
int64_t slotBytes(mlir::Operation *op, const TilingModel &model,
                  const Staging &staging, llvm::ArrayRef<int64_t> extents,
                  const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_TILES_TILEBUFFERS_H
