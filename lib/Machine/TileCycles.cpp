// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles of the sparse cluster in tile mode (docs/Machine.md 7).

#include "ashlar/Machine/Cycles.h"
#include "ashlar/Support/CheckedMath.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::machine;
using support::ceilDiv;

static uint64_t limited(std::optional<uint64_t> cycles) {
  return std::min(cycles.value_or(maxCycles), maxCycles);
}

Timing machine::tileLoad(const Description &machine, uint64_t bytes,
                         uint64_t runs) {
  const uint64_t cycles = dmaInside(machine, bytes, runs);
  return {cycles, limited(cycles + machine.dma.onchipLatency), 0};
}

uint64_t machine::tileSteps(const Description &machine, uint64_t lines,
                            uint64_t cols, uint64_t pitch) {
  const uint64_t lanes = machine.sparse.lanes;
  const uint64_t rows =
      std::max<uint64_t>(1, lanes / std::max<uint64_t>(1, pitch));
  return limited(
      support::checkedMul(ceilDiv(cols, lanes), ceilDiv(lines, rows)));
}

uint64_t machine::tileCoefficients(const Description &machine, uint64_t lines,
                                   uint64_t pitch) {
  const uint64_t lanes = machine.sparse.lanes;
  if (lines == 0 || pitch == 0 || lines > lanes / pitch)
    return 1;
  return std::min(machine.sparse.coefficientsPerStep, lanes / (lines * pitch));
}

TileIssue::TileIssue(const Description &machine, uint64_t steps,
                     uint64_t coefficients, uint64_t passes, uint64_t regions)
    : period(limited(support::checkedMul(steps, passes))),
      coefficients(coefficients), latency(machine.sparse.accumulateLatency) {
  // Within a period of its own a region is always ready again. Otherwise
  // coefficients go one by one: then a faster machine is never slower.
  if (latency <= period)
    return;
  this->coefficients = 1;
  ready.assign(regions, 0);
}

void TileIssue::issue(uint32_t region) {
  // Products of one region in one group are added before the accumulator.
  if (inGroup == 0 || inGroup == coefficients) {
    const uint64_t start = ready.empty() ? time : std::max(time, ready[region]);
    time = std::min(start + period, maxCycles);
    inGroup = 0;
    if (!ready.empty())
      ready[region] = start + latency;
  }
  ++inGroup;
}

void TileIssue::endChannel() { inGroup = 0; }

uint64_t machine::tileDecode(const Description &machine, uint64_t entries) {
  return limited(ceilDiv(entries, machine.sparse.wmBroadcast));
}

Timing machine::tileInit(const Description &machine, uint64_t regions,
                         uint64_t count, bool fromMemory) {
  if (!fromMemory)
    return {1, 1, 0};
  const uint64_t cycles = limited(
      support::checkedMul(regions, ceilDiv(count, machine.sparse.lanes)));
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
  const uint64_t cycles = limited(support::checkedAdd(
      pass + machine.sparse.partCycles, std::min(probes, maxCycles)));
  return {cycles, cycles, 0};
}
