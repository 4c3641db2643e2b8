// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences of tile operations (dialects/Tile) as what planning and code
// generation know: loops unrolled, regions with numbers, buffers as views. The
// builder of sequences, their verifier and code generation share this.

#ifndef ASHLAR_ANALYSIS_TILESEQUENCE_H
#define ASHLAR_ANALYSIS_TILESEQUENCE_H

#include "ashlar/Analysis/TileBuffers.h"
#include "ashlar/Analysis/TilingModel.h"
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

  /// The numbers of a map over `operands`, indices of loops. What leaves 63
  /// bits stays at their end.
  Shape evaluate(mlir::AffineMap map, mlir::OperandRange operands) const;
  /// The region of an operation of a sequence.
  template <typename Op>
  Region regionOf(Op op) const {
    return {evaluate(op.getStart(), op.getIndices()), Shape(op.getSizes())};
  }

private:
  /// One step of the evaluation of an affine number on a stack.
  struct Code {
    mlir::AffineExprKind kind;
    int64_t value; ///< of a constant, or the number of an index
  };
  /// The steps of all numbers of a map: a walk evaluates the same few maps
  /// for every tile.
  using Program = llvm::SmallVector<llvm::SmallVector<Code, 6>, 6>;

  static void append(mlir::AffineExpr expr, llvm::SmallVectorImpl<Code> &codes);
  static int64_t run(llvm::ArrayRef<Code> codes, llvm::ArrayRef<int64_t> dims);
  const Program &programOf(mlir::AffineMap map) const;

  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 8> indices;
  mutable llvm::DenseMap<mlir::AffineMap, Program> programs;
};

/// Calls `step` for every operation of a sequence but loops, in the order in
/// which they take place, until it returns false. Returns false then.
bool forEachStep(
    tile::SequenceOp sequence,
    llvm::function_ref<bool(mlir::Operation *, const LoopIndices &)> step);

/// Steps that `sequence` has with its loops unrolled; `most` if they are more.
int64_t countSteps(tile::SequenceOp sequence, int64_t most);

/// The type of a buffer with these elements.
tile::BufferType bufferType(mlir::MLIRContext *context, const StorageType &type,
                            llvm::ArrayRef<int64_t> shape, int64_t axis,
                            const Lanes &lanes);
/// The storage and the fold of a buffer; no storage for elements that no memory
/// holds.
std::optional<StorageType> storageOf(tile::BufferType type);
Lanes lanesOf(tile::BufferType type);
/// A buffer at byte `address` of the partitions.
View viewOf(tile::BufferType type, int64_t address,
            const machine::Description &machine);

/// The buffers of a tile as tileBuffers() lists them; of an exchange of blocks
/// in place, its slots.
llvm::SmallVector<TileBuffer, 6>
sequenceBuffers(mlir::Operation *op, const TilingModel &model,
                const Staging &staging, const Region &out, int64_t base,
                const machine::Description &machine);

/// True for an operation that makes blocks of a whole tensor whose exponent no
/// policy sets: its tiles are walked twice, to measure the exponent and to
/// encode under it.
bool measuresTensor(mlir::Operation *op);

/// The uses of a value that read it: a sequence that says how it is made does
/// not. What asks for readers asks here, since sequences may be there.
llvm::SmallVector<mlir::OpOperand *, 4> readsOf(mlir::Value value);

/// The one operation that reads `value` once, or null.
mlir::Operation *soleReader(mlir::Value value);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_TILESEQUENCE_H
