// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses which maps lie lane-folded (see Passes.td). Input: npu operations
// with axes and stationary operands. Output: lanes in the `layout` of
// producers, a decision on every convolution that could read a folded feature
// map.

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Analysis/Layout/LaneFolds.h"
#include "ashlar/Analysis/Tiles/TileSequence.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Transfers.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

#include <optional>

namespace ashlar::npu {
#define GEN_PASS_DEF_FOLDLANES
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::Lanes;
using analysis::shapeOf;
using analysis::storageOf;

using analysis::denseCycles;

namespace {

/// True if the drain of the convolution can add a folded residual.
bool addsFolded(Operation *user, Value x) {
  auto conv = dyn_cast<PeConvOp>(user);
  return conv && conv.getResidual() == x && conv.getX() != x &&
         !hasStationaryActivations(conv) && shapeOf(x) == shapeOf(conv.getY());
}

/// True if row groups can run the convolution.
bool readsFolded(Operation *user, Value x) {
  auto conv = dyn_cast<PeConvOp>(user);
  return conv && conv.getX() == x && conv.getResidual() != x &&
         analysis::mayReadLanes(conv) &&
         (storageOf(x).isByte() ||
          (storageOf(x).encoded && storageOf(x).blockAxis == 1));
}

/// True if the operation can write its result folded.
bool writesFolded(Operation *op, const machine::Description &machine) {
  analysis::TilingModel model = analysis::buildTilingModel(op, machine);
  if (model.resultAxis != 1 || model.workAxis != 1)
    return false;
  if (isa<PeConvOp>(op))
    return !hasStationaryActivations(op) &&
           (model.resultType.isByte() ||
            analysis::drainEncodes(model.resultType, model.resultShape[1],
                                   machine));
  auto move = dyn_cast<DmaMoveOp>(op);
  return move && analysis::mayWriteLanes(move);
}

/// Blocks that the vector unit can encode.
bool encodesBlock(int64_t block) {
  return block == 8 || block == 16 || block == 32 || block == 64;
}

/// True if the lanes of an encoded result start where encoded tensors may, and
/// if a data movement, which encodes all lanes at once, meets no block of two
/// lanes.
bool encodesLanes(Operation *op, const Lanes &fold,
                  const machine::Description &machine) {
  if (fold.pitch % std::max<int64_t>(8, machine.xmGroup) != 0)
    return false;
  if (!isa<DmaMoveOp>(op))
    return true;
  int64_t block =
      analysis::foldedBlock(storageOf(op->getResult(0)).format, fold);
  return encodesBlock(block) && fold.pitch % block == 0;
}

/// The folds that memory, array and formats allow for the result of `op`.
llvm::SmallVector<Lanes, 6> candidates(Operation *op,
                                       const machine::Description &machine) {
  auto shape = shapeOf(op->getResult(0));
  llvm::SmallVector<Lanes, 6> lanes;
  // A drain takes its positions in the lanes of the residual as well.
  Lanes residual;
  if (auto conv = dyn_cast<PeConvOp>(op); conv && conv.getResidual())
    residual = analysis::widthLanesOf(conv.getResidual());
  auto folds = analysis::laneFolds(shape[1], shape.back(), machine);
  if (isa<PeConvOp>(op))
    folds.append(analysis::blockFolds(op->getResult(0), machine));
  for (const Lanes &fold : folds) {
    bool encodes =
        storageOf(op->getResult(0)).isByte() || encodesLanes(op, fold, machine);
    if (encodes && (!residual.folded() || fold == residual))
      lanes.push_back(fold);
  }
  return lanes;
}

} // namespace

bool mayFoldLanes(Operation *op, const machine::Description &machine) {
  Value result = op->getResult(0);
  auto readsIt = [&](OpOperand *use) {
    Operation *user = use->getOwner();
    return readsFolded(user, result) || addsFolded(user, result);
  };
  const auto reads = analysis::readsOf(result);
  return isa<PeConvOp, DmaMoveOp>(op) && shapeOf(result).size() >= 3 &&
         !reads.empty() && llvm::all_of(reads, readsIt) &&
         writesFolded(op, machine);
}

namespace {

struct FoldLanesPass : impl::FoldLanesBase<FoldLanesPass> {
  using FoldLanesBase::FoldLanesBase;

  void runOnOperation() override {
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    if (policy != "cycles" && policy != "source") {
      getOperation().emitError()
          << "policy '" << policy << "', expected cycles or source";
      return signalPassFailure();
    }
    transfers.emplace(*machine);
    getOperation().walk([&](Operation *op) {
      if (isa<PeConvOp, DmaMoveOp>(op))
        decide(op, *machine);
    });
  }

  void decide(Operation *op, const machine::Description &machine) {
    Value result = op->getResult(0);
    if (!mayFoldLanes(op, machine))
      return;
    auto folds = candidates(op, machine);
    if (folds.empty())
      return;
    Lanes best = policy == "source" ? chooseBySource(folds, shapeOf(result)[1])
                                    : chooseByCycles(result, folds, machine);
    Builder builder(op->getContext());
    if (best.folded()) {
      auto decided = cast<DecisionInterface>(op);
      decided.setLayoutAttr(
          decided.getLayoutAttr().withLanes(best.count, best.pitch));
      ++numFolded;
    }
    for (Operation *user : result.getUsers())
      if (readsFolded(user, result))
        explain(cast<PeConvOp>(user), best, folds, machine);
  }

