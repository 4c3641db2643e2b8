// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of an operation: as large as scratch memory allows, and small where
// one engine follows another through it. What DMA brings and the vector unit
// converts goes in bands, so that the conversion ends soon after the last
// byte.

#include "MemoryPlanner.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Tiles/SharedScratch.h"
#include "ashlar/Analysis/Tiles/TileBuffers.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Partition/TilePolicy.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

namespace ashlar::npu {

using namespace mlir;
using analysis::OperandModel;
using analysis::Region;

int64_t tileCount(const Shape &shape, const Shape &tile) {
  int64_t count = 1;
  for (auto [extent, size] : llvm::zip(shape, tile))
    count *= size ? llvm::divideCeil(extent, size) : 1; // 0 of 0: empty
  return count;
}

namespace {

using analysis::kOverlapTiles;

using partition::kLongMoveBytes;
using partition::kOverlapBytes;
/// Requests of DRAM that the load of a tile has to outlast.
constexpr uint64_t kTileRequests = 4;
/// Bands of what DMA brings at most, and latencies of the vector unit that one
/// is worth.
constexpr int64_t kMostBands = 24, kBandLatencies = 4;

/// True if the vector unit follows the movement.
bool converts(const OpPlan &plan) {
  return !plan.model
              .scratch({Shape(plan.model.resultShape.size(), 0),
                        plan.model.resultShape})
              .empty();
}

/// Pooling over large resident maps follows its producer band by band, and so
/// does the vector unit what it converts after a movement.
bool isLongVectorWork(const OpPlan &plan) {
  if (isa<DmaMoveOp>(plan.op))
    return converts(plan) && plan.bytes > kLongMoveBytes;
  auto pool = dyn_cast<VecPoolOp>(plan.op);
  if (!pool)
    return false;
  int64_t work = plan.bytes;
  for (int64_t extent : pool.getKernel())
    work *= extent;
  return work > kOverlapBytes;
}

/// Cycles in which a tile of a movement reads what it shares with the tile
/// before it along `axis`, if it reads the operand where it lies.
int64_t sharedCycles(const OpPlan &plan, int64_t axis,
                     const machine::Description &machine) {
  auto move = dyn_cast<DmaMoveOp>(plan.op);
  if (!move)
    return 0;
  uint64_t cycles = 0;
  for (const auto &[operand, value] :
       llvm::zip_equal(plan.model.operands, move.getInputs())) {
    const Shape shape(analysis::shapeOf(value));
    if (operand.shared.empty() || shape[axis] == 0)
      continue;
    const auto elements = static_cast<uint64_t>(
        operand.shared[axis] * Region::whole(shape).elements() / shape[axis]);
    const uint64_t bytes =
        elements * static_cast<uint64_t>(analysis::storageOf(value).bytes());
    const auto queues =
        static_cast<uint64_t>(analysis::movementQueues(machine));
    cycles += std::max(machine::dramStreamCycles(machine, bytes),
                       machine::dmaInside(machine, bytes, elements) / queues);
  }
  return static_cast<int64_t>(cycles);
}

} // namespace

/// An operand is copied to scratch unless DMA reads it directly or it already
/// lies as the operation wants it.
bool Planner::isStaged(const OpPlan &plan, unsigned operand) const {
  const OperandModel &model = plan.model.operands[operand];
  if (model.streamed || model.direct)
    return false;
  if (model.padded)
    return true;
  const OpPlan *source = producer(plan.op->getOperand(operand));
  return !source || !source->resident ||
         !model.readsInPlace(source->view, source->model.homeLanes);
}

bool Planner::stagesResult(const OpPlan &plan) const {
  return !plan.model.directResult &&
         (!plan.resident || plan.model.homeLanes != plan.model.lanes);
}

int64_t Planner::slotBytes(const OpPlan &plan, const Shape &tile) const {
  analysis::Staging staging;
  for (unsigned i = 0; i < plan.model.operands.size(); ++i)
    staging.operands.push_back(isStaged(plan, i));
  staging.result = stagesResult(plan);
  return analysis::slotBytes(plan.op, plan.model, staging, tile, machine);
}

/// Bytes of a slot for which other engines work. Values that ACT leaves to the
/// vector unit follow the array by themselves, in one tile as in several.
int64_t Planner::movedBytes(const OpPlan &plan, const Shape &tile) const {
  int64_t bytes = slotBytes(plan, tile);
  if (vectorShareOf(plan.op) == 0)
    return bytes;
  const Region out{Shape(tile.size(), 0), tile};
  for (const analysis::ScratchBuffer &buffer : plan.model.scratch(out))
    bytes -= llvm::alignTo(
        analysis::bufferBytes(buffer.type, buffer.shape, buffer.axis, machine),
        64);
  return bytes;
}

/// True if the vector unit would wait for whole columns of the array, and tiles
/// read weights no more often from DRAM.
bool Planner::waitsForColumns(const OpPlan &plan) const {
  if (vectorShareOf(plan.op) == 0 ||
      analysis::sharedCapacity(plan.op, machine) > 0)
    return false;
  const int64_t positions =
      cast<RankedTensorType>(plan.op->getResult(0).getType()).getNumElements() /
      analysis::productShape(plan.op).outputs;
  return analysis::sharedTiles(positions, machine) > 1 &&
         2 * plan.weights.bytes <= std::max(ring, plan.chunks);
}

/// True if tiles of `plan` wait for DRAM, and no two of them for the same
/// element: more tiles cost nothing then.
bool Planner::readsDramOnce(const OpPlan &plan, const Shape &tile) const {
  auto move = dyn_cast<DmaMoveOp>(plan.op);
  // A tile of a reshape in order copies all of the operand.
  if (move ? !converts(plan) || move.keepsOrder() : !isa<MapInterface>(plan.op))
    return false;
  const Region out{Shape(tile.size(), 0), tile};
  bool reads = false;
  for (auto [i, operand] : llvm::enumerate(plan.model.operands)) {
    if (isStaged(plan, i) &&
        (operand.padded || operand.region(out).elements() != out.elements()))
      return false;
    const OpPlan *source = producer(plan.op->getOperand(i));
    reads |= !source || !source->resident;
  }
  return reads;
}

/// Bytes of graph inputs that a tile loads.
uint64_t Planner::loadedBytes(const OpPlan &plan, const Shape &tile) const {
  const Region out{Shape(tile.size(), 0), tile};
  uint64_t bytes = 0;
  for (auto [i, operand] : llvm::enumerate(plan.model.operands)) {
    const Value value = plan.op->getOperand(i);
    if (isStaged(plan, i) && mlir::isa<BlockArgument>(value))
      bytes += static_cast<uint64_t>(analysis::dramBytes(
          analysis::storageOf(value), operand.region(out).size));
  }
  return bytes;
}

/// True if the vector unit would wait for an input for so long that several
/// tiles are worth their requests. Not if results leave: DRAM serves in program
/// order, and loads would wait for stores. Nor if tiles share what they read.
/// What a network has stored before is read while DRAM is busy anyway: finer
/// tiles of it took up to 15 % more cycles on `a1-edge`.
bool Planner::waitsForDram(const OpPlan &plan, const Shape &tile) const {
  if (!plan.op->hasTrait<VectorEngine>() || stagesResult(plan))
    return false;
  const uint64_t bytes = loadedBytes(plan, tile);
  const uint64_t request = machine.dma.setupCycles + machine.dram.latency;
  if (machine::dramStreamCycles(machine, bytes) <=
      kTileRequests * kOverlapTiles * request)
    return false;
  return llvm::any_of(plan.model.tileAxes, [&](int64_t axis) {
    Shape part = tile;
    part[axis] = llvm::divideCeilSigned(tile[axis], kOverlapTiles);
    return part[axis] < tile[axis] &&
           kOverlapTiles * loadedBytes(plan, part) <= bytes + bytes / 8;
  });
}

/// Cuts tiles finer along `axis` where the vector unit follows DMA: it begins
/// with the first band and ends soon after the last. The memory is that of the
/// two slots before, so that as much is under way.
TileChoice Planner::inBands(const OpPlan &plan, const TileChoice &whole,
                            int64_t axis) const {
  // DRAM serves in program order: the next band would wait for the results of
  // the one before.
  if (whole.slots < 2 || stagesResult(plan) || !readsDramOnce(plan, whole.tile))
    return whole;
  const Shape &shape = plan.model.resultShape;
  const Shape stored = analysis::storedShape(shape, plan.model.lanes);
  const Region all = Region::whole(stored);
  const int64_t channels =
      plan.model.resultAxis < 0
          ? 1
          : std::max<int64_t>(stored[plan.model.resultAxis], 1);
  const auto cycles =
      static_cast<int64_t>(machine::vecMap(machine, machine::VecCost::Cheap,
                                           plan.model.resultType.encoded
                                               ? machine::VecStore::Encode
                                               : machine::VecStore::Convert,
                                           channels, all.elements() / channels)
                               .issue);
  const int64_t worth =
      kBandLatencies * std::max<int64_t>(machine.vec.latency, 1);
  const int64_t tiles = tileCount(shape, whole.tile);
  int64_t most = std::min(cycles / worth, kMostBands);
  if (const int64_t again = sharedCycles(plan, axis, machine))
    most = std::min(most, partition::bandsThatShare(cycles, again,
                                                    partition::kOverlapTiles));
  const int64_t parts = most / tiles;
  const int64_t unit = plan.model.granularity[axis];
  TileChoice bands = whole;
  bands.tile[axis] = llvm::alignTo(
      llvm::divideCeil(whole.tile[axis], std::max<int64_t>(parts, 1)), unit);
  if (bands.tile[axis] >= whole.tile[axis])
    return whole;
  bands.slotBytes = slotBytes(plan, bands.tile);
  bands.slots = std::clamp<int64_t>(whole.slots * whole.slotBytes /
                                        std::max<int64_t>(bands.slotBytes, 1),
                                    whole.slots, tileCount(shape, bands.tile));
  return bands.slots * bands.slotBytes <= whole.slots * whole.slotBytes ? bands
                                                                        : whole;
}

bool Planner::cutTile(const OpPlan &plan, int64_t available, bool overlap,
                      int64_t least, llvm::ArrayRef<int64_t> axes,
                      TileChoice &choice) const {
  int64_t tiles = 1;
  choice.tile = plan.model.resultShape;
  for (int64_t axis : axes) {
    int64_t extent = plan.model.resultShape[axis];
    int64_t unit = std::max(plan.model.granularity[axis],
                            std::min(least, std::max<int64_t>(extent, 1)));
    int64_t steps = llvm::divideCeil(extent, unit);
    // The fewest cuts of this axis that fit; all of it before the next axis.
    // Numbers of cuts that give the same tile are skipped: there are far fewer
    // sizes than steps.
    int64_t last = 0;
    for (int64_t cuts = 1; cuts <= steps; ++cuts) {
      int64_t size = llvm::divideCeil(steps, cuts) * unit;
      if (size == last) {
        // The next smaller size needs so many.
        cuts =
            llvm::divideCeil(steps, std::max<int64_t>(size / unit - 1, 1)) - 1;
        continue;
      }
      last = size;
      choice.tile[axis] = std::min(size, extent);
      choice.slotBytes = slotBytes(plan, choice.tile);
      int64_t count = tiles * llvm::divideCeil(extent, choice.tile[axis]);
      bool enough = !overlap || count >= kOverlapTiles ||
                    (cuts == steps && axis == axes.back());
      if (2 * choice.slotBytes <= available && enough) {
        choice.slots = count > 1 ? 2 : 1;
        choice = inBands(plan, choice, axis);
        return true;
      }
    }
    tiles *= llvm::divideCeil(extent, choice.tile[axis]);
  }
  return false;
}

/// Tiles along the axes that every operation of the kind has.
std::optional<TileChoice> Planner::cutPositions(const OpPlan &plan,
                                                int64_t available) const {
  TileChoice choice;
  choice.tile = plan.model.resultShape;
  choice.slotBytes = slotBytes(plan, choice.tile);
  // The array transposes what has arrived while the rest arrives, or while what
  // it has transposed leaves, in tiles that fill it. Not both: DRAM serves in
  // program order, and loads would wait for stores.
  const bool loads = isa<PeTransposeOp>(plan.op) && isStaged(plan, 0);
  if (isa<PeTransposeOp>(plan.op) && loads != stagesResult(plan)) {
    TileChoice turned;
    if (cutTile(plan, available, /*overlap=*/true,
                static_cast<int64_t>(machine.sb.partitions),
                plan.model.tileAxes, turned))
      return turned;
  }
  // Pools of resident maps are cut where they are emitted.
  bool banded = isa<VecPoolOp>(plan.op) && choice.slotBytes == 0;
  bool overlap = movedBytes(plan, choice.tile) > kOverlapBytes ||
                 waitsForColumns(plan) || waitsForDram(plan, choice.tile) ||
                 (isLongVectorWork(plan) && !banded);
  if (choice.slotBytes <= available && !overlap)
    return choice;
  if (cutTile(plan, available, overlap, /*least=*/1, plan.model.tileAxes,
              choice))
    return choice;
  choice.slots = 1;
  if (choice.slotBytes <= available)
    return choice;
  return std::nullopt;
}

/// Tiles of some outputs of a product: cut along them `first`, or where cutting
/// positions is not enough.
std::optional<TileChoice>
Planner::cutOutputs(const OpPlan &plan, int64_t available, bool first) const {
  llvm::SmallVector<int64_t, 6> axes(plan.model.tileAxes);
  axes.insert(first ? axes.begin() : axes.end(), plan.model.outputAxis);
  TileChoice choice;
  if (cutTile(plan, available, /*overlap=*/first, /*least=*/1, axes, choice))
    return choice;
  choice.slots = 1;
  return choice.slotBytes <= available ? std::optional(choice) : std::nullopt;
}

/// Bytes that the tiles of a product read from DRAM: what is staged, for each
/// tile, and weights, for all tiles of the same outputs at once if the ring
/// holds them.
int64_t Planner::tileTraffic(const OpPlan &plan,
                             const TileChoice &choice) const {
  const Shape &shape = plan.model.resultShape;
  const int64_t axis = plan.model.outputAxis;
  const int64_t tiles = tileCount(shape, choice.tile);
  const int64_t outputTiles =
      llvm::divideCeilSigned(shape[axis], choice.tile[axis]);
  const Region out{Shape(choice.tile.size(), 0), choice.tile};
  int64_t bytes = 0;
  for (auto [i, operand] : llvm::enumerate(plan.model.operands))
    if (isStaged(plan, i))
      bytes += tiles *
               analysis::dramBytes(analysis::storageOf(plan.op->getOperand(i)),
                                   operand.region(out).size);
  if (!plan.weights.streams)
    return bytes;
  const int64_t held = plan.weights.bytes * choice.tile[axis] /
                       std::max<int64_t>(shape[axis], 1);
  const int64_t room = std::max(ring, plan.chunks);
  const int64_t reads = held <= room / 2 ? 1 : tiles / outputTiles;
  const analysis::ProductShape product = analysis::productShape(plan.op);
  return bytes + reads * product.outputs * product.taps *
                     (product.channels / product.groups) *
                     static_cast<int64_t>(product.weightFormat.mantissa) / 8;
}

std::optional<TileChoice> Planner::chooseTile(const OpPlan &plan,
                                              int64_t available) const {
  std::optional<TileChoice> choice = cutPositions(plan, available);
  if (plan.model.outputAxis < 0 ||
      (choice && choice->tile == plan.model.resultShape))
    return choice;
  // Either loop order: all outputs of some positions, or some outputs of all
  // positions, whose weights are then read once.
  std::optional<TileChoice> other = cutOutputs(plan, available, /*first=*/true);
  if (!choice)
    choice = cutOutputs(plan, available, /*first=*/false);
  const int64_t outputs = other ? tileTraffic(plan, *other) : -1;
  const int64_t positions = choice ? tileTraffic(plan, *choice) : -1;
  if (other && (!choice || outputs < positions))
    choice = other;
  if (choice)
    choice->outputsFirst = outputs, choice->positionsFirst = positions;
  return choice;
}

/// The loop order of a product in tiles and the size of its chunks of weights,
/// for reports.
void Planner::recordWeights(const OpPlan &plan) const {
  const TileChoice &choice = plan.choice;
  const bool ordered = choice.outputsFirst >= 0 && choice.positionsFirst >= 0;
  if (!ordered && !plan.weights.cut)
    return;
  const bool outputs = ordered && choice.outputsFirst < choice.positionsFirst;
  std::string reason =
      !ordered  ? "all weights of a tile come for each of its positions"
      : outputs ? "weights are read once for all positions of some outputs"
                : "operands and weights are read less often than with the "
                  "outputs outside";
  if (plan.weights.cut && !plan.weights.streams)
    reason += fmt::format("; records of at most {} bytes of a partition come "
                          "with the columns that the units run",
                          plan.weights.chunk);
  else if (plan.weights.cut)
    reason += fmt::format("; columns come in parts of at most {} bytes of a "
                          "partition, whose sums wait in PSUM",
                          chunkLimit);
  records::Decision decision(plan.op->getContext(),
                             outputs ? "outputs-outside" : "positions-outside",
                             reason);
  if (ordered)
    decision.alternative("outputs-outside-bytes", choice.outputsFirst)
        .alternative("positions-outside-bytes", choice.positionsFirst);
  decision.record(plan.op, kWeightsDecisionAttr);
}

} // namespace ashlar::npu
