// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses which maps have a second axis across partitions (see Passes.td).
// Input: npu operations with layouts. Output: `spread` and `work_spread` in the
// layouts of operations of the vector unit and of what makes their operands, a
// decision on the former.

#include "SpreadCost.h"

#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

namespace ashlar::npu {
#define GEN_PASS_DEF_SPREADMAPS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::Lanes;
using analysis::shapeOf;

namespace {

/// Groups whose passes take fewer cycles gain less than what their copies may
/// hold up.
constexpr int64_t kLeastCycles = 2048;
/// The part of the cycles that a layout has to save.
constexpr int64_t kLeastGain = 16;
/// Numbers of groups of partitions that are looked at along an axis.
constexpr size_t kMostCounts = 4;
/// Channel tiles that they may take.
constexpr int64_t kMostTiles = 16;

/// True for what may work with a second axis across partitions.
bool isCandidate(Operation *op) {
  if (!isa<MapInterface, VecReduceOp>(op))
    return false;
  LayoutAttr layout = layoutAttrOf(op);
  return layout && layout.getAxis() >= 0 && !layout.getWorkAxis() &&
         !layout.isFolded();
}

/// The operand or the result of a candidate with the most elements.
Value largestMap(Operation *op) {
  Value largest = op->getResult(0);
  auto size = [](Value value) {
    return analysis::Region::whole(shapeOf(value)).elements();
  };
  for (Value operand : op->getOperands())
    if (shapeOf(operand).size() == shapeOf(op->getResult(0)).size() &&
        size(operand) > size(largest))
      largest = operand;
  return largest;
}

/// Share of the partitions, in 1/1000, that so many channels fill.
int64_t fill(int64_t channels, int64_t partitions) {
  return channels * 1000 /
         (static_cast<int64_t>(llvm::divideCeil(channels, partitions)) *
          partitions);
}

/// Lanes that fill more partitions than now, the fullest first.
llvm::SmallVector<Lanes, 8> lanesToTry(llvm::ArrayRef<int64_t> shape,
                                       int64_t across, int64_t partitions) {
  llvm::SmallVector<Lanes, 8> lanes;
  const int64_t channels = shape[across], now = fill(channels, partitions);
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
    llvm::SmallVector<Lanes, 8> own;
    for (int64_t count = 2; axis != across && count <= shape[axis] &&
                            count * channels <= kMostTiles * partitions;
         ++count)
      if (shape[axis] % count == 0 &&
          fill(count * channels, partitions) * kLeastGain >
              now * (kLeastGain + 1))
        own.push_back({count, channels, axis, across});
    llvm::sort(own, [&](const Lanes &a, const Lanes &b) {
      return std::pair(-fill(a.count * channels, partitions), a.count) <
             std::pair(-fill(b.count * channels, partitions), b.count);
    });
    own.resize(std::min(own.size(), kMostCounts), Lanes());
    lanes.append(own);
  }
  return lanes;
}

/// True if the feature map leaves too little of a partition for the rest of the
/// network to be kept in the state buffer.
bool isTooLarge(Value value, int64_t across, const Lanes &lanes,
                const machine::Description &machine) {
  const int64_t bytes = analysis::bufferBytes(
      analysis::storageOf(value), analysis::storedShape(shapeOf(value), lanes),
      across, machine);
  return bytes * 2 > static_cast<int64_t>(machine.sb.bytesPerPartition);
}

struct SpreadMapsPass : impl::SpreadMapsBase<SpreadMapsPass> {
  using SpreadMapsBase::SpreadMapsBase;

