// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the elements of tensors of any rank and of both kinds of storage
// (Tensor.h): what every evaluator needs, and nothing that an operator means.

#ifndef ASHLAR_LIB_FRONTEND_ONNXREFERENCE_WALK_H
#define ASHLAR_LIB_FRONTEND_ONNXREFERENCE_WALK_H

#include "Call.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <type_traits>

namespace ashlar::onnxref {

using reference::elementCount;

/// The elements of a tensor as numbers of kind T: double or int64_t.
template <class T>
std::vector<T> &elementsOf(Tensor &tensor) {
  if constexpr (std::is_same_v<T, double>)
    return tensor.floats;
  else
    return tensor.ints;
}
template <class T>
const std::vector<T> &elementsOf(const Tensor &tensor) {
  return elementsOf<T>(const_cast<Tensor &>(tensor));
}

/// Calls `fn.template operator()<T>()` with T of the storage of `tensor`.
template <class Fn>
void withKind(const Tensor &tensor, Fn &&fn) {
  if (tensor.isFloat())
    fn.template operator()<double>();
  else
    fn.template operator()<int64_t>();
}

inline int64_t rankOf(const Tensor &tensor) {
  return static_cast<int64_t>(tensor.shape.size());
}

/// Calls `fn(at, i)` for every index of `shape` in row-major order; i counts.
template <class Fn>
void forEachIndex(ArrayRef<int64_t> shape, Fn &&fn) {
  Shape at(shape.size(), 0);
  const int64_t count = elementCount(shape);
  for (int64_t i = 0; i < count; ++i) {
    fn(ArrayRef<int64_t>(at), i);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d])
        break;
      at[d] = 0;
    }
  }
}

/// The tensor of `shape` whose element at an index is the element of `x` with
/// the row-major number source(index); `fill` where that is negative.
Tensor rearranged(const Tensor &x, ArrayRef<int64_t> shape,
                  llvm::function_ref<int64_t(ArrayRef<int64_t>)> source,
                  double fill = 0);

/// The shape that numpy broadcasting gives; fails where there is none.
Shape broadcastShape(Call &call, ArrayRef<int64_t> a, ArrayRef<int64_t> b);

/// Row-major strides of `shape` aligned to the last dimensions of a tensor of
/// `rank`; 0 where the dimension is 1 or absent.
Shape broadcastStrides(ArrayRef<int64_t> shape, size_t rank);

/// `x` repeated to `shape`, which it broadcasts to.
Tensor broadcastTo(const Tensor &x, ArrayRef<int64_t> shape);

/// The same elements under another shape of as many.
Tensor reshaped(const Tensor &x, ArrayRef<int64_t> shape);

/// An element as a double.
inline double numberAt(const Tensor &x, int64_t i) {
  return x.isFloat() ? x.floats[i] : static_cast<double>(x.ints[i]);
}

/// Integers of a result wrapped to the width of its type; floats stay.
Tensor wrapped(Tensor tensor);

/// Element by element with broadcasting: fn(a, b) of two doubles or of two
/// int64_t, as a and b are. R is the kind of storage of `type`.
template <class T, class R, class Fn>
void zipKind(const Tensor &a, const Tensor &b, Tensor &result, Fn &&fn) {
  const std::vector<T> &left = elementsOf<T>(a), &right = elementsOf<T>(b);
  std::vector<R> &out = elementsOf<R>(result);
  const size_t rank = result.shape.size();
  if (a.shape == result.shape && b.shape == result.shape) {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<R>(fn(left[i], right[i]));
    return;
  }
  const Shape stepA = broadcastStrides(a.shape, rank),
              stepB = broadcastStrides(b.shape, rank);
  Shape at(rank, 0);
  int64_t i = 0, j = 0;
  for (R &value : out) {
    value = static_cast<R>(fn(left[i], right[j]));
    for (size_t d = rank; d-- > 0;) {
      i += stepA[d];
      j += stepB[d];
      if (++at[d] < result.shape[d])
        break;
      i -= stepA[d] * at[d];
      j -= stepB[d] * at[d];
      at[d] = 0;
    }
  }
}

template <class Fn>
Tensor zip(Call &call, const Tensor &a, const Tensor &b, ElementType type,
           Fn &&fn) {
  if (!call.require(a.isFloat() == b.isFloat(),
                    "operands are floats and integers"))
    return {};
  const Shape shape = broadcastShape(call, a.shape, b.shape);
  if (call.failed())
    return {};
  Tensor result(type, shape);
  withKind(a, [&]<class T>() {
    if (result.isFloat())
      zipKind<T, double>(a, b, result, fn);
    else
      zipKind<T, int64_t>(a, b, result, fn);
  });
  return wrapped(std::move(result));
}

/// fn of every element; the type stays.
template <class Fn>
Tensor mapped(const Tensor &x, Fn &&fn) {
  Tensor result(x.type, x.shape);
  withKind(x, [&]<class T>() {
    const std::vector<T> &from = elementsOf<T>(x);
    std::vector<T> &to = elementsOf<T>(result);
    for (size_t i = 0; i < from.size(); ++i)
      to[i] = static_cast<T>(fn(from[i]));
  });
  return result;
}

/// fn of every element of a tensor of floats; fails for integers.
template <class Fn>
Tensor mappedFloats(Call &call, const Tensor &x, Fn &&fn) {
  if (!call.require(x.isFloat(), "the operand is not of floats"))
    return {};
  Tensor result(x.type, x.shape);
  for (size_t i = 0; i < x.floats.size(); ++i)
    result.floats[i] = fn(x.floats[i]);
  return result;
}

/// A tensor of one integer per entry, rank 1.
Tensor vectorOf(ArrayRef<int64_t> values);

} // namespace ashlar::onnxref

#endif // ASHLAR_LIB_FRONTEND_ONNXREFERENCE_WALK_H
