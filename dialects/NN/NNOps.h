// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the operations of the `nn` dialect.

#ifndef ASHLAR_DIALECTS_NN_NNOPS_H
#define ASHLAR_DIALECTS_NN_NNOPS_H

#include "dialects/NN/NNDialect.h"

#define GET_OP_CLASSES
#include "dialects/NN/NNOps.h.inc"

#endif // ASHLAR_DIALECTS_NN_NNOPS_H
