// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the weights of a tile problem say of its columns. Private to the plans
// of the sparse cluster.

#ifndef ASHLAR_LIB_ANALYSIS_SPARSE_CHANNELCOUNTS_H
#define ASHLAR_LIB_ANALYSIS_SPARSE_CHANNELCOUNTS_H

#include "ashlar/Analysis/Sparse/TilePlan.h"

namespace ashlar::analysis {

/// Coefficients of each column and channel of its range: sets the entries, the
/// crowds and the shares of a problem that has all else.
void countEntries(TileProblem &problem, const WeightPattern &weights,
                  const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_LIB_ANALYSIS_SPARSE_CHANNELCOUNTS_H
