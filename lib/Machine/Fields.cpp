// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter table.

#include "Fields.h"

using namespace ashlar::machine;

#define ASHLAR_AT(member) [](Description &d) -> uint64_t * { return &d.member; }

namespace {

constexpr uint64_t anyRate = 1 << 20;
constexpr uint64_t anyLatency = 1 << 20;
constexpr uint64_t anyLanes = 4095;

constexpr llvm::StringLiteral bindings[] = {"static", "2x2", "mesh", "benes"};

constexpr Field table[] = {
    {"", "clock_hz", "Hz, only for reports", ASHLAR_AT(clockHz), 1,
     1000000000000, false},
    {"", "xm_group", "SB partitions per exponent cell", ASHLAR_AT(xmGroup), 1,
     64, false},
    {"dram", "bytes_per_cycle", "bytes per cycle",
     ASHLAR_AT(dram.bytesPerCycle), 1, anyRate, false},
    {"dram", "latency", "cycles", ASHLAR_AT(dram.latency), 0, anyLatency,
     false},
    {"dram", "burst_bytes", "bytes, a power of two", ASHLAR_AT(dram.burstBytes),
     1, 65536, false},
    {"dram", "bytes", "bytes", ASHLAR_AT(dram.bytes), 1, uint64_t(1) << 36,
     true},
    {"dma", "queues", "queues", ASHLAR_AT(dma.queues), 1, 4, false},
    {"dma", "onchip_bytes_per_cycle", "bytes per cycle and queue",
     ASHLAR_AT(dma.onchipBytesPerCycle), 1, anyRate, false},
    {"sb", "partitions", "partitions", ASHLAR_AT(sb.partitions), 1, 4095,
     false},
    {"sb", "bytes_per_partition", "bytes", ASHLAR_AT(sb.bytesPerPartition), 64,
     uint64_t(1) << 24, true},
    {"pe", "rows", "rows", ASHLAR_AT(pe.rows), 1, 4095, false},
    {"pe", "columns", "columns", ASHLAR_AT(pe.columns), 1, 4095, false},
    {"pe", "cell_digit_bits", "bits per digit and pass",
     ASHLAR_AT(pe.cellDigitBits), 1, 16, false},
    {"pe", "row_group_granularity", "rows", ASHLAR_AT(pe.rowGroupGranularity),
     1, 4095, false},
    {"pe", "load_rows_per_cycle", "rows per cycle",
     ASHLAR_AT(pe.loadRowsPerCycle), 1, 4095, false},
    {"psum", "banks", "banks", ASHLAR_AT(psum.banks), 1, 1024, false},
    {"psum", "entries_per_bank", "entries per column",
     ASHLAR_AT(psum.entriesPerBank), 1, 1 << 20, true},
    {"psum", "bits", "bits per entry", ASHLAR_AT(psum.bits), 64, 64, false},
    {"act", "lanes", "lanes", ASHLAR_AT(act.lanes), 1, anyLanes, false},
    {"act", "latency", "cycles", ASHLAR_AT(act.latency), 0, anyLatency, false},
    {"vec", "lanes", "lanes", ASHLAR_AT(vec.lanes), 1, anyLanes, false},
    {"vec", "latency", "cycles", ASHLAR_AT(vec.latency), 0, anyLatency, false},
    {"vec", "cost_cheap", "cycles per element", ASHLAR_AT(vec.costCheap), 1,
     1024, false},
    {"vec", "cost_medium", "cycles per element", ASHLAR_AT(vec.costMedium), 1,
     1024, false},
    {"vec", "cost_expensive", "cycles per element",
     ASHLAR_AT(vec.costExpensive), 1, 1024, false},
    {"vec", "cost_very_expensive", "cycles per element",
     ASHLAR_AT(vec.costVeryExpensive), 1, 1024, false},
    {"sparse", "tcus", "units", ASHLAR_AT(sparse.tcus), 1, 256, false},
    {"sparse", "lanes", "multipliers per unit", ASHLAR_AT(sparse.lanes), 1,
     anyLanes, false},
    {"sparse", "coefficients_per_step", "coefficients",
     ASHLAR_AT(sparse.coefficientsPerStep), 1, 64, false},
    {"sparse", "fmu_bytes", "bytes per set and unit",
     ASHLAR_AT(sparse.fmuBytes), 1, uint64_t(1) << 24, true},
    {"sparse", "fmu_sets", "buffer sets per unit", ASHLAR_AT(sparse.fmuSets), 1,
     16, false},
    {"sparse", "wm_bytes", "bytes of weight memory", ASHLAR_AT(sparse.wmBytes),
     1, uint64_t(1) << 28, true},
    {"sparse", "wm_banks", "banks", ASHLAR_AT(sparse.wmBanks), 1, 256, false},
    {"sparse", "wm_broadcast", "entries per cycle and bank",
     ASHLAR_AT(sparse.wmBroadcast), 1, 64, false},
    {"sparse", "accumulator_entries", "64-bit entries per unit",
     ASHLAR_AT(sparse.accumulatorEntries), 1, uint64_t(1) << 24, true},
    {"sparse", "accumulate_latency", "cycles",
     ASHLAR_AT(sparse.accumulateLatency), 1, 64, false},
    {"sparse", "tile_tables", "tables", ASHLAR_AT(sparse.tileTables), 1, 16,
     false},
    {"sparse", "count_entries", "32-bit counters",
     ASHLAR_AT(sparse.countEntries), 1, uint64_t(1) << 20, true},
    {"sparse", "counts_per_cycle", "counters per cycle",
     ASHLAR_AT(sparse.countsPerCycle), 1, 4095, false},
    {"sparse", "part_cycles", "cycles", ASHLAR_AT(sparse.partCycles), 0,
     uint64_t(1) << 20, false},
    {"sparse", "queue_depth", "products per unit, 0: as many as multipliers",
     ASHLAR_AT(sparse.queueDepth), 0, anyLanes, false},
    {"sparse", "binding", "of compute units to memory units",
     ASHLAR_AT(sparse.binding), 0, 3, false, bindings},
    {"xr", "registers", "scale-exponent registers", ASHLAR_AT(xr.registers), 1,
     1024, false},
    {"sr", "registers", "statistics registers", ASHLAR_AT(sr.registers), 1, 64,
     false},
};

} // namespace

#undef ASHLAR_AT

llvm::ArrayRef<Field> ashlar::machine::fields() { return table; }
