// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bands of rows whose sums the units hold at once, so that a drain can pool
// them. Rows that the windows of two bands share are summed up twice.

#include "PooledBands.h"

#include "ashlar/Analysis/Cost/ProductWindows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::analysis {

/// Bands of a map at least.
static constexpr int64_t kLeastBands = 2;

int64_t pooledBand(Operation *op, int64_t rows, int64_t cols,
                   const machine::Description &machine) {
  const partition::PoolAxis axis = pooledAxis(op, 0),
                            columns = pooledAxis(op, 1);
  int64_t start = 0;
  const int64_t width = columns.part(0, cols, start).in;
  const int64_t lanes = std::min<int64_t>(
      shapeOf(op->getResult(0))[1], static_cast<int64_t>(machine.pe.columns));
  const int64_t entries = static_cast<int64_t>(machine.sparse.tcus) *
                          accumulatorEntries(machine) / 2;
  const int64_t most = entries / std::max<int64_t>(width * lanes, 1);
  const int64_t fit =
      std::max<int64_t>((most - axis.kernel) / axis.step + 1, 1);
  // One band drains while the units work on the next.
  const int64_t bands = std::max<int64_t>(llvm::divideCeilSigned(rows, fit),
                                          std::min<int64_t>(rows, kLeastBands));
  return llvm::divideCeilSigned(rows, bands);
}

void setBands(TileProblem &problem, Operation *op,
              const machine::Description &machine) {
  const int64_t rows = problem.extent[1], cols = problem.extent[2];
  const partition::PoolAxis axis = pooledAxis(op, 0),
                            columns = pooledAxis(op, 1);
  problem.pooled.rows = pooledBand(op, rows, cols, machine);
  problem.pooled.share = axis.step * columns.step;
  // In the middle no window is cut off.
  problem.extent[0] *= llvm::divideCeilSigned(rows, problem.pooled.rows);
  problem.extent[1] =
      std::min((problem.pooled.rows - 1) * axis.step + axis.kernel, axis.in);
  problem.extent[2] =
      std::min((cols - 1) * columns.step + columns.kernel, columns.in);
}

} // namespace ashlar::analysis
