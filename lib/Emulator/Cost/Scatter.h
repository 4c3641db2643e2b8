// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatter mode of a compute unit: non-zero data times non-zero weights, one
// block of data and one kernel slice at a time (docs/SparseTiles.md). Sums are
// exact 64-bit integers, so all variants and orders give the same bits; the
// variants differ in cycles only. Stride and dilation are resolved before: a
// block holds data of one phase plane, a weight its shift in that plane.

#ifndef ASHLAR_LIB_EMULATOR_COST_SCATTER_H
#define ASHLAR_LIB_EMULATOR_COST_SCATTER_H

#include "ashlar/Machine/ScatterCycles.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace ashlar::emulator {

using machine::ScatterVariant;

/// A compute unit.
struct ScatterUnit {
  ScatterVariant variant = ScatterVariant::D;
  uint32_t multipliers = 1;    ///< P
  uint32_t weightsPerStep = 2; ///< U of variants C and D
  uint32_t queueDepth = 0;     ///< Entries that may wait; 0 = P.
  /// Positions that the window of variant A moves per cycle; 0 = any number.
  uint32_t windowShift = 0;
};

/// A non-zero datum or weight at its position. Weights are given by kernel
/// position (row, col) in [0, kernelRows) x [0, kernelCols).
struct ScatterItem {
  int32_t row = 0;
  int32_t col = 0;
  int64_t value = 0;
  bool operator==(const ScatterItem &) const = default;
};

/// Positions, rows and columns together, that the window of variant A moves
/// from one weight to the next.
uint64_t windowDistance(const ScatterItem &from, const ScatterItem &to);

/// Kernel extents: a datum at (r, c) and a weight at (wr, wc) meet in the
/// plane at (r + rows - 1 - wr, c + cols - 1 - wc).
struct ScatterKernel {
  int32_t rows = 1;
  int32_t cols = 1;
};

struct ScatterCounters {
  uint64_t cycles = 0;
  uint64_t issues = 0;    ///< Products: data x weights, never a zero.
  uint64_t slots = 0;     ///< Multipliers x cycles in which any could issue.
  uint64_t conflicts = 0; ///< Products sent to a queue (C, D with U > 2).
  uint64_t merges = 0;    ///< Pairs added before the result registers (D).
  uint64_t waiting = 0;   ///< High-water mark of the queues.
  uint64_t dropped = 0;   ///< Products outside the unit's own results.
  uint64_t combined = 0;  ///< Results added to those of a neighbour.

  void add(const ScatterCounters &other);
};

/// One cycle of a block, for tests and pictures: what reached the result
/// registers, after merging, and how many products were new.
struct ScatterCycle {
  std::vector<ScatterItem> written;
  uint32_t issued = 0;
  uint32_t waiting = 0; ///< Queue entries after the cycle.
};

/// Runs one block: `data` in row-major order, `weights` in packed order. Calls
/// add(row, col, value) with plane positions. No data or no weights: no
/// cycles. Capacity error if more products wait than the queues hold.
llvm::Error
scatterBlock(const ScatterUnit &unit, llvm::ArrayRef<ScatterItem> data,
             llvm::ArrayRef<ScatterItem> weights, ScatterKernel kernel,
             llvm::function_ref<void(int32_t, int32_t, int64_t)> add,
             ScatterCounters &counters,
             std::vector<ScatterCycle> *trace = nullptr);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_COST_SCATTER_H
