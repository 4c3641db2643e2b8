// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk in program order over the memory that is in use. The buffers of
// tiles are those that code generation will use (analysis::tileBuffers), so
// what is found to be apart here cannot meet there.

#include "CheckBuffers.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/InPlace.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Layout/ResidentConstants.h"
#include "ashlar/Analysis/Tiles/TileBuffers.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/ModuleAttributes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::npu {

using namespace mlir;
using analysis::Region;
using analysis::Shape;
using analysis::TileBuffer;
using analysis::TilingModel;
using analysis::View;

namespace {

/// Bytes [begin, end) of every partition.
struct Bytes {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  bool meets(const Bytes &other) const {
    return !empty() && !other.empty() && begin < other.end && other.begin < end;
  }
};

/// The plan of one operation, as its attributes say.
struct PlannedOp {
  Operation *op = nullptr;
  TilingModel model;
  int64_t placement = -1, ring = 0;
  int64_t base = 0, slotBytes = 0, slots = 1; ///< of scratch memory
  llvm::ArrayRef<int64_t> tile;
  size_t memory = 0; ///< of a resident result

  Bytes scratch() const { return {base, base + slotBytes * slots}; }
};

/// The memory of a resident result and of all that share it.
struct Memory {
  Bytes bytes;
  size_t first = 0, last = 0; ///< operations that use it
  Operation *owner = nullptr;
};

class BufferChecker {
public:
  BufferChecker(ModuleOp module, const machine::Description &machine)
      : module(module), machine(machine),
        capacity(static_cast<int64_t>(machine.sb.bytesPerPartition)),
        residents(module, machine) {}

  LogicalResult run();

private:
  LogicalResult collect();
  LogicalResult read(Operation *op);
  LogicalResult checkShape(PlannedOp &plan);
  void joinMemories();
  View viewOf(Operation *op) const;
  LogicalResult checkMemory(size_t index);
  bool mayLieOver(size_t index, const Memory &under) const;
  LogicalResult checkScratch(size_t index);
  LogicalResult checkRing(size_t index);
  LogicalResult checkTiles(const PlannedOp &plan);
  LogicalResult checkTile(const PlannedOp &plan, const Region &out,
                          llvm::ArrayRef<TileBuffer> buffers);
  LogicalResult checkExchange(const PlannedOp &plan);

  ModuleOp module;
  const machine::Description &machine;
  int64_t capacity;
  analysis::Residents residents;
  std::vector<PlannedOp> plans;
  llvm::DenseMap<Operation *, size_t> indexOf;
  std::vector<Memory> memories;
  llvm::SmallVector<size_t> live; ///< memories in use
  int64_t reserved = 0, records = 0;
};

} // namespace

/// A list of numbers as messages write it.
static std::string textOf(llvm::ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : " x ") + std::to_string(number);
  return text;
}

/// Everything that the plan phase decides must be there.
LogicalResult BufferChecker::read(Operation *op) {
  if (failed(verifyPresence(op)))
    return failure();
  TilingAttr tiling = tilingOf(op);
  PlannedOp plan;
  plan.op = op;
  plan.placement = memoryOf(op).getSb().value_or(-1);
  plan.ring = tiling.getRing();
  plan.base = tiling.getScratch(), plan.slotBytes = tiling.getSlot();
  plan.slots = tiling.getSlots();
  plan.tile = tiling.getTile().asArrayRef();
  indexOf[op] = plans.size();
  plans.push_back(std::move(plan));
  return checkShape(plans.back());
}

/// Tiles of at least one element, and memory that begins somewhere.
LogicalResult BufferChecker::checkShape(PlannedOp &plan) {
  auto shape = analysis::shapeOf(plan.op->getResult(0));
  bool valid = plan.tile.size() == shape.size();
  for (size_t i = 0; valid && i < shape.size(); ++i)
    valid = plan.tile[i] >= (shape[i] > 0 ? 1 : 0);
  if (!valid || countTiles(shape, plan.tile) > kMostTiles)
    return plan.op->emitOpError("has a result of ")
           << textOf(shape) << " in tiles of " << textOf(plan.tile)
           << ": expected up to " << kMostTiles
           << " tiles of at least one element";
  if (plan.base < 0 || plan.slotBytes < 0 || plan.slots < 1 || plan.ring < 0 ||
      plan.slotBytes > capacity || plan.slots > capacity ||
      plan.base > capacity)
    return plan.op->emitOpError("has ")
           << plan.slots << " slots of " << plan.slotBytes
           << " bytes of scratch memory from byte " << plan.base
           << " on and a weight ring from byte " << plan.ring
           << " on: a partition has " << capacity << " bytes";
  plan.model = analysis::buildTilingModel(plan.op, machine);
  if (!plan.model.scratch)
    return plan.op->emitOpError("is not an operation that has tiles");
  return success();
}

