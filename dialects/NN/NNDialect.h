// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the `nn` dialect and the enumerations of its operations.

#ifndef ASHLAR_DIALECTS_NN_NNDIALECT_H
#define ASHLAR_DIALECTS_NN_NNDIALECT_H

#include "dialects/Ashlar/AshlarDialect.h"
#include "dialects/NN/NNTypes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/NN/NNDialect.h.inc"
#include "dialects/NN/NNEnums.h.inc"

namespace ashlar::nn {

/// Trait of NNDialect.td, which passes ask for by hasTrait().
template <typename ConcreteType>
class HostFunction
    : public mlir::OpTrait::TraitBase<ConcreteType, HostFunction> {};

/// Attribute on function arguments and results: the ONNX value name.
inline constexpr llvm::StringLiteral nameAttr = "nn.name";
/// Attribute on a function result whose extent data decide, of two numbers: the
/// axis, and the index of the result that has the extent, an i64. The type has
/// room for the most.
inline constexpr llvm::StringLiteral extentAttr = "nn.extent";
/// Attribute on the module: the ONNX graph name.
inline constexpr llvm::StringLiteral modelNameAttr = "nn.model_name";
/// Constants of more elements than this are stored as resources.
inline constexpr int64_t maxInlineElements = 64;

} // namespace ashlar::nn

#endif // ASHLAR_DIALECTS_NN_NNDIALECT_H
