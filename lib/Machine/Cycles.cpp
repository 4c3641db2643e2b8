// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cycle formulas of docs/Machine.md. Operands may come from a hostile
// program: every product and sum saturates.

#include "ashlar/Machine/Cycles.h"

#include "Saturating.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Machine/PoolVisits.h"
#include "ashlar/Machine/PutCycles.h"

#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <array>
#include <numeric>

using namespace ashlar::machine;
using namespace ashlar::machine::saturating;

namespace {

uint64_t bytesOf(const DmaSide &side) {
  return mul(product(side.counts), side.elementBytes);
}

/// A transfer of \p bytes bytes, in \p runs runs on the busier side on chip.
Timing dmaTiming(const Description &machine, uint64_t bytes, uint64_t runs,
                 llvm::ArrayRef<DramTraffic> traffic) {
  Timing timing;
  uint64_t latency = 0;
  uint64_t bursts = 0, rows = 0;
  for (const DramTraffic &side : traffic) {
    if (side.runs == 0)
      continue;
    bursts = add(bursts, side.burstBytes);
    rows = add(rows, side.rows);
    latency = add(latency, machine.dram.latency);
  }
  timing.dram = dramCycles(machine, bursts, rows);
  timing.setup = machine.dma.setupCycles;
  if (timing.dram == 0)
    latency = machine.dma.onchipLatency;
  timing.issue = std::max(add(machine.dma.setupCycles, timing.dram),
                          ashlar::machine::dmaInside(machine, bytes, runs));
  timing.complete = add(timing.issue, latency);
  return timing;
}

Timing vecTiming(const Description &machine, uint64_t issue, uint64_t extra) {
  Timing timing;
  timing.issue = issue;
  timing.complete = add(issue, add(machine.vec.latency, extra));
  return timing;
}

/// Of the cycles of all classes, cheapest first, those of \p cost.
uint64_t classCycles(VecCost cost, std::array<uint64_t, 4> cycles) {
  return cycles[static_cast<size_t>(cost)];
}

} // namespace

//===----------------------------------------------------------------------===//
// DMA
//===----------------------------------------------------------------------===//

size_t ashlar::machine::innerRun(llvm::ArrayRef<uint64_t> counts,
                                 llvm::ArrayRef<int64_t> strides,
                                 uint64_t rowBytes, uint64_t &run) {
  size_t dim = std::min(counts.size(), strides.size());
  // Innermost repetition: the element is fetched or written once.
  while (dim > 0 && (counts[dim - 1] == 1 || strides[dim - 1] == 0))
    --dim;
  for (; dim > 0; --dim) {
    const int64_t stride = strides[dim - 1];
    if (counts[dim - 1] == 1)
      continue;
    if (stride < 0 || static_cast<uint64_t>(stride) != run ||
        (rowBytes > 0 && run % rowBytes == 0))
      break;
    run = mul(run, counts[dim - 1]);
  }
  return dim;
}

uint64_t ashlar::machine::onchipRuns(const DmaSide &side) {
  if (side.inDram)
    return 0;
  uint64_t run = side.elementBytes;
  const size_t dim = innerRun(side.counts, side.strides, side.rowBytes, run);
  const uint64_t parts = side.rowBytes ? ceilDiv(run, side.rowBytes) : 1;
  return mul(product(side.counts.take_front(dim)), parts);
}

DramTraffic ashlar::machine::dramTraffic(const Description &machine,
                                         const DmaSide &side) {
  DramTraffic traffic;
  if (!side.inDram)
    return traffic;
  uint64_t run = side.elementBytes;
  const size_t dim = innerRun(side.counts, side.strides, 0, run);
  const auto counts = side.counts.take_front(dim);
  const auto strides = side.strides.take_front(dim);
  traffic.runs = product(counts);
  traffic.runBytes = run;
  traffic.usefulBytes = mul(traffic.runs, run);
  traffic.burstBytes =
      mul(runsBursts(machine, side.address, counts, strides, run),
          machine.dram.burstBytes);
  traffic.rows = rowVisits(machine, counts, strides, run);
  return traffic;
}

