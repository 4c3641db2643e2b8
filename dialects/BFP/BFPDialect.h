// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `bfp` dialect and the names of its discardable attributes
// (BFPAttributes.cpp verifies them).

#ifndef ASHLAR_DIALECTS_BFP_BFPDIALECT_H
#define ASHLAR_DIALECTS_BFP_BFPDIALECT_H

#include "dialects/Ashlar/AshlarDialect.h"
#include "mlir/IR/Dialect.h"

#include "dialects/BFP/BFPDialect.h.inc"

namespace ashlar::bfp {

/// On a product, between assign-formats and choose-formats: the formats
/// requested for its factors (FormatAttr).
inline constexpr llvm::StringLiteral kActivationsAttr = "bfp.activations";
inline constexpr llvm::StringLiteral kWeightsAttr = "bfp.weights";
/// On a module, prose for reports: the formats that were requested, and why
/// ranges are smaller than that.
inline constexpr llvm::StringLiteral kFormatAttr = "bfp.format";
inline constexpr llvm::StringLiteral kRangeReasonAttr = "bfp.range_reason";

} // namespace ashlar::bfp

#endif // ASHLAR_DIALECTS_BFP_BFPDIALECT_H
