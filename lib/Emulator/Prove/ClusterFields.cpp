// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fields of the sparse cluster's instructions. What tables and streams say is
// checked by SparseChecker.

#include "../State/TensorView.h"
#include "../State/Tiles.h"
#include "FieldRules.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/Tiles.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/ScatterCycles.h"
#include "ashlar/Partition/Binding.h"
#include "llvm/Support/MathExtras.h"

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;
using isa::OperandMode;
using machine::Description;

Result emulator::checkClusterExists(const isa::Instruction &inst,
                                    const Description &machine) {
  const auto *copy = std::get_if<isa::DmaCopy>(&inst);
  const auto *drain = std::get_if<isa::ActDrain>(&inst);
  const bool uses =
      std::holds_alternative<isa::DmaTile>(inst) ||
      std::holds_alternative<isa::ActPool>(inst) ||
      isa::queueOf(inst) == isa::Queue::Tcc || (drain && drain->fromTcu) ||
      (copy &&
       (copy->dstMem == isa::Memory::Wm || copy->srcMem == isa::Memory::Wm));
  if (machine.sparse.exists() || !uses)
    return std::nullopt;
  return bad("the instruction is for the sparse cluster, machine '{}' has none "
             "(sparse.tcus is 0)",
             machine.name);
}

Result emulator::checkCluster(const isa::TccTile &op,
                              const Description &machine) {
  if (op.unit + unitsOf(op) > machine.sparse.tcus)
    return outside("{} units from {} on, the machine has {}", unitsOf(op),
                   op.unit, machine.sparse.tcus);
  return std::nullopt;
}

/// Integers that a feature map may have.
static bool countable(ElemType type) {
  return type == ElemType::I8 || type == ElemType::U8 ||
         type == ElemType::I16 || type == ElemType::U16;
}

/// Type, format and cells of a feature map.
template <typename Op>
static Result checkMap(const Op &op, const Description &machine) {
  if (isa::isBlock(op.type)) {
    if (op.block == 0 || op.block % machine.xmGroup != 0)
      return bad("block length {} is not a multiple of the {} partitions of an "
                 "exponent cell",
                 op.block, machine.xmGroup);
    return checkFormat("map", op.type, op.mantissa);
  }
  if (!countable(op.type))
    return bad("a map of type {}, expected bfp or integers of 8 or 16 bits",
               isa::name(op.type).str());
  if (op.block != 0 || op.mantissa != 0)
    return bad("block length {} and mantissa {} of a map of integers", op.block,
               op.mantissa);
  return std::nullopt;
}

Result emulator::checkCluster(const isa::DmaTile &op,
                              const Description &machine) {
  if (static_cast<uint64_t>(op.queue) >= machine.dma.queues)
    return outside("{} does not exist: the machine has {} DMA queues",
                   isa::name(op.queue).str(), machine.dma.queues);
  if (Result finding = checkMap(op, machine))
    return finding;
  const uint64_t channels =
      op.channels + uint64_t(op.groups - 1) * op.groupStep;
  if (op.drained &&
      (op.part != 0 || op.offset != 0 || op.srcStrideN != 0 ||
       op.srcStrideH != 0 || op.srcStrideW != 0 || op.srcTileStride != 0))
    return bad("a source of tiles that drains fill");
  if (Result finding = op.drained ? Result()
                                  : checkChannels("the source", op.part,
                                                  channels, false, machine))
    return finding;
  if (!isa::isBlock(op.type))
    return std::nullopt;
  if (op.groupStep % op.block != 0)
    return bad("groups {} channels apart, expected a multiple of the block "
               "length {}",
               op.groupStep, op.block);
  const uint64_t elements = isa::geometryOf(op).slotElements();
  const uint64_t end =
      op.mantissas + op.channels * elements * storedBytes(op.type, op.mantissa);
  if (op.exponents < end &&
      op.mantissas < op.exponents + elements * loadedPlanes(op))
    return bad("slots at [{}..{}) overlap their cells at {}", op.mantissas, end,
               op.exponents);
  return std::nullopt;
}

static Result checkRegions(uint64_t regions, uint64_t stride, uint64_t count) {
  if (regions > 1 && stride < count)
    return bad("regions of {} entries every {} entries overlap", count, stride);
  return std::nullopt;
}

Result emulator::checkCluster(const isa::TccInit &op, const Description &) {
  return checkRegions(op.regions, op.regionStride, op.count);
}

Result emulator::checkCluster(const isa::TccRun &op,
                              const Description &machine) {
  if (Result finding = checkMap(op, machine))
    return finding;
  const bool encoded = isa::isBlock(op.type);
  if (op.mode != (encoded ? OperandMode::Bfp : OperandMode::Int))
    return bad("mode {} with a map of type {}", isa::name(op.mode).str(),
               isa::name(op.type).str());
  if (op.scatter && op.issueZeros)
    return bad("zeros cannot be issued in scatter mode");
  if (op.scatter &&
      !machine::queuesHold(machine,
                           static_cast<machine::ScatterVariant>(op.variant)))
    return bad("up to {} products may wait, the queues hold {}",
               machine.sparse.lanes, machine.sparse.queueDepth);
  if (!op.scatter && (op.variant != 0 || op.blockH != 0 || op.blockW != 0))
    return bad("variant {} and blocks of {}x{} without scatter", op.variant,
               op.blockH, op.blockW);
  if (!op.scatter && op.turn != 0)
    return bad("snake order of {} rows without scatter", op.turn);
  if (op.phase != 0 && op.phase >= op.block)
    return bad("{} channels before the first in blocks of {}", op.phase,
               op.block);
  return checkRegions(op.regions, op.regionStride,
                      isa::geometryOf(op).results());
}