DramTraffic ashlar::machine::streamTraffic(const Description &machine,
                                           const StreamSide &stream) {
  const uint64_t bytes[] = {stream.bytes};
  const int64_t strides[] = {1};
  return dramTraffic(machine, {true, bytes, strides, 1, 0, stream.address});
}

Timing ashlar::machine::dmaCopy(const Description &machine,
                                const DmaSide &source,
                                const DmaSide &destination) {
  const DramTraffic traffic[] = {dramTraffic(machine, source),
                                 dramTraffic(machine, destination)};
  return dmaTiming(machine, bytesOf(destination),
                   std::max(onchipRuns(source), onchipRuns(destination)),
                   traffic);
}

Timing ashlar::machine::dmaFill(const Description &machine,
                                const DmaSide &destination) {
  return dmaTiming(machine, bytesOf(destination), onchipRuns(destination),
                   dramTraffic(machine, destination));
}

Timing ashlar::machine::dmaUnpack(const Description &machine,
                                  const StreamSide &stream,
                                  const DmaSide &destination) {
  Timing timing =
      dmaTiming(machine, bytesOf(destination), onchipRuns(destination),
                streamTraffic(machine, stream));
  if (stream.decoded == 0 || machine.dma.decodedCodesPerCycle == 0)
    return timing;
  const uint64_t decoded =
      add(machine.dma.setupCycles,
          ceilDiv(stream.decoded, machine.dma.decodedCodesPerCycle));
  if (decoded > timing.issue) {
    timing.complete = add(timing.complete, decoded - timing.issue);
    timing.issue = decoded;
  }
  return timing;
}

/// Dimensions, outermost first, that indices move: the rest is the row.
static size_t indexedDims(const DmaSide &source, const GatherIndices &indices) {
  size_t dims = std::min(source.counts.size(), indices.strides.size());
  while (dims > 0 &&
         (source.counts[dims - 1] == 1 || indices.strides[dims - 1] == 0))
    --dims;
  return dims;
}

DramTraffic ashlar::machine::gatherTraffic(const Description &machine,
                                           const DmaSide &source,
                                           const GatherIndices &indices) {
  const size_t dims = indexedDims(source, indices);
  const uint64_t rows = product(source.counts.take_front(dims));
  DramTraffic traffic = dramTraffic(
      machine, {true, source.counts.drop_front(dims),
                source.strides.drop_front(dims), source.elementBytes});
  traffic.runs = mul(traffic.runs, rows);
  traffic.usefulBytes = mul(traffic.usefulBytes, rows);
  traffic.burstBytes = mul(traffic.burstBytes, rows);
  traffic.rows = mul(traffic.rows, rows);
  return traffic;
}

Timing ashlar::machine::dmaGather(const Description &machine,
                                  const DmaSide &source,
                                  const GatherIndices &indices,
                                  const DmaSide &destination) {
  const size_t dims = indexedDims(source, indices);
  const uint64_t rows = product(source.counts.take_front(dims));
  // A partition's end may part indices; they are few next to what they choose.
  const uint64_t indexRuns =
      onchipRuns({false, source.counts.take_front(dims),
                  indices.strides.take_front(dims), indices.elementBytes});
  return dmaTiming(machine,
                   add(bytesOf(source), mul(rows, indices.elementBytes)),
                   std::max(indexRuns, onchipRuns(destination)),
                   gatherTraffic(machine, source, indices));
}

Timing ashlar::machine::dmaPut(const Description &machine, const DmaSide &index,
                               const DmaSide &source,
                               const DmaSide &destination) {
  const DramTraffic traffic[] = {dramTraffic(machine, index),
                                 dramTraffic(machine, source),
                                 dramTraffic(machine, destination)};
  return dmaTiming(machine, add(bytesOf(destination), bytesOf(index)),
                   onchipRuns(source), traffic);
}

