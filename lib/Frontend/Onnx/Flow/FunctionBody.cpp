// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the schemas of the ONNX library say of operators: definitions by
// functions, numbers of inputs and outputs. The only file that uses more of it
// than its messages. Its builders throw.

#include "Arity.h"
#include "Expansion.h"

#include <onnx/defs/schema.h>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Expected;

/// The newest version of the default domain that the library knows.
static int64_t newestKnownOpset() {
  const auto &range =
      onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  auto known = range.find("");
  return known == range.end() ? 0 : known->second.second;
}

/// The schema in force at the node's operator set; null for an unknown operator
/// and for sets that the library does not know, whose meaning may be another.
static const onnx::OpSchema *schemaOf(const FlatNode &node) {
  if (!node.domain.empty() || node.opset < 1)
    return nullptr;
  return onnx::OpSchemaRegistry::Schema(
      node.op, static_cast<int>(std::min(node.opset, newestKnownOpset())), "");
}

std::optional<Arity> ashlar::frontend::libraryArity(const FlatNode &node) {
  const onnx::OpSchema *schema = schemaOf(node);
  if (!schema)
    return std::nullopt;
  return Arity{static_cast<size_t>(schema->max_input()),
               static_cast<size_t>(schema->max_output())};
}

bool ashlar::frontend::hasFunctionBody(const FlatNode &node) {
  const onnx::OpSchema *schema = schemaOf(node);
  return schema &&
         (schema->HasFunction() || schema->HasContextDependentFunction());
}

static onnx::NodeProto protoOf(const FlatNode &node) {
  onnx::NodeProto proto;
  proto.set_op_type(node.op);
  for (const std::string &input : node.inputs)
    proto.add_input(input);
  for (const std::string &output : node.outputs)
    proto.add_output(output);
  for (const onnx::AttributeProto *attribute : node.attributes)
    *proto.add_attribute() = *attribute;
  return proto;
}

static std::vector<onnx::TypeProto>
typesOf(llvm::ArrayRef<std::optional<OperandKind>> operands) {
  std::vector<onnx::TypeProto> types;
  for (const std::optional<OperandKind> &operand : operands) {
    onnx::TypeProto &type = types.emplace_back();
    if (!operand)
      continue;
    onnx::TypeProto::Tensor &tensor = *type.mutable_tensor_type();
    tensor.set_elem_type(operand->elementType);
    for (int64_t extent : operand->shape)
      tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  return types;
}

Expected<const onnx::FunctionProto *> ashlar::frontend::functionBody(
    Model &model, const FlatNode &node,
    llvm::ArrayRef<std::optional<OperandKind>> operands) {
  const onnx::OpSchema *schema = schemaOf(node);
  onnx::FunctionProto &function = model.bodies.emplace_back();
  try {
    if (schema->HasFunction()) {
      function = *schema->GetFunction();
    } else {
      const onnx::NodeProto proto = protoOf(node);
      const onnx::FunctionBodyBuildContextImpl context(proto,
                                                       typesOf(operands));
      if (!schema->BuildContextDependentFunction(context, function))
        return makeError(ErrorClass::Unsupported,
                         "ONNX's definition of {} has no body for these "
                         "operands",
                         printable(node.op));
    }
    if (function.input_size() == 0 && function.output_size() == 0)
      schema->BuildFunction(function);
    if (function.opset_import_size() == 0) {
      onnx::OperatorSetIdProto &set = *function.add_opset_import();
      set.set_version(schema->since_version());
    }
  } catch (const std::exception &error) {
    return makeError(ErrorClass::Unsupported,
                     "ONNX's definition of {} refuses these operands: {}",
                     printable(node.op), printable(error.what()));
  }
  return &function;
}
