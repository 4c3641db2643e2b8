// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles of the sparse cluster in tile mode (docs/Machine.md 7).

#include "Saturating.h"
#include "ashlar/Machine/Cycles.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <utility>

using namespace ashlar;
using namespace ashlar::machine;
using namespace ashlar::machine::saturating;

/// Cycles of the port of the unit that gets most.
static uint64_t portCycles(const Description &machine, uint64_t bytes) {
  return machine.sparse.fmuWriteBytes == 0
             ? 0
             : limited(ceilDiv(bytes, machine.sparse.fmuWriteBytes));
}

Timing machine::tileLoad(const Description &machine, uint64_t bytes,
                         uint64_t runs, uint64_t mostBytes) {
  const uint64_t cycles =
      std::max(dmaInside(machine, bytes, runs), portCycles(machine, mostBytes));
  return {cycles, limited(cycles + machine.dma.onchipLatency), 0,
          machine.dma.setupCycles};
}

Timing machine::tileOpen(const Description &machine, uint64_t mostBytes) {
  const uint64_t cycles =
      limited(machine.dma.setupCycles +
              std::max<uint64_t>(portCycles(machine, mostBytes), 1));
  return {cycles, cycles, 0, machine.dma.setupCycles};
}

Timing machine::tileKeep(const Description &machine, Timing drain,
                         uint64_t mostBytes) {
  const uint64_t after = drain.complete - drain.issue;
  drain.issue = std::max(drain.issue, portCycles(machine, mostBytes));
  drain.complete = limited(drain.issue + after);
  return drain;
}

TileStep machine::tileStep(const Description &machine, uint64_t lanes,
                           uint64_t lines, uint64_t cols, uint64_t pitch) {
  TileStep step;
  const uint64_t rows =
      std::max<uint64_t>(1, lanes / std::max<uint64_t>(1, pitch));
  step.steps = mul(ceilDiv(cols, lanes), ceilDiv(lines, rows));
  const uint64_t together = std::min(rows, std::max<uint64_t>(1, lines));
  step.window = (together - 1) * pitch + std::min(cols, lanes);
  if (lines > 0 && pitch > 0 && lines <= lanes / pitch)
    step.coefficients =
        std::min(machine.sparse.coefficientsPerStep, lanes / (lines * pitch));
  return step;
}

uint64_t machine::bankSums(const Description &machine,
                           llvm::ArrayRef<uint64_t> windows, uint64_t width) {
  const uint64_t banks = machine.sparse.accumulatorBanks;
  if (banks == 0)
    return 1;
  // Every window covers all banks so many times, and some once more. The bank
  // with most sums is the first of a window.
  const uint64_t rest = width % banks;
  uint64_t most = 0;
  for (uint64_t first : windows) {
    uint64_t sums = 0;
    for (uint64_t other : windows)
      sums += (first - other) % banks < rest;
    most = std::max(most, sums);
  }
  return std::max<uint64_t>(1, windows.size() * (width / banks) + most);
}

uint64_t machine::tilePeriod(const Description &machine, const TileStep &step,
                             uint64_t passes) {
  const uint64_t sums = bankSums(machine, {0}, step.window);
  return mul(mul(step.steps, passes), sums);
}

bool machine::kernelsAlternate(const Description &machine, const TileStep &step,
                               uint64_t passes) {
  // Whatever banks there are: then more of them are never slower. A unit
  // without a tile has nothing to wait for.
  const uint64_t cycles = mul(step.steps, passes);
  return cycles > 0 && machine.sparse.accumulateLatency > cycles;
}

uint64_t machine::kernelGap(const Description &machine, const TileStep &step,
                            uint64_t passes) {
  return ceilDiv(machine.sparse.accumulateLatency,
                 std::max<uint64_t>(tilePeriod(machine, step, passes), 1));
}

TileIssue::TileIssue(const Description &machine, const TileStep &step,
                     uint64_t passes, uint64_t regions, uint64_t regionStride)
    : machine(machine), step(step), passes(passes),
      period(tilePeriod(machine, step, passes)), stride(regionStride) {
  // Within a period of its own a region is always ready again.
  if (kernelsAlternate(machine, step, passes))
    ready.assign(regions, 0);
}

/// True if the sums of two regions meet in a bank.
bool TileIssue::share(uint64_t a, uint64_t b) const {
  const uint64_t banks = machine.sparse.accumulatorBanks;
  if (banks == 0 || a == b)
    return false;
  return (a - b) % banks < step.window || (b - a) % banks < step.window;
}

// Each start is a maximum of earlier ones plus constants: what makes one of
// these smaller never makes another larger.
void TileIssue::issue(uint32_t region) {
  const uint64_t first = region * stride;
  uint64_t start = recent.empty() ? time : recent.back().start;
  if (recent.size() >= step.coefficients)
    start = std::max(start, recent[recent.size() - step.coefficients].start +
                                (step.coefficients > 1 ? passes : period));
  if (!ready.empty())
    start = std::max(start, ready[region]);
  for (const Started &other : recent)
    if (share(first, other.first))
      start = std::max(start, other.start + period);
  start = std::min(start, maxCycles);
  if (!ready.empty())
    ready[region] = start + machine.sparse.accumulateLatency;
  llvm::erase_if(recent, [&](const Started &other) {
    return other.start + period <= start;
  });
  recent.push_back({start, first});
  time = std::max(time, std::min(start + period, maxCycles));
}

void TileIssue::endChannel() { recent.clear(); }

