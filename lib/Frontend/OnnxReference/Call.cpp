// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands and attributes of a node under evaluation.

#include "Call.h"

#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::onnxref;

SmallVector<int64_t> Call::integers(size_t i) const {
  const Tensor &x = operand(i);
  SmallVector<int64_t> values(x.ints.begin(), x.ints.end());
  for (double value : x.floats)
    values.push_back(static_cast<int64_t>(value));
  return values;
}

SmallVector<double> Call::numbers(size_t i) const {
  const Tensor &x = operand(i);
  SmallVector<double> values(x.floats.begin(), x.floats.end());
  for (int64_t value : x.ints)
    values.push_back(static_cast<double>(value));
  return values;
}

const onnx::AttributeProto *Call::find(StringRef name) const {
  auto found = llvm::find_if(node.attributes,
                             [&](const onnx::AttributeProto *attribute) {
                               return attribute->name() == name;
                             });
  return found == node.attributes.end() ? nullptr : *found;
}

int64_t Call::getInt(StringRef name, int64_t otherwise) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->i() : otherwise;
}

double Call::getFloat(StringRef name, double otherwise) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->f() : otherwise;
}

std::string Call::getString(StringRef name, StringRef otherwise) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->s() : otherwise.str();
}

SmallVector<int64_t> Call::getInts(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

SmallVector<double> Call::getFloats(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::vector<std::string> Call::getStrings(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

Tensor Call::getTensor(StringRef name) {
  const onnx::AttributeProto *attribute = find(name);
  if (!attribute) {
    fail("attribute '{}' is missing", name.str());
    return {};
  }
  llvm::Expected<Tensor> tensor = readTensor(attribute->t());
  if (tensor)
    return std::move(*tensor);
  fail("{}", llvm::toString(tensor.takeError()));
  return {};
}

int64_t Call::normalAxis(int64_t axis, int64_t rank) {
  const int64_t normal = axis < 0 ? axis + rank : axis;
  if (normal >= 0 && normal < rank)
    return normal;
  fail("axis {} is out of range for rank {}", axis, rank);
  return 0;
}

int64_t Call::normalIndex(int64_t index, int64_t size) {
  const int64_t normal = index < 0 ? index + size : index;
  if (normal >= 0 && normal < size)
    return normal;
  fail("index {} is out of range for {} elements", index, size);
  return 0;
}

SmallVector<int64_t> Call::normalAxes(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes)
    result.push_back(normalAxis(axis, rank));
  return result;
}
