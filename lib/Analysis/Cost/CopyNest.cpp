// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pattern is a loop nest over index space. Each loop becomes a pair of byte
// strides; loops along a partition axis first have to be cut where a channel
// tile ends, because the address jumps there.

#include "ashlar/Analysis/Cost/CopyNest.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Machine/Dram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::analysis {
namespace {

/// Parts of a store at most.
constexpr int64_t kStoreParts = 12;

/// Cycles that a part of a store should take: those after which DRAM could have
/// answered another request. Shorter parts complete no earlier than the next
/// one could start.
int64_t partCycles(const machine::Description &machine) {
  return std::max<int64_t>(static_cast<int64_t>(machine.dram.latency), 1);
}

/// Nests of a copy that are looked at together.
constexpr size_t kNestsAhead = 64;

/// Parts for each queue that keep queues about equally busy.
constexpr uint64_t kEvenParts = 2;

/// Addressing of one side, for elements or for exponent cells.
struct Side {
  isa::Memory memory;
  int64_t base = 0;     ///< linear address of index 0, partition 0
  int64_t axis = -1;    ///< partition axis
  int64_t part = 0;     ///< in rows of this memory
  int64_t rows = 0;     ///< rows per channel tile
  int64_t rowPitch = 0; ///< bytes between rows
  int64_t tileStride = 0;
  llvm::ArrayRef<int64_t> strides;
};

/// One loop during the cutting; steps count indices of the axis.
struct Loop {
  int64_t extent;
  int64_t axis[2];
  int64_t step[2];
  /// Whole channel tiles advanced per iteration, instead of step.
  int64_t tiles[2] = {0, 0};
};

struct Nest {
  llvm::SmallVector<Loop, 8> loops;
  Shape start[2];
};

class CopyWalk {
public:
  CopyWalk(machine::TransferCosts &costs, Side source, Side result,
           int64_t elementBytes, CopyVisitor visit)
      : machine(costs.description()), costs(costs), sides{source, result},
        elementBytes(elementBytes), visit(visit) {}

  void run(Nest nest);

private:
  bool goesOn(const Loop &outer, const Loop &inner, int which) const;
  void merge(Nest &nest) const;
  void walk(Nest nest);
  bool cut(Nest &nest, int side);
  void cutLoop(const Nest &nest, int side, size_t index);
  void finish(const Nest &nest);
  void flush();
  int64_t byteStride(const Loop &loop, int side) const;
  void order(machine::Transfer &transfer);
  int64_t partCount(const machine::Transfer &transfer);
  int64_t queuesFor(const machine::Transfer &transfer);

