// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the stationary operand of every product by predicted cycles. Input:
// pe operations. Output: the same, some with `stationary` activations, and
// a decision with the cycles of both alternatives.
//
// With few result positions a weight tile is loaded for fewer steps than the
// load takes; then the activations had better wait in the array while the
// weights stream. The result leaves with positions across partitions and has
// to be transposed: by a copy and a vector pass, or encoded, whole blocks by an
// identity multiplication.

#include "ashlar/Analysis/DenseCycles.h"
#include "ashlar/Analysis/EncodedWeights.h"
#include "ashlar/Analysis/PatternTiles.h"
#include "ashlar/Analysis/StationaryPlan.h"
#include "ashlar/Analysis/StorageType.h"
#include "ashlar/Analysis/TilingModel.h"
#include "ashlar/Machine/Transposes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_CHOOSESTATIONARY
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::ProductShape;
using analysis::storageOf;

namespace {

/// Predicted cycles of one product, both ways.
struct StationaryCycles {
  int64_t weights = 0;
  int64_t activations = 0; ///< transposed by a copy and a vector pass
  /// Transposed as whole blocks on the array, where that is possible.
  std::optional<int64_t> blocks;

  /// \p integer: no float lies between the sums and the blocks.
  int64_t moving(bool integer) const {
    return integer && blocks
               ? *blocks
               : std::min(activations, blocks.value_or(activations));
  }
};

class Predictor {
public:
  Predictor(Operation *op, const machine::Description &machine)
      : machine(machine), product(analysis::productShape(op)),
        x(storageOf(op->getOperand(0))), w(analysis::weightStorage(op)),
        function(analysis::drainFunction(op)) {
    // Slopes are where the sums are: the drain applies them.
    if (analysis::hasSlopes(op))
      function = *machine::vecCostOf("copy");
    positions = 1;
    for (int64_t extent : analysis::shapeOf(op->getResult(0)))
      positions *= extent;
    positions /= product.outputs;
    gathers = analysis::gathersActivations(op);
    if (auto conv = dyn_cast<PeConvOp>(op)) {
      adds = static_cast<bool>(conv.getResidual());
      if (llvm::all_of(conv.getStrides(), [](int64_t s) { return s == 1; }))
        neighbours = analysis::shapeOf(op->getResult(0)).back();
    } else if (auto matmul = dyn_cast<PeMatmulOp>(op)) {
      adds = static_cast<bool>(matmul.getResidual());
    }
    blocks = analysis::mayTurnBlocks(op, machine);
    if (!patternOf(op))
      return;
    auto columns = analysis::planStationary(product, machine);
    analysis::markPatterns(columns, op, analysis::EncodedWeights(op), machine);
    patternCycles = analysis::tileCycles(columns, op, machine);
  }

  int64_t positions;

  StationaryCycles predict() const {
    const auto passes = static_cast<int64_t>(
        machine::pePasses(machine, x.digitBits(), w.digitBits()));
    StationaryCycles prediction;
    int64_t group = std::max<int64_t>(machine.psum.banks / 2, 1) *
                    static_cast<int64_t>(machine.psum.entriesPerBank);
    prediction.weights = patternCycles
                             ? *patternCycles
                             : stream(product, group, positions, passes);
    ProductShape moved = product;
    moved.weightsMove = true;
    int64_t columns = llvm::divideCeil(positions, machine.pe.columns);
    prediction.activations = gatherCycles();
    for (const auto &chunk : analysis::planStationary(moved, machine))
      for (const auto &tile : chunk.tiles)
        prediction.activations +=
            columns *
            tileCycles(streamCycles(chunk.cols, passes), tile.rows, x.bytes());
    if (blocks)
      prediction.blocks = prediction.activations + blockCycles();
    prediction.activations += turnCycles();
    return prediction;
  }

private:
  /// A stream of `steps` positions, of either operand.
  int64_t streamCycles(int64_t steps, int64_t passes) const {
    machine::PeStreamShape shape;
    shape.positions = static_cast<uint64_t>(steps);
    shape.passes = static_cast<uint64_t>(passes);
    shape.narrow = analysis::isNarrow(x, w, machine);
    return static_cast<int64_t>(machine::peSteps(machine, shape).cycles);
  }

  /// A stream and the load of a tile.
  int64_t tileCycles(int64_t stream, int64_t rows, int64_t bytes) const {
    return static_cast<int64_t>(machine::peTile(
        machine, stream, machine::peLoad(machine, rows, bytes).issue));
  }

