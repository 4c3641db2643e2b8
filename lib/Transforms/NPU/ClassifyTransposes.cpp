// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses how each data movement is done: not at all, by a copy inside the
// chip, by an identity multiplication on the array, or through DRAM. Input: npu
// operations with `layout`. Output: some data movements as `npu.pe.transpose`
// or with `route` through DRAM, each with its decision.

#include "AxisChanges.h"
#include "SmallestTile.h"

#include "ashlar/Analysis/Array/TransposePlan.h"
#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Analysis/Cost/StationaryCycles.h"
#include "ashlar/Analysis/Layout/InPlace.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Tiles/TileBuffers.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Machine/Transposes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_CLASSIFYTRANSPOSES
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;

namespace {

/// More planes than this are not worth their instructions.
constexpr int64_t kMostPlanes = 4096;
/// More tiles of the array than this are more instructions than a program of a
/// small model may have; a copy of any size is a few descriptors.
constexpr int64_t kMostTiles = 1 << 14;

/// The part of a copy by which a transpose on the array has to be faster where
/// it loads or stores several tiles: measured, not derived.
constexpr int64_t kFollowing = 10;

/// A choice and why it was made.
struct Choice {
  llvm::StringRef way;
  llvm::StringRef reason;
};

/// What is known about one movement.
struct Movement {
  DmaMoveOp op;
  AccessPattern pattern;
  int64_t sourceAxis = -1, resultAxis = -1;
  bool isView = false; ///< needs no data movement if its operand is resident
  bool loads = false;  ///< The source is a graph input.
  bool stores = false; ///< The result is a graph output.
  std::optional<analysis::TransposePlan> plan;
  analysis::TransposeCycles cycles;
  bool inTiles = false; ///< The array needs more than one load or store.
};

int64_t axisOrNone(Operation *op) { return axisOf(op).value_or(-1); }

/// Every element of the operand goes to one place.
bool isPermutation(DmaMoveOp op, const AccessPattern &pattern) {
  int64_t elements = 1;
  for (int64_t extent : shapeOf(op.getInputs()[0]))
    elements *= extent;
  for (const PatternDim &dim : pattern.dims)
    elements = dim.extent != 0 && elements % dim.extent == 0
                   ? elements / dim.extent
                   : 0;
  auto isZero = [](int64_t start) { return start == 0; };
  return elements == 1 && llvm::all_of(pattern.sourceStart, isZero) &&
         llvm::all_of(pattern.resultStart, isZero);
}

/// Where source and result are, with the axes of `movement` across partitions.
analysis::TransposeEnds endsOf(const Movement &movement,
                               const machine::Description &machine) {
  Value x = movement.op->getOperand(0), y = movement.op->getResult(0);
  const int64_t bytes = storageOf(x).bytes();
  auto neighbours = [&](Value value, int64_t axis) {
    int64_t run = bytes;
    for (int64_t extent : shapeOf(value).drop_front(axis + 1))
      run *= extent;
    return run;
  };
  analysis::TransposeEnds ends;
  if (movement.loads)
    ends.loaded = neighbours(x, movement.sourceAxis);
  if (movement.stores)
    ends.stored = neighbours(y, movement.resultAxis);
  if (movement.loads || movement.stores) {
    // A copy goes tile by tile with the load or store. The array needs all of
    // the end on the chip at once, next to what else is live.
    const bool isChange = DmaMoveOp(movement.op).getKind() == kAxisChange;
    const Value inside = movement.loads ? y : x;
    const int64_t axis =
        movement.loads ? movement.resultAxis : movement.sourceAxis;
    ends.evicted =
        isChange && 2 * analysis::bufferBytes(storageOf(inside),
                                              shapeOf(inside), axis, machine) >
                        static_cast<int64_t>(machine.sb.bytesPerPartition);
    return ends;
  }
  const auto identity = static_cast<int64_t>(
      llvm::alignTo(machine.sb.partitions, 64)); // the window of the array
  ends.evicted = analysis::bufferBytes(storageOf(x), shapeOf(x),
                                       movement.sourceAxis, machine) +
                     analysis::bufferBytes(storageOf(y), shapeOf(y),
                                           movement.resultAxis, machine) +
                     identity >
                 static_cast<int64_t>(machine.sb.bytesPerPartition);
  ends.changesPlaces =
      ends.evicted &&
      analysis::blockSwap(movement.op,
                          analysis::denseBufferView(storageOf(x), shapeOf(x),
                                                    movement.sourceAxis,
                                                    /*offset=*/0, machine),
                          movement.resultAxis, machine);
  return ends;
}

/// Axes that may be the partition dimension: `axis`, or any of \p shape if the
/// tensor is in DRAM before or after and nothing else says which.
llvm::SmallVector<int64_t> axesOf(bool free, int64_t axis,
                                  llvm::ArrayRef<int64_t> shape) {
  if (!free)
    return {axis};
  llvm::SmallVector<int64_t> axes;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (shape[i] > 1)
      axes.push_back(i);
  return axes;
}

/// True if the array may be asked to transpose by `plan`, with `passes` loads
/// of every tile.
bool isWorthTiles(const analysis::TransposePlan &plan,
                  const machine::Description &machine, int64_t passes = 1) {
  const int64_t rows = llvm::divideCeil(
      plan.rowCount(), static_cast<int64_t>(machine::transposeRows(machine)));
  const int64_t columns = llvm::divideCeil(
      plan.columnCount(), static_cast<int64_t>(machine.pe.columns));
  return plan.planes() <= kMostPlanes && plan.rowCount() >= 2 &&
         plan.columnCount() >= 2 && rows <= kMostTiles &&
         columns <= kMostTiles &&
         rows * columns * plan.planes() * passes <= kMostTiles;
}

/// Cycles of the array for a product with the better stationary operand; 0 if
/// `op` is none.
int64_t productCycles(Operation *op, const machine::Description &machine) {
  return isa_and_nonnull<PeConvOp, PeMatmulOp>(op)
             ? analysis::stationaryCycles(op, machine).least()
             : 0;
}

/// The longest product that reads `value`, as it is or encoded.
int64_t readingCycles(Value value, const machine::Description &machine,
                      int64_t depth = 1) {
  int64_t longest = 0;
  for (Operation *user : value.getUsers()) {
    longest = std::max(longest, productCycles(user, machine));
    if (isa<MapInterface>(user) && depth > 0)
      longest = std::max(longest,
                         readingCycles(user->getResult(0), machine, depth - 1));
  }
  return longest;
}

/// The part of a copy that continues in parallel with a product: column tiles
/// are copied as they leave the array, and a product begins with the first part
/// of what is loaded. An identity multiplication waits for the array instead,
/// or the array for it.
int64_t hiddenCopy(const Movement &movement,
                   const machine::Description &machine) {
  Value x = movement.op->getOperand(0);
  int64_t parts = analysis::kOverlapTiles;
  int64_t product = 0;
  if (movement.loads) {
    product = readingCycles(movement.op->getResult(0), machine);
  } else {
    product = productCycles(x.getDefiningOp(), machine);
    parts = static_cast<int64_t>(
        llvm::divideCeil(shapeOf(x)[movement.sourceAxis],
                         static_cast<int64_t>(machine.pe.columns)));
  }
  return std::min(movement.cycles.copy, product) * (parts - 1) / parts;
}

/// Takes off what goes on beside the loads of what makes the operand: tiles of
/// rows are transposed as they are made, while the others arrive. The array is
/// free meanwhile; of the queues, DRAM keeps one busy.
void hideBesideLoads(Movement &movement, const machine::Description &machine) {
  Operation *producer = movement.op->getOperand(0).getDefiningOp();
  if (!producer || !producer->hasTrait<VectorEngine>() ||
      endsOf(movement, machine).evicted)
    return;
  uint64_t bytes = 0;
  for (Value operand : producer->getOperands())
    if (isa<BlockArgument>(operand))
      bytes += static_cast<uint64_t>(
          analysis::dramBytes(storageOf(operand), shapeOf(operand)));
  const auto loads =
      static_cast<int64_t>(machine::dmaContiguous(machine, bytes).dram);
  const auto parts = static_cast<int64_t>(
      llvm::divideCeil(movement.plan->rowCount(),
                       static_cast<int64_t>(machine::transposeRows(machine))));
  const int64_t queues = analysis::movementQueues(machine);
  auto hide = [&](int64_t &cycles, int64_t room) {
    cycles -= std::min(cycles, room) * (parts - 1) / parts;
  };
  hide(movement.cycles.identity, loads);
  hide(movement.cycles.planes, loads);
  hide(movement.cycles.floats, loads);
  hide(movement.cycles.copy, loads * (queues - 1) / queues);
}

/// Bits of the significand of elements that the array multiplies as
/// floating-point numbers; 0 if it does not.
uint64_t floatSignificand(const analysis::StorageType &type) {
  const bool multiplies =
      type.isFloat() && type.plain != support::ElementType::F64;
  return multiplies ? support::significandBits(type.plain) : 0;
}

/// Finds the tiles of the array and the cycles of all ways, with the axes that
/// suit the array best where they are free.
void findPlan(Movement &movement, const machine::Description &machine) {
  DmaMoveOp op = movement.op;
  Value x = op.getInputs()[0];
  const bool onlyStored =
      movement.stores && llvm::all_of(op->getUsers(), [](Operation *user) {
        return isa<func::ReturnOp>(user);
      });
  Movement best = movement;
  for (int64_t source : axesOf(movement.loads, movement.sourceAxis, shapeOf(x)))
    for (int64_t result :
         axesOf(onlyStored, movement.resultAxis, shapeOf(op.getY()))) {
      Movement other = movement;
      other.sourceAxis = source;
      other.resultAxis = result;
      other.plan = analysis::planTranspose(movement.pattern, source, result);
      if (!other.plan || !isWorthTiles(*other.plan, machine))
        continue;
      other.cycles = analysis::predictTranspose(
          *other.plan, storageOf(x).bytes(), machine, endsOf(other, machine),
          floatSignificand(storageOf(x)));
      const auto partitions = static_cast<int64_t>(machine.sb.partitions);
      other.inTiles = other.plan->rowCount() > partitions ||
                      other.plan->columnCount() > 2 * partitions;
      if (!best.plan || other.cycles.identity < best.cycles.identity)
        best = other;
    }
  movement = best;
  if (movement.plan)
    hideBesideLoads(movement, machine);
  if (movement.plan && op.getKind() == kAxisChange)
    movement.cycles.copy -= hiddenCopy(movement, machine);
}

std::optional<Movement> movementOf(DmaMoveOp op,
                                   const machine::Description &machine) {
  std::optional<AccessPattern> pattern = analysis::solePattern(op);
  if (!pattern || !isPermutation(op, *pattern))
    return std::nullopt;
  Movement movement;
  movement.op = op;
  movement.pattern = *pattern;
  Value x = op.getInputs()[0];
  movement.resultAxis = axisOrNone(op);
  movement.sourceAxis = axisOrNone(x.getDefiningOp());
  movement.loads = !x.getDefiningOp();
  movement.stores = llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user);
  });
  if (movement.sourceAxis >= 0) {
    auto view = analysis::denseViewThrough(op, movement.sourceAxis);
    movement.isView = view && view->axis == movement.resultAxis;
  }
  if (movement.resultAxis >= 0 && !storageOf(x).encoded &&
      (movement.loads || movement.sourceAxis >= 0))
    findPlan(movement, machine);
  return movement;
}

