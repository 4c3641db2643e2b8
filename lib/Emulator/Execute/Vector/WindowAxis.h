// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One axis of a window reduction, for maps in the state buffer and for entries
// of PSUM alike.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_VECTOR_WINDOWAXIS_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_VECTOR_WINDOWAXIS_H

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ashlar::emulator {

struct WindowAxis {
  int64_t in, out, kernel, step, dilation, pad, countLow, countHigh;

  int64_t coordinate(int64_t o, int64_t k) const {
    return o * step - pad + k * dilation;
  }
  bool valid(int64_t x) const { return x >= 0 && x < in; }
  /// Window positions that an average divides by.
  int64_t counted(int64_t o) const {
    int64_t n = 0;
    for (int64_t k = 0; k < kernel; ++k) {
      int64_t x = coordinate(o, k);
      n += x >= countLow && x < countHigh;
    }
    return n;
  }
  /// Whether no position of the source belongs to two windows.
  bool isDisjoint() const { return out == 1 || step > (kernel - 1) * dilation; }
  /// Results [begin, end) whose position k is inside the source.
  std::pair<int64_t, int64_t> validResults(int64_t k) const {
    int64_t shift = k * dilation - pad; // 0 <= o*step + shift < in
    int64_t begin = shift >= 0 ? 0 : (-shift + step - 1) / step;
    int64_t end = in - shift <= 0 ? 0 : (in - shift - 1) / step + 1;
    begin = std::min(begin, out);
    return {begin, std::clamp(end, begin, out)};
  }
};

/// What an average divides by: the positions counted, 1 for a window of padding
/// alone, whose average is 0 (docs/Numerics.md 9).
inline int64_t divisorOf(int64_t counted) {
  return std::max<int64_t>(counted, 1);
}

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_VECTOR_WINDOWAXIS_H
