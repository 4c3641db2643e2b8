// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concatenations along channels, and interleaved maps, without a copy. Products
// write into the memory of the movement that alone reads them. The first
// operand of a concatenation may be any result that stays: what follows it is
// written after its channels, in memory that it gets from the start, and its
// other readers never see it. So a chain of concatenations that each add to the
// one before (dense blocks) grows in one place.

#include "MemoryPlanner.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::npu {

using namespace mlir;

/// True if the product that makes `value` can write it into the concatenation
/// `plan`, its only reader, from channel `start` on.
bool Planner::canBePart(const OpPlan &plan, Value value, int64_t start) const {
  const OpPlan *source = producer(value);
  if (!source || !isa<PeConvOp, TcuConvOp>(source->op) ||
      hasStationaryActivations(source->op) || !value.hasOneUse() ||
      !source->resident || source->model.homeLanes.folded() ||
      source->model.resultAxis != plan.model.resultAxis ||
      bfp::getScalePolicy(source->op).isStateful())
    return false;
  return analysis::drainsAsPart(source->op, start, machine);
}

/// True if the memory of `value` can hold the concatenation `plan` of which it
/// is the first operand: a result that owns its memory, or a concatenation that
/// has grown itself, and that no other concatenation adds to.
bool Planner::canGrow(const OpPlan &plan, Value value) const {
  const OpPlan *source = producer(value);
  return source && source->resident && !source->part && !source->grows &&
         (source->shares < 0 || source->op->getNumOperands() > 1) &&
         !source->model.homeLanes.folded() &&
         source->model.resultAxis == plan.model.resultAxis;
}

/// True if a movement joins whole results that products can write in place.
bool Planner::canJoin(const OpPlan &plan) const {
  auto concat = dyn_cast<DmaMoveOp>(plan.op);
  if (!joins || !concat || concat.getInputs().size() < 2 || !plan.resident ||
      plan.model.homeLanes.folded() || plan.model.resultAxis != 1 ||
      bfp::getScalePolicy(plan.op).isStateful() ||
      !analysis::joinsInPlace(concat))
    return false;
  return !plan.model.resultType.encoded ||
         analysis::drainEncodes(plan.model.resultType,
                                plan.model.resultShape[1], machine);
}

/// Lets products write into a concatenation; the operation that is first in the
/// program owns the memory.
void Planner::shareConcat(size_t index) {
  OpPlan &plan = plans[index];
  if (!canJoin(plan))
    return;
  auto concat = cast<DmaMoveOp>(plan.op);
  llvm::SmallVector<size_t, 4> sources;
  llvm::SmallVector<int64_t, 4> starts;
  for (auto [i, input] : llvm::enumerate(concat.getInputs())) {
    auto found = indexOf.find(input.getDefiningOp());
    if (found == indexOf.end())
      return;
    sources.push_back(found->second);
    starts.push_back(analysis::placeOfPart(concat, i)->start[1]);
  }
  bool grows = false;
  for (auto [i, input] : llvm::enumerate(concat.getInputs())) {
    if (canBePart(plan, input, starts[i]))
      continue;
    grows = i == 0 && starts[i] == 0 && analysis::joinsChannels(concat) &&
            canGrow(plan, input);
    if (!grows)
      return;
  }
  size_t owner = *llvm::min_element(sources);
  if (grows) {
    // Its memory is there when the first of the others is made.
    const auto first = static_cast<size_t>(ownerOf(sources[0]));
    if (first > owner)
      return;
    owner = first;
    plans[sources[0]].grows = true;
  }
  for (size_t i = grows; i < sources.size(); ++i) {
    plans[sources[i]].part = starts[i];
    plans[sources[i]].shares =
        sources[i] == owner ? -1 : static_cast<int64_t>(owner);
  }
  plan.shares = static_cast<int64_t>(owner);
  plans[owner].room = std::max(plans[owner].room, plan.bytes);
}

} // namespace ashlar::npu