/// The array as `mode` requests it.
Choice onArray(const Movement &movement, llvm::StringRef mode,
               const machine::Description &machine) {
  if (mode == "pe")
    return {"identity", "requested"};
  const analysis::StorageType type = storageOf(movement.op->getOperand(0));
  if (mode == "floats" && floatSignificand(type) > 0)
    return {"floats", "requested"};
  if (mode == "floats")
    return {"identity", "its elements are no floats that the array multiplies"};
  const int64_t bytes = type.bytes();
  if (isWorthTiles(*movement.plan, machine, bytes))
    return {"planes", "requested"};
  return {"identity", "a plane for every byte takes too many instructions"};
}

bool isOfArray(const Choice &choice) {
  return choice.way == "identity" || choice.way == "planes" ||
         choice.way == "floats";
}

Choice choose(const Movement &movement, llvm::StringRef mode,
              const machine::Description &machine) {
  if (movement.isView && !movement.loads && !movement.stores)
    return {"none", "no element leaves its partition: the result is a view"};
  if (!movement.plan)
    return {"copy", "no tiles of the array exchange these axes"};
  if (mode == "pe" || mode == "planes" || mode == "floats")
    return onArray(movement, mode, machine);
  if (mode == "dma")
    return {"dma", "requested"};
  if (mode == "copy")
    return {"copy", "requested"};
  const analysis::TransposeCycles &cycles = movement.cycles;
  // What reads a copy begins with its first elements, what reads several tiles
  // of the array with the first of them. A change of the axis has counted that
  // (hiddenCopy).
  DmaMoveOp op = movement.op;
  const bool counted = op.getKind() == kAxisChange;
  const int64_t head =
      movement.inTiles && !counted ? cycles.copy / kFollowing : 0;
  if ((movement.loads || movement.stores) &&
      cycles.copy - head <= cycles.identity)
    return {"copy", "part of a load or store that happens anyway"};
  if (cycles.identity < std::min(cycles.copy, cycles.dma))
    return {"identity", "fewest predicted cycles"};
  if (cycles.dma < cycles.copy)
    return {"dma", "fewest predicted cycles"};
  return {"copy", "fewest predicted cycles"};
}

