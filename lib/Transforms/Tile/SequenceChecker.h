// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One sequence, step by step.

#ifndef ASHLAR_LIB_TRANSFORMS_TILE_SEQUENCECHECKER_H
#define ASHLAR_LIB_TRANSFORMS_TILE_SEQUENCECHECKER_H

#include "ashlar/Analysis/Tiles/TileSequence.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

namespace ashlar::tile {

/// Tiles of a plan that have been dealt with, each at most once.
class TileSet {
public:
  TileSet(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> extents);

  /// Whether there is room for all tiles: their number is limited.
  bool valid() const { return count >= 0; }
  /// The number of the tile that is `region`, or nothing if none is.
  std::optional<int64_t> indexOf(const analysis::Region &region) const;
  /// False if the tile was there before.
  bool insert(int64_t index);
  bool complete() const { return found == count; }
  bool empty() const { return found == 0; }
  int64_t missing() const { return count - found; }

private:
  analysis::Shape shape, extents;
  int64_t count = 1, found = 0;
  llvm::BitVector tiles;
};

/// Checks one sequence (VerifyTiles); emits the first error.
class SequenceChecker {
public:
  SequenceChecker(SequenceOp sequence, const analysis::Residents &residents,
                  const machine::Description &machine);

  mlir::LogicalResult run();

private:
  /// What is at a value of the sequence.
  struct Place {
    enum class Holds { Nothing, Operand, Result };
    bool alive = false;
    bool view = false;
    int64_t begin = 0, end = 0; ///< bytes of a buffer
    Holds holds = Holds::Nothing;
    int64_t operand = -1;
    analysis::Region region;
  };

  bool step(mlir::Operation *op, const analysis::LoopIndices &loops);
  mlir::LogicalResult check(AllocOp op, const analysis::LoopIndices &loops);
  mlir::LogicalResult check(FreeOp op);
  mlir::LogicalResult check(ViewOp op, const analysis::LoopIndices &loops);
  mlir::LogicalResult check(TensorOp op);
  mlir::LogicalResult check(ComputeOp op, const analysis::LoopIndices &loops);
  mlir::LogicalResult check(StoreOp op, const analysis::LoopIndices &loops);
  mlir::LogicalResult check(ReleaseWeightsOp op);
  template <typename Op>
  mlir::LogicalResult checkCopy(Op op, const analysis::Region &region,
                                bool padded);
  mlir::LogicalResult checkUniform(FillOp op);
  mlir::LogicalResult checkInput(ComputeOp op, size_t input,
                                 const analysis::Region &out);
  mlir::LogicalResult checkTarget(ComputeOp op, int64_t tile,
                                  const analysis::Region &out);
  mlir::LogicalResult checkScratch(ComputeOp op, const analysis::Region &out);
  mlir::LogicalResult checkWeights(ComputeOp op, const analysis::Region &out);
  mlir::LogicalResult checkOperandNumber(mlir::Operation *op, int64_t operand);
  mlir::LogicalResult checkComplete();
  bool isAlive(mlir::Value buffer) const;
  bool isType(BufferType type, const analysis::StorageType &storage,
              int64_t axis, const analysis::Lanes &lanes) const;

  SequenceOp sequence;
  mlir::Operation *node;
  const analysis::Residents &residents;
  const machine::Description &machine;
  analysis::TilingModel model;
  npu::TilingAttr tiling;
  TileSet measured, computed, stored;
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::SmallVector<mlir::Value, 8> alive;
  llvm::DenseMap<mlir::Type, analysis::StorageType> storages;
  std::optional<int64_t> outputs; ///< of the tile before
  llvm::DenseMap<int64_t, uint64_t> uniform;
};

} // namespace ashlar::tile

#endif // ASHLAR_LIB_TRANSFORMS_TILE_SEQUENCECHECKER_H