  const machine::Description &machine;
  machine::TransferCosts &costs;
  Side sides[2];
  int64_t elementBytes;
  CopyVisitor visit;
  llvm::SmallVector<CopyNest, 1> pending; ///< nests that are not visited yet
  uint64_t issued = 0;                    ///< cycles of all nests found
  bool ended = false;                     ///< by the visitor
};

/// Loops of `nest` that move along the partition axis inside a tile.
llvm::SmallVector<size_t, 4> loopsAlongRows(const Nest &nest, const Side &side,
                                            int which) {
  llvm::SmallVector<size_t, 4> found;
  for (auto [i, loop] : llvm::enumerate(nest.loops))
    if (loop.axis[which] == side.axis && loop.extent > 1 &&
        loop.step[which] != 0)
      found.push_back(i);
  return found;
}

/// Splits `nest` if its rows of one side span several channel tiles; the parts
/// are run recursively. True if it did.
bool CopyWalk::cut(Nest &nest, int which) {
  const Side &side = sides[which];
  if (side.axis < 0)
    return false;
  // Steps of whole tiles need no cutting: they are tile strides.
  for (Loop &loop : nest.loops)
    if (loop.axis[which] == side.axis && loop.step[which] > 0 &&
        loop.step[which] % side.rows == 0) {
      loop.tiles[which] = loop.step[which] / side.rows;
      loop.step[which] = 0;
    }
  int64_t low = side.part + nest.start[which][side.axis], high = low;
  auto along = loopsAlongRows(nest, side, which);
  for (size_t i : along) {
    const Loop &loop = nest.loops[i];
    int64_t reach = (loop.extent - 1) * loop.step[which];
    (reach < 0 ? low : high) += reach;
  }
  if (along.empty() || low / side.rows == high / side.rows)
    return false;
  // Several loops: the fewest iterations are taken apart.
  auto extent = [&](size_t i) { return nest.loops[i].extent; };
  cutLoop(nest, which, *llvm::min_element(along, [&](size_t a, size_t b) {
            return extent(a) < extent(b);
          }));
  return true;
}

void CopyWalk::cutLoop(const Nest &nest, int which, size_t index) {
  const Side &side = sides[which];
  const Loop &loop = nest.loops[index];
  bool single = loopsAlongRows(nest, side, which).size() == 1;
  int64_t step = loop.step[which];
  int64_t position = side.part + nest.start[which][side.axis];
  auto runPart = [&](int64_t first, int64_t count, int64_t tiles) {
    Nest part = nest;
    // A step of whole tiles is in `tiles`, not in `step`.
    for (int s : {0, 1})
      if (loop.axis[s] >= 0)
        part.start[s][loop.axis[s]] +=
            first * (loop.step[s] + loop.tiles[s] * sides[s].rows);
    int64_t perTile = count / tiles;
    Loop &inner = part.loops[index];
    inner.extent = perTile;
    if (tiles > 1) {
      Loop outer = inner;
      outer.extent = tiles;
      for (int s : {0, 1}) {
        outer.step[s] = inner.step[s] * perTile;
        outer.tiles[s] = inner.tiles[s] * perTile;
      }
      outer.tiles[which] = 1;
      outer.step[which] = 0;
      part.loops.insert(part.loops.begin() + index, outer);
    }
    walk(std::move(part));
  };
  if (!single || step < 0) {
    for (int64_t i = 0; i < loop.extent && !ended; ++i)
      runPart(i, 1, 1);
    return;
  }
  int64_t done = 0;
  while (done < loop.extent && !ended) {
    int64_t row = (position + done * step) % side.rows;
    int64_t inTile = llvm::divideCeil(side.rows - row, step);
    int64_t left = loop.extent - done;
    bool aligned = side.rows % step == 0 && row < step;
    int64_t tiles = aligned ? left / inTile : 0;
    // The other side must be able to express whole tiles as well: it can as
    // long as it does not cut the same loop, which walk() checks again.
    int64_t count = tiles > 0 ? tiles * inTile : std::min(left, inTile);
    runPart(done, count, std::max<int64_t>(tiles, 1));
    done += count;
  }
}

/// True if the iterations of `outer` go on where those of `inner` end.
bool CopyWalk::goesOn(const Loop &outer, const Loop &inner, int which) const {
  const Side &side = sides[which];
  if (outer.axis[which] == inner.axis[which])
    return outer.axis[which] < 0 ||
           outer.step[which] == inner.step[which] * inner.extent;
  // Other axes than that across partitions are bytes of a partition.
  if (outer.axis[which] < 0 || inner.axis[which] < 0 ||
      outer.axis[which] == side.axis || inner.axis[which] == side.axis)
    return false;
  return outer.step[which] * side.strides[outer.axis[which]] ==
         inner.step[which] * inner.extent * side.strides[inner.axis[which]];
}

/// Makes one loop of those that go on on both sides: a longer loop across
/// partitions is cut at fewer places than several.
void CopyWalk::merge(Nest &nest) const {
  llvm::erase_if(nest.loops, [](const Loop &loop) { return loop.extent == 1; });
  for (size_t i = 0; i < nest.loops.size(); ++i)
    for (size_t j = 0; j < nest.loops.size(); ++j) {
      const Loop &outer = nest.loops[i], &inner = nest.loops[j];
      if (i == j || !goesOn(outer, inner, 0) || !goesOn(outer, inner, 1))
        continue;
      nest.loops[j].extent *= outer.extent;
      nest.loops.erase(nest.loops.begin() + static_cast<ptrdiff_t>(i));
      i = static_cast<size_t>(-1); // from the start again
      break;
    }
}

void CopyWalk::run(Nest nest) {
  merge(nest);
  walk(std::move(nest));
  flush();
}

void CopyWalk::walk(Nest nest) {
  if (cut(nest, 0) || cut(nest, 1))
    return;
  finish(nest);
}

int64_t CopyWalk::byteStride(const Loop &loop, int s) const {
  const Side &side = sides[s];
  if (loop.tiles[s])
    return loop.tiles[s] * side.tileStride;
  if (loop.axis[s] < 0)
    return 0;
  return loop.step[s] * (loop.axis[s] == side.axis
                             ? side.rowPitch
                             : side.strides[loop.axis[s]]);
}

/// Runs that are contiguous in iteration order share bursts of DRAM: the
/// smallest strides of its side go innermost, unless inside the chip so many
/// runs, or single bytes at the ports, would take longer.
void CopyWalk::order(machine::Transfer &transfer) {
  for (int s : {0, 1})
    if (sides[s].memory == isa::Memory::Dram)
      machine::sortBySide(transfer.loops, s);
  const bool inside = !transfer.sides[0].inDram && !transfer.sides[1].inDram;
  if (machine::ordersMatter(machine))
    costs.orderLoops(transfer, inside ? partCount(transfer) : 1,
                     static_cast<uint64_t>(movementQueues(machine)));
  machine::mergeLoops(transfer.loops, machine::mostIterations);
}

void CopyWalk::finish(const Nest &nest) {
  machine::Transfer transfer;
  transfer.elementBytes = static_cast<uint64_t>(elementBytes);
  for (int s : {0, 1}) {
    const Side &side = sides[s];
    int64_t base = side.base;
    for (size_t i = 0; i < nest.start[s].size(); ++i)
      if (static_cast<int64_t>(i) != side.axis)
        base += nest.start[s][i] * side.strides[i];
    int64_t position =
        side.part + (side.axis < 0 ? 0 : nest.start[s][side.axis]);
    if (side.rows > 0)
      base += position % side.rows * side.rowPitch +
              position / side.rows * side.tileStride;
    transfer.sides[s] = transferSide(side.memory, base, machine);
  }
  for (const Loop &loop : nest.loops)
    if (loop.extent != 1)
      transfer.loops.push_back({loop.extent,
                                {byteStride(loop, 0), byteStride(loop, 1)},
                                transfer.loops.size()});
  order(transfer);
  CopyNest found{std::move(transfer), {sides[0].memory, sides[1].memory}};
  // The other queues stay free for what is read meanwhile, unless one queue
  // would take longer than DRAM.
  found.inOneQueue =
      sides[1].memory == isa::Memory::Dram && queuesFor(found.transfer) == 1;
  pending.push_back(std::move(found));
  if (pending.size() >= kNestsAhead)
    flush();
}

/// Visits the nests that wait. Those of a copy inside the chip that are short
/// against all of them take their queues by turns: cut as well, each would be
/// set up more often for nothing.
void CopyWalk::flush() {
  const auto queues = static_cast<uint64_t>(movementQueues(machine));
  llvm::SmallVector<uint64_t, kNestsAhead> issues;
  for (const CopyNest &nest : pending) {
    issues.push_back(costs.of(nest.transfer).issue);
    issued += issues.back();
  }
  for (auto [nest, issue] : llvm::zip(pending, issues)) {
    nest.parts = partCount(nest.transfer);
    if (!nest.transfer.sides[0].inDram && !nest.transfer.sides[1].inDram)
      nest.parts = std::min<int64_t>(
          nest.parts,
          static_cast<int64_t>(llvm::divideCeil(
              kEvenParts * queues * issue, std::max<uint64_t>(issued, 1))));
    nest.cut = costs.loopToCut(nest.transfer, nest.parts, queues);
    if (!ended)
      ended = !visit(nest);
  }
  pending.clear();
}

/// Parts that a copy is worth, at most one for each queue but for stores: every
/// queue moves bytes inside the chip at its own rate. DRAM is one server, but
/// parts of what goes there need not wait for what is made last, and what comes
/// from there in other runs than it lies in may take longer inside the chip.
int64_t CopyWalk::partCount(const machine::Transfer &transfer) {
  auto bytes = static_cast<int64_t>(elementBytes);
  for (const machine::TransferLoop &loop : transfer.loops)
    bytes *= loop.extent;
  const auto runs = static_cast<int64_t>(machine::transferRuns(transfer));
  if (!mayShareQueues(machine, bytes, runs))
    return 1;
  if (transfer.sides[0].inDram)
    return queuesFor(transfer);
  if (transfer.sides[1].inDram)
    return std::max(
        queuesFor(transfer),
        std::clamp<int64_t>(
            bytes * 100 /
                (static_cast<int64_t>(machine.dram.bytesPerCycle *
                                      machine::dramPercent(machine)) *
                 partCycles(machine)),
            1, kStoreParts));
  return movementQueues(machine);
}

/// Queues that a load or store keeps busy: as often as what each of them moves
/// inside the chip takes longer than DRAM.
int64_t CopyWalk::queuesFor(const machine::Transfer &transfer) {
  const machine::TransferCost cost = costs.of(transfer);
  if (machine.dma.runsPerCycle == 0 || cost.dram == 0)
    return 1;
  const uint64_t inside =
      machine::transferRuns(transfer) / machine.dma.runsPerCycle;
  return std::clamp<int64_t>(static_cast<int64_t>(inside / cost.dram), 1,
                             movementQueues(machine));
}

Side elementSide(const View &view, const machine::Description &machine) {
  Side side;
  side.memory = view.inStateBuffer() ? isa::Memory::Sb : isa::Memory::Dram;
  side.base = view.base;
  side.strides = view.strides;
  if (view.inStateBuffer()) {
    side.axis = view.axis;
    side.part = view.part;
    side.rows = machine.sb.partitions;
    side.rowPitch = machine.sb.bytesPerPartition;
    side.tileStride = view.tileStride;
  }
  return side;
}

Side cellSide(const View &view, const machine::Description &machine) {
  Side side = elementSide(view, machine);
  if (view.inStateBuffer()) {
    side.memory = isa::Memory::Xm;
    side.part /= machine.xmGroup;
    side.rows /= machine.xmGroup;
    return side;
  }
  side.base = view.cellBase;
  side.strides = view.cellStrides;
  return side;
}

Nest nestOf(const npu::AccessPattern &pattern) {
  Nest nest;
  for (const npu::PatternDim &dim : pattern.dims)
    nest.loops.push_back({dim.extent,
                          {dim.sourceAxis, dim.resultAxis},
                          {dim.sourceStep, dim.resultStep}});
  nest.start[0] = Shape(pattern.sourceStart);
  nest.start[1] = Shape(pattern.resultStart);
  return nest;
}

/// Loops along a second axis across partitions move along the first, by more
/// partitions at a time.
void joinAcross(Nest &nest, int which, const View &view) {
  if (view.outer < 0)
    return;
  for (Loop &loop : nest.loops)
    if (loop.axis[which] == view.outer) {
      loop.axis[which] = view.axis;
      loop.step[which] *= view.outerStep;
    }
  int64_t &start = nest.start[which][view.outer];
  nest.start[which][view.axis] += start * view.outerStep;
  start = 0;
}

/// The loops of a copy between two views.
Nest nestBetween(const View &source, const View &result,
                 const npu::AccessPattern &pattern) {
  Nest nest = nestOf(pattern);
  joinAcross(nest, 0, source);
  joinAcross(nest, 1, result);
  return nest;
}

/// The loops over exponent cells: loops along the block axis advance a whole
/// exponent group per iteration.
Nest cellNest(Nest nest, int64_t blockAxis[2], int64_t group) {
  for (Loop &loop : nest.loops)
    for (int s : {0, 1})
      if (loop.axis[s] == blockAxis[s] && loop.step[s] == 1) {
        loop.extent = llvm::divideCeil(loop.extent, group);
        break;
      }
  for (Loop &loop : nest.loops)
    for (int s : {0, 1})
      if (loop.axis[s] == blockAxis[s] && loop.step[s] > 1)
        loop.step[s] /= group;
  for (int s : {0, 1})
    nest.start[s][blockAxis[s]] /= group;
  return nest;
}

} // namespace

