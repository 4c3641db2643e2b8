// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The built-in machines. docs/Machine.md gives the source of every price.

#include "Presets.h"

using namespace ashlar::machine;

namespace {

/// The reference machine: the free one with a price for everything that a chip
/// pays for.
Description makeA1() {
  Description d;
  d.name = "a1";
  d.dram.model = static_cast<uint64_t>(DramModel::Efficiency);
  d.dram.efficiency = 90;
  d.dram.countsMisaligned = true;
  d.dma.setupCycles = 8;
  d.dma.onchipLatency = 32;
  d.dma.runsPerCycle = 4;
  d.dma.decodedCodesPerCycle = 64;
  d.sb.banks = 8;
  d.sb.ports = 2;
  d.pe.groupsWait = true;
  d.psum.writePorts = 4;
  d.psum.readBytesPerCycle = 512;
  d.act.costExpensive = 4;
  d.act.costVeryExpensive = 8;
  d.sparse.accumulatorBanks = 256;
  d.sparse.accumulateLatency = 2;
  d.sparse.scanPositions = 128;
  d.sparse.fmuWriteBytes = 64;
  d.sparse.routeBytes = 128;
  d.sparse.windowShift = 1;
  d.fetch.bytesPerCycle = 32;
  d.fetch.bufferBytes = 16384;
  d.host.callCycles = 2000;
  d.host.stepCycles = 5;
  d.host.bytesPerCycle = 8;
  return d;
}

/// a1 without prices: ports, set-ups, functions and instruction fetch are free.
Description makeIdeal() { return Description(); }

/// a1 with its sparse cluster traded in: the 16 * 128 multipliers are 16
/// columns of 128 rows, each with a drain lane; the memories of the units,
/// 3,932,160 bytes, are the accumulators of these columns (16 * 2048 * 8) and
/// 25,472 bytes more in every partition, with their exponent cells: 1.125 * 128
/// * 25,472.
Description makeIso() {
  Description d = makeA1();
  d.name = "a1-iso";
  const uint64_t columns = d.sparse.multipliers() / d.pe.rows;
  // What reads the accumulators grows with them.
  auto wider = [&](uint64_t rate) {
    return rate * (d.pe.columns + columns) / d.pe.columns;
  };
  d.act.lanes = wider(d.act.lanes);
  d.psum.readBytesPerCycle = wider(d.psum.readBytesPerCycle);
  d.pe.columns += columns;
  d.sb.bytesPerPartition += 25472;
  d.sparse.tcus = 0;
  d.act.poolColumns = 0;
  return d;
}

/// An eighth of a1's multipliers for an eighth of its DRAM rate: a quarter of
/// the rows and half of the columns, and all that feeds or drains them in
/// proportion (docs/Machine.md 1).
Description makeEdge() {
  Description d = makeA1();
  d.name = "a1-edge";
  d.dram.bytesPerCycle = 8;
  d.dram.latency = 100;
  d.dram.burstBytes = 32;
  d.dram.bytes = uint64_t(1) << 30;
  d.dma.onchipBytesPerCycle = 32;
  d.dma.runsPerCycle /= 4;
  d.dma.decodedCodesPerCycle /= 4;
  d.sb.partitions = 32;
  d.sb.bytesPerPartition = 16384;
  d.pe.rows = d.pe.columns = 32;
  d.psum.banks = 2;
  d.psum.entriesPerBank = 128;
  d.psum.writePorts /= 2;
  d.psum.readBytesPerCycle /= 2;
  d.act.lanes = d.vec.lanes = 32;
  d.sparse.tcus = 4;
  d.sparse.lanes = 64;
  d.sparse.fmuBytes = 16384;
  d.sparse.wmBytes = 32768;
  d.sparse.wmBanks = 4;
  d.sparse.accumulatorEntries = 2048;
  d.sparse.accumulatorBanks /= 2;
  d.sparse.scanPositions /= 2;
  d.sparse.fmuWriteBytes /= 2;
  d.sparse.routeBytes /= 2;
  d.sparse.countEntries = 4096;
  d.sparse.countsPerCycle = 8;
  d.fetch.bytesPerCycle /= 4;
  d.fetch.bufferBytes = 2048;
  d.host.callCycles /= 2;
  d.xr.registers = 256;
  d.clockHz = 500000000;
  return d;
}

/// Small enough that a test can print whole states.
Description makeTiny() {
  Description d;
  d.name = "a1-tiny";
  d.dram = {.bytesPerCycle = 8,
            .latency = 20,
            .burstBytes = 16,
            .bytes = uint64_t(1) << 30};
  d.dma = {.queues = 4, .onchipBytesPerCycle = 8, .decodedCodesPerCycle = 8};
  d.sb = {.partitions = 8, .bytesPerPartition = 65536};
  d.xmGroup = 4;
  d.pe.rows = 8;
  d.pe.columns = 4;
  d.pe.rowGroupGranularity = 2;
  d.psum = {.banks = 2, .entriesPerBank = 64, .bits = 64};
  d.act = {.lanes = 4, .latency = 4};
  d.vec.lanes = 8;
  d.vec.latency = 4;
  d.sparse = {.tcus = 2,
              .lanes = 16,
              .coefficientsPerStep = 2,
              .fmuBytes = 4096,
              .fmuSets = 2,
              .wmBytes = 8192,
              .wmBanks = 2,
              .wmBroadcast = 2,
              .accumulatorEntries = 256,
              .countEntries = 1024,
              .countsPerCycle = 4,
              .partCycles = 8};
  d.xr.registers = 64;
  return d;
}

/// The worked 4 x 4 transpose: everything a1-ideal has around an array of that
/// size.
Description makeFig3() {
  Description d;
  d.name = "fig3-4x4";
  d.sb.partitions = 4;
  d.xmGroup = 4;
  d.pe.rows = 4;
  d.pe.columns = 4;
  d.pe.rowGroupGranularity = 4;
  d.psum.banks = 2;
  d.act.lanes = 4;
  d.vec.lanes = 4;
  return d;
}

/// The general 128 x 64 transpose: a1-ideal with the figure's accumulators, one
/// drain per 128 entries.
Description makeFig4() {
  Description d;
  d.name = "fig4-128x64";
  d.psum.banks = 2;
  d.psum.entriesPerBank = 128;
  return d;
}

constexpr Preset presetTable[] = {
    {"a1", makeA1},
    {"a1-ideal", makeIdeal},
    {"a1-iso", makeIso},
    {"a1-edge", makeEdge},
    {"a1-tiny", makeTiny},
    {"fig3-4x4", makeFig3},
    {"fig4-128x64", makeFig4},
};

} // namespace

llvm::ArrayRef<Preset> ashlar::machine::presets() { return presetTable; }
