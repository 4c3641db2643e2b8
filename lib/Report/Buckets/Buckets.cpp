// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dimension is whatever differs between the programs of the file.

#include "Buckets.h"

#include "ashlar/Support/Error.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

using namespace ashlar;
using namespace ashlar::report;
using container::Program;
using container::TensorBinding;
using support::HostTensor;
using support::NamedTensor;

namespace {

using Lists = llvm::ArrayRef<const std::vector<TensorBinding> *>;

/// The same tensors but for extents.
bool sameTensors(Lists lists) {
  const std::vector<TensorBinding> &first = *lists.front();
  for (const std::vector<TensorBinding> *list : lists) {
    if (list->size() != first.size())
      return false;
    for (auto [a, b] : llvm::zip(first, *list))
      if (a.name != b.name || a.type != b.type ||
          a.shape.size() != b.shape.size())
        return false;
  }
  return true;
}

bool differs(Lists lists, size_t tensor, size_t axis) {
  return llvm::any_of(lists, [&](const std::vector<TensorBinding> *list) {
    return (*list)[tensor].shape[axis] != (*lists.front())[tensor].shape[axis];
  });
}

/// The extent of the first axis that differs, in each program.
std::vector<int64_t> sizesOf(Lists lists) {
  std::vector<int64_t> sizes;
  for (size_t t = 0; t < lists.front()->size() && sizes.empty(); ++t)
    for (size_t d = 0; d < (*lists.front())[t].shape.size(); ++d)
      if (sizes.empty() && differs(lists, t, d))
        for (const std::vector<TensorBinding> *list : lists)
          sizes.push_back((*list)[t].shape[d]);
  return sizes;
}

/// A copy with `extent` elements on an axis: the first ones, and zeros.
HostTensor resized(const HostTensor &from, size_t axis, int64_t extent) {
  HostTensor to;
  to.type = from.type;
  to.shape = from.shape;
  to.shape[axis] = extent;
  size_t inner = support::byteSize(from.type);
  for (int64_t d : llvm::ArrayRef<int64_t>(from.shape).drop_front(axis + 1))
    inner *= static_cast<size_t>(d);
  size_t outer = 1;
  for (int64_t d : llvm::ArrayRef<int64_t>(from.shape).take_front(axis))
    outer *= static_cast<size_t>(d);
  const size_t before = inner * static_cast<size_t>(from.shape[axis]);
  const size_t after = inner * static_cast<size_t>(extent);
  to.data.assign(outer * after, 0);
  for (size_t i = 0; i < outer && std::min(before, after) > 0; ++i)
    std::memcpy(&to.data[i * after], &from.data[i * before],
                std::min(before, after));
  return to;
}

NamedTensor *find(std::vector<NamedTensor> &arrays, llvm::StringRef name) {
  auto found = llvm::find_if(
      arrays, [&](const NamedTensor &array) { return array.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

llvm::Expected<std::vector<BucketAxis>>
findAxes(Lists lists, llvm::ArrayRef<int64_t> sizes) {
  std::vector<BucketAxis> axes;
  for (size_t t = 0; t < lists.front()->size(); ++t)
    for (size_t d = 0; d < (*lists.front())[t].shape.size(); ++d) {
      if (!differs(lists, t, d))
        continue;
      const std::string &name = (*lists.front())[t].name;
      for (auto [list, size] : llvm::zip(lists, sizes))
        if ((*list)[t].shape[d] != size)
          return makeError(ErrorClass::Unsupported,
                           "axis {} of '{}' has {} elements in the program for "
                           "{}: only axes that are as long as the dimension "
                           "of --bucket can be padded; give inputs of one of "
                           "the sizes, or compile one program with "
                           "--input-shape",
                           d, name, (*list)[t].shape[d], size);
      axes.push_back({name, d});
    }
  return axes;
}

/// What the arrays say of the dimension.
struct Given {
  const BucketAxis *first = nullptr; ///< The first array that says something.
  int64_t extent = 0;
};

llvm::Expected<Given> extentOf(llvm::ArrayRef<BucketAxis> axes,
                               std::vector<NamedTensor> &arrays) {
  Given given;
  for (const BucketAxis &axis : axes) {
    NamedTensor *array = find(arrays, axis.name);
    if (!array || array->tensor.shape.size() <= axis.axis)
      continue;
    const int64_t extent = array->tensor.shape[axis.axis];
    if (given.first && extent != given.extent)
      return makeError(ErrorClass::Malformed,
                       "input '{}' has {} elements on axis {}, '{}' has {} on "
                       "axis {}: expected the same number",
                       axis.name, extent, axis.axis, given.first->name,
                       given.extent, given.first->axis);
    given = {given.first ? given.first : &axis, extent};
  }
  return given;
}

/// The program of the smallest size from `extent` on; nothing if there is none.
std::optional<size_t> smallestFrom(llvm::ArrayRef<int64_t> sizes,
                                   int64_t extent) {
  std::optional<size_t> best;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] >= extent && (!best || sizes[i] < sizes[*best]))
      best = i;
  return best;
}

} // namespace

llvm::Expected<Buckets> Buckets::choose(std::vector<Program> programs,
                                        std::vector<NamedTensor> &arrays) {
  Buckets result;
  llvm::SmallVector<const std::vector<TensorBinding> *> inputs, outputs;
  for (const Program &program : programs) {
    inputs.push_back(&program.inputs);
    outputs.push_back(&program.outputs);
  }
  if (!sameTensors(inputs) || !sameTensors(outputs))
    return makeError(ErrorClass::Malformed, "{}",
                     "the programs of the file have different inputs or "
                     "outputs");
  const std::vector<int64_t> sizes = sizesOf(inputs);
  if (sizes.empty()) {
    result.program = std::move(programs.front());
    return result;
  }
  auto axes = findAxes(inputs, sizes);
  if (!axes)
    return axes.takeError();
  auto given = extentOf(*axes, arrays);
  if (!given)
    return given.takeError();
  const int64_t most = *std::max_element(sizes.begin(), sizes.end());
  auto best = smallestFrom(sizes, given->first ? given->extent : most);
  if (!best)
    return makeError(ErrorClass::Malformed,
                     "input '{}' has {} elements on axis {}, the largest "
                     "program of the file takes {}; compile with --bucket "
                     "sizes up to {}",
                     given->first->name, given->extent, given->first->axis,
                     most, given->extent);
  result.size = sizes[*best];
  result.given = given->first ? given->extent : result.size;
  if (result.given != result.size) {
    auto cuts = findAxes(outputs, sizes);
    if (!cuts)
      return cuts.takeError();
    result.outputs = std::move(*cuts);
    result.fill(*axes, arrays);
  }
  result.program = std::move(programs[*best]);
  return result;
}

void Buckets::fill(llvm::ArrayRef<BucketAxis> inputs,
                   std::vector<NamedTensor> &arrays) {
  bool masked = false;
  for (const BucketAxis &axis : inputs) {
    masked |= llvm::StringRef(axis.name).contains_insensitive("mask");
    if (NamedTensor *array = find(arrays, axis.name))
      if (array->tensor.shape.size() > axis.axis)
        array->tensor = resized(array->tensor, axis.axis, size);
  }
  note = fmt::format("the program for {} runs on {} elements and {} zeros",
                     size, given, size - given);
  if (!masked)
    warning = fmt::format("the model has no input called mask that is as long "
                          "as '{}': the {} zeros after what was given take "
                          "part in the result",
                          inputs.front().name, size - given);
}

void Buckets::cut(std::vector<NamedTensor> &tensors) const {
  for (const BucketAxis &axis : outputs)
    if (NamedTensor *tensor = find(tensors, axis.name))
      tensor->tensor = resized(tensor->tensor, axis.axis, given);
}
