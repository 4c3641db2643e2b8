// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element orders as digits of the source's row-major index. A reshape only
// regroups digits, a transpose only reorders axes, so every chain of both stays
// a list of digits; what remains after merging is the canonical transpose.

#include "ashlar/Analysis/Layout/Permutation.h"

#include "llvm/ADT/STLExtras.h"

namespace ashlar::analysis {

Axes CanonicalTranspose::resultShape() const {
  Axes result;
  for (int64_t axis : perm)
    result.push_back(shape[axis]);
  return result;
}

Axes inversePermutation(llvm::ArrayRef<int64_t> perm) {
  Axes inverse(perm.size(), 0);
  for (auto [i, axis] : llvm::enumerate(perm))
    inverse[axis] = static_cast<int64_t>(i);
  return inverse;
}

ElementOrder::ElementOrder(llvm::ArrayRef<int64_t> shape) {
  int64_t stride = 1;
  axes.resize(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    axes[i].push_back({shape[i], stride});
    stride *= shape[i];
  }
}

void ElementOrder::transpose(llvm::ArrayRef<int64_t> perm) {
  llvm::SmallVector<Digits, 6> moved;
  for (int64_t axis : perm)
    moved.push_back(axes[axis]);
  axes = std::move(moved);
}

/// All digits of more than one element, neighbours that form one digit merged.
ElementOrder::Digits ElementOrder::flatten() const {
  Digits flat;
  for (const Digits &axis : axes)
    for (const Digit &digit : axis) {
      if (digit.extent == 1)
        continue;
      if (!flat.empty() && flat.back().stride == digit.stride * digit.extent) {
        flat.back().extent *= digit.extent;
        flat.back().stride = digit.stride;
        continue;
      }
      flat.push_back(digit);
    }
  return flat;
}

bool ElementOrder::reshape(llvm::ArrayRef<int64_t> shape) {
  Digits left = flatten();
  llvm::SmallVector<Digits, 6> regrouped(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    int64_t wanted = shape[i];
    while (wanted > 1) {
      if (left.empty())
        return false;
      Digit &digit = left.back();
      if (wanted % digit.extent == 0) {
        regrouped[i].insert(regrouped[i].begin(), digit);
        wanted /= digit.extent;
        left.pop_back();
        continue;
      }
      if (digit.extent % wanted != 0)
        return false;
      regrouped[i].insert(regrouped[i].begin(), {wanted, digit.stride});
      digit.extent /= wanted;
      digit.stride *= wanted;
      wanted = 1;
    }
  }
  if (!left.empty())
    return false;
  axes = std::move(regrouped);
  return true;
}

CanonicalTranspose ElementOrder::canonical() const {
  Digits flat = flatten();
  // The source's own order is that of falling strides.
  llvm::SmallVector<size_t, 6> order;
  for (size_t i = 0; i < flat.size(); ++i)
    order.push_back(i);
  llvm::sort(order, [&](size_t a, size_t b) {
    return flat[a].stride > flat[b].stride;
  });
  CanonicalTranspose result;
  result.perm.resize(flat.size());
  for (auto [axis, digit] : llvm::enumerate(order)) {
    result.shape.push_back(flat[digit].extent);
    result.perm[digit] = static_cast<int64_t>(axis);
  }
  return result;
}

std::optional<Axes> ElementOrder::alongAxis(llvm::ArrayRef<int64_t> shape,
                                            int64_t axis) const {
  ElementOrder result = *this;
  if (!result.reshape(shape))
    return std::nullopt;
  int64_t stride = 1;
  for (int64_t i = static_cast<int64_t>(shape.size()) - 1; i >= 0; --i) {
    const Digits &digits = result.axes[i];
    // Untouched axes stay one digit, or none if they have one element; merged
    // neighbours were split again at their old borders.
    if (i != axis && shape[i] > 1 &&
        (digits.size() != 1 || digits.front().stride != stride))
      return std::nullopt;
    if (i == axis)
      for (const Digit &digit : digits)
        if (digit.stride % stride != 0 ||
            digit.stride * digit.extent > stride * shape[i])
          return std::nullopt;
    stride *= shape[i];
  }
  int64_t unit = 1;
  for (int64_t extent : shape.drop_front(axis + 1))
    unit *= extent;
  Axes indices{0};
  for (const Digit &digit : result.axes[axis]) {
    Axes next;
    for (int64_t base : indices)
      for (int64_t k = 0; k < digit.extent; ++k)
        next.push_back(base + k * (digit.stride / unit));
    indices = std::move(next);
  }
  return indices;
}

} // namespace ashlar::analysis
