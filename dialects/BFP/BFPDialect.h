// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the `bfp` dialect class. Assumes nothing beyond MLIR's core.

#ifndef ASHLAR_DIALECTS_BFP_BFPDIALECT_H
#define ASHLAR_DIALECTS_BFP_BFPDIALECT_H

#include "dialects/Ashlar/AshlarDialect.h"
#include "mlir/IR/Dialect.h"

#include "dialects/BFP/BFPDialect.h.inc"

#endif // ASHLAR_DIALECTS_BFP_BFPDIALECT_H