uint64_t ashlar::machine::wholeBursts(const Description &machine,
                                      uint64_t bytes) {
  const uint64_t burst = std::max<uint64_t>(machine.dram.burstBytes, 1);
  return mul(ceilDiv(bytes, burst), burst);
}

Timing ashlar::machine::dmaCompress(const Description &machine,
                                    uint64_t burstBytes, const MapSide &map,
                                    uint64_t passes) {
  DramTraffic traffic;
  traffic.burstBytes = burstBytes;
  traffic.runs = 1;
  traffic.rows = ceilDiv(burstBytes, machine.dram.rowBytes);
  return dmaTiming(machine, mul(map.bytes, passes), mul(map.runs, passes),
                   traffic);
}

Timing ashlar::machine::dmaExpand(const Description &machine,
                                  uint64_t burstBytes, const MapSide &map) {
  Timing timing = dmaCompress(machine, burstBytes, map, 1);
  timing.complete = add(timing.complete, machine.dram.latency);
  return timing;
}

Timing ashlar::machine::dmaContiguous(const Description &machine,
                                      uint64_t bytes) {
  const uint64_t counts[] = {bytes};
  const int64_t strides[] = {1};
  DmaSide side;
  side.inDram = true;
  side.counts = counts;
  side.strides = strides;
  return dmaTiming(machine, bytes, 1, dramTraffic(machine, side));
}

uint64_t ashlar::machine::dmaInside(const Description &machine, uint64_t bytes,
                                    uint64_t runs, uint64_t descriptors) {
  uint64_t cycles = ceilDiv(bytes, machine.dma.onchipBytesPerCycle);
  if (machine.dma.runsPerCycle)
    cycles = std::max(cycles, ceilDiv(runs, machine.dma.runsPerCycle));
  return add(cycles, mul(descriptors, machine.dma.setupCycles));
}

//===----------------------------------------------------------------------===//
// PE array and ACT
//===----------------------------------------------------------------------===//

uint64_t ashlar::machine::pePasses(const Description &machine,
                                   uint64_t movingBits,
                                   uint64_t stationaryBits) {
  auto digits = [&](uint64_t bits) {
    return ceilDiv(std::max<uint64_t>(bits, 1), machine.pe.cellDigitBits);
  };
  return mul(digits(movingBits), digits(stationaryBits));
}

Timing ashlar::machine::peLoad(const Description &machine, uint64_t rows,
                               uint64_t elementBytes, bool pattern) {
  const uint64_t rate =
      pattern ? machine.pe.patternRowsPerCycle : machine.pe.loadRowsPerCycle;
  const uint64_t cycles = mul(ceilDiv(rows, rate), elementBytes);
  return {cycles, cycles, 0};
}

uint64_t ashlar::machine::patternSteps(const Description &machine,
                                       uint64_t rows, uint64_t positions) {
  return mul(rows, ceilDiv(positions, machine.pe.patternPositions()));
}

uint64_t ashlar::machine::patternWords(const Description &machine,
                                       uint64_t rows) {
  const PeArray &pe = machine.pe;
  if (!pe.hasPattern())
    return rows;
  return rows / pe.patternGroup * pe.patternKept +
         std::min(rows % pe.patternGroup, pe.patternKept);
}

uint64_t ashlar::machine::psumWriteCycles(const Description &machine,
                                          uint64_t groups) {
  if (machine.psum.writePorts == 0)
    return 1;
  return std::max<uint64_t>(ceilDiv(groups, machine.psum.writePorts), 1);
}

uint64_t ashlar::machine::stepPositions(const Description &machine,
                                        bool pattern, bool narrow) {
  return (pattern ? machine.pe.patternPositions() : 1) * (narrow ? 2 : 1);
}

bool ashlar::machine::isNarrow(const Description &machine, uint64_t moving,
                               uint64_t stationary) {
  return std::max(moving, stationary) <= machine.pe.narrowBits;
}

