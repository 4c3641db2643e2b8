// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planning passes of the npu dialect and the attributes they leave.

#ifndef ASHLAR_TRANSFORMS_NPU_PASSES_H
#define ASHLAR_TRANSFORMS_NPU_PASSES_H

#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Machine/Description.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ashlar::npu {

#define GEN_PASS_DECL
#include "ashlar/Transforms/NPU/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ashlar/Transforms/NPU/Passes.h.inc"

/// Decision of choose-stationary: choice, reason, alternatives with cycles.
inline constexpr llvm::StringLiteral kStationaryDecisionAttr =
    "ashlar.decision.stationary";

/// Decision of choose-function-engine or share-functions on a product.
inline constexpr llvm::StringLiteral kFunctionDecisionAttr =
    "ashlar.decision.function";
/// Its choices: ACT, the vector unit, both.
inline constexpr llvm::StringLiteral kFunctionInDrain = "drain",
                                     kFunctionInVectorUnit = "vector-unit",
                                     kFunctionShared = "shared";

/// Decision of choose-patterns on a product.
inline constexpr llvm::StringLiteral kPatternDecisionAttr =
    "ashlar.decision.pattern";

/// Decision of classify-transposes.
inline constexpr llvm::StringLiteral kTransposeDecisionAttr =
    "ashlar.decision.transpose";

/// Decision of fold-lanes on a convolution.
inline constexpr llvm::StringLiteral kLanesDecisionAttr =
    "ashlar.decision.lanes";

/// Decision of pack-rows on a convolution.
inline constexpr llvm::StringLiteral kRowsDecisionAttr = "ashlar.decision.rows";

/// Decision of pool-in-drain on a convolution.
inline constexpr llvm::StringLiteral kPoolDecisionAttr = "ashlar.decision.pool";

/// Decision of spread-maps on an operation.
inline constexpr llvm::StringLiteral kSpreadDecisionAttr =
    "ashlar.decision.spread";

/// Decision of plan-memory on a data movement that converts: in place, that is
/// in the memory of its operand, or not.
inline constexpr llvm::StringLiteral kInPlaceDecisionAttr =
    "ashlar.decision.in_place";

/// Decision of plan-memory on a data movement that could be a view of its
/// operand, but is a copy for the sake of a reader.
inline constexpr llvm::StringLiteral kViewDecisionAttr = "ashlar.decision.view";

/// Decision of plan-memory on a product: which of outputs and positions is cut
/// outside, by bytes of DRAM, and whether its weights come in parts.
inline constexpr llvm::StringLiteral kWeightsDecisionAttr =
    "ashlar.decision.weights";

/// Decision of choose-map-form on a result in DRAM.
inline constexpr llvm::StringLiteral kMapDecisionAttr = "ashlar.decision.map";

/// Decision of choose-cluster on a convolution.
inline constexpr llvm::StringLiteral kSparseDecisionAttr =
    "ashlar.decision.sparse";

/// True if the result of `op` may be lane-folded: the operation can write it
/// so, and every reader can read it.
bool mayFoldLanes(mlir::Operation *op, const machine::Description &machine);

/// True if `op` can work with a second axis across partitions, as `lanes` say:
/// an element-wise operation whose operands are maps of its result's channels
/// and of that axis, or have one index along either; or a reduction of other
/// axes.
bool mayWorkSpread(mlir::Operation *op, const analysis::Lanes &lanes,
                   const machine::Description &machine);

/// True if the result of `op` may be stored in such a layout: its tiles can be
/// computed elsewhere and copied there, and every reader takes it tile by tile.
bool mayLieSpread(mlir::Operation *op, const analysis::Lanes &lanes,
                  const machine::Description &machine);

/// Emits an error unless the weights of a product are a constant, or the
/// encoding of one (npu_pe_conv_c2), whose elements are there; matrices may be
/// run-time operands as well. Bias and scale are constants.
mlir::LogicalResult verifyWeights(mlir::Operation *op);

/// Emits an error unless every npu operation has what the assign phase gives:
/// an axis that it can work across, weights that are constants, blocks and
/// lanes that the machine has.
mlir::LogicalResult verifyAssigned(mlir::ModuleOp module,
                                   const machine::Description &machine);

/// The same for the plan phase: tiles that the tiling model allows, and
/// addresses inside a partition.
mlir::LogicalResult verifyPlanned(mlir::ModuleOp module,
                                  const machine::Description &machine);

/// Emits an error unless an npu operation has all that the plan phase decides.
mlir::LogicalResult verifyPresence(mlir::Operation *op);

/// The machine of a module that has been bound to engines, or has gone through
/// one of these phases, verified. Bound: weights are constants, and blocks
/// whole exponent cells.
mlir::FailureOr<machine::Description> boundMachineOf(mlir::ModuleOp module);
mlir::FailureOr<machine::Description> assignedMachineOf(mlir::ModuleOp module);
mlir::FailureOr<machine::Description> plannedMachineOf(mlir::ModuleOp module);

} // namespace ashlar::npu

#endif // ASHLAR_TRANSFORMS_NPU_PASSES_H
