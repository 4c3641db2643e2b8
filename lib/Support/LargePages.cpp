// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large pages by advice: no privilege, no reserved pool.

#include "ashlar/Support/LargePages.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdlib>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/resource.h>
#endif

using namespace ashlar;

void support::adviseLargePages([[maybe_unused]] void *begin,
                               [[maybe_unused]] uint64_t bytes) {
#if defined(__linux__)
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const uint64_t first = llvm::alignTo(address, largePageBytes);
  const uint64_t end = llvm::alignDown(address + bytes, largePageBytes);
  if (begin && first < end)
    (void)madvise(reinterpret_cast<void *>(first), end - first, MADV_HUGEPAGE);
#endif
}

#if defined(__GLIBC__)
/// A process with a limit has no address space to spare.
static bool hasMemoryLimit() {
  rlimit space = {}, data = {};
  return getrlimit(RLIMIT_AS, &space) != 0 ||
         getrlimit(RLIMIT_DATA, &data) != 0 ||
         space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY;
}
#endif

void support::allocateInLargePages([[maybe_unused]] uint64_t bytes) {
#if defined(__GLIBC__)
  if (hasMemoryLimit())
    return;
  // One heap for all threads, and what is freed stays in it. Larger blocks are
  // mappings of their own, which come as zeros.
  const auto size = static_cast<int>(std::min<uint64_t>(bytes, INT32_MAX));
  constexpr int ownMapping = 4 * largePageBytes;
  if (!mallopt(M_ARENA_MAX, 1) || !mallopt(M_MMAP_THRESHOLD, ownMapping) ||
      !mallopt(M_TRIM_THRESHOLD, size) || !mallopt(M_TOP_PAD, size))
    return;
  // More than the heap has left: it grows by `bytes`, which are then its unused
  // end.
  void *block = std::malloc(largePageBytes);
  adviseLargePages(block, bytes);
  std::free(block);
  mallopt(M_TOP_PAD, 128 << 10);
#endif
}
