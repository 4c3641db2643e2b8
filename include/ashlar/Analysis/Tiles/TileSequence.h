// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences of tile operations (dialects/Tile) in the terms of planning and
// code generation: unrolled loops, numeric regions, and buffers as views. The
// builder of sequences, their verifier and code generation share this.

#ifndef ASHLAR_ANALYSIS_TILES_TILESEQUENCE_H
#define ASHLAR_ANALYSIS_TILES_TILESEQUENCE_H

#include "ashlar/Analysis/Tiles/TileBuffers.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "dialects/Tile/TileDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ashlar::analysis {

/// The indices of the loops around a tile operation, outermost first.
class LoopIndices {
public:
  void enter(mlir::Value index) { indices.push_back({index, 0}); }
  void set(int64_t value) { indices.back().second = value; }
  void leave() { indices.pop_back(); }

  /// Evaluates an affine map whose `operands` are loop indices. Values saturate
  /// at 63 bits.
  Shape evaluate(mlir::AffineMap map, mlir::OperandRange operands) const;
  /// The region of an operation of a sequence.
  template <typename Op>
  Region regionOf(Op op) const {
    return {evaluate(op.getStart(), op.getIndices()), Shape(op.getSizes())};
  }

private:
  /// An instruction of the stack machine that evaluates affine expressions.
  struct Code {
    mlir::AffineExprKind kind;
    int64_t value; ///< the constant, or the position of the index
  };
  /// The instructions for all results of a map. They are cached, because a walk
  /// evaluates the same few maps for every tile.
  using Program = llvm::SmallVector<llvm::SmallVector<Code, 6>, 6>;

  static void append(mlir::AffineExpr expr, llvm::SmallVectorImpl<Code> &codes);
  static int64_t run(llvm::ArrayRef<Code> codes, llvm::ArrayRef<int64_t> dims);
  const Program &programOf(mlir::AffineMap map) const;

  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 8> indices;
  mutable llvm::DenseMap<mlir::AffineMap, Program> programs;
};

/// Calls `step` for every operation of a sequence except loops, in execution
/// order, until it returns false. Returns false in that case, true otherwise.
bool forEachStep(
    tile::SequenceOp sequence,
    llvm::function_ref<bool(mlir::Operation *, const LoopIndices &)> step);

/// The number of operations of `sequence` with loops unrolled, at most `most`.
int64_t countSteps(tile::SequenceOp sequence, int64_t most);

/// The type of a buffer with these elements.
tile::BufferType bufferType(mlir::MLIRContext *context, const StorageType &type,
                            llvm::ArrayRef<int64_t> shape, int64_t axis,
                            const Lanes &lanes);
/// The storage type and the lane fold of a buffer; no storage type for elements
/// that no memory can hold.
std::optional<StorageType> storageOf(tile::BufferType type);
Lanes lanesOf(tile::BufferType type);
/// A buffer at byte `address` of the partitions.
View viewOf(tile::BufferType type, int64_t address,
            const machine::Description &machine);

/// The buffers of a tile as listed by tileBuffers(); for an in-place block
/// swap, its slots.
llvm::SmallVector<TileBuffer, 6>
sequenceBuffers(mlir::Operation *op, const TilingModel &model,
                const Staging &staging, const Region &out, int64_t base,
                const machine::Description &machine);

/// True if `op` encodes with one exponent for the whole tensor and no policy
/// sets that exponent: its tiles are then walked twice, first to find the
/// exponent and then to encode.
bool measuresTensor(mlir::Operation *op);

/// The uses of a value that read it. The sequence that describes how the value
/// is computed is a use too, but not a reader; so use this instead of getUses()
/// wherever sequences may exist.
llvm::SmallVector<mlir::OpOperand *, 4> readsOf(mlir::Value value);

/// The one operation that reads `value` once, or null.
mlir::Operation *soleReader(mlir::Value value);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_TILES_TILESEQUENCE_H
