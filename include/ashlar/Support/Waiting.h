// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a thread waits for another one that is about to answer.

#ifndef ASHLAR_SUPPORT_WAITING_H
#define ASHLAR_SUPPORT_WAITING_H

#include <chrono>
#include <thread>

namespace ashlar::support {

/// Tells the processor that this thread is waiting.
inline void relaxCpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Whether \p done became true while this thread was awake, for some
/// milliseconds at most. At first the thread pauses between its looks and
/// answers within the time of a message between two cores; the length of a
/// pause differs by a factor of four between processors, so that a clock ends
/// this stage. Then it offers its processor to others. Offers are counted,
/// because on a busy host one may take longer than all others.
template <typename Done>
bool waitAwake(Done done) {
  constexpr std::chrono::microseconds pausing(20);
  constexpr unsigned looksPerTime = 16, offers = 5000;
  const auto end = std::chrono::steady_clock::now() + pausing;
  do {
    for (unsigned i = 0; i < looksPerTime; ++i) {
      if (done())
        return true;
      relaxCpu();
    }
  } while (std::chrono::steady_clock::now() < end);
  for (unsigned i = 0; i < offers; ++i) {
    if (done())
      return true;
    std::this_thread::yield();
  }
  return false;
}

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_WAITING_H
