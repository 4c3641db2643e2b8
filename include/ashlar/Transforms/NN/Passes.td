// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes within the `nn` dialect: the simplify and fold phases. Constants are
// computed in binary64 in index order and rounded once to the type they are
// stored in (docs/Numerics.md 6); data movement keeps every bit (7).

#ifndef ASHLAR_TRANSFORMS_NN_PASSES_TD
#define ASHLAR_TRANSFORMS_NN_PASSES_TD

include "include/ashlar/Transforms/NN/SimplifyPasses.td"
include "include/ashlar/Transforms/NN/LoweringPasses.td"
include "include/ashlar/Transforms/NN/MovementPasses.td"
include "include/ashlar/Transforms/NN/FoldPasses.td"

#endif // ASHLAR_TRANSFORMS_NN_PASSES_TD
