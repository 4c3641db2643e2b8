// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that write elements at a tensor of indices.

#include "Registry.h"
#include "Walk.h"

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

template <class T>
T reduced(StringRef kind, T old, T update) {
  if (kind == "add")
    return old + update;
  if (kind == "mul")
    return old * update;
  if (kind == "max")
    return std::max(old, update);
  if (kind == "min")
    return std::min(old, update);
  return update;
}

void scatterElements(Call &call) {
  const Tensor &x = call.operand(0), &where = call.operand(1),
               &updates = call.operand(2);
  const int64_t axis = call.normalAxis(call.getInt("axis", 0), rankOf(x));
  const std::string kind = call.getString("reduction", "none");
  if (call.failed() || !call.require(where.shape == updates.shape &&
                                         rankOf(where) == rankOf(x) &&
                                         updates.isFloat() == x.isFloat(),
                                     "indices and updates do not fit"))
    return;
  Tensor y = x;
  withKind(x, [&]<class T>() {
    forEachIndex(where.shape, [&](ArrayRef<int64_t> at, int64_t i) {
      int64_t place = 0;
      for (int64_t d = 0; d < rankOf(x); ++d)
        place = place * x.shape[d] +
                (d == axis ? call.normalIndex(where.ints[i], x.shape[d])
                           : call.normalIndex(at[d], x.shape[d]));
      if (!call.failed())
        elementsOf<T>(y)[place] =
            reduced(kind, elementsOf<T>(y)[place], elementsOf<T>(updates)[i]);
    });
  });
  call.setResult(0, wrapped(std::move(y)));
}

void scatterND(Call &call) {
  const Tensor &x = call.operand(0), &where = call.operand(1),
               &updates = call.operand(2);
  const std::string kind = call.getString("reduction", "none");
  const int64_t depth = where.shape.empty() ? 0 : where.shape.back();
  if (!call.require(depth >= 1 && depth <= rankOf(x) &&
                        updates.isFloat() == x.isFloat(),
                    "indices do not fit"))
    return;
  const int64_t inner =
      elementCount(ArrayRef<int64_t>(x.shape).drop_front(depth));
  const int64_t count = where.size() / depth;
  if (!call.require(updates.size() == count * inner, "updates do not fit"))
    return;
  Tensor y = x;
  withKind(x, [&]<class T>() {
    for (int64_t i = 0; i < count && !call.failed(); ++i) {
      int64_t row = 0;
      for (int64_t k = 0; k < depth; ++k)
        row = row * x.shape[k] +
              call.normalIndex(where.ints[i * depth + k], x.shape[k]);
      for (int64_t j = 0; j < inner && !call.failed(); ++j)
        elementsOf<T>(y)[row * inner + j] =
            reduced(kind, elementsOf<T>(y)[row * inner + j],
                    elementsOf<T>(updates)[i * inner + j]);
    }
  });
  call.setResult(0, wrapped(std::move(y)));
}

void tensorScatter(Call &call) {
  const Tensor &cache = call.operand(0), &update = call.operand(1);
  const bool circular = call.getString("mode", "linear") == "circular";
  const int64_t axis = call.normalAxis(call.getInt("axis", -2), rankOf(cache));
  if (call.failed() ||
      !call.require(axis > 0 && rankOf(update) == rankOf(cache) &&
                        update.isFloat() == cache.isFloat(),
                    "the update does not fit"))
    return;
  const SmallVector<int64_t> starts =
      call.has(2) ? call.integers(2) : SmallVector<int64_t>(cache.shape[0], 0);
  Tensor y = cache;
  withKind(cache, [&]<class T>() {
    forEachIndex(update.shape, [&](ArrayRef<int64_t> at, int64_t i) {
      int64_t place = 0;
      for (int64_t d = 0; d < rankOf(cache); ++d) {
        int64_t index = at[d];
        if (d == axis)
          index += starts[at[0]];
        if (d == axis && circular)
          index %= cache.shape[d];
        place =
            place * cache.shape[d] + call.normalIndex(index, cache.shape[d]);
      }
      if (!call.failed())
        elementsOf<T>(y)[place] = elementsOf<T>(update)[i];
    });
  });
  call.setResult(0, std::move(y));
}

/// Places count in the input that the kernel, strides and pads give; a wanted
/// shape adds zeros at its ends.
void maxUnpool(Call &call) {
  const Tensor &x = call.operand(0), &where = call.operand(1);
  const SmallVector<int64_t> kernel = call.getInts("kernel_shape");
  SmallVector<int64_t> strides = call.getInts("strides"),
                       pads = call.getInts("pads");
  const size_t dims = kernel.size();
  strides.resize(dims, 1);
  pads.resize(2 * dims, 0);
  if (!call.require(x.shape.size() == dims + 2 && where.shape == x.shape,
                    "the indices do not fit"))
    return;
  Shape shape(x.shape);
  for (size_t d = 0; d < dims; ++d)
    shape[d + 2] =
        (shape[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[dims + d];
  Tensor y(x.type, shape);
  withKind(x, [&]<class T>() {
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t place = call.normalIndex(where.ints[i], y.size());
      if (!call.failed())
        elementsOf<T>(y)[place] = elementsOf<T>(x)[i];
    }
  });
  if (call.has(2)) {
    const SmallVector<int64_t> wanted = call.integers(2);
    y = rearranged(y, wanted, [&](ArrayRef<int64_t> at) {
      int64_t place = 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (at[d] >= shape[d])
          return int64_t(-1);
        place = place * shape[d] + at[d];
      }
      return place;
    });
  }
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::scatterEvaluators() {
  return {
      {"Scatter", {9}, 3, scatterElements},
      {"ScatterElements", {11, 13, 16, 18}, 3, scatterElements},
      {"ScatterND", {11, 13, 16, 18}, 3, scatterND},
      {"MaxUnpool", {9, 11, 22}, 2, maxUnpool},
      {"TensorScatter", {24}, 2, tensorScatter},
  };
}
