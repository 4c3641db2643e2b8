// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What operators do with narrow types: convert them, move their elements, or
// not take them.

#include "NarrowNames.h"

#include "lib/Frontend/Onnx/Model.h"

#include "llvm/ADT/StringSet.h"

#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::StringRef;

namespace {

/// Results have the type of the first operand, whose elements they are. The
/// widened elements move as those of any other type do.
bool movesElements(StringRef op) {
  static const llvm::StringSet<> ops = {
      "Compress", "Concat",       "DepthToSpace", "Dropout",
      "Expand",   "Flatten",      "Gather",       "GatherElements",
      "GatherND", "Identity",     "Pad",          "Reshape",
      "Slice",    "SpaceToDepth", "Split",        "Squeeze",
      "Tile",     "Transpose",    "Unsqueeze",    "ReverseSequence"};
  return ops.contains(op);
}

/// Takes narrow operands and gives something else.
bool converts(StringRef op) {
  static const llvm::StringSet<> ops = {"Cast",
                                        "CastLike",
                                        "DequantizeLinear",
                                        "QuantizeLinear",
                                        "Shape",
                                        "Size",
                                        "BitCast",
                                        "GatherBlockQuantized",
                                        "MatMulBlockQuantizedFp8Weight",
                                        "MatMulNBits",
                                        "OptionalHasElement"};
  return ops.contains(op);
}

const onnx::AttributeProto *find(const FlatNode &node, StringRef name) {
  for (const onnx::AttributeProto *attribute : node.attributes)
    if (attribute->name() == name)
      return attribute;
  return nullptr;
}

const NarrowType *typeOfAttribute(const FlatNode &node, StringRef name) {
  const onnx::AttributeProto *attribute = find(node, name);
  if (!attribute)
    return nullptr;
  return findNarrow(attribute->has_t() ? attribute->t().data_type()
                                       : static_cast<int32_t>(attribute->i()));
}

} // namespace

void NarrowNames::addGraph(const onnx::GraphProto &graph) {
  for (const onnx::TensorProto &tensor : graph.initializer())
    set(tensor.name(), findNarrow(tensor.data_type()));
  for (const onnx::ValueInfoProto &input : graph.input())
    set(input.name(), findNarrow(input.type().tensor_type().elem_type()));
}

void NarrowNames::addResults(const FlatNode &node) {
  auto operand = [&](size_t i) {
    return i < node.inputs.size() ? find(node.inputs[i]) : nullptr;
  };
  const NarrowType *type = nullptr;
  bool all = false;
  if (node.op == "Cast" || node.op == "BitCast") {
    type = typeOfAttribute(node, "to");
  } else if (node.op == "CastLike") {
    type = operand(1);
  } else if (node.op == "Constant" || node.op == "ConstantOfShape") {
    type = typeOfAttribute(node, "value");
  } else if (node.op == "QuantizeLinear") {
    const bool given = node.inputs.size() > 2 && !node.inputs[2].empty();
    type = given ? operand(2) : typeOfAttribute(node, "output_dtype");
  } else if (movesElements(node.op)) {
    type = operand(0);
    all = node.op == "Split";
  }
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty())
      set(node.outputs[i], i == 0 || all ? type : nullptr);
}

std::string NarrowNames::whyRefused(const FlatNode &node) const {
  if (movesElements(node.op) || converts(node.op))
    return {};
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (const NarrowType *type = find(node.inputs[i]))
      return fmt::format("operand {} is of {}, which {} does not take; cast it "
                         "to a float or an integer of 8 bits first",
                         i, type->name, node.op);
  return {};
}