LogicalResult BufferChecker::collect() {
  auto result = module.walk([&](Operation *op) {
    if (!isa_and_nonnull<NPUDialect>(op->getDialect()))
      return WalkResult::advance();
    return WalkResult(read(op));
  });
  if (result.wasInterrupted())
    return failure();
  llvm::SmallVector<Operation *> ops;
  for (const PlannedOp &plan : plans)
    ops.push_back(plan.op);
  records = analysis::movingRecordBytes(ops, machine);
  // The identity that transposes share, and small constants.
  if (llvm::any_of(ops, [](Operation *op) {
        return isa<PeTransposeOp>(op) || transposesBlocks(op);
      }))
    reserved = llvm::alignTo(static_cast<int64_t>(machine.sb.partitions), 64);
  if (auto area = module->getAttrOfType<RegionAttr>(kConstantsAttr)) {
    if (area.getBegin() < reserved)
      return module.emitError(
                 "constants in the state buffer may begin at byte ")
             << reserved << " of the partitions";
    reserved =
        analysis::endOf(analysis::residentConstants(
                            module, machine, area.getBegin(), area.getBytes()),
                        area.getBegin(), machine);
  }
  joinMemories();
  return success();
}

/// Views lie in the memory of their operand, parts in that of the
/// concatenation that they make.
void BufferChecker::joinMemories() {
  llvm::EquivalenceClasses<size_t> shared;
  auto inBuffer = [&](Operation *op) {
    auto found = indexOf.find(op);
    return found != indexOf.end() && plans[found->second].placement >= 0
               ? &plans[found->second]
               : nullptr;
  };
  for (auto [i, plan] : llvm::enumerate(plans)) {
    if (plan.placement < 0)
      continue;
    shared.insert(i);
    if (isAliased(plan.op))
      for (Value operand : plan.op->getOperands())
        if (Operation *def = operand.getDefiningOp(); def && inBuffer(def))
          shared.unionSets(i, indexOf[def]);
  }
  llvm::DenseMap<size_t, size_t> memoryOf;
  for (auto [i, plan] : llvm::enumerate(plans)) {
    if (plan.placement < 0)
      continue;
    auto [entry, inserted] =
        memoryOf.insert({shared.getLeaderValue(i), memories.size()});
    plan.memory = entry->second;
    if (inserted)
      memories.push_back({{plan.placement, plan.placement}, i, i, plan.op});
    Memory &memory = memories[plan.memory];
    memory.last = std::max(memory.last, i);
    for (Operation *user : plan.op->getUsers())
      if (auto found = indexOf.find(user); found != indexOf.end())
        memory.last = std::max(memory.last, found->second);
    // A view has no bytes of its own; a concatenation has those of its parts.
    if (analysis::isView(plan.op) || partOf(plan.op))
      continue;
    const int64_t bytes = llvm::alignTo(
        analysis::bufferBytes(
            plan.model.resultType,
            analysis::storedShape(plan.model.resultShape, plan.model.homeLanes),
            plan.model.resultAxis, machine),
        64);
    memory.bytes.begin = std::min(memory.bytes.begin, plan.placement);
    memory.bytes.end = std::max(memory.bytes.end, plan.placement + bytes);
  }
}

/// A resident result, from the begin of its memory on.
View BufferChecker::viewOf(Operation *op) const {
  if (analysis::isView(op))
    if (Operation *def = op->getOperand(0).getDefiningOp();
        def && indexOf.contains(def))
      if (auto view =
              analysis::viewThrough(cast<DmaMoveOp>(op), viewOf(def), machine))
        return *view;
  const TilingModel &model = plans[indexOf.lookup(op)].model;
  return analysis::denseBufferView(
      model.resultType,
      analysis::storedShape(model.resultShape, model.homeLanes),
      model.resultAxis, /*offset=*/0, machine);
}

