// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the vector unit by the machine's formulas; copies at the rate of
// the queues that share them; maps that are too large for the state buffer go
// to DRAM and come from there for every reader. A pass and the transfers with
// DRAM around it overlap; copies are counted as if
// they did not overlap with anything.

#include "SpreadCost.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::npu {

using namespace mlir;
using analysis::Lanes;
using analysis::shapeOf;
using analysis::storageOf;

namespace {

/// Eighths of a partition that a feature map may take so that another one of
/// its size, weights and tiles have room next to it.
constexpr int64_t kRoomEighths = 3;

int64_t elementsOf(Value value) {
  return analysis::Region::whole(shapeOf(value)).elements();
}

/// The partition axis of a value that an operation made; -1 of others.
int64_t acrossOf(Value value) {
  return axisOf(value.getDefiningOp()).value_or(-1);
}

} // namespace

/// Cycles in which the byte network forms the runs of a copy between `lanes`
/// and rows that lie as they are: columns in lanes are single elements.
static int64_t runCycles(Value value, const Lanes &lanes,
                         const machine::Description &machine) {
  const auto rate = static_cast<int64_t>(machine.dma.runsPerCycle);
  if (rate == 0)
    return 0;
  auto shape = shapeOf(value);
  const bool columns =
      lanes.folded() && lanes.axis + 1 == static_cast<int64_t>(shape.size());
  const int64_t runs =
      elementsOf(value) / (columns ? 1 : std::max<int64_t>(shape.back(), 1));
  return llvm::divideCeil(runs, rate);
}

int64_t relayCycles(Value value, const Lanes &lanes,
                    const machine::Description &machine) {
  return analysis::relayCycles(value, lanes.folded() ? lanes.across : 1,
                               Lanes(), lanes, machine);
}

int64_t dramCycles(Value value, const Lanes &lanes,
                   const machine::Description &machine) {
  const int64_t bytes = analysis::dramBytes(storageOf(value), shapeOf(value));
  const int64_t dram = bytes * 100 /
                       (static_cast<int64_t>(machine.dram.bytesPerCycle) *
                        static_cast<int64_t>(machine::dramPercent(machine)));
  return static_cast<int64_t>(machine.dram.latency) +
         std::max(dram, runCycles(value, lanes, machine) /
                            analysis::movementQueues(machine));
}

SpreadCost::SpreadCost(llvm::ArrayRef<Operation *> members,
                       const machine::Description &machine)
    : machine(machine), rank(shapeOf(members.front()->getResult(0)).size()) {
  for (Operation *op : members) {
    group.insert(op);
    // Numbers of a channel take no time.
    for (Value operand : op->getOperands())
      if (!shapeOf(operand).empty() &&
          elementsOf(operand) >= elementsOf(op->getResult(0)))
        maps.insert(operand);
    maps.insert(op->getResult(0));
  }
  for (Value value : maps)
    if (llvm::any_of(value.getUsers(),
                     [](Operation *user) { return isa<func::ReturnOp>(user); }))
      results.insert(value);
}

void SpreadCost::ask(const Lanes &lanes) {
  if (lanes == known)
    return;
  known = lanes;
  working.clear();
  lying.clear();
  loading.clear();
}

bool SpreadCost::works(Operation *op, const Lanes &lanes) {
  if (!lanes.folded() || !group.contains(op))
    return false;
  ask(lanes);
  auto [found, fresh] = working.try_emplace(op, false);
  if (fresh)
    found->second = mayWorkSpread(op, lanes, machine);
  return found->second;
}

/// True if the reader works in `lanes` and takes this operand so.
bool SpreadCost::takes(OpOperand &use, const Lanes &lanes) {
  Operation *user = use.getOwner();
  if (!works(user, lanes))
    return false;
  if (!isa<MapInterface>(user))
    return true;
  const Lanes own = lanesOf(use, lanes);
  return own.folded() && !own.repeated;
}

/// `lanes` in the axes of an operand, which may have fewer than the result.
Lanes SpreadCost::lanesOf(OpOperand &use, const Lanes &lanes) const {
  Operation *user = use.getOwner();
  if (!lanes.folded() || !isa<MapInterface>(user))
    return lanes;
  return analysis::broadcastLanes(shapeOf(use.get()),
                                  shapeOf(user->getResult(0)), lanes)
      .value_or(Lanes());
}

