// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicted cycles of a convolution on the dense array, by lane fold of its
// input: what passes compare alternatives by.

#ifndef ASHLAR_ANALYSIS_DENSECYCLES_H
#define ASHLAR_ANALYSIS_DENSECYCLES_H

#include "ashlar/Analysis/Lanes.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::analysis {

/// Array cycles of a convolution whose input lies folded by `lanes`: every
/// stationary tile is loaded once per group of positions that PSUM holds.
int64_t arrayCycles(npu::PeConvOp conv, const Lanes &lanes,
                    const machine::Description &machine);

/// The lane folds that array and memories allow for a map of `channels`
/// channels and rows of `width` pixels, in ascending order of lanes.
llvm::SmallVector<Lanes, 6> laneFolds(int64_t channels, int64_t width,
                                      const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_DENSECYCLES_H