uint64_t ashlar::machine::peStepCycles(const Description &machine,
                                       uint64_t groups, uint64_t advance,
                                       uint64_t positions) {
  return std::max(psumWriteCycles(machine, mul(groups, positions)),
                  std::gcd(groups, advance));
}

uint64_t ashlar::machine::peStream(const Description &machine, uint64_t steps,
                                   uint64_t passes, uint64_t groups,
                                   uint64_t advance, uint64_t positions) {
  return mul(mul(steps, passes),
             peStepCycles(machine, groups, advance, positions));
}

PeSteps ashlar::machine::peSteps(const Description &machine,
                                 const PeStreamShape &shape) {
  auto of = [&](bool narrow) {
    const uint64_t side = stepPositions(machine, shape.pattern, narrow);
    const uint64_t steps = mul(shape.rows, ceilDiv(shape.positions, side));
    return PeSteps{steps,
                   peStream(machine, steps, shape.passes, shape.groups,
                            shape.advance, side),
                   narrow};
  };
  const PeSteps single = of(false);
  if (!shape.narrow)
    return single;
  const PeSteps twos = of(true);
  return twos.cycles < single.cycles ? twos : single;
}

Timing ashlar::machine::peMatmul(const Description &machine, uint64_t steps,
                                 uint64_t passes, uint64_t columns,
                                 uint64_t groups, uint64_t advance,
                                 uint64_t positions) {
  Timing timing;
  timing.issue = peStream(machine, steps, passes, groups, advance, positions);
  const uint64_t fill = add(std::max<uint64_t>(columns, 1) - 1,
                            std::max<uint64_t>(machine.pe.rows, 1) - 1);
  timing.complete = add(timing.issue, fill);
  return timing;
}

uint64_t ashlar::machine::groupPause(const Description &machine,
                                     uint64_t before, uint64_t groups) {
  if (!machine.pe.groupsWait)
    return 0;
  const uint64_t rows = machine.pe.rows / std::max<uint64_t>(before, 1);
  return rows - std::min(rows, machine.pe.rows / std::max<uint64_t>(groups, 1));
}

uint64_t ashlar::machine::peTile(const Description &machine, uint64_t stream,
                                 uint64_t nextLoad) {
  return machine.pe.shadowSet ? std::max(stream, nextLoad)
                              : add(stream, nextLoad);
}

uint64_t ashlar::machine::actClassCycles(const Description &machine,
                                         VecCost cost) {
  return classCycles(cost, {machine.act.costCheap, machine.act.costMedium,
                            machine.act.costExpensive,
                            machine.act.costVeryExpensive});
}

uint64_t ashlar::machine::psumReadCycles(const Description &machine,
                                         uint64_t columns, uint64_t entries) {
  if (machine.psum.readBytesPerCycle == 0)
    return 0;
  constexpr uint64_t entryBytes = 8;
  return ceilDiv(mul(mul(columns, entries), entryBytes),
                 machine.psum.readBytesPerCycle);
}

Timing ashlar::machine::tileDrain(const Description &machine, uint64_t columns,
                                  uint64_t results, VecCost cost) {
  Timing timing;
  timing.issue = mul(mul(ceilDiv(columns, machine.act.lanes), results),
                     actClassCycles(machine, cost));
  timing.complete = add(timing.issue, machine.act.latency);
  return timing;
}

Timing ashlar::machine::actDrain(const Description &machine, uint64_t columns,
                                 uint64_t entries, VecCost cost) {
  Timing timing = tileDrain(machine, columns, entries, cost);
  timing.issue =
      std::max(timing.issue, psumReadCycles(machine, columns, entries));
  timing.complete = add(timing.issue, machine.act.latency);
  return timing;
}

//===----------------------------------------------------------------------===//
// VEC
//===----------------------------------------------------------------------===//

