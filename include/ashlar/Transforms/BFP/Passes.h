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
  /// Storage of residual operands: "bfp", "bf16" or "f32"; checked by the pass.
  std::string residual = "bfp";
  /// Measured scale exponents by planned tensor as JSON, or empty.
  std::string exponents;
  /// Multiply weights of output channels by factors that make them round
  /// better.
  bool weightScaling = true;
  /// Epilogues and element-wise arithmetic stay in integers where they can.
  bool blockArithmetic = false;
};

/// Appends the passes of the quantise phase, the exit check last.
void buildQuantisePipeline(mlir::OpPassManager &manager,
                           const QuantiseOptions &options);

/// Registers the pipeline `ashlar-quantise` for textual use.
void registerQuantisePipeline();

} // namespace ashlar::bfp

#endif // ASHLAR_TRANSFORMS_BFP_PASSES_H
