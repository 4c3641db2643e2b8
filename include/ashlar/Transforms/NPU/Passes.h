// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planning passes of the npu dialect and the attributes they leave.

#ifndef ASHLAR_TRANSFORMS_NPU_PASSES_H
#define ASHLAR_TRANSFORMS_NPU_PASSES_H

#include "ashlar/Analysis/PlanAttributes.h"
#include "ashlar/Machine/Description.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ashlar::npu {

#define GEN_PASS_DECL
#include "ashlar/Transforms/NPU/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ashlar/Transforms/NPU/Passes.h.inc"

/// Module attribute with the machine description as YAML.
inline constexpr llvm::StringLiteral kMachineAttr = "npu.machine";
/// Module attribute: why the sparse cluster stays off, where that was not asked
/// for.
inline constexpr llvm::StringLiteral kDenseReasonAttr = "npu.dense_reason";
/// Module attribute with the measured densities of maps as JSON text
/// (analysis::DataProfiles).
inline constexpr llvm::StringLiteral kProfileAttr = "npu.profile";

/// Decision of choose-stationary: choice, reason, alternatives with cycles.
inline constexpr llvm::StringLiteral kStationaryDecisionAttr =
    "ashlar.decision.stationary";

/// Decision of classify-transposes.
inline constexpr llvm::StringLiteral kTransposeDecisionAttr =
    "ashlar.decision.transpose";

/// Decision of fold-lanes on a convolution.
inline constexpr llvm::StringLiteral kLanesDecisionAttr =
    "ashlar.decision.lanes";

/// Decision of plan-memory on a movement that converts: made in the memory of
/// its operand, or not.
inline constexpr llvm::StringLiteral kInPlaceDecisionAttr =
    "ashlar.decision.in_place";

/// Decision of plan-memory on a movement that could be a view of its operand,
/// but is a copy for the sake of a reader.
inline constexpr llvm::StringLiteral kViewDecisionAttr = "ashlar.decision.view";

/// Decision of choose-map-form on a result in DRAM.
inline constexpr llvm::StringLiteral kMapDecisionAttr = "ashlar.decision.map";

/// Decision of choose-cluster on a convolution.
inline constexpr llvm::StringLiteral kSparseDecisionAttr =
    "ashlar.decision.sparse";

/// The machine a module is compiled for; emits an error on the module if the
/// attribute is missing or malformed.
mlir::FailureOr<machine::Description> machineOf(mlir::ModuleOp module);

} // namespace ashlar::npu

#endif // ASHLAR_TRANSFORMS_NPU_PASSES_H