  void runOnOperation() override {
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    for (llvm::ArrayRef<Operation *> group : groups())
      decide(group, *machine);
    getOperation().walk([&](Operation *op) {
      if (isa<PeConvOp, TcuConvOp, VecPoolOp, MapInterface>(op))
        keepOnChip(op, *machine);
    });
  }

private:
  /// Candidates that read or make the same maps of as many channels.
  std::vector<std::vector<Operation *>> groups() {
    llvm::EquivalenceClasses<Operation *> joined;
    std::vector<Operation *> candidates;
    getOperation().walk([&](Operation *op) {
      if (!isCandidate(op))
        return;
      candidates.push_back(op);
      joined.insert(op);
    });
    auto fitsTo = [](Operation *op, Value value) {
      auto shape = shapeOf(value), own = shapeOf(op->getResult(0));
      const int64_t axis = *axisOf(op);
      return shape.size() == own.size() && shape[axis] == own[axis];
    };
    // One candidate stands for all that make or read a map along an axis: a map
    // that thousands of operations read is looked at once for each of them.
    llvm::DenseMap<std::pair<Value, int64_t>, Operation *> neighbours;
    for (Operation *op : candidates)
      neighbours.try_emplace({op->getResult(0), *axisOf(op)}, op);
    for (Operation *op : candidates)
      for (Value operand : op->getOperands())
        if (fitsTo(op, operand))
          joined.unionSets(
              op,
              neighbours.try_emplace({operand, *axisOf(op)}, op).first->second);
    llvm::MapVector<Operation *, std::vector<Operation *>> byLeader;
    for (Operation *op : candidates)
      byLeader[joined.getLeaderValue(op)].push_back(op);
    std::vector<std::vector<Operation *>> result;
    for (auto &[leader, members] : byLeader)
      result.push_back(std::move(members));
    return result;
  }

  void decide(llvm::ArrayRef<Operation *> group,
              const machine::Description &machine) {
    Value largest = largestMap(group.front());
    for (Operation *op : group)
      if (Value map = largestMap(op);
          analysis::Region::whole(shapeOf(map)).elements() >
          analysis::Region::whole(shapeOf(largest)).elements())
        largest = map;
    const auto alternatives =
        lanesToTry(shapeOf(largest), *axisOf(group.front()),
                   static_cast<int64_t>(machine.sb.partitions));
    if (alternatives.empty())
      return;
    SpreadCost cost(group, machine);
    const int64_t plain = cost.cycles(Lanes());
    if (plain < kLeastCycles)
      return;
    records::Decision decision(&getContext());
    decision.alternative("plain", plain);
    Lanes best;
    int64_t least = plain;
    for (const Lanes &lanes : alternatives) {
      const int64_t cycles = cost.cycles(lanes);
      decision.alternative(nameOf(lanes), cycles);
      if (cycles < least) {
        least = cycles;
        best = lanes;
      }
    }
    if ((plain - least) * kLeastGain < plain)
      best = Lanes();
    explain(group, best, cost, std::move(decision));
    if (best.folded())
      apply(group, best, cost);
  }

  /// A feature map that is too large for its partitions lies in others as well,
  /// if that is enough and copies of its tiles take less than DRAM would.
  void keepOnChip(Operation *op, const machine::Description &machine) {
    LayoutAttr layout = layoutAttrOf(op);
    if (!layout || layout.getAxis() < 0 || layout.getSpread() ||
        !isTooLarge(op->getResult(0), layout.getAxis(), Lanes(), machine))
      return;
    Value value = op->getResult(0);
    auto shape = shapeOf(value);
    const auto partitions = static_cast<int64_t>(machine.sb.partitions);
    for (const Lanes &lanes : lanesToTry(shape, layout.getAxis(), partitions)) {
      if (isTooLarge(value, layout.getAxis(), lanes, machine) ||
          !mayLieSpread(op, lanes, machine))
        continue;
      const int64_t onChip = relayCycles(value, lanes, machine),
                    inDram = dramCycles(value, Lanes(), machine);
      if (onChip >= inDram)
        continue;
      explainKept(op, lanes, onChip, inDram);
      if (!keepLarge)
        return;
      cast<DecisionInterface>(op).setLayoutAttr(layout.withSpread(
          SpreadAttr::get(&getContext(), lanes.axis, lanes.count, lanes.pitch),
          layout.getWorkSpread()));
      op->setAttr(kPredictedAttr,
                  PredictedAttr::get(&getContext(), /*array=*/std::nullopt,
                                     /*cluster=*/std::nullopt, onChip, inDram));
      ++numKept;
      return;
    }
  }