std::optional<VecCost> ashlar::machine::vecCostOf(llvm::StringRef operation) {
  using Result = std::optional<VecCost>;
  return llvm::StringSwitch<Result>(operation)
      .Cases({"copy", "neg", "abs", "relu", "clip", "floor", "ceil", "round",
              "sign", "not"},
             Result(VecCost::Cheap))
      .Cases({"add", "sub", "max", "min", "and", "or", "xor", "blockAdd",
              "blockSub"},
             Result(VecCost::Cheap))
      .Cases({"sum", "mean", "l1"}, Result(VecCost::Cheap))
      .Cases({"mul", "blockMul", "equal", "less", "lessOrEqual", "greater",
              "greaterOrEqual"},
             Result(VecCost::Medium))
      .Cases({"prod", "sumSquare", "argmax", "argmin"}, Result(VecCost::Medium))
      .Cases({"sqrt", "reciprocal", "div", "blockDiv", "mod", "leakyRelu",
              "prelu", "hardSigmoid", "hardSwish", "softsign"},
             Result(VecCost::Expensive))
      .Cases({"exp",      "log",  "sigmoid", "tanh",     "elu",   "selu",
              "softplus", "erf",  "gelu",    "geluTanh", "swish", "pow",
              "sin",      "cos",  "tan",     "asin",     "acos",  "atan",
              "sinh",     "cosh", "asinh",   "acosh",    "atanh"},
             Result(VecCost::VeryExpensive))
      .Default(std::nullopt);
}

uint64_t ashlar::machine::vecClassCycles(const Description &machine,
                                         VecCost cost) {
  return classCycles(cost, {machine.vec.costCheap, machine.vec.costMedium,
                            machine.vec.costExpensive,
                            machine.vec.costVeryExpensive});
}

uint64_t ashlar::machine::vecElementCycles(const Description &machine,
                                           VecCost cost, VecStore store) {
  const uint64_t cycles = vecClassCycles(machine, cost);
  switch (store) {
  case VecStore::Same:
    return cycles;
  case VecStore::Convert:
    return std::max(cycles, machine.vec.costMedium);
  case VecStore::Encode:
    break;
  }
  return std::max(add(cycles, machine.vec.costCheap), machine.vec.costMedium);
}

uint64_t ashlar::machine::vecLaneSteps(const Description &machine,
                                       uint64_t channels) {
  const uint64_t partitions = std::max<uint64_t>(machine.sb.partitions, 1);
  return add(mul(channels / partitions, ceilDiv(partitions, machine.vec.lanes)),
             ceilDiv(channels % partitions, machine.vec.lanes));
}

Timing ashlar::machine::vecMap(const Description &machine, VecCost cost,
                               VecStore store, uint64_t channels,
                               uint64_t positions) {
  const uint64_t elements = mul(vecLaneSteps(machine, channels), positions);
  return vecTiming(machine,
                   mul(elements, vecElementCycles(machine, cost, store)), 0);
}

/// What storing adds to results that some other pass has computed.
static uint64_t storeCycles(const Description &machine, VecStore store,
                            uint64_t results) {
  return store == VecStore::Same ? 0 : mul(results, machine.vec.costCheap);
}

PoolKind ashlar::machine::poolKindOf(llvm::StringRef name) {
  return name == "max"   ? PoolKind::Max
         : name == "avg" ? PoolKind::Average
                         : PoolKind::Sum;
}

PoolVisits ashlar::machine::vecPoolVisits(PoolKind kind,
                                          const PoolShape &shape) {
  const uint64_t outputs = product(shape.out);
  const uint64_t window = product(shape.kernel);
  PoolVisits visits{mul(outputs, window), -1};
  if (kind != PoolKind::Max || window <= 1)
    return visits;
  // Width first, then height, then depth; a kernel of one needs no pass.
  const uint64_t extents[3] = {
      outputs, mul(shape.in[0], mul(shape.out[1], shape.out[2])),
      mul(shape.in[0], mul(shape.in[1], shape.out[2]))};
  uint64_t separable = 0;
  int first = -1;
  for (int axis = 0; axis < 3; ++axis)
    if (shape.kernel[axis] > 1) {
      separable = add(separable, mul(extents[axis], shape.kernel[axis]));
      first = axis;
    }
  return separable < visits.elements ? PoolVisits{separable, first} : visits;
}