/// True if a change of the axis that no operation of the model requests is done
/// before its readers, not by their loads. What is in DRAM anyway goes there
/// only once. Of a copy inside the chip several readers share one, if it fits
/// next to its operand.
bool isWorthAnOperation(const Movement &movement, const Choice &choice,
                        const machine::Description &machine) {
  if (isOfArray(choice))
    return true;
  if (movement.loads || movement.stores)
    return false;
  DmaMoveOp op = movement.op;
  return choice.way == "dma" ||
         (choice.way == "copy" && movement.plan && !op->use_empty() &&
          !op->hasOneUse() && !endsOf(movement, machine).evicted);
}

class Classifier {
public:
  explicit Classifier(MLIRContext *context) : builder(context) {}

  void record(const Movement &movement, Choice choice) {
    records::Decision decision(builder.getContext(), choice.way, choice.reason);
    if (movement.plan)
      decision.alternative("identity", movement.cycles.identity)
          .alternative("planes", movement.cycles.planes)
          .alternative("copy", movement.cycles.copy)
          .alternative("dma", movement.cycles.dma);
    if (movement.plan && movement.cycles.floats > 0)
      decision.alternative("floats", movement.cycles.floats);
    decision.record(movement.op, kTransposeDecisionAttr);
  }

  /// Makes the operation that lets the array transpose, before the movement.
  /// Nothing if it does not fit: where an axis across partitions is one of
  /// several axes of the model, no tile cuts it, and a small partition may not
  /// hold what it spans.
  PeTransposeOp makeTranspose(const Movement &movement, const Choice &choice,
                              const machine::Description &machine) {
    DmaMoveOp op = movement.op;
    builder.setInsertionPoint(op);
    auto patterns = cast<DenseI64ArrayAttr>(op.getPatterns()[0]);
    auto transpose = PeTransposeOp::create(
        builder, op.getLoc(), op.getY().getType(), op.getInputs()[0],
        builder.getI64IntegerAttr(movement.sourceAxis), patterns,
        builder.getStringAttr("copy"), builder.getF32FloatAttr(0.0f),
        builder.getF32FloatAttr(0.0f));
    transpose.setBytePlanes(choice.way == "planes");
    transpose.setFloatProducts(choice.way == "floats");
    copyDecisions(op, transpose);
    transpose.setLayoutAttr(
        LayoutAttr::get(builder.getContext(), movement.resultAxis));
    if (smallestTileBytes(transpose, machine) <= scratchOf(op, machine))
      return transpose;
    transpose.erase();
    return {};
  }

