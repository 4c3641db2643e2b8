// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data movements that copy nothing: the result is a view of the source, with
// the same elements under other indices.

#ifndef ASHLAR_ANALYSIS_MOVEVIEW_H
#define ASHLAR_ANALYSIS_MOVEVIEW_H

#include "ashlar/Analysis/View.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/NPUDialect.h"
#include <optional>

namespace ashlar::analysis {

/// True if the result of `op` is a view of its operand. A concatenation whose
/// parts are written in place is not a view: it has memory of its own.
bool isView(mlir::Operation *op);

/// The only pattern of a data movement that neither fills nor converts, or
/// nothing.
std::optional<npu::AccessPattern> solePattern(npu::DmaMoveOp op);

/// True if a data movement concatenates its operands along channels and
/// converts nothing, so that a position keeps its values.
bool joinsChannels(npu::DmaMoveOp op);

/// The result of `op` as a view of its operand in SB: same partitions, other
/// strides. Nothing if elements would have to move: the partition axis is split
/// or merged with another, an axis of the result has no single stride, or the
/// result does not begin in the partition of the operand's index 0.
std::optional<View> viewThrough(npu::DmaMoveOp op, const View &source);

/// The partition dimension in that view of a dense operand across
/// `sourceAxis`; nothing if there is no such view.
std::optional<int64_t> viewAxis(npu::DmaMoveOp op, int64_t sourceAxis);

/// Restricts `pattern` to the part of it inside `out` and makes its result
/// indices relative to `out`. False if nothing is left. Only axes that one
/// loop addresses are ever cut (see TilingModel).
bool clipPattern(npu::AccessPattern &pattern, const Region &out);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_MOVEVIEW_H