Timing ashlar::machine::vecPool(const Description &machine, PoolKind kind,
                                VecStore store, uint64_t channels,
                                const PoolShape &shape) {
  const uint64_t outputs = product(shape.out);
  uint64_t perLane =
      mul(vecPoolVisits(kind, shape).elements, machine.vec.costCheap);
  if (kind == PoolKind::Average)
    perLane = add(perLane, mul(outputs, machine.vec.costExpensive));
  perLane = add(perLane, storeCycles(machine, store, outputs));
  return vecTiming(machine, mul(vecLaneSteps(machine, channels), perLane), 0);
}

uint64_t ashlar::machine::pooledEntries(PoolKind kind, const PoolShape &shape) {
  const PoolVisits visits = vecPoolVisits(kind, shape);
  uint64_t entries = 1;
  for (int axis = 0; axis < 3; ++axis)
    entries = mul(entries, visits.firstPass < 0 || axis >= visits.firstPass
                               ? mul(shape.out[axis], shape.kernel[axis])
                               : shape.in[axis]);
  return entries;
}

Timing ashlar::machine::vecDrain(const Description &machine, PoolKind kind,
                                 VecStore store, VecCost function,
                                 uint64_t columns, const PoolShape &shape) {
  const uint64_t entries = pooledEntries(kind, shape);
  Timing timing = vecPool(machine, kind, store, columns, shape);
  const uint64_t lanes = std::max<uint64_t>(machine.vec.psumLanes, 1);
  const uint64_t epilogue = mul(mul(ceilDiv(columns, lanes), entries),
                                vecClassCycles(machine, function));
  timing.issue = std::max(
      {timing.issue, epilogue, psumReadCycles(machine, columns, entries)});
  timing.complete =
      add(timing.issue, add(machine.vec.latency, machine.act.latency));
  return timing;
}

Timing ashlar::machine::vecReduce(const Description &machine, VecCost cost,
                                  VecStore store, uint64_t channels,
                                  uint64_t outer, uint64_t reduced,
                                  bool divides) {
  uint64_t perLane = mul(mul(outer, reduced), vecClassCycles(machine, cost));
  if (divides)
    perLane = add(perLane, mul(outer, machine.vec.costExpensive));
  perLane = add(perLane, storeCycles(machine, store, outer));
  return vecTiming(machine, mul(vecLaneSteps(machine, channels), perLane), 0);
}

Timing ashlar::machine::vecReduceChannels(const Description &machine,
                                          VecCost cost, VecStore store,
                                          uint64_t channels, uint64_t positions,
                                          bool divides) {
  uint64_t issue = mul(mul(vecLaneSteps(machine, channels), positions),
                       vecClassCycles(machine, cost));
  if (divides)
    issue = add(issue, mul(positions, machine.vec.costExpensive));
  issue = add(issue, storeCycles(machine, store, positions));
  return vecTiming(machine, issue, channels);
}

Timing ashlar::machine::vecScan(const Description &machine, uint64_t channels,
                                uint64_t positions) {
  return vecMap(machine, VecCost::Cheap, VecStore::Same, channels, positions);
}

Timing ashlar::machine::vecGather(const Description &machine, uint64_t channels,
                                  uint64_t positions) {
  return vecMap(machine, VecCost::Medium, VecStore::Same, channels, positions);
}

Timing ashlar::machine::vecRegister() { return {1, 1, 0}; }

Timing ashlar::machine::vecSelect(const Description &machine, uint64_t window) {
  return vecTiming(
      machine,
      add(mul(window, machine.vec.costCheap), machine.vec.costVeryExpensive),
      0);
}