  /// Movement that reads several tensors, repeats elements or converts them has
  /// one way only.
  void recordOther(DmaMoveOp op) {
    if (!llvm::is_contained({"transpose", "gather", "reshape"}, op.getKind()))
      return;
    records::Decision(builder.getContext(), "copy",
                      storageOf(op.getY()).encoded
                          ? "encoded after the copy: new blocks"
                          : "elements are omitted, repeated or converted")
        .record(op, kTransposeDecisionAttr);
  }

  void replace(DmaMoveOp op, PeTransposeOp transpose) {
    transpose->setAttr(kTransposeDecisionAttr,
                       op->getAttr(kTransposeDecisionAttr));
    op->replaceAllUsesWith(transpose);
    op->erase();
    fuseFunction(transpose);
  }

private:
  /// leastScratch(), which only short memories need.
  int64_t scratchOf(Operation *op, const machine::Description &machine) {
    if (!scratch)
      scratch = leastScratch(op->getParentOfType<ModuleOp>(), machine);
    return *scratch;
  }

  /// The drain applies the function that alone reads the result. A byte is no
  /// value of its type.
  void fuseFunction(PeTransposeOp op) {
    if (!op->hasOneUse() || op.getBytePlanes())
      return;
    auto map = dyn_cast<VecMapOp>(*op->user_begin());
    if (!map || map->getNumOperands() != 1 || map.isConversion() ||
        map.getY().getType() != op.getY().getType() ||
        axisOrNone(map) != axisOrNone(op) || !storageOf(op.getY()).isFloat())
      return;
    op.setFunctionAttr(map.getOpAttr());
    op.setAlphaAttr(map.getAlphaAttr());
    op.setBetaAttr(map.getBetaAttr());
    copyDecisions(map, op);
    op->setLoc(FusedLoc::get(op.getContext(), {op.getLoc(), map.getLoc()}));
    map->replaceAllUsesWith(op);
    map->erase();
  }