/// True if the result of operation `index` may have bytes of `under`: it is
/// made of what lies there, no later tile reads what an earlier one wrote, and
/// nothing reads it afterwards.
bool BufferChecker::mayLieOver(size_t index, const Memory &under) const {
  const PlannedOp &plan = plans[index];
  auto move = dyn_cast<DmaMoveOp>(plan.op);
  if (!move || move.getInputs().size() != 1 || under.last != index)
    return false;
  Operation *def = move.getInputs()[0].getDefiningOp();
  auto source = def ? indexOf.find(def) : indexOf.end();
  if (source == indexOf.end() || plans[source->second].placement < 0 ||
      &memories[plans[source->second].memory] != &under ||
      plans[source->second].model.homeLanes.folded())
    return false;
  const View view = viewOf(def);
  if (routeOf(move) == Route::SwapBlocks)
    return plan.placement == under.bytes.begin &&
           analysis::blockSwap(move, view, plan.model.resultAxis, machine);
  return !plan.model.directResult &&
         plan.placement - under.bytes.begin <=
             analysis::inPlaceLead(move, plan.model, view, plan.tile, machine);
}

/// The memory that operation `index` begins to use must be free.
LogicalResult BufferChecker::checkMemory(size_t index) {
  const PlannedOp &plan = plans[index];
  if (plan.placement < 0 || memories[plan.memory].first != index)
    return success();
  const Memory &memory = memories[plan.memory];
  auto wrong = [&](const llvm::Twine &why) {
    return plan.op->emitOpError("has its result in bytes ")
           << memory.bytes.begin << " to " << memory.bytes.end
           << " of the partitions, " << why;
  };
  if (memory.bytes.begin < reserved || memory.bytes.end > capacity)
    return wrong("only bytes " + llvm::Twine(reserved) + " to " +
                 llvm::Twine(capacity) + " are for results");
  for (size_t at : live) {
    const Memory &other = memories[at];
    if (other.bytes.meets(memory.bytes) && !mayLieOver(index, other))
      return wrong("where bytes " + llvm::Twine(other.bytes.begin) + " to " +
                   llvm::Twine(other.bytes.end) + " hold that of '" +
                   other.owner->getName().getStringRef() +
                   "', which is still read");
  }
  return success();
}

/// Scratch memory lies apart from all results in use.
LogicalResult BufferChecker::checkScratch(size_t index) {
  const PlannedOp &plan = plans[index];
  const Bytes scratch = plan.scratch();
  if (scratch.empty())
    return success();
  auto wrong = [&](const llvm::Twine &why) {
    return plan.op->emitOpError("has scratch memory in bytes ")
           << scratch.begin << " to " << scratch.end << " of the partitions, "
           << why;
  };
  if (scratch.begin < reserved || scratch.end > capacity)
    return wrong("only bytes " + llvm::Twine(reserved) + " to " +
                 llvm::Twine(capacity) + " are for scratch memory");
  for (size_t at : live)
    if (const Memory &other = memories[at]; other.bytes.meets(scratch))
      return wrong("where bytes " + llvm::Twine(other.bytes.begin) + " to " +
                   llvm::Twine(other.bytes.end) + " hold the result of '" +
                   other.owner->getName().getStringRef() + "'");
  return success();
}

/// The ring lies above all that is in use. A chunk that is loaded during an
/// operation may stay in it during later ones.
LogicalResult BufferChecker::checkRing(size_t index) {
  const PlannedOp &plan = plans[index];
  int64_t used = std::max(reserved, plan.scratch().end);
  for (size_t at : live)
    used = std::max(used, memories[at].bytes.end);
  const bool grows =
      index + 1 == plans.size() || plan.ring >= plans[index + 1].ring;
  if (plan.ring < used || !grows)
    return plan.op->emitOpError("has a weight ring from byte ")
           << plan.ring << " of the partitions on, but "
           << (grows ? "tensors and scratch memory in use end at byte "
                     : "weights may still be in it when it begins at byte ")
           << (grows ? used : plans[index + 1].ring);
  const int64_t needed = analysis::largestChunk(plan.op, machine);
  if (needed > 0 && plan.ring + needed + records > capacity)
    return plan.op->emitOpError("needs ")
           << needed << " bytes of weights in a partition, the weight ring has "
           << std::max<int64_t>(capacity - records - plan.ring, 0);
  return success();
}

