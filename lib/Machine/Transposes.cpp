// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of transposes, from the formulas of single instructions.

#include "ashlar/Machine/Transposes.h"

#include <algorithm>
#include <array>

using namespace ashlar::machine;

/// Limits keep hostile extents from wrapping: sums of a few stay in 64 bits.
static uint64_t limited(uint64_t cycles) { return std::min(cycles, maxCycles); }

static uint64_t times(uint64_t a, uint64_t b) {
  uint64_t result;
  return __builtin_mul_overflow(a, b, &result) ? maxCycles : limited(result);
}

static uint64_t divideUp(uint64_t a, uint64_t b) {
  b = std::max<uint64_t>(b, 1);
  return a / b + (a % b != 0);
}

uint64_t ashlar::machine::transposeWaves(uint64_t rows, uint64_t cols) {
  return rows == 0 || cols == 0 ? 0 : limited(rows) + limited(cols) - 1;
}

uint64_t ashlar::machine::entryWave(uint64_t row, uint64_t col) {
  return limited(row) + limited(col) + 1;
}

uint64_t ashlar::machine::rowWave(uint64_t row, uint64_t cols) {
  return limited(row) + limited(cols);
}

uint64_t ashlar::machine::columnWave(uint64_t rows, uint64_t col) {
  return limited(rows) + limited(col);
}

uint64_t ashlar::machine::transposeCells(const Description &machine,
                                         uint64_t rows, uint64_t cols) {
  return peMatmul(machine, rows, 1, cols).complete;
}

uint64_t ashlar::machine::blockCount(uint64_t m, uint64_t n, uint64_t p,
                                     uint64_t q) {
  return times(divideUp(m, p), divideUp(n, q));
}

uint64_t ashlar::machine::rowLead(uint64_t steps) {
  return steps == 0 ? 0 : limited(steps) - 1;
}

uint64_t ashlar::machine::columnLead(uint64_t columns) {
  return columns == 0 ? 0 : limited(columns) - 1;
}

Timing ashlar::machine::actDrainColumns(const Description &machine,
                                        uint64_t columns, uint64_t entries) {
  const uint64_t lanes = std::max<uint64_t>(machine.act.lanes, 1);
  const uint64_t groups = divideUp(std::max<uint64_t>(columns, 1), lanes);
  const uint64_t last = std::max<uint64_t>(columns, 1) - (groups - 1) * lanes;
  Timing timing;
  // A lane takes its next column when it has moved the last one and the column
  // is complete, one cycle after its neighbour's.
  timing.issue = limited(times(groups - 1, std::max(limited(entries), lanes)) +
                         limited(entries) + last - 1);
  timing.complete = limited(timing.issue + machine.act.latency);
  return timing;
}

uint64_t TransposeTerms::total() const {
  return limited(times(planes, limited(load + cells + drain)) + latency);
}

TransposeTerms ashlar::machine::transposeTile(const Description &machine,
                                              uint64_t rows, uint64_t cols,
                                              uint64_t elementBytes,
                                              bool byPlanes) {
  TransposeTerms terms;
  terms.planes = byPlanes ? elementBytes : 1;
  terms.load = peLoad(machine, rows, byPlanes ? 1 : elementBytes).complete;
  terms.cells = transposeCells(machine, rows, cols);
  terms.drain = actDrain(machine, cols, rows).issue;
  terms.latency = machine.act.latency;
  return terms;
}

uint64_t ashlar::machine::transposeMatrix(const Description &machine,
                                          uint64_t m, uint64_t n,
                                          uint64_t elementBytes) {
  if (m == 0 || n == 0)
    return 0;
  const uint64_t rows = machine.pe.rows, cols = machine.pe.columns;
  // Whole tiles, the ragged ones of either edge, and the corner.
  struct Kind {
    uint64_t rows, cols, count;
  };
  const std::array<Kind, 4> kinds = {{{rows, cols, times(m / rows, n / cols)},
                                      {m % rows, cols, n / cols},
                                      {rows, n % cols, m / rows},
                                      {m % rows, n % cols, 1}}};
  uint64_t cycles = 0, fill = 0;
  for (const Kind &kind : kinds) {
    if (kind.count == 0 || kind.rows == 0 || kind.cols == 0)
      continue;
    const TransposeTerms terms =
        transposeTile(machine, kind.rows, kind.cols, elementBytes);
    cycles =
        limited(cycles + times(kind.count,
                               std::max({terms.load, kind.rows, terms.drain})));
    // What the pipeline adds once: the other two stages of one tile.
    fill = terms.total() - std::max({terms.load, kind.rows, terms.drain});
  }
  return limited(cycles + fill);
}

/// The counts and strides of the matrix, row after row: m rows of n elements.
static DmaSide inDram(const std::array<uint64_t, 2> &counts,
                      const std::array<int64_t, 2> &strides, uint64_t bytes) {
  return {true, counts, strides, bytes};
}

static DmaSide inStateBuffer(const std::array<uint64_t, 2> &counts,
                             const std::array<int64_t, 2> &strides,
                             uint64_t bytes) {
  return {false, counts, strides, bytes};
}

uint64_t ashlar::machine::transposeOnLoad(const Description &machine,
                                          uint64_t m, uint64_t n,
                                          uint64_t elementBytes) {
  const std::array<uint64_t, 2> counts = {m, n};
  const std::array<int64_t, 2> rows = {
      static_cast<int64_t>(times(n, elementBytes)),
      static_cast<int64_t>(elementBytes)};
  // Only the side in DRAM decides; the state buffer takes any pattern.
  return dmaCopy(machine, inDram(counts, rows, elementBytes),
                 inStateBuffer(counts, rows, elementBytes))
      .complete;
}

uint64_t ashlar::machine::transposeRoundTrip(const Description &machine,
                                             uint64_t m, uint64_t n,
                                             uint64_t elementBytes) {
  const uint64_t load = transposeOnLoad(machine, m, n, elementBytes);
  return limited(2 * load); // the write back takes what the read takes
}

uint64_t ashlar::machine::transposeOnChipCopy(const Description &machine,
                                              uint64_t m, uint64_t n,
                                              uint64_t elementBytes) {
  const std::array<uint64_t, 2> counts = {m, n};
  const std::array<int64_t, 2> none = {0, 0};
  return dmaCopy(machine, inStateBuffer(counts, none, elementBytes),
                 inStateBuffer(counts, none, elementBytes))
      .complete;
}
