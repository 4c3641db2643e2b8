// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of the rows of small feature maps, and fills of what is around them.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_SHORTCOPY_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_SHORTCOPY_H

#include <cstdint>
#include <cstring>

namespace ashlar::emulator {

/// memcpy for rows that mostly have 8 to 64 bytes: two moves that overlap copy
/// them without a call.
inline void copyShort(const uint8_t *from, uint64_t n, uint8_t *to) {
  auto twice = [&]<size_t half>() {
    uint8_t first[half], second[half];
    std::memcpy(first, from, half);
    std::memcpy(second, from + n - half, half);
    std::memcpy(to, first, half);
    std::memcpy(to + n - half, second, half);
  };
  if (n > 64 || n < 8)
    std::memcpy(to, from, n);
  else if (n > 32)
    twice.operator()<32>();
  else if (n > 16)
    twice.operator()<16>();
  else
    twice.operator()<8>();
}

/// memset for what mostly has a few bytes: the padding columns of neighbouring
/// rows. Stores that overlap fill up to 64 of them without a call.
inline void fillShort(uint8_t *to, uint8_t value, uint64_t n) {
  auto twice = [&]<size_t half>() {
    std::memset(to, value, half);
    std::memset(to + n - half, value, half);
  };
  if (n > 64 || n == 0)
    std::memset(to, value, n);
  else if (n > 32)
    twice.operator()<32>();
  else if (n > 16)
    twice.operator()<16>();
  else if (n > 8)
    twice.operator()<8>();
  else if (n > 4)
    twice.operator()<4>();
  else if (n > 2)
    twice.operator()<2>();
  else
    twice.operator()<1>();
}

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_SHORTCOPY_H
