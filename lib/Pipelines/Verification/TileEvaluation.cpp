// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interpreter of sequences.

#include "TileEvaluation.h"

#include "ashlar/Analysis/Tiles/TileSequence.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace ashlar::pipelines {

using analysis::LoopIndices;
using analysis::Region;

namespace {

/// Calls `visit` with the row-major index of every element of `region` that is
/// in a tensor of `shape`.
void forEachInside(const Region &region, llvm::ArrayRef<int64_t> shape,
                   llvm::function_ref<void(int64_t)> visit) {
  llvm::SmallVector<int64_t> strides = reference::rowMajorStrides(shape);
  auto walk = [&](auto &self, size_t axis, int64_t base) -> void {
    if (axis == shape.size())
      return visit(base);
    const int64_t begin = std::max<int64_t>(region.start[axis], 0);
    const int64_t end =
        std::min(region.start[axis] + region.size[axis], shape[axis]);
    for (int64_t i = begin; i < end; ++i)
      self(self, axis + 1, base + i * strides[axis]);
  };
  walk(walk, 0, 0);
}

void copyElement(const Tensor &from, Tensor &to, int64_t index) {
  if (from.isFloat())
    to.floats[index] = from.floats[index];
  else
    to.ints[index] = from.ints[index];
}

/// A tensor without an element that `own` has in its place: NaN, or another
/// index of the first two.
Tensor foreign(const Tensor &own) {
  Tensor other = own;
  for (double &value : other.floats)
    value = std::nan("");
  for (int64_t &value : other.ints)
    value = value == 0 ? 1 : 0;
  return other;
}

class SequenceEvaluator {
public:
  SequenceEvaluator(tile::SequenceOp sequence,
                    llvm::ArrayRef<const Tensor *> operands)
      : sequence(sequence), op(sequence.getNode().getDefiningOp()),
        operands(operands) {}

  llvm::Expected<Tensor> run();

private:
  /// What is at a value: a part of an operand, or a tile of the result.
  struct Place {
    Region region;
    Tensor made; ///< of the extents of the result
  };

  void step(Operation *step, const LoopIndices &loops);
  llvm::Error compute(tile::ComputeOp compute, const LoopIndices &loops);

  tile::SequenceOp sequence;
  Operation *op;
  llvm::ArrayRef<const Tensor *> operands;
  llvm::DenseMap<Value, Place> places;
  std::optional<Tensor> result;
};

llvm::Error SequenceEvaluator::compute(tile::ComputeOp compute,
                                       const LoopIndices &loops) {
  std::vector<Tensor> read;
  read.reserve(operands.size());
  llvm::SmallVector<const Tensor *> given(operands);
  for (auto [index, value] :
       llvm::zip(compute.getReads(), compute.getInputs())) {
    if (isa<RankedTensorType>(value.getType()))
      continue;
    const Tensor &whole = *operands[index];
    Tensor part = foreign(whole);
    forEachInside(places[value].region, whole.shape,
                  [&](int64_t at) { copyElement(whole, part, at); });
    read.push_back(std::move(part));
    given[index] = &read.back();
  }
  auto made = evaluateEngine(op, given);
  if (!made)
    return made.takeError();
  if (!result) {
    result = *made;
    llvm::fill(result->floats, std::nan(""));
    llvm::fill(result->ints, 0);
  }
  const Region out = loops.regionOf(compute);
  Value target = compute.getTarget();
  if (target.getDefiningOp<tile::AllocOp>()) {
    places[target] = {out, std::move(*made)};
    return llvm::Error::success();
  }
  forEachInside(out, made->shape,
                [&](int64_t at) { copyElement(*made, *result, at); });
  return llvm::Error::success();
}

void SequenceEvaluator::step(Operation *step, const LoopIndices &loops) {
  llvm::TypeSwitch<Operation *>(step)
      .Case<tile::LoadOp, tile::FillOp>([&](auto load) {
        places[load.getBuffer()].region = loops.regionOf(load);
      })
      .Case([&](tile::ViewOp view) {
        places[view.getView()].region = loops.regionOf(view);
      })
      .Case([&](tile::StoreOp store) {
        const Place &place = places[store.getBuffer()];
        forEachInside(loops.regionOf(store), place.made.shape, [&](int64_t at) {
          copyElement(place.made, *result, at);
        });
      });
}

llvm::Expected<Tensor> SequenceEvaluator::run() {
  // A result in the memory of others has no tiles.
  if (npu::isAliased(op))
    return evaluateEngine(op, operands);
  llvm::Error error = llvm::Error::success();
  analysis::forEachStep(sequence,
                        [&](Operation *next, const LoopIndices &loops) {
                          auto tile = dyn_cast<tile::ComputeOp>(next);
                          if (!tile)
                            step(next, loops);
                          else if (!tile.getMeasures())
                            error = compute(tile, loops);
                          return !error;
                        });
  if (error)
    return error;
  return std::move(*result);
}

/// Tiles of a sequence, as far as they count.
int64_t tilesOf(tile::SequenceOp sequence, int64_t most) {
  int64_t tiles = 0;
  analysis::forEachStep(sequence, [&](Operation *step, const LoopIndices &) {
    tiles += isa<tile::ComputeOp>(step);
    return tiles <= most;
  });
  return tiles;
}

} // namespace

llvm::Expected<Tensor>
evaluateSequence(tile::SequenceOp sequence,
                 llvm::ArrayRef<const Tensor *> operands) {
  return SequenceEvaluator(sequence, operands).run();
}

llvm::Expected<ValueMap> evaluateTiles(ModuleOp module,
                                       llvm::ArrayRef<HostTensor> inputs,
                                       int64_t mostTiles) {
  llvm::DenseMap<Operation *, tile::SequenceOp> sequences;
  module.walk([&](tile::SequenceOp sequence) {
    sequences[sequence.getNode().getDefiningOp()] = sequence;
  });
  return evaluateMain(
      module, inputs,
      [&](Operation *op,
          llvm::ArrayRef<const Tensor *> operands) -> llvm::Expected<Tensor> {
        tile::SequenceOp sequence = sequences.lookup(op);
        const bool whole =
            !sequence || tilesOf(sequence, mostTiles) > mostTiles;
        return whole ? evaluateWide(op, operands)
                     : evaluateSequence(sequence, operands);
      });
}

} // namespace ashlar::pipelines
