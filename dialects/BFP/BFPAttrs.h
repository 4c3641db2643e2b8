// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the `bfp` dialect.

#ifndef ASHLAR_DIALECTS_BFP_BFPATTRS_H
#define ASHLAR_DIALECTS_BFP_BFPATTRS_H

#include "ashlar/Numerics/Format.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Diagnostics.h"

#define GET_ATTRDEF_CLASSES
#include "dialects/BFP/BFPAttrs.h.inc"

#endif // ASHLAR_DIALECTS_BFP_BFPATTRS_H