bool SpreadCost::keeps(Value value, const Lanes &lanes) {
  Operation *def = value.getDefiningOp();
  if (!def || !lanes.folded() || !hasAxesOfGroup(value) ||
      !isa<DecisionInterface>(def))
    return false;
  ask(lanes);
  if (auto found = lying.find(value); found != lying.end())
    return found->second;
  const bool made = works(def, lanes);
  int64_t suited = made ? 1 : 0, others = made ? 0 : 1;
  for (OpOperand &use : value.getUses())
    ++(takes(use, lanes) ? suited : others);
  const bool wanted = suited > 0 && (others < suited || spills(value, Lanes()));
  return lying[value] = wanted && mayLieSpread(def, lanes, machine) &&
                        !spills(value, lanes);
}

bool SpreadCost::loads(Value value, const Lanes &lanes) {
  if (!isa<BlockArgument>(value) || !lanes.folded() || !hasAxesOfGroup(value) ||
      spills(value, lanes))
    return false;
  ask(lanes);
  if (auto found = loading.find(value); found != loading.end())
    return found->second;
  return loading[value] = llvm::count_if(value.getUses(), [&](OpOperand &use) {
                            return takes(use, lanes);
                          }) > 1;
}

/// True if the lanes of the group, which name axes, may be those of the value.
bool SpreadCost::hasAxesOfGroup(Value value) const {
  return shapeOf(value).size() == rank;
}

/// True if the feature map is too large to stay in the state buffer.
bool SpreadCost::spills(Value value, const Lanes &lanes) const {
  Operation *def = value.getDefiningOp();
  if (def && !isa<DecisionInterface>(def))
    return true;
  if (results.contains(value))
    return true;
  const int64_t across = lanes.folded() ? lanes.across : acrossOf(value);
  const int64_t bytes = analysis::bufferBytes(
      storageOf(value), analysis::storedShape(shapeOf(value), lanes), across,
      machine);
  return bytes * 8 >
         static_cast<int64_t>(machine.sb.bytesPerPartition) * kRoomEighths;
}

int64_t SpreadCost::passCycles(Operation *op, const Lanes &lanes) const {
  return analysis::vectorCycles(op, lanes, machine);
}

/// What a reader of a feature map moves.
void SpreadCost::addRead(OpOperand &use, const Lanes &lanes,
                         Movement &movement) {
  Value value = use.get();
  if (isa<func::ReturnOp>(use.getOwner()) || !maps.contains(value) ||
      loads(value, lanes))
    return;
  const bool kept = keeps(value, lanes);
  if (!value.getDefiningOp() || spills(value, kept ? lanes : Lanes()))
    movement.dram += dramCycles(value, lanes, machine);
  else if (takes(use, lanes) != kept)
    movement.copies +=
        relayCycles(value, kept ? lanes : lanesOf(use, lanes), machine);
}

/// What the producer of a feature map moves.
void SpreadCost::addWrite(Value value, const Lanes &lanes, Movement &movement) {
  Operation *def = value.getDefiningOp();
  if (loads(value, lanes))
    movement.dram += dramCycles(value, lanes, machine);
  if (!def || !isa<DecisionInterface>(def))
    return;
  const bool kept = keeps(value, lanes);
  if (spills(value, kept ? lanes : Lanes()))
    movement.dram += dramCycles(value, lanes, machine);
  else if (works(def, lanes) != kept)
    movement.copies += relayCycles(value, lanes, machine);
}

int64_t SpreadCost::cycles(const Lanes &lanes) {
  int64_t sum = 0;
  for (Operation *op : group) {
    Movement movement;
    for (OpOperand &operand : op->getOpOperands())
      addRead(operand, lanes, movement);
    addWrite(op->getResult(0), lanes, movement);
    const int64_t pass = passCycles(op, works(op, lanes) ? lanes : Lanes());
    sum += std::max(pass, movement.dram) + movement.copies;
  }
  // What others move.
  Movement movement;
  for (Value value : maps) {
    for (OpOperand &use : value.getUses())
      if (!group.contains(use.getOwner()))
        addRead(use, lanes, movement);
    if (!group.contains(value.getDefiningOp()))
      addWrite(value, lanes, movement);
  }
  return sum + movement.dram + movement.copies;
}

} // namespace ashlar::npu
