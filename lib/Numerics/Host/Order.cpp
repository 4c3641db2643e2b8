// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Non-zeros, sorting and distinct rows.

#include "ashlar/Numerics/HostFunctions.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <numeric>

using namespace ashlar;
using namespace ashlar::numerics;
using llvm::ArrayRef;
using llvm::MutableArrayRef;

void numerics::nonzeroIndices(ArrayRef<int64_t> keys, int64_t zero,
                              ArrayRef<uint64_t> shape,
                              MutableArrayRef<int64_t> result) {
  std::fill(result.begin(), result.end(), kNoIndex);
  llvm::SmallVector<int64_t, 8> index(shape.size(), 0);
  uint64_t found = 0;
  for (int64_t key : keys) {
    if (key != zero) {
      for (size_t d = 0; d < index.size(); ++d)
        result[d * keys.size() + found] = index[d];
      ++found;
    }
    for (size_t d = index.size(); d-- > 0;) {
      if (static_cast<uint64_t>(++index[d]) < shape[d])
        break;
      index[d] = 0;
    }
  }
}

void numerics::sortIndices(ArrayRef<int64_t> keys, const SortShape &shape,
                           bool descending, MutableArrayRef<int64_t> result) {
  std::vector<uint64_t> order(shape.extent);
  for (uint64_t outer = 0; outer < shape.outer; ++outer)
    for (uint64_t inner = 0; inner < shape.inner; ++inner) {
      const int64_t *list =
          keys.data() + outer * shape.extent * shape.inner + inner;
      int64_t *out = result.data() + outer * shape.keep * shape.inner + inner;
      std::iota(order.begin(), order.end(), uint64_t(0));
      // A total order: any algorithm gives the same result.
      auto before = [&](uint64_t a, uint64_t b) {
        const int64_t x = list[a * shape.inner], y = list[b * shape.inner];
        return x == y ? a < b : descending ? x > y : x < y;
      };
      const auto end = order.begin() + static_cast<ptrdiff_t>(shape.keep);
      if (end != order.end())
        std::nth_element(order.begin(), end, order.end(), before);
      std::sort(order.begin(), end, before);
      for (uint64_t k = 0; k < shape.keep; ++k)
        out[k * shape.inner] = static_cast<int64_t>(order[k]);
    }
}

void numerics::uniqueRows(ArrayRef<int64_t> keys, uint64_t rows, bool sorted,
                          MutableArrayRef<int64_t> result) {
  const uint64_t length = rows ? keys.size() / rows : 0;
  auto compare = [&](uint64_t a, uint64_t b) {
    const int64_t *x = keys.data() + a * length, *y = keys.data() + b * length;
    for (uint64_t i = 0; i < length; ++i)
      if (x[i] != y[i])
        return x[i] < y[i] ? -1 : 1;
    return 0;
  };
  std::vector<uint64_t> order(rows);
  std::iota(order.begin(), order.end(), uint64_t(0));
  std::sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    const int difference = compare(a, b);
    return difference ? difference < 0 : a < b;
  });
  // Equal rows are neighbours now, the first of them first.
  std::vector<uint64_t> firsts, group(rows);
  for (uint64_t i = 0; i < rows; ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0)
      firsts.push_back(order[i]);
    group[order[i]] = firsts.size() - 1;
  }
  std::vector<uint64_t> number(firsts.size());
  std::iota(number.begin(), number.end(), uint64_t(0));
  if (!sorted)
    std::sort(number.begin(), number.end(),
              [&](uint64_t a, uint64_t b) { return firsts[a] < firsts[b]; });
  std::vector<uint64_t> place(firsts.size());
  for (uint64_t d = 0; d < number.size(); ++d)
    place[number[d]] = d;
  MutableArrayRef<int64_t> first = result.take_front(rows);
  MutableArrayRef<int64_t> inverse = result.slice(rows, rows);
  MutableArrayRef<int64_t> counts = result.slice(2 * rows, rows);
  std::fill(first.begin(), first.end(), kNoIndex);
  std::fill(counts.begin(), counts.end(), 0);
  for (uint64_t d = 0; d < number.size(); ++d)
    first[d] = static_cast<int64_t>(firsts[number[d]]);
  for (uint64_t i = 0; i < rows; ++i) {
    inverse[i] = static_cast<int64_t>(place[group[i]]);
    ++counts[place[group[i]]];
  }
}
