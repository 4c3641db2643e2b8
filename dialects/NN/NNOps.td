// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All operations of the `nn` dialect, one file per family.

#ifndef ASHLAR_DIALECTS_NN_NNOPS_TD
#define ASHLAR_DIALECTS_NN_NNOPS_TD

include "dialects/NN/NNDialect.td"
include "dialects/NN/NNEnums.td"
include "dialects/NN/NNConstantOps.td"
include "dialects/NN/NNConvOps.td"
include "dialects/NN/NNHostOps.td"
include "dialects/NN/NNMathOps.td"
include "dialects/NN/NNMovementOps.td"
include "dialects/NN/NNPoolOps.td"
include "dialects/NN/NNReduceOps.td"

#endif // ASHLAR_DIALECTS_NN_NNOPS_TD
