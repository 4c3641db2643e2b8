// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rearranging and broadcasting.

#include "Walk.h"

#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::onnxref;

Tensor
onnxref::rearranged(const Tensor &x, ArrayRef<int64_t> shape,
                    llvm::function_ref<int64_t(ArrayRef<int64_t>)> source,
                    double fill) {
  Tensor result(x.type, shape);
  withKind(x, [&]<class T>() {
    const std::vector<T> &from = elementsOf<T>(x);
    std::vector<T> &to = elementsOf<T>(result);
    forEachIndex(shape, [&](ArrayRef<int64_t> at, int64_t i) {
      const int64_t place = source(at);
      to[i] = place < 0 ? static_cast<T>(fill) : from[place];
    });
  });
  return result;
}

Shape onnxref::broadcastShape(Call &call, ArrayRef<int64_t> a,
                              ArrayRef<int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape shape(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t left = d + a.size() < rank ? 1 : a[d + a.size() - rank];
    const int64_t right = d + b.size() < rank ? 1 : b[d + b.size() - rank];
    if (left != right && left != 1 && right != 1)
      call.fail("operands [{}] and [{}] do not broadcast", fmt::join(a, ", "),
                fmt::join(b, ", "));
    shape[d] = left == 1 ? right : left;
  }
  return shape;
}

Shape onnxref::broadcastStrides(ArrayRef<int64_t> shape, size_t rank) {
  Shape strides(rank, 0);
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d])
    if (shape[d] != 1)
      strides[d + rank - shape.size()] = step;
  return strides;
}

Tensor onnxref::broadcastTo(const Tensor &x, ArrayRef<int64_t> shape) {
  const Shape steps = broadcastStrides(x.shape, shape.size());
  return rearranged(x, shape, [&](ArrayRef<int64_t> at) {
    int64_t place = 0;
    for (size_t d = 0; d < at.size(); ++d)
      place += at[d] * steps[d];
    return place;
  });
}

Tensor onnxref::reshaped(const Tensor &x, ArrayRef<int64_t> shape) {
  Tensor result = x;
  result.shape.assign(shape.begin(), shape.end());
  return result;
}

Tensor onnxref::vectorOf(ArrayRef<int64_t> values) {
  Tensor result(ElementType::I64, static_cast<int64_t>(values.size()));
  llvm::copy(values, result.ints.begin());
  return result;
}

Tensor onnxref::wrapped(Tensor tensor) {
  if (!tensor.isFloat())
    reference::roundToType(tensor, tensor.type);
  return tensor;
}