Result emulator::checkCluster(const isa::TccNnz &op,
                              const Description &machine) {
  if (isa::isBlock(op.type)) {
    if (Result finding = checkFormat("map", op.type, op.mantissa))
      return finding;
  } else if (!countable(op.type)) {
    return bad("non-zeros of type {}, expected bfp or integers of 8 or 16 bits",
               isa::name(op.type).str());
  } else if (op.mantissa != 0) {
    return bad("mantissa {} of a map of integers", op.mantissa);
  }
  if (op.inH > 1 && op.pitch < op.inW)
    return bad("rows of {} counters every {} counters overlap", op.inW,
               op.pitch);
  return checkChannels("the map", op.part, op.channels, false, machine);
}

Result emulator::checkCluster(const isa::TccPart &op,
                              const Description &machine) {
  const uint64_t units = uint64_t(op.copies) * op.gridN * op.units;
  if (op.unit + units > machine.sparse.tcus)
    return outside("{} units from {} on, the machine has {}", units, op.unit,
                   machine.sparse.tcus);
  if (op.y0 >= op.endH || op.x0 >= op.endW)
    return bad("an empty region: rows [{}..{}), columns [{}..{})", op.y0,
               op.endH, op.x0, op.endW);
  if (op.disjoint && (op.y0 != 0 || op.x0 != 0))
    return bad("tiles of the operand for results from ({}, {}) on, expected "
               "all of them",
               op.y0, op.x0);
  if (op.inH > 1 && op.pitch < op.inW)
    return bad("rows of {} counters every {} counters overlap", op.inW,
               op.pitch);
  return std::nullopt;
}

Result emulator::checkCluster(const isa::TccOperand &op,
                              const Description &machine) {
  const uint64_t units = uint64_t(op.copies) * op.gridN * op.gridH * op.gridW;
  if (op.unit + units > machine.sparse.tcus)
    return outside("{} units from {} on, the machine has {}", units, op.unit,
                   machine.sparse.tcus);
  return std::nullopt;
}

Result emulator::checkCluster(const isa::TccBind &op,
                              const Description &machine) {
  const uint64_t units = machine.sparse.tcus;
  if (op.unit + op.count > units || op.memory + op.count > units)
    return outside("compute units [{}..{}) and memory units [{}..{}), the "
                   "machine has {}",
                   op.unit, op.unit + op.count, op.memory, op.memory + op.count,
                   units);
  const auto binding = static_cast<partition::Binding>(machine.sparse.binding);
  for (uint64_t i = 0; i < op.count; ++i)
    if (!partition::hops(binding, units, op.memory + i, op.unit + i))
      return bad("no route from memory unit {} to compute unit {} in binding "
                 "'{}'",
                 op.memory + i, op.unit + i, partition::name(binding).str());
  return std::nullopt;
}

/// Results that stay in the feature-map units.
static Result checkKept(const isa::ActDrain &op, const Description &machine) {
  if (!op.kept) {
    if (op.unstored || op.set != 0 || op.slot != 0)
      return bad(
          "unstored {}, set {} and slot {} of a drain that keeps nothing",
          op.unstored, op.set, op.slot);
    return std::nullopt;
  }
  if (!op.fromTcu)
    return bad("a drain of PSUM keeps results in the sparse cluster");
  if (op.set >= machine.sparse.fmuSets)
    return outside("set {}, the machine has {}", op.set,
                   machine.sparse.fmuSets);
  if (!isa::isBlock(op.dstType) && !countable(op.dstType))
    return bad("results of type {} are kept, expected bfp or integers of 8 or "
               "16 bits",
               isa::name(op.dstType).str());
  if (op.dstOrientation != isa::Orientation::P)
    return bad("blocks along the free axis are kept");
  if (!op.unstored)
    return std::nullopt;
  if (op.dstPart != 0 || op.dstOffset != 0 || op.dstStride0 != 0 ||
      op.dstStride1 != 0 || op.dstStride2 != 0)
    return bad("a place in SB for results that are not stored");
  if (op.counted)
    return bad("non-zeros of results that are not stored");
  return std::nullopt;
}

/// Counting of non-zero results.
static Result checkCounted(const isa::ActDrain &op) {
  if (!op.counted) {
    if (op.countClear || op.counts != 0 || op.countStride0 != 0 ||
        op.countStride1 != 0 || op.countStride2 != 0)
      return bad("counters of a drain that does not count");
    return std::nullopt;
  }
  if (!isa::isBlock(op.dstType) && !countable(op.dstType))
    return bad("non-zeros of type {}, expected bfp or integers of 8 or 16 bits",
               isa::name(op.dstType).str());
  if (op.dstOrientation != isa::Orientation::P)
    return bad("non-zeros of blocks along the free axis");
  return std::nullopt;
}

