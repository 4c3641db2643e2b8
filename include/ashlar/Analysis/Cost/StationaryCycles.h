// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicted cycles of a product on the array, by the operand that is
// stationary: what passes compare that choose this operand, or that weigh the
// product against what else an engine could do.

#ifndef ASHLAR_ANALYSIS_COST_STATIONARYCYCLES_H
#define ASHLAR_ANALYSIS_COST_STATIONARYCYCLES_H

#include "ashlar/Machine/Description.h"
#include "mlir/IR/Operation.h"

#include <cstdint>
#include <optional>

namespace ashlar::analysis {

/// Cycles of one product, from its first load on, with each operand that may be
/// the stationary one. Operands are in the state buffer, weights arrive in
/// time, and windows of PSUM are as large as half of its banks.
struct StationaryCycles {
  int64_t weights = 0;
  /// Stationary activations; the result is transposed by a copy and a pass of
  /// the vector unit. Nothing if the product cannot run like that.
  std::optional<int64_t> activations;
  /// Stationary activations; the array transposes whole blocks of the encoded
  /// result. Nothing if the product cannot run like that.
  std::optional<int64_t> blocks;

  /// With stationary activations, if that is possible at all.
  std::optional<int64_t> moving() const;
  /// With the better operand.
  int64_t least() const;
};

/// The prediction for \p op, an `npu.pe.conv` or `npu.pe.matmul`, whichever
/// operand it has stationary now.
StationaryCycles stationaryCycles(mlir::Operation *op,
                                  const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_STATIONARYCYCLES_H
