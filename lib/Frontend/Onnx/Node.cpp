// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands and attributes of a node.

#include "Node.h"
#include "Sources.h"
#include "Tensors.h"

using namespace ashlar;
using namespace ashlar::frontend;
using mlir::ElementsAttr;

Value Node::input(size_t i) {
  if (hasInput(i))
    return inputs[i];
  return malformed("input {} is missing", i);
}

std::optional<SmallVector<int64_t>> Node::constantIntegers(size_t i,
                                                           StringRef name) {
  Value value = input(i);
  if (!value)
    return std::nullopt;
  if (isFloatElement(value)) {
    malformed("input {} ('{}') has the type {}, expected integers", i,
              name.str(), typeText(value));
    return std::nullopt;
  }
  if (!reserveNumbers(value))
    return std::nullopt;
  std::optional<SmallVector<int64_t>> numbers = integersOf(value);
  if (!numbers)
    unsupported("input {} ('{}') is not a constant; it must be known at "
                "compile time{}",
                i, name.str(), remedyForRunTime(value));
  return numbers;
}

std::optional<SmallVector<double>> Node::constantNumbers(size_t i,
                                                         StringRef name) {
  Value value = input(i);
  if (!value)
    return std::nullopt;
  if (!reserveNumbers(value))
    return std::nullopt;
  std::optional<SmallVector<double>> numbers = numbersOf(value);
  if (!numbers)
    unsupported("input {} ('{}') is not a constant; it must be known at "
                "compile time{}",
                i, name.str(), remedyForRunTime(value));
  return numbers;
}

std::optional<SmallVector<double>>
Node::constantNumbers(size_t i, StringRef name, int64_t count) {
  std::optional<SmallVector<double>> numbers = constantNumbers(i, name);
  if (!numbers || static_cast<int64_t>(numbers->size()) == count)
    return numbers;
  malformed("{} has {} elements, expected {}", name.str(), numbers->size(),
            count);
  return std::nullopt;
}

bool Node::reserveNumbers(Value value) {
  const int64_t count = nn::elementCount(shapeOf(value));
  return !constantOf(value) || count <= kFewNumbers ||
         reserve(count, sizeof(int64_t));
}

std::optional<double> Node::constantNumber(size_t i, StringRef name) {
  Value value = input(i);
  if (value && nn::elementCount(shapeOf(value)) != 1) {
    malformed("input {} ('{}') has {} elements, expected 1", i, name.str(),
              nn::elementCount(shapeOf(value)));
    return std::nullopt;
  }
  std::optional<SmallVector<double>> numbers = constantNumbers(i, name);
  if (!numbers)
    return std::nullopt;
  return numbers->front();
}

const onnx::AttributeProto *Node::find(StringRef name) const {
  for (const onnx::AttributeProto *attribute : node.attributes)
    if (attribute->name() == name)
      return attribute;
  return nullptr;
}

const onnx::AttributeProto *
Node::take(StringRef name, onnx::AttributeProto::AttributeType expected) {
  const onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return nullptr;
  consumed.insert(name);
  // Old writers leave the type out; the field that is set must then do.
  if (attribute->type() == expected ||
      attribute->type() == onnx::AttributeProto::UNDEFINED)
    return attribute;
  malformed("attribute '{}' has the type {}, expected {}", name.str(),
            onnx::AttributeProto::AttributeType_Name(attribute->type()),
            onnx::AttributeProto::AttributeType_Name(expected));
  return nullptr;
}

int64_t Node::getInt(StringRef name, int64_t defaultValue) {
  const auto *attribute = take(name, onnx::AttributeProto::INT);
  return attribute ? attribute->i() : defaultValue;
}

double Node::getFloat(StringRef name, double defaultValue) {
  const auto *attribute = take(name, onnx::AttributeProto::FLOAT);
  return attribute ? attribute->f() : defaultValue;
}

std::string Node::getString(StringRef name, StringRef defaultValue) {
  const auto *attribute = take(name, onnx::AttributeProto::STRING);
  return attribute ? attribute->s() : defaultValue.str();
}

SmallVector<int64_t> Node::getInts(StringRef name) {
  const auto *attribute = take(name, onnx::AttributeProto::INTS);
  if (!attribute)
    return {};
  return SmallVector<int64_t>(attribute->ints().begin(),
                              attribute->ints().end());
}

SmallVector<double> Node::getFloats(StringRef name) {
  const auto *attribute = take(name, onnx::AttributeProto::FLOATS);
  if (!attribute)
    return {};
  return SmallVector<double>(attribute->floats().begin(),
                             attribute->floats().end());
}

std::vector<std::string> Node::getStrings(StringRef name) {
  const auto *attribute = take(name, onnx::AttributeProto::STRINGS);
  if (!attribute)
    return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

ElementsAttr Node::getTensor(StringRef name) {
  const auto *attribute = take(name, onnx::AttributeProto::TENSOR);
  if (!attribute)
    return {};
  // A copy: attributes of function bodies are shared between calls.
  onnx::TensorProto tensor = attribute->t();
  llvm::Expected<ElementsAttr> elements =
      convertTensor(tensor, model.files, "attribute '" + name.str() + "'",
                    maxElements, b.getContext());
  if (elements)
    return *elements;
  fail(elements.takeError(), ErrorClass::Malformed);
  return {};
}

StringRef Node::unreadAttribute() const {
  for (const onnx::AttributeProto *attribute : node.attributes)
    if (!consumed.contains(attribute->name()))
      return attribute->name();
  return {};
}

int64_t Node::normalAxis(int64_t axis, int64_t rank) {
  int64_t normal = axis < 0 ? axis + rank : axis;
  if (normal >= 0 && normal < rank)
    return normal;
  malformed("axis {} is out of range for rank {}", axis, rank);
  return 0;
}

int64_t Node::flattenAxis(int64_t rank) {
  int64_t axis = getInt("axis", 1);
  return axis == rank ? rank : normalAxis(axis, rank);
}

SmallVector<int64_t> Node::normalAxes(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    int64_t normal = normalAxis(axis, rank);
    if (failed())
      return {};
    if (llvm::is_contained(result, normal)) {
      malformed("axis {} is given twice", axis);
      return {};
    }
    result.push_back(normal);
  }
  return result;
}