  OpBuilder builder;
  std::optional<int64_t> scratch;
};

/// Of two consecutive data movements whose order does not matter, the one with
/// the earlier reader goes first: queues are served in program order.
void orderByReaders(llvm::ArrayRef<DmaMoveOp> moves) {
  auto firstReader = [](Operation *op) {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
    return first;
  };
  for (DmaMoveOp op : moves) {
    auto next = dyn_cast_or_null<DmaMoveOp>(op->getNextNode());
    if (!next || llvm::is_contained(op->getUsers(), next.getOperation()))
      continue;
    Operation *mine = firstReader(op), *other = firstReader(next);
    if (mine && other && other->isBeforeInBlock(mine))
      next->moveBefore(op);
  }
}

struct ClassifyTransposesPass
    : impl::ClassifyTransposesBase<ClassifyTransposesPass> {
  using ClassifyTransposesBase::ClassifyTransposesBase;

  void runOnOperation() override {
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    if (!llvm::is_contained({"auto", "pe", "planes", "floats", "dma", "copy"},
                            mode)) {
      getOperation().emitError()
          << "mode is '" << mode
          << "', expected auto, pe, planes, floats, dma or copy";
      return signalPassFailure();
    }
    exposeAxisChanges(getOperation(), *machine);
    llvm::SmallVector<DmaMoveOp> moves;
    getOperation().walk([&](DmaMoveOp op) { moves.push_back(op); });
    orderByReaders(moves);
    Classifier classifier(&getContext());
    for (DmaMoveOp op : moves) {
      auto movement = movementOf(op, *machine);
      if (!movement && op.getKind() != kAxisChange) {
        classifier.recordOther(op);
        continue;
      }
      if (!movement) {
        dropAxisChange(op);
        continue;
      }
      Choice choice = choose(*movement, mode, *machine);
      PeTransposeOp transpose;
      if (isOfArray(choice))
        transpose = classifier.makeTranspose(*movement, choice, *machine);
      if (isOfArray(choice) && !transpose)
        choice = {"dma", "the smallest tile of the array's way does not fit "
                         "into a partition"};
      if (op.getKind() == kAxisChange &&
          !isWorthAnOperation(*movement, choice, *machine)) {
        dropAxisChange(op);
        continue;
      }
      classifier.record(*movement, choice);
      numNone += choice.way == "none";
      numCopies += choice.way == "copy";
      if (isOfArray(choice)) {
        classifier.replace(op, transpose);
        ++numIdentities;
      } else if (choice.way == "dma") {
        op.setRoute(Route::ThroughDram);
        ++numThroughDram;
      }
    }
  }
};

} // namespace
} // namespace ashlar::npu