machine::TransferSide transferSide(isa::Memory memory, int64_t base,
                                   const machine::Description &machine) {
  const bool rows = memory == isa::Memory::Sb || memory == isa::Memory::Xm;
  return {memory == isa::Memory::Dram, memory == isa::Memory::Sb,
          rows ? machine.sb.bytesPerPartition : 0, base};
}

npu::AccessPattern identityPattern(llvm::ArrayRef<int64_t> shape) {
  npu::AccessPattern pattern;
  for (auto [i, extent] : llvm::enumerate(shape)) {
    int64_t axis = i;
    pattern.dims.push_back({extent, axis, 1, axis, 1});
  }
  pattern.sourceStart.assign(shape.size(), 0);
  pattern.resultStart.assign(shape.size(), 0);
  return pattern;
}

void forEachCellCopy(const View &source, const View &result,
                     const npu::AccessPattern &pattern,
                     machine::TransferCosts &costs, CopyVisitor visit) {
  if (!source.type.encoded)
    return;
  const machine::Description &machine = costs.description();
  int64_t blockAxis[2] = {source.type.blockAxis, result.type.blockAxis};
  CopyWalk(costs, cellSide(source, machine), cellSide(result, machine), 1,
           visit)
      .run(cellNest(nestBetween(source, result, pattern), blockAxis,
                    machine.xmGroup));
}

