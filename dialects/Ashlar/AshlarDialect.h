// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ashlar dialect: the machine of a module, and records that operations of
// all phases may carry.

#ifndef ASHLAR_DIALECTS_ASHLAR_ASHLARDIALECT_H
#define ASHLAR_DIALECTS_ASHLAR_ASHLARDIALECT_H

#include "ashlar/Machine/Description.h"
#include "ashlar/Numerics/ScalePolicy.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"

#include "dialects/Ashlar/AshlarDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Ashlar/AshlarAttrs.h.inc"

namespace ashlar::records {

/// On a module: the machine that it is compiled for, a TargetAttr.
inline constexpr llvm::StringLiteral kTargetAttr = "ashlar.target";

/// The machine that the module around an operation (or the module itself) is
/// compiled for; emits an error on the module if it names none.
mlir::FailureOr<machine::Description> machineOf(mlir::Operation *op);

/// On rewritten products: multiply-accumulates of the network's own definition,
/// which zero taps of a fold and zeros between the elements of an operand add
/// nothing to.
inline constexpr llvm::StringLiteral kMacsAttr = "ashlar.macs";
/// On folded products: their weights without the fold's zero taps.
inline constexpr llvm::StringLiteral kWeightsAttr = "ashlar.weights";
/// On folded products: a lower bound of the cycles of the sparse cluster
/// without the fold, if it is below those of the fold. Only a comparison of
/// whole programs can decide then.
inline constexpr llvm::StringLiteral kLeastOnClusterAttr =
    "ashlar.least_on_cluster";
/// On an operation whose result is an encode event: its scale policy, a
/// ScaleAttr, which decides bits; absent for `runmax`.
inline constexpr llvm::StringLiteral kScaleAttr = "ashlar.scale";

/// On the module of a phase file: the phase, the numeric plan and the decisions
/// of earlier phases, both as JSON.
inline constexpr llvm::StringLiteral kPhaseAttr = "ashlar.phase";
inline constexpr llvm::StringLiteral kNumericPlanAttr = "ashlar.numeric_plan";
inline constexpr llvm::StringLiteral kDecisionsAttr = "ashlar.decisions";

/// The decision on an operation; of several, each is `ashlar.decision.TOPIC`.
inline constexpr llvm::StringLiteral kDecisionAttr = "ashlar.decision";

/// Decision `name` of an operation; null if it has none.
DecisionAttr decisionOf(mlir::Operation *op, llvm::StringRef name);

/// True for `ashlar.decision` and `ashlar.decision.TOPIC`.
bool isDecisionName(llvm::StringRef name);

/// Sets the records of one operation on another that takes its place.
void copyRecords(mlir::Operation *from, mlir::Operation *to);

} // namespace ashlar::records

#endif // ASHLAR_DIALECTS_ASHLAR_ASHLARDIALECT_H
