// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data movements that copy nothing: the result is a view of the source, with
// the same elements under other indices.

#ifndef ASHLAR_ANALYSIS_LAYOUT_MOVEVIEW_H
#define ASHLAR_ANALYSIS_LAYOUT_MOVEVIEW_H

#include "ashlar/Analysis/Layout/View.h"
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

/// Where an operand of a data movement lies in its result: element i of an axis
/// at `start + i * step`.
struct PartPlace {
  Shape start, step;
};

/// The place of operand \p operand if all of it is moved, each axis to itself,
/// and nothing is converted.
std::optional<PartPlace> placeOfPart(npu::DmaMoveOp whole, unsigned operand);

/// True if a data movement leaves every element where it was and encodes it: a
/// conversion, unless its result lies in lanes.
bool encodesInPlace(npu::DmaMoveOp op);

/// True if every element, and every exponent cell, of the result of a data
/// movement has the place of its operand's where both are dense in DRAM: a
/// reshape, whose result may share the operand's memory there.
bool keepsPlaceInDram(npu::DmaMoveOp op, const machine::Description &machine);

/// True if the operands of a data movement are all of its result, side by side:
/// a concatenation or an interleave whose parts may be written where they
/// belong. Blocks stay whole.
bool joinsInPlace(npu::DmaMoveOp op);

/// True if it joins them along channels only, so that a position keeps its
/// values.
bool joinsChannels(npu::DmaMoveOp op);

/// The result of `op` as a view of its operand in SB: same partitions, other
/// strides. It may begin in any partition, and have a second axis across them
/// where the operand's is split. Nothing if elements would have to move: an
/// axis has no single stride, or more than two lie across partitions.
std::optional<View> viewThrough(npu::DmaMoveOp op, const View &source,
                                const machine::Description &machine);

/// That view of a dense operand across `sourceAxis`; `part` counts through
/// channel tiles.
std::optional<View> denseViewThrough(npu::DmaMoveOp op, int64_t sourceAxis);

/// Its partition dimension; nothing if there is no such view, or none that
/// every operation can read: one that begins in another partition or has a
/// second axis across partitions is for the few that accept it.
std::optional<int64_t> viewAxis(npu::DmaMoveOp op, int64_t sourceAxis);

/// Restricts `pattern` to the part of it inside `out` and makes its result
/// indices relative to `out`. False if nothing is left. Only axes that one
/// loop addresses are ever cut (see TilingModel).
bool clipPattern(npu::AccessPattern &pattern, const Region &out);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_MOVEVIEW_H
