// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows whose pixels several lanes hold in turn: pixel i lies in lane i % count
// at offset i / count.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_LANETURNS_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_LANETURNS_H

#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace ashlar::emulator {

/// `count` <= 8 elements of each of two lanes in turn.
template <unsigned count>
void interleavePairs(const uint8_t *even, const uint8_t *odd, uint8_t *out) {
  using Bytes = uint8_t __attribute__((vector_size(16)));
  Bytes a = {}, b = {};
  std::memcpy(&a, even, count);
  std::memcpy(&b, odd, count);
  const Bytes turned = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19,
                                               4, 20, 5, 21, 6, 22, 7, 23);
  std::memcpy(out, &turned, size_t(2) * count);
}

/// n elements of each of two lanes in turn.
inline void interleaveTwo(const uint8_t *even, const uint8_t *odd, uint64_t n,
                          uint8_t *out) {
  // The last ones overlap those before: moving them twice is no harm.
  uint64_t k = 0;
  for (; n >= 8 && k < n; k += 8) {
    const uint64_t at = std::min(k, n - 8);
    interleavePairs<8>(even + at, odd + at, out + 2 * at);
  }
  for (; n >= 4 && k < n; k += 4) {
    const uint64_t at = std::min(k, n - 4);
    interleavePairs<4>(even + at, odd + at, out + 2 * at);
  }
  for (; k < n; ++k) {
    out[2 * k] = even[k];
    out[2 * k + 1] = odd[k];
  }
}

/// Four elements of each of four lanes in turn: words of one element of each,
/// `pitch` bytes apart.
inline void interleaveWords(const std::array<const uint8_t *, 4> &lanes,
                            uint64_t pitch, uint8_t *out) {
  using Bytes = uint8_t __attribute__((vector_size(16)));
  Bytes from = {}, turned;
  for (unsigned lane = 0; lane < 4; ++lane)
    std::memcpy(reinterpret_cast<uint8_t *>(&from) + 4 * lane, lanes[lane], 4);
  turned = __builtin_shufflevector(from, from, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6,
                                   10, 14, 3, 7, 11, 15);
  for (unsigned k = 0; k < 4; ++k)
    std::memcpy(out + k * pitch,
                reinterpret_cast<const uint8_t *>(&turned) + 4 * k, 4);
}

/// n elements of each of four lanes in turn: those of one turn are neighbours,
/// turns are `pitch` bytes apart.
inline void interleaveFour(const std::array<const uint8_t *, 4> &lanes,
                           uint64_t n, uint64_t pitch, uint8_t *out) {
  for (uint64_t k = 0; n < 4 && k < n; ++k)
    for (unsigned lane = 0; lane < 4; ++lane)
      out[k * pitch + lane] = lanes[lane][k];
  for (uint64_t done = 0; n >= 4 && done < n; done += 4) {
    // The last ones overlap those before: moving them twice is no harm.
    const uint64_t k = std::min(done, n - 4);
    interleaveWords({lanes[0] + k, lanes[1] + k, lanes[2] + k, lanes[3] + k},
                    pitch, out + k * pitch);
  }
}

/// Eight elements of each of four lanes in turn.
inline void interleaveEights(const std::array<const uint8_t *, 4> &lanes,
                             uint8_t *out) {
  using Bytes = uint8_t __attribute__((vector_size(16)));
  using Pairs = uint16_t __attribute__((vector_size(16)));
  Bytes from[4] = {};
  for (unsigned lane = 0; lane < 4; ++lane)
    std::memcpy(&from[lane], lanes[lane], 8);
  Pairs pairs[2];
  for (unsigned i = 0; i < 2; ++i) {
    const Bytes turned =
        __builtin_shufflevector(from[2 * i], from[2 * i + 1], 0, 16, 1, 17, 2,
                                18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    std::memcpy(&pairs[i], &turned, sizeof(turned));
  }
  const Pairs low =
      __builtin_shufflevector(pairs[0], pairs[1], 0, 8, 1, 9, 2, 10, 3, 11);
  const Pairs high =
      __builtin_shufflevector(pairs[0], pairs[1], 4, 12, 5, 13, 6, 14, 7, 15);
  std::memcpy(out, &low, sizeof(low));
  std::memcpy(out + sizeof(low), &high, sizeof(high));
}

/// n elements of each of four lanes in turn, without gaps.
inline void interleaveDense(const std::array<const uint8_t *, 4> &lanes,
                            uint64_t n, uint8_t *out) {
  if (n < 8)
    return interleaveFour(lanes, n, 4, out);
  for (uint64_t done = 0; done < n; done += 8) {
    // The last ones overlap those before: moving them twice is no harm.
    const uint64_t k = std::min(done, n - 8);
    interleaveEights({lanes[0] + k, lanes[1] + k, lanes[2] + k, lanes[3] + k},
                     out + 4 * k);
  }
}

/// Whether takeTurns() knows this number of lanes.
inline bool takesTurns(uint64_t lanes) {
  return lanes == 2 || (lanes != 0 && lanes % 4 == 0);
}

/// n pixels, the first of them in lane `lane` at `start` bytes from where the
/// lanes are: `base` plus the place of each.
inline void takeTurns(const uint8_t *base, llvm::ArrayRef<int64_t> lanes,
                      uint64_t lane, int64_t start, uint64_t n, uint8_t *out) {
  const uint64_t count = lanes.size();
  uint64_t done = 0;
  for (; lane != 0 && done < n; ++done) {
    out[done] = base[lanes[lane] + start];
    if (++lane == count) {
      lane = 0;
      ++start;
    }
  }
  const uint64_t turns = (n - done) / count;
  const auto at = [&](uint64_t i) { return base + lanes[i] + start; };
  if (count == 2)
    interleaveTwo(at(0), at(1), turns, out + done);
  if (count == 4)
    interleaveDense({at(0), at(1), at(2), at(3)}, turns, out + done);
  for (uint64_t i = 0; count > 4 && i < count; i += 4)
    interleaveFour({at(i), at(i + 1), at(i + 2), at(i + 3)}, turns, count,
                   out + done + i);
  done += turns * count;
  start += static_cast<int64_t>(turns);
  for (; done < n; ++done, ++lane)
    out[done] = base[lanes[lane] + start];
}

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_LANETURNS_H
