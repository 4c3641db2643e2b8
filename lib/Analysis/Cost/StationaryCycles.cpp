// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and loads of a product's stationary tiles, either operand in them.
//
// With few result positions a weight tile is loaded for fewer steps than the
// load takes; then it is better to keep the activations in the array while the
// weights stream. The result leaves with positions across partitions and has to
// be transposed: by a copy and a vector pass, or encoded, whole blocks by an
// identity multiplication.

#include "ashlar/Analysis/Cost/StationaryCycles.h"

#include "ashlar/Analysis/Array/PatternTiles.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Machine/Transposes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace ashlar::analysis {
namespace {

class StationaryPredictor {
public:
  StationaryPredictor(mlir::Operation *op, const machine::Description &machine)
      : machine(machine), product(productShape(op)),
        x(storageOf(op->getOperand(0))), w(weightStorage(op)),
        function(drainFunction(op)) {
    product.weightsMove = false;
    // Slopes are where the sums are: the drain applies them.
    if (hasSlopes(op))
      function = *machine::vecCostOf("copy");
    for (int64_t extent : shapeOf(op->getResult(0)))
      positions *= extent;
    positions /= product.outputs;
    gathers = gathersActivations(op);
    if (auto conv = mlir::dyn_cast<npu::PeConvOp>(op)) {
      adds = static_cast<bool>(conv.getResidual());
      if (llvm::all_of(conv.getStrides(), [](int64_t s) { return s == 1; }))
        neighbours = shapeOf(op->getResult(0)).back();
    } else if (auto matmul = mlir::dyn_cast<npu::PeMatmulOp>(op)) {
      adds = static_cast<bool>(matmul.getResidual());
    }
  }

  /// Weights stationary: every tile is loaded once per group of positions that
  /// half of PSUM holds.
  int64_t weightsStationary(mlir::Operation *op) const {
    auto columns = planStationary(product, machine);
    if (npu::patternOf(op)) {
      markPatterns(columns, op, WeightPattern(op), machine);
      return analysis::tileCycles(columns, op, machine);
    }
    const int64_t group = std::max<int64_t>(machine.psum.banks / 2, 1) *
                          static_cast<int64_t>(machine.psum.entriesPerBank);
    int64_t cycles = 0;
    for (const ColumnTile &column : columns)
      for (const StationaryTile &tile : column.tiles)
        for (int64_t at = 0; at < positions; at += group)
          cycles += tileCycles(streamCycles(std::min(group, positions - at)),
                               tile.rows, w.bytes());
    return cycles;
  }

  /// Activations stationary, without the transpose of the result.
  int64_t activationsStationary() const {
    ProductShape moved = product;
    moved.weightsMove = true;
    const int64_t columns = llvm::divideCeil(positions, machine.pe.columns);
    int64_t cycles = gatherCycles();
    for (const ColumnTile &chunk : planStationary(moved, machine))
      for (const StationaryTile &tile : chunk.tiles)
        cycles += columns *
                  tileCycles(streamCycles(chunk.cols), tile.rows, x.bytes());
    return cycles;
  }

  /// Transposing the encoded result on the array.
  int64_t blockCycles() const {
    const int64_t columns = machine.pe.columns;
    const int64_t tiles = llvm::divideCeil(product.outputs, columns);
    const machine::TransposeTerms one = machine::transposeTile(
        machine, positions, std::min(columns, product.outputs), x.bytes());
    return (tiles - 1) * static_cast<int64_t>(
                             machine::peTile(machine, positions, one.load)) +
           static_cast<int64_t>(one.total());
  }

  /// Transposing the result by a copy and finishing it on the vector unit.
  int64_t copyAndFinish() const {
    // Every element has other neighbours afterwards.
    const int64_t turn = copyCycles(product.outputs * positions * 4,
                                    product.outputs * positions);
    // Through the function and encoded, after the residual was added.
    using machine::VecCost, machine::VecStore;
    auto pass = [&](VecCost cost, VecStore store) {
      return static_cast<int64_t>(
          machine::vecMap(machine, cost, store, product.outputs, positions)
              .issue);
    };
    const int64_t finish = (adds ? pass(VecCost::Cheap, VecStore::Same) : 0) +
                           pass(function, VecStore::Encode);
    return turn + finish +
           2 * static_cast<int64_t>(machine.act.latency + machine.vec.latency);
  }

private:
  /// A stream of `steps` positions, of either operand.
  int64_t streamCycles(int64_t steps) const {
    machine::PeStreamShape shape;
    shape.positions = static_cast<uint64_t>(steps);
    shape.passes = machine::pePasses(machine, x.digitBits(), w.digitBits());
    shape.narrow = isNarrow(x, w, machine);
    return static_cast<int64_t>(machine::peSteps(machine, shape).cycles);
  }

  /// A stream and the load of a tile.
  int64_t tileCycles(int64_t stream, int64_t rows, int64_t bytes) const {
    return static_cast<int64_t>(machine::peTile(
        machine, stream, machine::peLoad(machine, rows, bytes).issue));
  }

  /// A copy inside the chip.
  int64_t copyCycles(int64_t bytes, int64_t runs) const {
    return static_cast<int64_t>(machine::dmaInside(machine, bytes, runs));
  }

  /// Gathering windows.
  int64_t gatherCycles() const {
    if (!gathers)
      return 0;
    const int64_t elements = product.channels * product.taps * positions;
    return copyCycles(elements * x.bytes(), elements / neighbours);
  }

  const machine::Description &machine;
  ProductShape product;
  StorageType x, w;
  machine::VecCost function;
  int64_t positions = 1;
  bool adds = false; ///< a residual
  bool gathers = false;
  int64_t neighbours = 1; ///< inputs of a tap that lie side by side
};

} // namespace

std::optional<int64_t> StationaryCycles::moving() const {
  if (activations && blocks)
    return std::min(*activations, *blocks);
  return activations ? activations : blocks;
}

int64_t StationaryCycles::least() const {
  return std::min(weights, moving().value_or(weights));
}

StationaryCycles stationaryCycles(mlir::Operation *op,
                                  const machine::Description &machine) {
  const StationaryPredictor predictor(op, machine);
  StationaryCycles cycles;
  cycles.weights = predictor.weightsStationary(op);
  if (!mayKeepActivations(op, machine))
    return cycles;
  const int64_t moving = predictor.activationsStationary();
  if (mayTurnBlocks(op, machine))
    cycles.blocks = moving + predictor.blockCycles();
  // Where everything after the sums is an integer, no float lies between them
  // and the blocks, and blocks are what the array transposes.
  if (!hasIntegerEpilogue(op))
    cycles.activations = moving + predictor.copyAndFinish();
  return cycles;
}

} // namespace ashlar::analysis