/// Lanes of several results side by side. The strides of one group are those of
/// the results times their number.
static Result checkResultGroups(const isa::ActDrain &op) {
  if (op.groupLanes == 0)
    return op.validN1 == 0
               ? Result()
               : bad("{} valid results of one result in a step", op.validN1);
  if (op.cols % op.groupLanes != 0)
    return bad("{} columns in groups of {} lanes", op.cols, op.groupLanes);
  if (op.mode == isa::DrainMode::Raw64 || op.paramAlongSteps ||
      op.dstOrientation != isa::Orientation::P)
    return bad("groups of lanes in mode raw64, with parameters along the steps "
               "or blocks along the free axis");
  const int64_t groups = op.cols / op.groupLanes;
  if (op.validN1 <= (int64_t(op.n1) - 1) * groups ||
      op.validN1 > int64_t(op.n1) * groups)
    return bad("{} valid results in {} steps of {} results", op.validN1, op.n1,
               groups);
  for (const int64_t stride : {op.dstStride1, op.resStride1})
    if (!llvm::isInt<32>(stride * groups))
      return bad("stride {} of {} results in a step", stride, groups);
  return std::nullopt;
}

/// A window axis: each position is in two windows at most, and each window has
/// a position.
static Result checkPoolAxis(const char *axis, uint64_t in, uint64_t out,
                            uint64_t kernel, uint64_t step, int64_t pad) {
  if (kernel > 2 * step)
    return bad("windows of {} {} by {}, each entry may be in two at most",
               kernel, axis, step);
  const auto first = static_cast<int64_t>(kernel) - pad;
  const auto last = static_cast<int64_t>((out - 1) * step) - pad;
  if (first <= 0 || last >= static_cast<int64_t>(in))
    return bad("a window of {} without an entry: {} results of {} entries",
               axis, out, in);
  return std::nullopt;
}

Result emulator::checkCluster(const isa::ActPool &op,
                              const Description &machine) {
  if (machine.act.poolColumns == 0)
    return bad("ACT of machine '{}' compares nothing (act.pool_columns is 0)",
               machine.name);
  if (Result finding =
          checkPoolAxis("rows", op.inH, op.outH, op.kH, op.sH, op.pH))
    return finding;
  if (Result finding =
          checkPoolAxis("columns", op.inW, op.outW, op.kW, op.sW, op.pW))
    return finding;
  const uint64_t open = llvm::divideCeil(uint64_t(op.kH) - 1, op.sH) * op.outW;
  if (open > machine.act.poolColumns)
    return bad("{} windows are open from row to row, a lane holds {} "
               "(act.pool_columns)",
               open, machine.act.poolColumns);
  // More entries than the cluster has sums cannot be covered by tiles.
  const uint64_t entries = uint64_t(op.inH) * op.inW;
  if (entries > machine.sparse.tcus * machine.sparse.accumulatorEntries)
    return bad("{} entries, the units have {} accumulators each", entries,
               machine.sparse.accumulatorEntries);
  return std::nullopt;
}

Result emulator::checkCluster(const isa::ActDrain &op,
                              const Description &machine) {
  if (Result finding = checkCounted(op))
    return finding;
  if (Result finding = checkKept(op, machine))
    return finding;
  if (!op.fromTcu) {
    if (op.table != 0 || op.regionStride != 0 || op.group != 0 || op.mapped ||
        op.sideBySide)
      return bad("table {}, region stride {}, group {}, mapped {} and "
                 "sideBySide {} in a drain of PSUM",
                 op.table, op.regionStride, op.group, op.mapped, op.sideBySide);
    return checkResultGroups(op);
  }
  if (op.validN1 != 0)
    return bad("{} valid results in a drain of the sparse cluster", op.validN1);
  if (op.order != isa::DrainOrder::Block)
    return bad("order {} of a drain of the sparse cluster",
               isa::name(op.order).str());
  if (op.mode == isa::DrainMode::Raw64 && storedBytes(op.dstType, 0) != 8)
    return bad("raw accumulators as type {}, expected one of 64 bits",
               isa::name(op.dstType).str());
  if (op.paramAlongSteps)
    return bad("parameters along the steps of tiles");
  if (op.sideBySide && machine::tilesSideBySide(machine, op.cols) < 2)
    return bad("tiles of {} lanes side by side, ACT has {} lanes", op.cols,
               machine.act.lanes);
  if (op.mapped && op.alphaFromParam)
    return bad("records with both alpha and the lane to take");
  if (lanesOfGroup(op) > 1 && op.cols > 1 && op.regionStride == 0)
    return bad("{} lanes drain one region", op.cols);
  if (op.group + drainedGroups(op) > 64)
    return bad("{} groups from group {} on, the last group is 63",
               drainedGroups(op), op.group);
  if (op.cols > machine.sb.partitions)
    return outside("{} lanes, the machine has {} partitions", op.cols,
                   machine.sb.partitions);
  return std::nullopt;
}
