// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of windows that overlap: what several taps read is fetched once.

#ifndef ASHLAR_ANALYSIS_COST_WINDOWCOPIES_H
#define ASHLAR_ANALYSIS_COST_WINDOWCOPIES_H

#include "ashlar/Analysis/View.h"
#include "dialects/NPU/AccessPattern.h"
#include "llvm/ADT/SmallVector.h"

namespace ashlar::analysis {

/// Copies that make what one pattern does: first those of the operand, then
/// those of the result, in this order, each of what earlier ones have written.
struct WindowCopies {
  llvm::SmallVector<npu::AccessPattern, 4> fetched, repeated;
};

/// The copies that do \p pattern from \p source to \p result in the fewest
/// predicted cycles. Two loops that move along one axis of the operand and
/// along two of the result, taps and positions, read many elements several
/// times. In short runs that is slow; a tap whose elements another one has
/// fetched takes them from there, in the long runs in which results lie.
/// The pattern alone where nothing is gained.
WindowCopies windowCopies(const View &source, const View &result,
                          const npu::AccessPattern &pattern,
                          const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_WINDOWCOPIES_H
