// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results made in the memory of their operand: a data movement that converts
// writes tile by tile after what it still has to read (the fold inside one
// memory, docs/decisions, width folds), and a transpose of squares exchanges
// blocks where operand and result do not fit side by side. Assumption: tiles
// are made in the order of analysis::nextTile, each read whole before it is
// written.

#include "MemoryPlanner.h"

#include "ashlar/Analysis/Layout/InPlace.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

namespace ashlar::npu {

using namespace mlir;

/// A smaller tile may need another place and leave room for another tile; more
/// rounds than this settle nothing.
static constexpr int kMostRounds = 3;

/// The operation whose memory a result lies in, through all views.
int64_t Planner::ownerOf(int64_t index) const {
  while (plans[index].shares >= 0)
    index = plans[index].shares;
  return index;
}

/// Movements of one computed operand into another storage.
bool Planner::isConvertingMove(size_t index) const {
  const OpPlan &plan = plans[index];
  auto move = dyn_cast<DmaMoveOp>(plan.op);
  return move && move.getInputs().size() == 1 && plan.shares < 0 &&
         !plan.model.directResult && producer(move.getInputs()[0]);
}

/// Why such a data movement cannot even try; empty if it can.
llvm::StringRef Planner::refusalInPlace(size_t index) const {
  const OpPlan &plan = plans[index];
  const OpPlan *source = producer(plan.op->getOperand(0));
  if (!plan.resident)
    return "its result lies in DRAM";
  if (!source->resident)
    return "its operand lies in DRAM";
  if (source->model.homeLanes.folded())
    return "its operand lies in lanes";
  if (plans[ownerOf(indexOf.lookup(source->op))].lastUse >
      static_cast<int64_t>(index))
    return "its operand is read again later";
  return "";
}

/// Places the result over its operand if no tile reaches what later ones read,
/// with the tiles that the memory then allows.
bool Planner::placeInPlace(size_t index) {
  OpPlan &plan = plans[index];
  plan.over = -1;
  if (!isConvertingMove(index))
    return false;
  plan.overReason = refusalInPlace(index);
  if (!plan.overReason.empty())
    return false;
  auto move = cast<DmaMoveOp>(plan.op);
  const OpPlan &source = *producer(move.getInputs()[0]);
  const int64_t owner = ownerOf(indexOf.lookup(source.op));
  const int64_t begin = plans[owner].offset;
  plan.offset = -plan.bytes; // it takes no memory yet
  for (int round = 0; round < kMostRounds; ++round) {
    auto choice = chooseTile(plan, limitAt(index) - liveEnd(index));
    if (!choice) {
      plan.overReason = "no tile fits next to its operand";
      return false;
    }
    const int64_t lead = analysis::inPlaceLead(move, plan.model, source.view,
                                               choice->tile, machine);
    const int64_t place = firstFit(index, owner, index);
    if (place > begin + lead) {
      plan.overReason = fmt::format(
          "a tile would overwrite what later ones read: the result would have "
          "to begin {} bytes in front of its operand, {} are free",
          -lead, begin - place);
      return false;
    }
    if (plan.offset == place) {
      plan.over = place + plan.bytes > begin ? owner : -1;
      plan.overReason =
          plan.over < 0
              ? "there is free memory in front of its operand"
              : fmt::format("no tile reaches what later ones read: the result "
                            "begins {} bytes in front of its operand, at most "
                            "{} after it would do",
                            begin - place, lead);
      return true;
    }
    plan.offset = place;
    if (place + plan.bytes > limitAt(plan.lastUse))
      break;
  }
  plan.overReason = "no tile fits next to both";
  return false;
}

/// Gives a transpose of squares the memory of its operand: its blocks change
/// places.
bool Planner::placeSwapped(size_t index) {
  OpPlan &plan = plans[index];
  auto move = dyn_cast<DmaMoveOp>(plan.op);
  if (!move || move.getInputs().size() != 1 || !plan.model.directResult ||
      routeOf(move) == Route::ThroughDram)
    return false;
  const OpPlan *source = producer(move.getInputs()[0]);
  if (!source || !source->resident || source->shares >= 0 ||
      source->model.homeLanes.folded() || plan.model.homeLanes.folded() ||
      source->lastUse > static_cast<int64_t>(index) ||
      !analysis::blockSwap(move, source->view, plan.model.resultAxis, machine))
    return false;
  plan.offset = source->offset;
  plan.over = indexOf.lookup(source->op);
  plan.swaps = true;
  plan.overReason = fmt::format("{} bytes of a partition do not fit next to "
                                "the {} of the operand: square "
                                "blocks are swapped",
                                plan.bytes, source->bytes);
  return plan.offset + plan.bytes <= limitAt(plan.lastUse);
}

/// Scratch of an exchange: a block for every copy that may run at a time.
std::optional<TileChoice> Planner::swapScratch(const OpPlan &plan,
                                               int64_t available) const {
  auto move = cast<DmaMoveOp>(plan.op);
  const OpPlan &source = *producer(move.getInputs()[0]);
  auto swap =
      analysis::blockSwap(move, source.view, plan.model.resultAxis, machine);
  const Shape block =
      analysis::blockOfOperand(*swap, source.view.shape, source.view.axis, 0, 0)
          .size;
  TileChoice choice{plan.model.resultShape};
  choice.slotBytes = llvm::alignTo(
      analysis::bufferBytes(source.view.type, block, source.view.axis, machine),
      64);
  choice.slots =
      std::min<int64_t>(machine.dma.queues, available / choice.slotBytes);
  return choice.slots > 0 ? std::optional(choice) : std::nullopt;
}

/// The decision, on data movements that had the choice.
void Planner::recordInPlace(size_t index) {
  if (plans[index].swaps)
    cast<DmaMoveOp>(plans[index].op).setRoute(Route::SwapBlocks);
  else if (!isConvertingMove(index))
    return;
  OpPlan &plan = plans[index];
  llvm::StringRef refusal = plan.swaps ? "" : refusalInPlace(index);
  records::Decision(
      plan.op->getContext(), plan.over >= 0 ? "in-place" : "own-area",
      refusal.empty() ? llvm::StringRef(plan.overReason) : refusal)
      .record(plan.op, kInPlaceDecisionAttr);
}

} // namespace ashlar::npu