  Lanes chooseBySource(llvm::ArrayRef<Lanes> folds, int64_t channels) const {
    llvm::SmallVector<int64_t, 6> pitches;
    for (const Lanes &fold : folds)
      pitches.push_back(fold.pitch);
    const int64_t pitch = analysis::sourcePitch(pitches, channels, tolerance);
    return *llvm::find_if(
        folds, [&](const Lanes &fold) { return fold.pitch == pitch; });
  }

  /// The convolutions that read `map` in its fold, in the order of the program.
  static llvm::SmallVector<PeConvOp, 2> readersOf(Value map) {
    llvm::SmallVector<PeConvOp, 2> readers;
    for (Operation *user : map.getUsers())
      if (readsFolded(user, map))
        readers.push_back(cast<PeConvOp>(user));
    llvm::sort(readers,
               [](PeConvOp a, PeConvOp b) { return a->isBeforeInBlock(b); });
    return readers;
  }

  /// What a fold of `result` costs: its readers, the movements that make it,
  /// and its maker, whose drains into lanes do not follow their streams. Where
  /// drains bound the total, fewer cycles of the array, the second number, are
  /// less work.
  std::pair<int64_t, int64_t> costOf(Value result, const Lanes &lanes,
                                     const machine::Description &machine) {
    const auto own = denseCycles(readersOf(result), lanes, machine);
    int64_t sum = own.total + analysis::makingCycles(result, lanes, *transfers);
    auto maker = result.getDefiningOp<PeConvOp>();
    if (maker && !hasStationaryActivations(maker))
      sum += denseCycles(maker, analysis::widthLanesOf(maker.getX()), machine,
                         lanes)
                 .total;
    return {sum, own.array};
  }

  Lanes chooseByCycles(Value result, llvm::ArrayRef<Lanes> folds,
                       const machine::Description &machine) {
    auto cycles = [&](const Lanes &lanes) {
      return costOf(result, lanes, machine);
    };
    Lanes best;
    auto least = cycles(best);
    for (const Lanes &fold : folds)
      if (auto own = cycles(fold);
          own < least ||
          (own == least && fold.pitch > best.pitch && best.folded())) {
        least = own;
        best = fold;
      }
    return best;
  }

  /// The terms of one alternative: taps are never inserted and no bytes are
  /// copied, since producers write the folded layout themselves; movements
  /// among them in more runs.
  DictionaryAttr detailsOf(PeConvOp conv, const Lanes &lanes,
                           const machine::Description &machine) {
    auto share = [](int64_t useful, int64_t all) {
      return static_cast<double>(useful) / static_cast<double>(all);
    };
    int64_t channels = shapeOf(conv.getX())[1];
    int64_t outputs = shapeOf(conv.getY())[1];
    int64_t width = shapeOf(conv.getY()).back();
    auto rows = static_cast<int64_t>(machine.pe.rows);
    auto columns = static_cast<int64_t>(machine.pe.columns);
    int64_t rowTiles = lanes.folded()
                           ? lanes.blocks(channels)
                           : int64_t(llvm::divideCeil(channels, rows));
    const analysis::DenseCycles cycles = denseCycles(conv, lanes, machine);
    return records::Facts(conv.getContext())
        .set("all_readers_cycles",
             denseCycles(readersOf(conv.getX()), lanes, machine).total)
        .set("array_cycles", cycles.array)
        .set("copied_bytes", int64_t(0))
        .set("copy_cycles",
             analysis::makingCycles(conv.getX(), lanes, *transfers))
        .set("drain_cycles", cycles.drain)
        .set("lanes", lanes.count)
        .set("useful_columns",
             share(outputs,
                   columns * int64_t(llvm::divideCeil(outputs, columns))))
        .set("useful_rows", share(channels * lanes.count, rowTiles * rows))
        .set("useful_taps", 1.0)
        .set("useful_width",
             share(width,
                   lanes.count * int64_t(llvm::divideCeil(width, lanes.count))))
        .get();
  }

  void explain(PeConvOp conv, const Lanes &best, llvm::ArrayRef<Lanes> folds,
               const machine::Description &machine) {
    const int64_t own = denseCycles(conv, best, machine).total;
    const int64_t channels = shapeOf(conv.getX())[1];
    const std::string reason =
        best.folded()
            ? fmt::format(
                  "{} channels in {}lanes of {} rows: {} results a "
                  "step, {} cycles",
                  channels,
                  best.blocks(channels) > 1
                      ? fmt::format("{} blocks and ", best.blocks(channels))
                      : "",
                  best.pitch, best.count, own)
            : "no fold takes fewer cycles, copies of its rows included";
    records::Decision decision(conv.getContext(),
                               best.folded()
                                   ? fmt::format("lane-fold-{}", best.count)
                                   : "no-lane-fold",
                               reason);
    records::Facts details(conv.getContext());
    auto add = [&](const std::string &name, const Lanes &lanes) {
      decision.alternative(name, costOf(conv.getX(), lanes, machine).first);
      details.set(name, detailsOf(conv, lanes, machine));
    };
    add("plain", Lanes());
    for (const Lanes &fold : folds)
      add(fmt::format("pci{}", fold.pitch), fold);
    decision.facts.set("details", details.get());
    decision.record(conv, kLanesDecisionAttr);
  }

  /// Folds of a map ask for the cost of similar transfers.
  std::optional<machine::TransferCosts> transfers;
};

} // namespace
} // namespace ashlar::npu
