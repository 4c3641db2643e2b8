// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Smaller extents and plainer constants.

#include "ShrinkGraph.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace ashlar;
using namespace ashlar::frontend;

namespace {

/// Integers that a node may read as a shape, a size or a repetition.
constexpr int64_t maxShapeLength = 16;

/// Width of an element, 0 if the tensor is not raw data of a type we know.
size_t widthOf(const onnx::TensorProto &tensor) {
  auto type = elementTypeOf(tensor.data_type(), "initialiser");
  if (!type) {
    llvm::consumeError(type.takeError());
    return 0;
  }
  const size_t width = support::byteSize(*type);
  const auto count = static_cast<uint64_t>(elementsOf(tensor));
  return tensor.has_raw_data() && tensor.raw_data().size() == count * width
             ? width
             : 0;
}

/// The leading part of a tensor: `shape` is not larger in any axis.
void cropTensor(onnx::TensorProto &tensor, llvm::ArrayRef<int64_t> shape,
                size_t width) {
  const std::string &from = tensor.raw_data();
  std::vector<char> to;
  std::vector<int64_t> index(shape.size(), 0);
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    size_t flat = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      flat = flat * tensor.dims(static_cast<int>(axis)) + index[axis];
    to.insert(to.end(), from.begin() + flat * width,
              from.begin() + (flat + 1) * width);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
    }
  }
  for (size_t axis = 0; axis < shape.size(); ++axis)
    tensor.set_dims(static_cast<int>(axis), shape[axis]);
  storeRaw(tensor, to);
}

bool replaceInTensor(onnx::TensorProto &tensor, int64_t from, int64_t to) {
  const size_t width = widthOf(tensor);
  if (width == 0)
    return false;
  bool changed = false;
  if (tensor.data_type() == onnx::TensorProto::INT64 &&
      elementsOf(tensor) <= maxShapeLength) {
    std::vector<int64_t> values(elementsOf(tensor));
    std::memcpy(values.data(), tensor.raw_data().data(),
                values.size() * sizeof(int64_t));
    changed = llvm::is_contained(values, from);
    std::replace(values.begin(), values.end(), from, to);
    storeRaw(tensor, llvm::ArrayRef(reinterpret_cast<char *>(values.data()),
                                    values.size() * sizeof(int64_t)));
  }
  std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  if (!llvm::is_contained(shape, from))
    return changed;
  std::replace(shape.begin(), shape.end(), from, to);
  cropTensor(tensor, shape, width);
  return true;
}

bool replaceInType(onnx::ValueInfoProto &value, int64_t from, int64_t to) {
  bool changed = false;
  if (!value.type().has_tensor_type())
    return false;
  for (auto &extent : *value.mutable_type()
                           ->mutable_tensor_type()
                           ->mutable_shape()
                           ->mutable_dim())
    if (extent.has_dim_value() && extent.dim_value() == from) {
      extent.set_dim_value(to);
      changed = true;
    }
  return changed;
}

/// Types of inner values and outputs follow from the inputs; the old ones would
/// contradict them.
void forgetShapes(onnx::GraphProto &graph) {
  graph.clear_value_info();
  for (onnx::ValueInfoProto &output : *graph.mutable_output())
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
}

} // namespace

ModelCopy ashlar::frontend::replaceExtent(const onnx::ModelProto &model,
                                          int64_t from, int64_t to) {
  onnx::ModelProto result = model;
  onnx::GraphProto &graph = *result.mutable_graph();
  bool changed = false;
  for (onnx::ValueInfoProto &input : *graph.mutable_input())
    changed |= replaceInType(input, from, to);
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    changed |= replaceInTensor(tensor, from, to);
  if (!changed)
    return std::nullopt;
  forgetShapes(graph);
  return result;
}

ModelCopy ashlar::frontend::replaceInputExtent(const onnx::ModelProto &model,
                                               int input, int axis,
                                               int64_t to) {
  onnx::ModelProto result = model;
  onnx::GraphProto &graph = *result.mutable_graph();
  auto *dims = graph.mutable_input(input)
                   ->mutable_type()
                   ->mutable_tensor_type()
                   ->mutable_shape()
                   ->mutable_dim();
  if (axis >= dims->size() || (*dims)[axis].dim_value() <= to)
    return std::nullopt;
  (*dims)[axis].set_dim_value(to);
  forgetShapes(graph);
  return result;
}

std::vector<int64_t>
ashlar::frontend::extentsOf(const onnx::ModelProto &model) {
  std::set<int64_t, std::greater<>> extents;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    for (const auto &extent : input.type().tensor_type().shape().dim())
      extents.insert(extent.dim_value());
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    extents.insert(tensor.dims().begin(), tensor.dims().end());
  std::vector<int64_t> result;
  for (int64_t extent : extents)
    if (extent > 1)
      result.push_back(extent);
  return result;
}

ModelCopy ashlar::frontend::zeroInitializer(const onnx::ModelProto &model,
                                            int index) {
  const onnx::TensorProto &tensor = model.graph().initializer(index);
  auto type = elementTypeOf(tensor.data_type(), "initialiser");
  if (!type) {
    llvm::consumeError(type.takeError());
    return std::nullopt;
  }
  const std::string &bytes = tensor.raw_data();
  if (!support::isFloat(*type) || widthOf(tensor) == 0 ||
      llvm::all_of(bytes, [](char byte) { return byte == 0; }))
    return std::nullopt;
  onnx::ModelProto result = model;
  result.mutable_graph()->mutable_initializer(index)->set_raw_data(
      std::string(bytes.size(), '\0'));
  return result;
}
