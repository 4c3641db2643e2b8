// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three nested loops with strides, walked as a flat index: the shape of every
// access of ACT, VEC and the PE array along the free dimensions.

#ifndef ASHLAR_LIB_EMULATOR_STATE_PATTERN_H
#define ASHLAR_LIB_EMULATOR_STATE_PATTERN_H

#include <algorithm>
#include <array>
#include <cstdint>

namespace ashlar::emulator {

/// Counts and strides, outermost first. The flat index k counts with the last
/// dimension fastest.
struct Pattern {
  std::array<uint64_t, 3> count = {1, 1, 1};
  std::array<int64_t, 3> stride = {0, 0, 0};

  uint64_t size() const { return count[0] * count[1] * count[2]; }

  /// The same addresses in the same order with neighbouring dimensions merged
  /// wherever one steps exactly over the whole of the next.
  Pattern merged() const {
    Pattern result;
    unsigned last = 3; // next free slot counted from the end
    for (unsigned i = 3; i-- > 0;) {
      if (count[i] == 1)
        continue;
      if (last < 3 && stride[i] == result.stride[last] *
                                       static_cast<int64_t>(result.count[last]))
        result.count[last] *= count[i];
      else {
        --last;
        result.count[last] = count[i];
        result.stride[last] = stride[i];
      }
    }
    return result;
  }

  /// Calls fn(k, offset, n) for maximal runs of the innermost dimension that
  /// cover flat indices [begin, end): elements k .. k+n-1 lie at offset,
  /// offset + stride[2], ...
  template <typename Fn>
  void forRuns(uint64_t begin, uint64_t end, Fn fn) const {
    if (begin >= end)
      return;
    uint64_t inner = 0, i1 = 0, i0 = 0;
    if (begin > 0) { // no division for most
      const uint64_t outer = begin / count[2];
      inner = begin % count[2];
      i1 = outer % count[1];
      i0 = outer / count[1];
    }
    for (uint64_t k = begin; k < end;) {
      uint64_t n = std::min(count[2] - inner, end - k);
      fn(k,
         static_cast<int64_t>(i0) * stride[0] +
             static_cast<int64_t>(i1) * stride[1] +
             static_cast<int64_t>(inner) * stride[2],
         n);
      k += n;
      inner = 0;
      if (++i1 == count[1]) {
        i1 = 0;
        ++i0;
      }
    }
  }

  /// True if the elements lie one after the other, `bytes` each.
  bool isDense(int64_t bytes) const {
    Pattern flat = merged();
    return flat.count[0] == 1 && flat.count[1] == 1 &&
           (flat.count[2] == 1 || flat.stride[2] == bytes);
  }

  /// Smallest and largest offset of any element.
  int64_t minOffset() const { return bound(false); }
  int64_t maxOffset() const { return bound(true); }

private:
  int64_t bound(bool largest) const {
    int64_t sum = 0;
    for (unsigned i = 0; i < 3; ++i) {
      int64_t reach = stride[i] * static_cast<int64_t>(count[i] - 1);
      if ((reach > 0) == largest)
        sum += reach;
    }
    return sum;
  }
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STATE_PATTERN_H