void forEachCopy(const View &source, const View &result,
                 const npu::AccessPattern &pattern,
                 machine::TransferCosts &costs, CopyVisitor visit) {
  const machine::Description &machine = costs.description();
  CopyWalk(costs, elementSide(source, machine), elementSide(result, machine),
           source.type.bytes(), visit)
      .run(nestBetween(source, result, pattern));
  forEachCellCopy(source, result, pattern, costs, visit);
}

void forEachFill(const View &view, bool cells, machine::TransferCosts &costs,
                 CopyVisitor visit) {
  const machine::Description &machine = costs.description();
  // A fill is a copy whose source never moves; only the addresses of the
  // result side are used.
  Nest nest = nestOf(identityPattern(view.shape));
  joinAcross(nest, 1, view);
  for (Loop &loop : nest.loops) {
    if (cells && loop.axis[1] == view.type.blockAxis)
      loop.extent = llvm::divideCeil(loop.extent, machine.xmGroup);
    loop.axis[0] = -1;
  }
  nest.start[0].clear();
  Side none;
  none.memory = isa::Memory::Dram;
  CopyWalk(costs, none,
           cells ? cellSide(view, machine) : elementSide(view, machine),
           cells ? 1 : view.type.bytes(),
           [&](const CopyNest &copy) {
             CopyNest fill = copy;
             fill.fills = true;
             return visit(fill);
           })
      .run(nest);
}

} // namespace ashlar::analysis
