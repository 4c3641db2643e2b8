// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attributes of a module in the namespace of the npu dialect. Those that
// steer passes are typed and verified (NPUAttributes.cpp); decisions are read
// by reports alone.

#ifndef ASHLAR_DIALECTS_NPU_MODULEATTRIBUTES_H
#define ASHLAR_DIALECTS_NPU_MODULEATTRIBUTES_H

#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace ashlar::npu {

/// RegionAttr: bytes of every partition that resident constants occupy.
/// Without it there are none.
inline constexpr llvm::StringLiteral kConstantsAttr = "npu.constants";

/// Dictionary of ProfileAttr: measured densities of feature maps by name of the
/// planned tensor (analysis::DataProfiles).
inline constexpr llvm::StringLiteral kProfileAttr = "npu.profile";

/// MeasuredAttr: cycles of networks that were compared, for decisions.
inline constexpr llvm::StringLiteral kMeasuredAttr = "npu.measured";

/// TuningAttr: choices for the whole program.
inline constexpr llvm::StringLiteral kTuningAttr = "npu.tuning";

/// The tuning of the module of `op`; the default if it has none.
TuningAttr tuningOf(mlir::Operation *op);

/// Sets it on `module`; the default is no attribute.
void setTuning(mlir::ModuleOp module, TuningAttr tuning);

/// DecisionAttr: why the tuning places results in other banks, or not.
inline constexpr llvm::StringLiteral kBanksDecisionAttr = "npu.banks_decision";

/// DecisionAttr: why the tuning packs exponents, or not.
inline constexpr llvm::StringLiteral kExponentsDecisionAttr =
    "npu.exponents_decision";

/// DecisionAttr: which choices were not made by comparing whole programs, and
/// why.
inline constexpr llvm::StringLiteral kComparisonsDecisionAttr =
    "npu.comparisons_decision";

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_MODULEATTRIBUTES_H
