// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache lines that a processor is going to write.

#ifndef ASHLAR_SUPPORT_CACHELINES_H
#define ASHLAR_SUPPORT_CACHELINES_H

#include <cstdint>

namespace ashlar::support {

/// Asks for the lines of \p bytes from \p at on, to write them. A hint: nothing
/// is read or written.
inline void takeLines([[maybe_unused]] uint8_t *at,
                      [[maybe_unused]] uint64_t bytes) {
#if defined(__x86_64__)
  // The builtin asks for lines to write only where the target has to have this
  // instruction; all processors of this kind take it, some do nothing.
  constexpr uint64_t lineBytes = 64;
  for (uint64_t i = 0; i < bytes; i += lineBytes)
    asm volatile("prefetchw %0" : : "m"(at[i]));
#endif
}

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_CACHELINES_H
