// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of transposes, from the formulas of single instructions.

#include "ashlar/Machine/Transposes.h"
#include "Saturating.h"
#include "ashlar/Support/ElementType.h"

#include <algorithm>
#include <array>
#include <vector>

using namespace ashlar;
using namespace ashlar::machine;
using namespace ashlar::machine::saturating;

uint64_t ashlar::machine::transposeRows(const Description &machine) {
  return std::max<uint64_t>(
      std::min(machine.pe.rows, machine.psum.entriesPerBank), 1);
}

uint64_t ashlar::machine::rowLead(uint64_t steps) {
  return steps == 0 ? 0 : limited(steps) - 1;
}

uint64_t ashlar::machine::columnLead(uint64_t columns) {
  return columns == 0 ? 0 : limited(columns) - 1;
}

Timing ashlar::machine::actDrainColumns(const Description &machine,
                                        uint64_t columns, uint64_t entries,
                                        VecCost cost) {
  const uint64_t lanes = std::max<uint64_t>(machine.act.lanes, 1);
  const uint64_t groups = ceilDiv(std::max<uint64_t>(columns, 1), lanes);
  const uint64_t last = std::max<uint64_t>(columns, 1) - (groups - 1) * lanes;
  const uint64_t column = mul(entries, actClassCycles(machine, cost));
  Timing timing;
  // A lane takes its next column when it has moved the last one and the column
  // is complete, one cycle after its neighbour's.
  timing.issue =
      limited(mul(groups - 1, std::max(column, lanes)) + column + last - 1);
  timing.issue =
      std::max(timing.issue, psumReadCycles(machine, columns, entries));
  timing.complete = limited(timing.issue + machine.act.latency);
  return timing;
}

uint64_t TransposeTerms::total() const {
  return limited(mul(planes, limited(load + cells + drain)) + latency);
}

TransposeTerms ashlar::machine::transposeTile(const Description &machine,
                                              uint64_t rows, uint64_t cols,
                                              uint64_t elementBytes,
                                              TransposeMode mode) {
  TransposeTerms terms;
  terms.planes = mode.byPlanes ? elementBytes : 1;
  terms.load = peLoad(machine, rows, mode.byPlanes ? 1 : elementBytes).complete;
  uint64_t passes = mode.byPlanes ? pePasses(machine, 8, 8) : 1;
  if (mode.significand > 0)
    passes =
        pePasses(machine, support::significandBits(support::ElementType::BF16),
                 mode.significand);
  terms.stream = mul(rows, passes);
  terms.cells = peMatmul(machine, rows, passes, cols).complete;
  terms.drain = actDrain(machine, cols, rows).issue;
  terms.latency = machine.act.latency;
  return terms;
}

namespace {

/// Tiles in the order of their loads: load, stream and drain of a tile run
/// next to those of its neighbours.
class TilePipeline {
public:
  explicit TilePipeline(const Description &machine)
      : machine(machine),
        drained(
            std::max<uint64_t>(std::min<uint64_t>(machine.psum.banks, 1024), 1),
            0) {}

  void add(uint64_t rows, uint64_t cols, uint64_t elementBytes,
           TransposeMode mode) {
    const TransposeTerms terms =
        transposeTile(machine, rows, cols, elementBytes, mode);
    for (uint64_t plane = 0; plane < terms.planes; ++plane)
      addPlane(terms);
  }
  uint64_t cycles() const { return last; }

private:
  void addPlane(const TransposeTerms &terms) {
    // The shadow set is free once the previous tile has been swapped in; a set
    // that streams is not.
    const uint64_t free = machine.pe.shadowSet ? swapped : streamEnd;
    loadEnd = limited(std::max(loadEnd, free) + terms.load);
    uint64_t &bank = drained[tiles++ % drained.size()];
    swapped = std::max({streamEnd, loadEnd, bank});
    streamEnd = limited(swapped + terms.stream);
    complete = std::max(complete, limited(swapped + terms.cells));
    drainEnd = limited(std::max(drainEnd, complete) + terms.drain);
    bank = last = limited(drainEnd + terms.latency);
  }

  const Description &machine;
  std::vector<uint64_t> drained; ///< Per bank.
  uint64_t tiles = 0;
  uint64_t loadEnd = 0, swapped = 0, streamEnd = 0, complete = 0, drainEnd = 0;
  uint64_t last = 0;
};

} // namespace

uint64_t ashlar::machine::transposeTiles(const Description &machine,
                                         llvm::ArrayRef<uint64_t> rows,
                                         llvm::ArrayRef<uint64_t> cols,
                                         uint64_t elementBytes, uint64_t planes,
                                         TransposeMode mode) {
  // Planes are alike: after some of them each takes as long as the one before.
  constexpr uint64_t enough = 8;
  TilePipeline pipeline(machine);
  uint64_t before = 0;
  for (uint64_t plane = 0; plane < std::min(planes, enough); ++plane) {
    before = pipeline.cycles();
    for (uint64_t row : rows)
      for (uint64_t col : cols)
        pipeline.add(row, col, elementBytes, mode);
  }
  const uint64_t each = pipeline.cycles() - before;
  return limited(pipeline.cycles() +
                 mul(planes - std::min(planes, enough), each));
}

namespace {

/// A matrix of m rows of n elements, one after the other, and its places.
class Matrix {
public:
  Matrix(const Description &machine, uint64_t m, uint64_t n,
         uint64_t elementBytes)
      : counts{m, n}, element(elementBytes),
        partition(machine.sb.bytesPerPartition) {
    const auto step = static_cast<int64_t>(elementBytes);
    const auto next = static_cast<int64_t>(partition);
    dense = {static_cast<int64_t>(mul(n, elementBytes)), step};
    rows = {next, step};
    columns = {step, next};
  }

  DmaSide inDram() const { return {true, counts, dense, element}; }
  /// In SB, row i in partition i.
  DmaSide asItLies() const { return {false, counts, rows, element, partition}; }
  /// In SB, column i in partition i.
  DmaSide transposed() const {
    return {false, counts, columns, element, partition};
  }

private:
  std::array<uint64_t, 2> counts;
  uint64_t element, partition;
  std::array<int64_t, 2> dense, rows, columns;
};

} // namespace

uint64_t ashlar::machine::transposeOnLoad(const Description &machine,
                                          uint64_t m, uint64_t n,
                                          uint64_t elementBytes) {
  const Matrix matrix(machine, m, n, elementBytes);
  return dmaCopy(machine, matrix.inDram(), matrix.transposed()).complete;
}

uint64_t ashlar::machine::transposeRoundTrip(const Description &machine,
                                             uint64_t m, uint64_t n,
                                             uint64_t elementBytes) {
  const Matrix matrix(machine, m, n, elementBytes);
  // Written in its own layout, transposed on the way back.
  return limited(dmaCopy(machine, matrix.asItLies(), matrix.inDram()).complete +
                 transposeOnLoad(machine, m, n, elementBytes));
}