  /// Weights stationary: every tile is loaded once per group of positions.
  int64_t stream(const ProductShape &shape, int64_t group, int64_t steps,
                 int64_t passes) const {
    int64_t cycles = 0;
    for (const auto &column : analysis::planStationary(shape, machine))
      for (const auto &tile : column.tiles)
        for (int64_t at = 0; at < steps; at += group)
          cycles +=
              tileCycles(streamCycles(std::min(group, steps - at), passes),
                         tile.rows, w.bytes());
    return cycles;
  }

  /// A copy inside the chip.
  int64_t copyCycles(int64_t bytes, int64_t runs) const {
    return static_cast<int64_t>(machine::dmaInside(machine, bytes, runs));
  }

  /// Gathering windows.
  int64_t gatherCycles() const {
    if (!gathers)
      return 0;
    int64_t elements = product.channels * product.taps * positions;
    return copyCycles(elements * x.bytes(), elements / neighbours);
  }

  /// Turning the encoded result on the array.
  int64_t blockCycles() const {
    int64_t columns = machine.pe.columns;
    int64_t tiles = llvm::divideCeil(product.outputs, columns);
    machine::TransposeTerms one = machine::transposeTile(
        machine, positions, std::min(columns, product.outputs), x.bytes());
    return (tiles - 1) * static_cast<int64_t>(
                             machine::peTile(machine, positions, one.load)) +
           static_cast<int64_t>(one.total());
  }

  /// Turning the result by a copy and finishing it on the vector unit.
  int64_t turnCycles() const {
    // Every element has other neighbours afterwards.
    int64_t turn = copyCycles(product.outputs * positions * 4,
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

  const machine::Description &machine;
  ProductShape product;
  analysis::StorageType x, w;
  machine::VecCost function;
  bool adds = false; ///< a residual
  bool gathers = false;
  int64_t neighbours = 1; ///< inputs of a tap that lie side by side
  bool blocks = false;
  std::optional<int64_t> patternCycles; ///< with N:M weights stationary
};

struct ChooseStationaryPass : impl::ChooseStationaryBase<ChooseStationaryPass> {
  void runOnOperation() override {
    auto machine = boundMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    getOperation().walk([&](Operation *op) {
      if (isa<PeConvOp, PeMatmulOp>(op))
        choose(op, *machine);
    });
  }

  void choose(Operation *op, const machine::Description &machine) {
    Builder builder(op->getContext());
    Predictor predictor(op, machine);
    StationaryCycles cycles = predictor.predict();
    bool allowed = analysis::mayKeepActivations(op, machine);
    const bool integer = analysis::hasIntegerEpilogue(op);
    const int64_t moving = cycles.moving(integer);
    bool turns = allowed && moving < cycles.weights;
    bool blocks = turns && (integer || moving < cycles.activations);
    if (turns) {
      setStationary(op, blocks ? Stationary::ActivationsBlocks
                               : Stationary::Activations);
      setPattern(op, nullptr);
      op->removeAttr(kPatternDecisionAttr);
    }
    numActivations += turns;
    numBlocks += blocks;
    llvm::StringRef reason =
        blocks  ? "fewer cycles: the stream of weights is longer than a load, "
                  "and the array transposes whole blocks"
        : turns ? "fewer cycles: the stream of weights is longer than a load"
        : allowed ? "fewer cycles: the stream of positions covers the loads"
                  : "the result cannot be transposed in one pass";
    llvm::SmallVector<NamedAttribute> alternatives{builder.getNamedAttr(
        "weights-stationary", builder.getI64IntegerAttr(cycles.weights))};
    if (allowed && !integer)
      alternatives.push_back(
          builder.getNamedAttr("activations-stationary",
                               builder.getI64IntegerAttr(cycles.activations)));
    if (allowed && cycles.blocks)
      alternatives.push_back(
          builder.getNamedAttr("activations-stationary-transposed-blocks",
                               builder.getI64IntegerAttr(*cycles.blocks)));
    op->setAttr(
        kStationaryDecisionAttr,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("choice", builder.getStringAttr(
                                                turns ? "activations-stationary"
                                                      : "weights-stationary")),
             builder.getNamedAttr("reason", builder.getStringAttr(reason)),
             builder.getNamedAttr("alternatives",
                                  builder.getDictionaryAttr(alternatives))}));
  }
};

} // namespace
} // namespace ashlar::npu
