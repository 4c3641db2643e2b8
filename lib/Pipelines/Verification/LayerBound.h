// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one operation of the quantised module must give for the operands that
// it really had: the exact result and how far the machine may be from it
// (docs/Numerics.md 13).

#ifndef ASHLAR_LIB_PIPELINES_LAYERBOUND_H
#define ASHLAR_LIB_PIPELINES_LAYERBOUND_H

#include "PlanEvaluation.h"

#include "ashlar/Container/Container.h"
#include "ashlar/Emulator/Result.h"
#include "dialects/BFP/BFPTypes.h"

namespace ashlar::pipelines {

/// Which block an element of an encoded tensor is in. Blocks are numbered in
/// row-major order with the block axis counted in blocks.
class BlockIndex {
public:
  BlockIndex(bfp::BlockType type, llvm::ArrayRef<int64_t> shape);
  int64_t of(int64_t element) const;
  int64_t count() const { return blocks; }

private:
  bool whole;
  int64_t inner, innerBlocks, extent, length, perRow, blocks;
  /// Indices outside and inside of the block axis that share exponents, and
  /// elements of one of those inside.
  int64_t outerRows = 1, innerRows = 1, rest = 1;
};

/// A tensor as an operand of an operation.
struct LayerOperand {
  Tensor values; ///< Exact; of weights what was encoded.
  /// How far each element may be from `values` once a product has fetched it;
  /// empty if not encoded.
  std::vector<double> fetchError;
  /// How far each element of a feature map that no dump shows may be from
  /// `values`: of one that is reduced on its way from PSUM, or stays in the
  /// sparse cluster. Empty otherwise.
  std::vector<double> unseen;
  /// Largest step of the integers that a product fetches; 0 if not encoded.
  double grid = 0;
  /// Elements that operand fetch limits: outside of every guarantee.
  uint64_t saturated = 0;
};

/// The operand that memory holds as `dump`.
llvm::Expected<LayerOperand>
operandFromDump(const container::TensorPlacement &placement,
                const emulator::TensorDump &dump, mlir::Value value);

/// A constant, or the encoding of one.
llvm::Expected<LayerOperand> operandFromConstant(mlir::Value value);

struct LayerExpectation;

/// An operand that no dump shows: what is expected of \p value, and how far
/// from that it may be.
LayerOperand operandUnseen(mlir::Value value, LayerExpectation expected);

/// What the machine may store for one operation.
struct LayerExpectation {
  Tensor exact;
  /// Per element; 0 for integers, infinite where nothing is guaranteed.
  std::vector<double> bound;
  /// Magnitude above which an element saturates; empty if the result is not
  /// encoded.
  std::vector<double> limit;
};

llvm::Expected<LayerExpectation>
expectLayer(mlir::Operation *op, llvm::ArrayRef<const LayerOperand *> operands);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_LAYERBOUND_H