/// Coefficients that start in a step if the windows of each two share a bank
/// with the same chance.
static double perStep(const Description &machine, const TileStep &step) {
  const uint64_t banks = machine.sparse.accumulatorBanks;
  if (banks == 0)
    return static_cast<double>(step.coefficients);
  const double meet =
      static_cast<double>(std::min(2 * step.window - 1, banks)) /
      static_cast<double>(banks);
  double all = 1, next = 1;
  for (uint64_t i = 1; i < step.coefficients && next > 0; ++i) {
    next *= std::max(0.0, 1 - static_cast<double>(i) * meet);
    all += next;
  }
  return all;
}

uint64_t machine::tileChannel(const Description &machine, const TileStep &step,
                              uint64_t passes, const ChannelCrowd &crowd) {
  const uint64_t period = tilePeriod(machine, step, passes);
  if (crowd.entries == 0)
    return 0;
  // Sums of one kernel do not compete with each other; of those of a channel
  // the share of other kernels does, and all neighbours if kernels alternate.
  const bool alternate = kernelsAlternate(machine, step, passes);
  const auto entries = static_cast<double>(crowd.entries);
  double others = alternate ? 1 : 0;
  if (!alternate && crowd.entries > 1)
    others = static_cast<double>(crowd.kernels - 1) / (entries - 1);
  const double most = static_cast<double>(step.coefficients);
  const double rate = most - (most - perStep(machine, step)) * others;
  const uint64_t steps = std::max(ceilDiv(crowd.entries, step.coefficients),
                                  static_cast<uint64_t>(entries / rate + 0.5));
  uint64_t cycles = mul(steps, period);
  if (alternate)
    cycles = std::max(
        cycles, add(mul(crowd.most - 1, machine.sparse.accumulateLatency),
                    mul(ceilDiv(crowd.fullest, step.coefficients), period)));
  return limited(cycles);
}

uint64_t machine::routedRun(const Description &machine, uint64_t cycles,
                            uint64_t hops, uint64_t linkBytes) {
  if (machine.sparse.routeBytes > 0)
    cycles = std::max(cycles,
                      limited(ceilDiv(linkBytes, machine.sparse.routeBytes)));
  return std::min(cycles + hops, maxCycles);
}

uint64_t machine::tileDecode(const Description &machine, uint64_t entries) {
  return limited(ceilDiv(entries, machine.sparse.wmBroadcast));
}

/// Multipliers of the unit with the fewest.
static uint64_t leastLanes(const Description &machine) {
  return machine.sparse.narrowTcus > 0 ? machine.sparse.narrowLanes
                                       : machine.sparse.lanes;
}

Timing machine::tileInit(const Description &machine, uint64_t regions,
                         uint64_t count, bool fromMemory) {
  if (!fromMemory)
    return {1, 1, 0};
  const uint64_t cycles = mul(regions, ceilDiv(count, leastLanes(machine)));
  return {cycles, cycles, 0};
}

Timing machine::tileTable() { return {1, 1, 0}; }

Timing machine::countPass(const Description &machine, uint64_t bytes) {
  const uint64_t cycles =
      limited(ceilDiv(bytes, machine.dma.onchipBytesPerCycle));
  return {cycles, cycles, 0};
}

Timing machine::cutTiles(const Description &machine, uint64_t counters,
                         uint64_t probes) {
  const uint64_t pass = ceilDiv(counters, machine.sparse.countsPerCycle);
  const uint64_t cycles =
      add(pass + machine.sparse.partCycles, limited(probes));
  return {cycles, cycles, 0};
}

uint64_t machine::tilesSideBySide(const Description &machine,
                                  uint64_t columns) {
  return std::max<uint64_t>(1,
                            machine.act.lanes / std::max<uint64_t>(columns, 1));
}

uint64_t machine::resultsSideBySide(llvm::ArrayRef<uint64_t> results,
                                    uint64_t tiles) {
  uint64_t sum = 0;
  for (; !results.empty();
       results = results.drop_front(std::min<size_t>(tiles, results.size())))
    sum = add(sum, *llvm::max_element(results.take_front(
                       std::min<size_t>(tiles, results.size()))));
  return sum;
}

/// How many windows end with each of the positions of an axis that any does,
/// and how often that number of them.
static std::map<uint64_t, uint64_t> windowEnds(uint64_t in, uint64_t out,
                                               uint64_t kernel, uint64_t stride,
                                               int64_t pad) {
  std::map<uint64_t, uint64_t> ends;
  uint64_t at = in, count = 0;
  for (uint64_t i = 0; i < out; ++i) {
    const int64_t last = static_cast<int64_t>(i * stride + kernel - 1) - pad;
    const auto end = static_cast<uint64_t>(
        std::clamp<int64_t>(last, 0, static_cast<int64_t>(in) - 1));
    if (count > 0 && end != at)
      ++ends[std::exchange(count, 0)];
    at = end;
    ++count;
  }
  ++ends[count];
  return ends;
}

uint64_t machine::tilePoolSteps(const PoolShape &shape,
                                std::array<uint64_t, 2> stride,
                                std::array<int64_t, 2> pad) {
  const auto rows =
      windowEnds(shape.in[1], shape.out[1], shape.kernel[1], stride[0], pad[0]);
  const auto columns =
      windowEnds(shape.in[2], shape.out[2], shape.kernel[2], stride[1], pad[1]);
  uint64_t steps = mul(shape.in[1], shape.in[2]);
  for (const auto &[ofRow, rowCount] : rows)
    for (const auto &[ofColumn, columnCount] : columns)
      steps =
          add(steps, mul(mul(rowCount, columnCount), mul(ofRow, ofColumn) - 1));
  return steps;
}

Timing machine::tilePool(const Description &machine, uint64_t columns,
                         uint64_t steps, VecCost cost) {
  return tileDrain(machine, columns, steps, cost);
}
