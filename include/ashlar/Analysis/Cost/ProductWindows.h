// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many positions of a convolution the array sums up at a time.

#ifndef ASHLAR_ANALYSIS_COST_PRODUCTWINDOWS_H
#define ASHLAR_ANALYSIS_COST_PRODUCTWINDOWS_H

#include "ashlar/Analysis/Lanes.h"
#include "ashlar/Machine/Description.h"
#include "dialects/NPU/NPUDialect.h"

#include <cstdint>

namespace ashlar::analysis {

/// Entries of a PSUM bank that the windows of \p conv take: all of them, or
/// fewer where the first or the last drain would take longer than more loads of
/// the weights. \p lanes and \p result are the folds of the operand and of
/// the result.
int64_t windowEntries(npu::PeConvOp conv, const Lanes &lanes,
                      const Lanes &result, const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_PRODUCTWINDOWS_H
