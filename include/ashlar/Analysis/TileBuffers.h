// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The buffers that one tile of an operation has in scratch memory: copies of
// operands, the result on its way to DRAM, and what the operation needs
// besides. Planning sizes slots by them, the verifier of the plan checks every
// one of them, and code generation takes its addresses from them.

#ifndef ASHLAR_ANALYSIS_TILEBUFFERS_H
#define ASHLAR_ANALYSIS_TILEBUFFERS_H

#include "ashlar/Analysis/TilingModel.h"
#include "ashlar/Analysis/View.h"
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
  /// What an operand or a result holds of its tensor.
  Region region;
  View view;
  int64_t bytes = 0; ///< from view.base on

  int64_t end() const { return view.base + bytes; }
  /// The buffer as messages name it.
  std::string name() const;
};

/// What a tile does not find where it lies: these have buffers.
struct Staging {
  llvm::SmallVector<bool, 4> operands;
  bool result = false;
};

/// Values that the plan in the attributes of a module keeps in the state
/// buffer: results with a placement, and small constants.
class Residents {
public:
  Residents(mlir::ModuleOp module, const machine::Description &machine);

  /// True if `value` lies in the state buffer with `axis` across partitions, in
  /// `lanes`.
  bool holds(mlir::Value value, int64_t axis, const Lanes &lanes) const;
  /// What the tiles of a planned operation stage.
  Staging stagingOf(mlir::Operation *op, const TilingModel &model) const;

private:
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> constants;
};

/// The buffers of the tile that makes the part `out` of the result of `op`,
/// packed from byte `base` of the partitions on.
llvm::SmallVector<TileBuffer, 6>
tileBuffers(mlir::Operation *op, const TilingModel &model,
            const Staging &staging, const Region &out, int64_t base,
            const machine::Description &machine);

/// Bytes of a partition that hold the buffers of any tile of `extents`: the
/// slot of a tile.
int64_t slotBytes(mlir::Operation *op, const TilingModel &model,
                  const Staging &staging, llvm::ArrayRef<int64_t> extents,
                  const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_TILEBUFFERS_H
