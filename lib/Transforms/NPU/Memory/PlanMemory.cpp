// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Residency, addresses and tile sizes. Input: npu operations with `layout`.
// Output: `memory`, `tiling`.
//
// A partition's bytes are divided into [resident tensors and scratch | weight
// ring]. Tensors are placed first-fit over their live ranges; an operation's
// scratch lies above everything live at that operation. Whatever cannot be
// satisfied evicts the largest live tensor to DRAM and planning starts over;
// with all tensors in DRAM only the smallest tiles can still fail.

#include "MemoryPlanner.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/BufferViews.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Layout/ResidentConstants.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

#include <limits>

namespace ashlar::npu {
#define GEN_PASS_DEF_PLANMEMORY
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::OperandModel;

namespace {

/// The part of a partition whose use leaves plenty for weights: a quarter.
constexpr int64_t kAmpleCapacityDivisor = 4;
/// With more tiles than this, memory between live results is searched too.
constexpr int64_t kManyTiles = 4;
/// Operations before a vector operation that may still run in parallel with it.
constexpr size_t kOverlapWindow = 8;
/// Tensors that leave one by one before they leave in groups: placing starts
/// over after each, which networks of many thousand tensors cannot afford.
constexpr size_t kSingleEvictions = 512;
/// The part of all earlier evictions that such a group is.
constexpr size_t kEvictionGroup = 8;

} // namespace

void Planner::setModel(OpPlan &plan) {
  plan.model = analysis::buildTilingModel(plan.op, machine);
  plan.bytes = llvm::alignTo(
      analysis::bufferBytes(
          plan.model.resultType,
          analysis::storedShape(plan.model.resultShape, plan.model.homeLanes),
          plan.model.resultAxis, machine),
      64);
  plan.dense = analysis::denseBufferView(
      plan.model.resultType, plan.model.resultShape, plan.model.resultAxis,
      /*offset=*/0, machine);
  plan.hasLanes = analysis::lanesOf(plan.op).folded();
  plan.weights = analysis::weightNeeds(plan.op, machine, chunkLimit);
  if (auto known = indexOf.find(plan.op); known != indexOf.end())
    dirty = std::min(dirty, known->second);
}

/// Only resident maps can be lane-folded: takes the fold back from results that
/// go to DRAM. True if there were any.
bool Planner::unfoldSpilled() {
  llvm::SetVector<size_t> changed;
  for (auto [i, plan] : llvm::enumerate(plans)) {
    if (plan.resident || !plan.hasLanes)
      continue;
    auto decided = cast<DecisionInterface>(plan.op);
    LayoutAttr layout = decided.getLayoutAttr();
    decided.setLayoutAttr(
        layout.withLanes(1, 0).withSpread({}, layout.getWorkSpread()));
    changed.insert(i);
    for (Operation *user : plan.op->getUsers())
      if (auto found = indexOf.find(user); found != indexOf.end())
        changed.insert(found->second);
  }
  for (size_t i : changed)
    setModel(plans[i]);
  return !changed.empty();
}

void Planner::collect(ModuleOp module) {
  module.walk([&](Operation *op) {
    if (!isa_and_nonnull<NPUDialect>(op->getDialect()))
      return;
    OpPlan plan;
    plan.op = op;
    setModel(plan);
    indexOf[op] = plans.size();
    plan.lastUse = static_cast<int64_t>(plans.size());
    plans.push_back(std::move(plan));
  });
  for (auto [i, plan] : llvm::enumerate(plans)) {
    for (Value operand : plan.op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (auto found = indexOf.find(def); found != indexOf.end())
          plans[found->second].lastUse = i;
    if (plan.model.resultInDram) {
      plan.canReside = false;
      plan.dramReason = "the host writes DRAM alone";
    }
    for (OpOperand &use : plan.op->getUses())
      if (isa<func::ReturnOp>(use.getOwner()) || isReadInDram(use)) {
        plan.canReside = false;
        if (isReadInDram(use))
          plan.dramReason = use.getOwner()->hasTrait<HostEngine>()
                                ? "the host reads DRAM alone"
                                : "its reader fetches rows from DRAM";
      }
  }
  for (const OpPlan &plan : plans)
    lastReaders.push_back(plan.lastUse);
  identity = identityBytes();
  reserved = analysis::endOf(
      analysis::residentConstants(module, machine, identity, constantBytes()),
      identity, machine);
}

/// Bytes of every partition for the identities that transposes share: bytes,
/// and after them bf16 where any multiplies floats.
int64_t Planner::identityBytes() const {
  bool any = false, floats = false;
  for (const OpPlan &plan : plans) {
    auto transpose = dyn_cast<PeTransposeOp>(plan.op);
    any |= transpose || transposesBlocks(plan.op);
    floats |= transpose && transpose.getFloatProducts();
  }
  const auto bytes =
      static_cast<int64_t>(llvm::alignTo(machine.sb.partitions, 64));
  return (any ? bytes : 0) + (floats ? 2 * bytes : 0);
}

const OpPlan *Planner::producer(Value value) const {
  auto found = indexOf.find(value.getDefiningOp());
  return found == indexOf.end() ? nullptr : &plans[found->second];
}

/// True if the reader takes this operand from DRAM alone.
bool Planner::isReadInDram(OpOperand &use) const {
  auto found = indexOf.find(use.getOwner());
  if (found == indexOf.end())
    return false;
  llvm::ArrayRef<OperandModel> operands = plans[found->second].model.operands;
  return use.getOperandNumber() < operands.size() &&
         operands[use.getOperandNumber()].fromDram;
}

/// Why a reader of the result cannot read it in place as the view leaves it;
/// empty if all can. Other data movements read whatever there is.
std::string Planner::refusalOfView(const OpPlan &plan,
                                   const analysis::View &view) const {
  for (OpOperand &use : plan.op->getUses()) {
    auto reader = indexOf.find(use.getOwner());
    if (reader == indexOf.end())
      continue;
    std::string why =
        analysis::refuseInPlace(use.getOwner(), use.getOperandNumber(),
                                plans[reader->second].model, view, machine);
    if (!why.empty())
      return fmt::format("as a view of its operand '{}' could not read it: {}",
                         analysis::getNodeName(use.getOwner()->getLoc()), why);
  }
  return "";
}

/// Lets the result of a data movement be a view of its resident operand.
bool Planner::share(OpPlan &plan) {
  plan.view = plan.dense;
  plan.viewReason.clear();
  auto move = dyn_cast<DmaMoveOp>(plan.op);
  if (!move || !plan.canReside || move.getInputs().size() != 1 ||
      plan.model.homeLanes.folded())
    return false;
  auto found = indexOf.find(move.getInputs()[0].getDefiningOp());
  if (found == indexOf.end())
    return false;
  const OpPlan &source = plans[found->second];
  if (!source.resident || source.model.homeLanes.folded())
    return false;
  auto view = analysis::viewThrough(move, source.view, machine);
  if (!view || view->axis != plan.model.resultAxis)
    return false;
  plan.viewReason = refusalOfView(plan, *view);
  if (!plan.viewReason.empty())
    return false;
  plan.view = *view;
  plan.shares = static_cast<int64_t>(found->second);
  return true;
}

/// Decides residency, and which results share memory: the owner then lives as
/// long as the last of its views.
void Planner::shareMemory() {
  for (auto [i, plan] : llvm::enumerate(plans)) {
    plan.shares = -1;
    plan.room = plan.bytes;
    plan.part.reset();
    plan.grows = false;
    plan.lastUse = lastReaders[i];
  }
  for (OpPlan &plan : plans) {
    plan.resident = plan.canReside && plan.bytes <= limitAt(plan.lastUse);
    if (plan.canReside && !plan.resident)
      plan.dramReason = fmt::format(
          "its {} bytes of a partition are more than the {} that weights leave",
          plan.bytes, limitAt(plan.lastUse));
    if (share(plan))
      plan.resident = true;
  }
  for (size_t i = 0; i < plans.size(); ++i)
    shareConcat(i);
  for (size_t i = plans.size(); i-- > 0;)
    if (plans[i].shares >= 0) {
      OpPlan &owner = plans[plans[i].shares];
      owner.lastUse = std::max(owner.lastUse, plans[i].lastUse);
    }
}

/// Like shareMemory; gives the first operation whose memory is another one
/// than before.
size_t Planner::shareAgain() {
  struct Before {
    bool resident;
    int64_t shares, room, lastUse;
    std::optional<int64_t> part;
    bool operator==(const Before &) const = default;
  };
  auto state = [](const OpPlan &plan) {
    return Before{plan.resident, plan.shares, plan.room, plan.lastUse,
                  plan.part};
  };
  std::vector<Before> before;
  before.reserve(plans.size());
  for (const OpPlan &plan : plans)
    before.push_back(state(plan));
  shareMemory();
  size_t first = 0;
  while (first < plans.size() && state(plans[first]) == before[first])
    ++first;
  return first;
}

/// End of the memory in use while operation `index` runs.
int64_t Planner::liveEnd(size_t index) const {
  int64_t end = live.endAt(static_cast<int64_t>(index), reserved);
  const OpPlan &plan = plans[index];
  if (plan.resident && plan.shares < 0)
    end = std::max(end, plan.offset + plan.room);
  return end;
}

/// The memory of the result of operation `index`; none of its own: empty.
LiveArea Planner::ownArea(size_t index) const {
  const OpPlan &plan = plans[index];
  const auto owner = static_cast<int64_t>(index);
  if (!plan.resident || plan.shares >= 0)
    return {0, 0, owner, plan.lastUse};
  return {plan.offset, plan.offset + plan.room, owner, plan.lastUse};
}

/// The result of operation `index` has its place.
void Planner::enter(size_t index) {
  const OpPlan &plan = plans[index];
  if (plan.resident && plan.shares < 0)
    live.add(ownArea(index));
}

/// The first operation that may still run when operation `index` begins: vector
/// operations need no scale exponents and begin while other engines still make
/// the rest of their operands, or of other maps. Others begin after them.
size_t Planner::firstRunning(size_t index) const {
  auto isVector = [&](size_t i) {
    return plans[i].op->hasTrait<VectorEngine>();
  };
  if (!isVector(index))
    return index;
  for (size_t i = index - std::min(index, kOverlapWindow); i < index; ++i)
    if (!isVector(i))
      return i;
  return index;
}

/// The first place among the resident tensors that are live at operation
/// `since` or later, the result of operation `ignored` omitted.
int64_t Planner::firstFit(size_t index, int64_t ignored, size_t since) const {
  return live.firstFit(reserved, plans[index].room, static_cast<int64_t>(since),
                       ignored);
}

/// A large feature map that the next operation reads and no other lies at the
/// end of the memory: what is made of it may then begin where nothing ends
/// soon.
bool Planner::placeAbove(size_t index) {
  OpPlan &plan = plans[index];
  const int64_t capacity = machine.sb.bytesPerPartition;
  const int64_t offset =
      llvm::alignDown(limitAt(plan.lastUse) - plan.room, int64_t(64));
  if (!plan.model.homeLanes.spread() ||
      plan.room * kAmpleCapacityDivisor <= capacity ||
      plan.lastUse > static_cast<int64_t>(index) + 1 || offset < reserved ||
      live.firstFit(offset, plan.room, static_cast<int64_t>(index),
                    /*ignored=*/-1) != offset)
    return false;
  plan.offset = offset;
  return true;
}

/// Gives a result the memory of its operand, of what it is a view of, or of its
/// own. False if there is too little.
bool Planner::place(size_t index) {
  OpPlan &plan = plans[index];
  if (plan.shares >= 0) {
    plan.offset = plans[plan.shares].offset;
    return true;
  }
  if (placeInPlace(index))
    return true;
  plan.swaps = false;
  if (placeAbove(index) || placeApart(index))
    return true;
  // Where there is plenty of memory, what the operations before still read is
  // not written.
  plan.offset = firstFit(index, /*ignored=*/-1, firstRunning(index));
  if (plan.offset + plan.room >
      static_cast<int64_t>(machine.sb.bytesPerPartition) /
          kAmpleCapacityDivisor)
    plan.offset = firstFit(index, /*ignored=*/-1, index);
  return plan.offset + plan.room <= limitAt(plan.lastUse) ||
         placeSwapped(index);
}

bool Planner::chooseScratch(size_t index) {
  OpPlan &plan = plans[index];
  int64_t limit = limitAt(index);
  plan.scratchBase = liveEnd(index);
  if (plan.shares >= 0 && !plan.part) {
    plan.usedEnd = plan.scratchBase;
    plan.choice = {plan.model.resultShape};
    return true;
  }
  plan.usedEnd = plan.scratchBase;
  auto choice = plan.swaps ? swapScratch(plan, limit - plan.scratchBase)
                           : chooseTile(plan, limit - plan.scratchBase);
  // Tiles that are cut by what is above may be whole between live results.
  auto tiles = [&](const std::optional<TileChoice> &made) {
    return made ? tileCount(plan.model.resultShape, made->tile)
                : std::numeric_limits<int64_t>::max();
  };
  if (!plan.swaps && tiles(choice) > kManyTiles) {
    auto [begin, end] =
        live.largestGap(reserved, ownArea(index), static_cast<int64_t>(index));
    if (end - begin > limit - plan.scratchBase)
      if (auto other = chooseTile(plan, end - begin);
          tiles(other) < tiles(choice)) {
        choice = other;
        plan.scratchBase = begin;
      }
  }
  if (choice && tileLimit > 0 &&
      tileCount(plan.model.resultShape, choice->tile) > tileLimit)
    return false;
  if (!choice) {
    failedAt = index;
    failedAvailable = limit - plan.scratchBase;
    failedWeights = plan.chunks + records;
    return false;
  }
  plan.choice = *choice;
  plan.usedEnd = std::max(plan.usedEnd,
                          plan.scratchBase + choice->slotBytes * choice->slots);
  return true;
}

/// Takes back the choice of stationary activations, whose result cannot be cut
/// into tiles, or takes too much memory of others.
bool Planner::keepWeightsStationary(size_t index, llvm::StringRef reason) {
  OpPlan &plan = plans[index];
  if (!hasStationaryActivations(plan.op))
    return false;
  setStationary(plan.op, Stationary::Weights);
  setModel(plan);
  records::Decision(plan.op->getContext(), "weights-stationary", reason)
      .record(plan.op, kStationaryDecisionAttr);
  return true;
}

/// Sends the largest tensor live at operation `index` to DRAM; of very many
/// tensors several at a time.
bool Planner::evictAt(size_t index) {
  std::vector<int64_t> owners = live.ownersAt(static_cast<int64_t>(index));
  if (plans[index].resident && plans[index].shares < 0)
    owners.push_back(static_cast<int64_t>(index));
  if (owners.empty())
    return false;
  size_t count = evictions < kSingleEvictions
                     ? 1
                     : std::min(owners.size(), evictions / kEvictionGroup);
  llvm::sort(owners, [&](int64_t a, int64_t b) {
    return std::pair(-plans[a].room, a) < std::pair(-plans[b].room, b);
  });
  evictions += count;
  for (int64_t owner : llvm::ArrayRef(owners).take_front(count)) {
    plans[owner].canReside = false;
    plans[owner].dramReason = fmt::format(
        "evicted: its {} bytes of a partition are the most of what is live at "
        "'{}', where {} are available",
        plans[owner].room, analysis::getNodeName(plans[index].op->getLoc()),
        limitAt(index) - reserved);
  }
  return true;
}

/// Gives places from operation `first` on. False if one found none; with
/// `mayEvict` something has then been changed that may help, unless failure is
/// final: `evictions` and `dirty` stay as they were.
bool Planner::placeAll(size_t first, bool mayEvict) {
  live.clear();
  for (size_t i = 0; i < first; ++i)
    if (plans[i].lastUse + static_cast<int64_t>(kOverlapWindow) >=
        static_cast<int64_t>(first))
      enter(i);
  for (size_t i = first; i < plans.size(); ++i) {
    live.retire(static_cast<int64_t>(i) - static_cast<int64_t>(kOverlapWindow));
    bool fits = !plans[i].resident || place(i);
    if (!fits || !chooseScratch(i)) {
      if (mayEvict &&
          !(fits && keepWeightsStationary(i, "turning the result needs more "
                                             "scratch memory than there is")))
        evictAt(i);
      return false;
    }
    enter(i);
  }
  return true;
}

void Planner::annotate(ModuleOp module) {
  Builder builder(module.getContext());
  if (reserved > identity)
    module->setAttr(kConstantsAttr, RegionAttr::get(module.getContext(),
                                                    identity, constantBytes()));
  const std::vector<int64_t> rings = ringBases();
  for (auto [i, plan] : llvm::enumerate(plans)) {
    recordInPlace(i);
    if (!plan.viewReason.empty())
      records::Decision(module.getContext(), "copy", plan.viewReason)
          .record(plan.op, kViewDecisionAttr);
    recordWeights(plan);
    if (!plan.part && plan.shares >= 0)
      cast<DmaMoveOp>(plan.op).setRoute(Route::View);
    auto decided = cast<DecisionInterface>(plan.op);
    decided.setMemoryAttr(MemoryAttr::get(
        builder.getContext(),
        plan.resident ? std::optional(plan.offset) : std::nullopt,
        plan.resident ? StringAttr() : builder.getStringAttr(plan.dramReason),
        plan.part, MapFormAttr()));
    decided.setTilingAttr(TilingAttr::get(
        builder.getContext(), builder.getDenseI64ArrayAttr(plan.choice.tile),
        plan.scratchBase, plan.choice.slotBytes, plan.choice.slots, rings[i],
        plan.weights.cut ? chunkLimit : 0));
    dropPacking(plan.op);
  }
}

/// Chunks that are too small for the weights of several rows: the product goes
/// row by row, and reports say so.
static void goRowByRow(PeConvOp conv) {
  conv.setPackedRows(1);
  conv.setRowsApart(false);
  if (auto decision = records::decisionOf(conv, kRowsDecisionAttr))
    records::Decision(decision)
        .choose("rows-1")
        .because("chunks of weights are too small for those of several rows")
        .record(conv, kRowsDecisionAttr);
}

void Planner::dropPacking(Operation *op) const {
  auto conv = dyn_cast<PeConvOp>(op);
  if (conv && conv.getPackedRows() > 1 &&
      !analysis::packingOf(analysis::productShape(conv), machine).packs())
    goRowByRow(conv);
}

/// Rows that are apart in the operand decide how it is read, so that they are
/// given up as soon as chunks are too small for them. True if they were.
bool Planner::dropApart(Operation *op) const {
  auto conv = dyn_cast<PeConvOp>(op);
  if (!conv || !conv.getRowsApart())
    return false;
  analysis::ProductShape product = analysis::productShape(conv);
  product.chunkLimit = chunkLimit;
  if (analysis::packingOf(product, machine).packs())
    return false;
  goRowByRow(conv);
  return true;
}

namespace {

struct PlanMemoryPass : impl::PlanMemoryBase<PlanMemoryPass> {
  void runOnOperation() override {
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    std::optional<Planner> planner(std::in_place, *machine, getOperation());
    bool fits = planner->search();
    if (!fits && unrollMoves(getOperation())) {
      planner.emplace(*machine, getOperation());
      fits = planner->search();
    }
    if (failed(fits ? planner->refuseManyTiles() : planner->refuse()))
      return signalPassFailure();
    for (const OpPlan &plan : planner->plans)
      ++(plan.resident ? numResident : numSpilled);
    planner->annotate(getOperation());
  }
};

} // namespace
} // namespace ashlar::npu
