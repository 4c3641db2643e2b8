// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search for a plan that fits: everything in the state buffer if that is
// possible, else the attempt that is predicted to cost least. Where memory is
// short there are two ways out: maps go to DRAM, or columns of weights come in
// parts along the contraction axis, whose sums wait in PSUM.

#include "../CheckBuffers.h"
#include "../SmallestTile.h"
#include "MemoryPlanner.h"

#include "ashlar/Analysis/Cost/ProgramSize.h"
#include "ashlar/Partition/TilePolicy.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

namespace ashlar::npu {

using namespace mlir;

namespace {

/// More tiles than this mean that scratch is short: tensors had better share
/// the memory with a smaller weight ring.
using partition::kPreferredTileLimit;
/// Parts of a partition that a chunk of weights may take where whole columns do
/// not fit, largest first; the last is a single stationary tile.
constexpr int64_t kChunkParts[] = {8, 32, 1 << 24};

} // namespace

/// Plans with [0, limit) for tensors and scratch. Without `mayEvict` nothing
/// that could be resident may be sent away.
bool Planner::attempt(const PlanWish &wish, bool mayEvict) {
  ring = wish.ring;
  evictions = 0;
  countWeights(wish.chunksAhead);
  shareMemory();
  for (size_t first = 0;;) {
    dirty = plans.size();
    if (mayEvict && unfoldSpilled()) {
      // A feature map without lanes has other chunks of weights.
      const bool moved = countWeights(wish.chunksAhead);
      first = std::min({first, dirty, shareAgain()});
      if (moved)
        first = 0;
      continue;
    }
    if (!mayEvict && llvm::any_of(plans, [](const OpPlan &plan) {
          return plan.canReside && !plan.resident;
        }))
      return false;
    const size_t evictedBefore = evictions;
    if (placeAll(first, mayEvict))
      return true;
    if (evictions == evictedBefore && dirty == plans.size())
      return false;
    const bool moved = dirty < plans.size() && countWeights(wish.chunksAhead);
    // Places of operations before the first change are as they would be again.
    first = std::min(dirty, shareAgain());
    if (moved)
      first = 0;
  }
}

/// What helps where an operand is one number repeated that the importer did not
/// make a constant (docs/decisions/frontend/2026-11-22-compile-budget.md).
static llvm::StringRef repeatedOperand(const OpPlan &plan) {
  const bool repeated = llvm::any_of(plan.op->getOperands(), [](Value operand) {
    // Through what moves or encodes it.
    for (Operation *op = operand.getDefiningOp();
         op && isa<DmaMoveOp, MapInterface>(op) && op->getNumOperands() == 1;
         op = op->getOperand(0).getDefiningOp()) {
      auto move = dyn_cast<DmaMoveOp>(op);
      Operation *source = op->getOperand(0).getDefiningOp();
      if (move && move.getKind() == "broadcast" && source &&
          !isa<NPUDialect>(source->getDialect()))
        return true;
    }
    return false;
  });
  return repeated ? "; an operand is a constant of one number that is larger "
                    "than the size of the model's file allows: "
                    "--large-constants stores it"
                  : "";
}

PlanState Planner::save() const {
  PlanState state;
  state.plans = plans;
  for (const OpPlan &plan : plans) {
    EarlierDecisions decided;
    decided.layout = layoutAttrOf(plan.op);
    decided.stationary = stationaryOf(plan.op);
    decided.stationaryReason = plan.op->getAttr(kStationaryDecisionAttr);
    if (auto conv = dyn_cast<PeConvOp>(plan.op); conv && conv.getRowsApart()) {
      decided.rowsApart = conv.getPackedRows();
      decided.rowsReason = conv->getAttr(kRowsDecisionAttr);
    }
    state.decisions.push_back(decided);
  }
  state.ring = ring, state.chunkLimit = chunkLimit, state.records = records;
  state.identity = identity, state.reserved = reserved, state.joins = joins;
  return state;
}

/// Goes back to an earlier plan and to what had been decided before it.
void Planner::restore(PlanState state) {
  plans = std::move(state.plans);
  for (auto [plan, decided] : llvm::zip(plans, state.decisions)) {
    if (decided.layout && decided.layout != layoutAttrOf(plan.op))
      cast<DecisionInterface>(plan.op).setLayoutAttr(decided.layout);
    if (decided.rowsApart > 0) {
      auto conv = cast<PeConvOp>(plan.op);
      conv.setPackedRows(decided.rowsApart);
      conv.setRowsApart(true);
      if (decided.rowsReason)
        conv->setAttr(kRowsDecisionAttr, decided.rowsReason);
    }
    if (decided.stationary == stationaryOf(plan.op))
      continue;
    setStationary(plan.op, decided.stationary);
    if (decided.stationaryReason)
      plan.op->setAttr(kStationaryDecisionAttr, decided.stationaryReason);
    else
      plan.op->removeAttr(kStationaryDecisionAttr);
  }
  ring = state.ring, chunkLimit = state.chunkLimit, records = state.records;
  identity = state.identity, reserved = state.reserved, joins = state.joins;
}

/// Plans with eviction, with concatenations that grow in one memory if that
/// moves less than copies do: what grows keeps its memory from its first part
/// on, and something else may have to go.
bool Planner::attemptEvicting(const PlanWish &wish) {
  PlanState before = save();
  joins = true;
  const bool joined = attempt(wish, /*mayEvict=*/true);
  const bool any = llvm::any_of(
      plans, [](const OpPlan &plan) { return plan.part.has_value(); });
  if (joined && !any)
    return true;
  const double moved = joined ? movement() : 0;
  PlanState first = save();
  restore(std::move(before));
  joins = false;
  if (attempt(wish, /*mayEvict=*/true) && (!joined || movement() <= moved))
    return true;
  if (!joined)
    return false;
  restore(std::move(first));
  return true;
}

/// Makes chunks of weights smaller. Where the records of moving weights would
/// take a large part of every partition too, no weights move.
void Planner::startShort(int64_t limit) {
  setChunkLimit(limit);
  llvm::SmallVector<Operation *> ops =
      llvm::map_to_vector(plans, [](const OpPlan &plan) { return plan.op; });
  if (limit > 0 && kRecordPart * analysis::movingRecordBytes(ops, machine) >
                       static_cast<int64_t>(machine.sb.bytesPerPartition))
    for (size_t i = 0; i < plans.size(); ++i)
      keepWeightsStationary(i, "records of moving weights would take more than "
                               "an eighth of a partition");
  // Resident constants begin after the identity, and stay there.
  if (reserved == identity)
    reserved = identity = identityBytes();
}

/// Plans without sending away what could stay, with one of the rings. The ring
/// only matters at the fullest point: it grows as tensors shrink. Joined maps
/// take their memory from their first part on: where that leaves too little,
/// also for what has to be evicted, parts are copied.
bool Planner::keepAll(llvm::ArrayRef<int64_t> rings, int64_t limit) {
  startShort(limit);
  for (int64_t tiles : {kPreferredTileLimit, int64_t(0)})
    for (bool join : {true, false}) {
      tileLimit = tiles;
      joins = join;
      for (int64_t wished : rings)
        if (attempt({wished, 2, limit}, /*mayEvict=*/false))
          return true;
    }
  return false;
}

/// Plans with eviction; what is left of the memory goes to tensors.
bool Planner::evictSome(int64_t limit) {
  const int64_t capacity = machine.sb.bytesPerPartition;
  startShort(limit);
  tileLimit = 0;
  reserved = identity = identityBytes();
  // Without room for two chunks of weights none is loaded ahead.
  for (const PlanWish &wish : {PlanWish{capacity / 8, 2, limit},
                               PlanWish{0, 2, limit}, PlanWish{0, 1, limit}}) {
    PlanState before = save();
    if (attemptEvicting(wish))
      return true;
    restore(std::move(before));
  }
  return false;
}

/// Not everything fits next to whole columns of weights. Of the plans that send
/// maps away, cut columns, or both, takes the one that is predicted to be
/// fastest. False if there is none.
bool Planner::planShort() {
  const int64_t capacity = machine.sb.bytesPerPartition;
  const PlanState before = save();
  std::optional<PlanState> best;
  double least = 0;
  auto consider = [&](bool found) {
    if (const double cycles = found ? predictedCycles() : 0;
        found && (!best || cycles < least)) {
      least = cycles;
      best = save();
    }
    restore(before);
    return found;
  };
  const int64_t whole = largestChunk();
  bool evicted = consider(evictSome(/*limit=*/0));
  int64_t last = whole;
  for (int64_t part : kChunkParts) {
    const int64_t limit =
        std::max(capacity / part / kLeastChunk * kLeastChunk, kLeastChunk);
    if (limit >= last)
      continue;
    last = limit;
    const bool kept = consider(keepAll({2 * limit, 0}, limit));
    // Smaller parts only where larger ones leave too little.
    evicted |= consider(evictSome(limit));
    if (kept || evicted)
      break;
  }
  if (best)
    restore(std::move(*best));
  return best.has_value();
}

bool Planner::search() {
  const int64_t capacity = machine.sb.bytesPerPartition;
  return keepAll({capacity / 2, capacity * 3 / 8, capacity / 4, capacity / 8},
                 /*chunkLimit=*/0) ||
         planShort();
}

/// A plan fits memory whatever the extents are; a program has to end. Each tile
/// is an instruction at least.
LogicalResult Planner::refuseManyTiles() const {
  if (plans.empty())
    return success();
  const uint64_t most =
      analysis::mostInstructions(plans.front().op->getParentOfType<ModuleOp>());
  uint64_t all = 0;
  std::pair<int64_t, Operation *> largest;
  for (const OpPlan &plan : plans) {
    const auto shape = analysis::shapeOf(plan.op->getResult(0));
    if (plan.choice.tile.size() != shape.size())
      continue;
    const int64_t tiles = countTiles(shape, plan.choice.tile);
    all += static_cast<uint64_t>(tiles);
    if (tiles > largest.first)
      largest = {tiles, plan.op};
  }
  if (all <= most)
    return success();
  return largest.second->emitError()
         << "is computed in "
         << (largest.first > kMostTiles ? "more than " : "")
         << std::min(largest.first, kMostTiles)
         << " tiles, and the program of a model of this size may have " << most
         << " instructions; make its extents smaller or use a machine with "
            "more "
            "bytes per partition ("
         << machine.name << " has " << machine.sb.bytesPerPartition << ")";
}

/// Says what the last attempt, which requested least, found no room for.
LogicalResult Planner::refuse() const {
  const OpPlan &plan = plans[failedAt];
  return plan.op->emitError()
         << "does not fit into the state buffer: its smallest tile needs "
         << slotBytes(plan, smallestTile(plan.model))
         << " bytes per partition, " << std::max<int64_t>(failedAvailable, 0)
         << " are available next to " << failedWeights
         << " bytes for weights; use a machine with more bytes per partition ("
         << machine.name << " has " << machine.sb.bytesPerPartition << ")"
         << repeatedOperand(plan);
}

} // namespace ashlar::npu