LogicalResult BufferChecker::checkTile(const PlannedOp &plan, const Region &out,
                                       llvm::ArrayRef<TileBuffer> buffers) {
  const Bytes slot{plan.base, plan.base + plan.slotBytes};
  const TileBuffer *before = nullptr;
  for (const TileBuffer &buffer : buffers) {
    auto wrong = [&](const llvm::Twine &why) {
      return plan.op->emitOpError("has a tile of ")
             << textOf(out.size) << " at " << textOf(out.start)
             << " whose buffer of " << buffer.name() << " takes bytes "
             << buffer.view.base << " to " << buffer.end()
             << " of the partitions, " << why;
    };
    if (buffer.view.base < slot.begin || buffer.end() > slot.end)
      return wrong("its slot of scratch memory has bytes " +
                   llvm::Twine(slot.begin) + " to " + llvm::Twine(slot.end));
    // They are packed in order.
    if (before && buffer.view.base < before->end())
      return wrong("that of " + before->name() + " ends at byte " +
                   llvm::Twine(before->end()));
    before = &buffer;
  }
  return success();
}

/// Every tile, wherever it lies: padding makes their buffers differ.
LogicalResult BufferChecker::checkTiles(const PlannedOp &plan) {
  if (isAliased(plan.op) || routeOf(plan.op) == Route::SwapBlocks)
    return checkExchange(plan);
  const analysis::Staging staging = residents.stagingOf(plan.op, plan.model);
  Region out = analysis::firstTile(plan.model.resultShape, plan.tile);
  do {
    auto buffers = analysis::tileBuffers(plan.op, plan.model, staging, out,
                                         plan.base, machine);
    if (failed(checkTile(plan, out, buffers)))
      return failure();
    if (buffers.empty())
      break; // then no tile has any
  } while (analysis::nextTile(out, plan.model.resultShape, plan.tile));
  return success();
}

/// The scratch memory of an exchange of blocks holds one in every slot.
LogicalResult BufferChecker::checkExchange(const PlannedOp &plan) {
  auto move = dyn_cast<DmaMoveOp>(plan.op);
  if (!move || routeOf(plan.op) != Route::SwapBlocks)
    return success();
  Operation *def = move.getInputs()[0].getDefiningOp();
  if (!def || !indexOf.contains(def))
    return plan.op->emitOpError(
        "swaps blocks of a value that no operation produced");
  const View source = viewOf(def);
  auto swap = analysis::blockSwap(move, source, plan.model.resultAxis, machine);
  if (!swap)
    return plan.op->emitOpError("has blocks that cannot be swapped");
  const Shape block =
      analysis::blockOfOperand(*swap, source.shape, source.axis, 0, 0).size;
  const int64_t bytes =
      analysis::bufferBytes(source.type, block, source.axis, machine);
  if (bytes > plan.slotBytes)
    return plan.op->emitOpError("exchanges blocks of ")
           << bytes << " bytes of a partition through slots of "
           << plan.slotBytes;
  return success();
}

LogicalResult BufferChecker::run() {
  if (failed(collect()))
    return failure();
  bool ok = true;
  for (size_t i = 0; i < plans.size(); ++i) {
    ok &= succeeded(checkMemory(i));
    const PlannedOp &plan = plans[i];
    if (plan.placement >= 0 && memories[plan.memory].first == i)
      live.push_back(plan.memory);
    ok &= succeeded(checkScratch(i)) && succeeded(checkRing(i)) &&
          succeeded(checkTiles(plan));
    llvm::erase_if(live, [&](size_t at) { return memories[at].last <= i; });
  }
  return success(ok);
}

int64_t countTiles(ArrayRef<int64_t> shape, ArrayRef<int64_t> tile) {
  int64_t tiles = 1;
  for (auto [extent, size] : llvm::zip_equal(shape, tile))
    if (extent > 0)
      tiles = std::min(kMostTiles + 1,
                       tiles * std::min(kMostTiles + 1,
                                        llvm::divideCeilSigned(extent, size)));
  return tiles;
}

LogicalResult checkBuffers(ModuleOp module,
                           const machine::Description &machine) {
  return BufferChecker(module, machine).run();
}

} // namespace ashlar::npu
