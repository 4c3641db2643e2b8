// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes that stand for other nodes: a graph attribute with values for its
// inputs, and operators that ONNX defines by a function. What comes out is
// flat and in execution order, without what no result depends on; the model
// owns it.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FLOW_EXPANSION_H
#define ASHLAR_LIB_FRONTEND_ONNX_FLOW_EXPANSION_H

#include "lib/Frontend/Onnx/Model.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace ashlar::frontend {

struct Expansion {
  std::vector<const FlatNode *> nodes;
  std::vector<std::string> outputs; ///< Flat names.
};

/// The nodes of `graph`, an attribute of `owner`, for these operands. Names
/// inside get `prefix`, which must be new. Malformed for a wrong number of
/// operands and for a value that is read before it is defined.
llvm::Expected<Expansion> expandGraph(Model &model, const FlatNode &owner,
                                      const onnx::GraphProto &graph,
                                      const std::string &prefix,
                                      llvm::ArrayRef<std::string> operands);

/// The body of `function` for the call `node`.
llvm::Expected<Expansion> expandFunction(Model &model, const FlatNode &node,
                                         const onnx::FunctionProto &function);

/// What ONNX's definition of a function may ask about an operand.
struct OperandKind {
  int32_t elementType; ///< onnx::TensorProto::DataType
  std::vector<int64_t> shape;
};

/// True if the ONNX library of the build defines `node` by a function in its
/// operator set.
bool hasFunctionBody(const FlatNode &node);

/// That function, owned by the model; `operands` has nothing where one is left
/// out. Unsupported where the definition has no body for these operands.
llvm::Expected<const onnx::FunctionProto *>
functionBody(Model &model, const FlatNode &node,
             llvm::ArrayRef<std::optional<OperandKind>> operands);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FLOW_EXPANSION_H
