// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The built-in machines. docs/Machine.md gives the source of every price.

#include "Presets.h"

using namespace ashlar::machine;

namespace {

/// The reference machine.
Description makeA1() {
  Description d;
  d.name = "a1";
  return d;
}

/// a1 with free ports, set-ups, functions and instruction fetch.
Description makeIdeal() { return Description(); }

/// Small enough that a test can print whole states.
Description makeTiny() {
  Description d;
  d.name = "a1-tiny";
  d.dram = {.bytesPerCycle = 8,
            .latency = 20,
            .burstBytes = 16,
            .bytes = uint64_t(1) << 30};
  d.dma = {.queues = 4, .onchipBytesPerCycle = 8};
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

/// The worked 4 x 4 transpose: everything a1 has around an array of that size.
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

/// The general 128 x 64 transpose: a1 with the figure's accumulators, one
/// drain per 128 entries.
Description makeFig4() {
  Description d;
  d.name = "fig4-128x64";
  d.psum.banks = 2;
  d.psum.entriesPerBank = 128;
  return d;
}

constexpr Preset table[] = {
    {"a1", makeA1},         {"a1-ideal", makeIdeal},   {"a1-tiny", makeTiny},
    {"fig3-4x4", makeFig3}, {"fig4-128x64", makeFig4},
};

} // namespace

llvm::ArrayRef<Preset> ashlar::machine::presets() { return table; }