  void explainKept(Operation *op, const Lanes &lanes, int64_t onChip,
                   int64_t inDram) {
    records::Decision(
        &getContext(), keepLarge ? nameOf(lanes) : "plain",
        keepLarge ? fmt::format("the result fits the state buffer in {} "
                                "groups of {} partitions",
                                lanes.count, lanes.pitch)
                  : "the whole network takes fewer cycles so")
        .alternative(nameOf(lanes), onChip)
        .alternative("dram", inDram)
        .record(op, kSpreadDecisionAttr);
  }

  static std::string nameOf(const Lanes &lanes) {
    return fmt::format("axis{}-by-{}", lanes.axis, lanes.count);
  }

  void explain(llvm::ArrayRef<Operation *> group, const Lanes &best,
               SpreadCost &cost, records::Decision decision) {
    for (Operation *op : group) {
      const bool works = cost.works(op, best);
      decision.choose(works ? nameOf(best) : "plain")
          .because(
              works ? fmt::format("{} groups of {} partitions take fewest "
                                  "predicted cycles",
                                  best.count, best.pitch)
              : best.folded()
                  ? "an axis of the operation, its blocks or an operand do "
                    "not go into the groups of its neighbours"
                  : "no second axis across partitions takes so much fewer "
                    "predicted cycles")
          .record(op, kSpreadDecisionAttr);
    }
  }

  void apply(llvm::ArrayRef<Operation *> group, const Lanes &lanes,
             SpreadCost &cost) {
    auto spread =
        SpreadAttr::get(&getContext(), lanes.axis, lanes.count, lanes.pitch);
    // All answers before the first change: layouts decide them.
    llvm::SmallVector<std::pair<Operation *, bool>> working, kept;
    llvm::SmallVector<Value> loaded;
    for (Operation *op : group)
      working.push_back({op, cost.works(op, lanes)});
    for (Value value : cost.values()) {
      if (cost.loads(value, lanes))
        loaded.push_back(value);
      else if (Operation *def = value.getDefiningOp())
        kept.push_back({def, cost.keeps(value, lanes)});
    }
    auto set = [&](Operation *op, bool home, bool work) {
      auto decided = cast<DecisionInterface>(op);
      LayoutAttr layout = decided.getLayoutAttr();
      decided.setLayoutAttr(
          layout.withSpread(home ? spread : layout.getSpread(),
                            work ? spread : layout.getWorkSpread()));
    };
    for (auto [op, works] : working) {
      set(op, false, works);
      numSpread += works;
    }
    for (auto [op, keeps] : kept)
      if (keeps)
        set(op, true, false);
    for (Value value : loaded)
      load(value, spread, working);
  }

  /// Loads an input of the network once for all operations that take it with a
  /// second axis across partitions.
  void load(Value value, SpreadAttr spread,
            llvm::ArrayRef<std::pair<Operation *, bool>> working) {
    Operation *first = nullptr;
    for (auto [op, works] : working)
      if (works && llvm::is_contained(op->getOperands(), value) &&
          (!first || op->isBeforeInBlock(first)))
        first = op;
    OpBuilder builder(first);
    auto shape = shapeOf(value);
    AccessPattern pattern;
    for (auto [axis, extent] : llvm::enumerate(shape))
      pattern.dims.push_back({extent, static_cast<int64_t>(axis), 1,
                              static_cast<int64_t>(axis), 1});
    pattern.sourceStart.assign(shape.size(), 0);
    pattern.resultStart.assign(shape.size(), 0);
    auto move = DmaMoveOp::create(
        builder, first->getLoc(), value.getType(), value,
        builder.getStringAttr("load"),
        builder.getArrayAttr({builder.getDenseI64ArrayAttr(
            pattern.toArray(static_cast<int64_t>(shape.size())))}),
        FloatAttr(), Route::Copy);
    move.setOriginAttr(OriginAttr::get(builder.getContext(), StringAttr(),
                                       builder.getStringAttr("load")));
    const int64_t axis = *axisOf(first);
    move.setLayoutAttr(LayoutAttr::get(builder.getContext(), axis)
                           .withSpread(spread, /*work=*/{}));
    for (auto [op, works] : working)
      if (works)
        op->replaceUsesOfWith(value, move.getY());
  }
};

} // namespace
} // namespace ashlar::npu
