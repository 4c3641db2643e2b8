// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The npu dialect and its operations.

#ifndef ASHLAR_DIALECTS_NPU_NPUDIALECT_H
#define ASHLAR_DIALECTS_NPU_NPUDIALECT_H

#include "ashlar/Machine/Parameters.h"
#include "dialects/Ashlar/AshlarDialect.h"
#include "dialects/NN/NNTypes.h"
#include "dialects/NPU/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "dialects/NPU/NPUDialect.h.inc"
#include "dialects/NPU/NPUEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/NPU/NPUAttrs.h.inc"

namespace ashlar::npu {

/// Emits an error unless the decisions about an operation of the dialect agree
/// with its types. What needs the machine is the passes' matter.
mlir::LogicalResult verifyDecisions(mlir::Operation *op);

} // namespace ashlar::npu

namespace ashlar::npu {

/// Traits of NPUInterfaces.td, which passes ask for by hasTrait().
template <typename ConcreteType>
class VectorEngine
    : public mlir::OpTrait::TraitBase<ConcreteType, VectorEngine> {};
template <typename ConcreteType>
class OwnWorkAxis : public mlir::OpTrait::TraitBase<ConcreteType, OwnWorkAxis> {
};
template <typename ConcreteType>
class Contraction : public mlir::OpTrait::TraitBase<ConcreteType, Contraction> {
};

template <typename ConcreteType>
class HostEngine : public mlir::OpTrait::TraitBase<ConcreteType, HostEngine> {};

} // namespace ashlar::npu

#include "dialects/NPU/NPUInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/NPU/NPUOps.h.inc"

namespace ashlar::npu {

/// Decisions about `op`; null without one, for a null `op`, and for one of
/// another dialect.
OriginAttr originOf(mlir::Operation *op);
LayoutAttr layoutAttrOf(mlir::Operation *op);
MemoryAttr memoryOf(mlir::Operation *op);
TilingAttr tilingOf(mlir::Operation *op);

/// The axis of the result across partitions, or nothing before it is assigned.
std::optional<int64_t> axisOf(mlir::Operation *op);

/// True if the result lies in the state buffer.
bool isResident(mlir::Operation *op);

/// The first channel of a result in the memory of the concatenation that reads
/// it; nothing if it has memory of its own.
std::optional<int64_t> partOf(mlir::Operation *op);

/// How a data movement is done; a copy for everything else.
Route routeOf(mlir::Operation *op);

/// True for a data movement whose result has the memory of its operand, or that
/// the products of its operands write: no instruction.
bool isAliased(mlir::Operation *op);

/// The convolutions and matrix products of the dense array in `scope`, in
/// their order: passes replace them while they go through the list.
llvm::SmallVector<mlir::Operation *> denseProducts(mlir::Operation *scope);

/// What the dense array holds while it makes a product.
Stationary stationaryOf(mlir::Operation *op);

/// Sets it on a product of the dense array.
void setStationary(mlir::Operation *op, Stationary stationary);

/// True for a product of the dense array whose activations are the stationary
/// operand; the weights move.
bool hasStationaryActivations(mlir::Operation *op);
/// The N:M pattern that a product uses; null if none.
PatternAttr patternOf(mlir::Operation *op);
/// The windows that the drain of a convolution reduces, or null.
PoolingAttr poolingOf(mlir::Operation *op);
void setPattern(mlir::Operation *op, PatternAttr pattern);
/// Sixteenths of the results of `op` to which the vector unit applies the
/// function: 0 unless it is a product of the dense array that shares them.
int64_t vectorShareOf(mlir::Operation *op);
/// Sets it on a product of the dense array.
void setVectorShare(mlir::Operation *op, int64_t share);

/// True for one of these whose result leaves the array encoded, with blocks
/// along the free axis, and is transposed as whole blocks by an identity
/// multiplication.
bool transposesBlocks(mlir::Operation *op);

/// PredictedAttr of an operation: cycles of ways that only whole programs
/// decide between.
inline constexpr llvm::StringLiteral kPredictedAttr = "npu.predicted";
/// What was predicted of `op`, or null.
PredictedAttr predictedOf(mlir::Operation *op);

/// Gives `to` the discardable attributes of `from` and what `from` was made
/// from, its layout, memory and tiles.
void copyDecisions(mlir::Operation *from, mlir::Operation *to);

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_NPUDIALECT_H
