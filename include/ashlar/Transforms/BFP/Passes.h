// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The quantise phase: passes that decide number formats, and the pipeline that
// tools and tests share. Input: the canonical `nn` graph. Output: the numeric
// plan as IR (docs/NumericPlan.md).

#ifndef ASHLAR_TRANSFORMS_BFP_PASSES_H
#define ASHLAR_TRANSFORMS_BFP_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace ashlar::bfp {

#define GEN_PASS_DECL
#include "ashlar/Transforms/BFP/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ashlar/Transforms/BFP/Passes.h.inc"

/// What the user decides about formats.
struct QuantiseOptions {
  /// As `numerics::parseFormat` reads it, or a table as JSON; checked by the
  /// pass.
  std::string format = "bfp8";
  /// Refuse a range that is not proven instead of lowering it.
  bool strictRange = false;
};

/// Module attribute: canonical text of the format that was chosen.
inline constexpr llvm::StringLiteral kFormatAttr = "bfp.format";
/// Module attribute: why the range is smaller than requested.
inline constexpr llvm::StringLiteral kRangeReasonAttr = "bfp.range_reason";

/// Appends the passes of the quantise phase, the exit check last.
void buildQuantisePipeline(mlir::OpPassManager &manager,
                           const QuantiseOptions &options);

/// Registers the pipeline `ashlar-quantise` for textual use.
void registerQuantisePipeline();

} // namespace ashlar::bfp

#endif // ASHLAR_TRANSFORMS_BFP_PASSES_H
