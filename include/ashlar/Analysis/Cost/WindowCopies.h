// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of overlapping windows that fetch each element once.

#ifndef ASHLAR_ANALYSIS_COST_WINDOWCOPIES_H
#define ASHLAR_ANALYSIS_COST_WINDOWCOPIES_H

#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Machine/Transfers.h"
#include "dialects/NPU/AccessPattern.h"
#include "llvm/ADT/SmallVector.h"

namespace ashlar::analysis {

/// A sequence of copies that replaces one pattern: first copies from the
/// operand (`fetched`), then copies within the result (`repeated`), which read
/// only what earlier copies have written.
struct WindowCopies {
  llvm::SmallVector<npu::AccessPattern, 4> fetched, repeated;
};

/// The copies that perform \p pattern from \p source to \p result in the fewest
/// predicted cycles. If two loops, over taps and over positions, move along one
/// axis of the operand and along two of the result, many elements are read
/// several times, in short and therefore slow runs. A tap whose elements
/// another tap has fetched copies them from there instead, in the long runs of
/// the result. Without a gain, the pattern itself.
WindowCopies windowCopies(const View &source, const View &result,
                          const npu::AccessPattern &pattern,
                          machine::TransferCosts &costs);

/// True if windowCopies() can fetch every element along \p axis of the operand
/// of \p pattern once, although windows share them: there is one loop over taps
/// and one over positions, which move along two axes of the result, \p axis
/// being that of the positions.
bool sharesTaps(const npu::AccessPattern &pattern, int64_t axis);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_WINDOWCOPIES_H
