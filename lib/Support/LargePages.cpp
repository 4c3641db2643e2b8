// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large pages by advice: no privilege, no reserved pool.

#include "ashlar/Support/LargePages.h"

#include "llvm/Support/Alignment.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdlib>
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
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

#if defined(__linux__)
/// Whole large pages: the last one costs a fault instead of hundreds.
static uint64_t mappedBytes(uint64_t bytes) {
  return llvm::alignTo(bytes, support::largePageBytes);
}

uint8_t *support::mapZeros(uint64_t bytes) {
  // The system aligns to small pages only.
  const uint64_t size = mappedBytes(bytes), whole = size + largePageBytes;
  if (whole < bytes)
    return nullptr;
  void *mapping = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return nullptr;
  auto *start = static_cast<uint8_t *>(mapping);
  const uint64_t before = llvm::offsetToAlignment(
      reinterpret_cast<uintptr_t>(start), llvm::Align(largePageBytes));
  if (before != 0)
    (void)munmap(start, before);
  if (const uint64_t after = largePageBytes - before)
    (void)munmap(start + before + size, after);
  adviseLargePages(start + before, size);
  return start + before;
}

void support::unmapZeros(uint8_t *begin, uint64_t bytes) {
  (void)munmap(begin, mappedBytes(bytes));
}
#else
uint8_t *support::mapZeros(uint64_t) { return nullptr; }
void support::unmapZeros(uint8_t *, uint64_t) {}
#endif

void support::populate([[maybe_unused]] void *begin,
                       [[maybe_unused]] uint64_t bytes) {
#if defined(MADV_POPULATE_WRITE)
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t first = llvm::alignTo(address, page);
  const uint64_t end = llvm::alignDown(address + bytes, page);
  if (begin && first < end)
    (void)madvise(reinterpret_cast<void *>(first), end - first,
                  MADV_POPULATE_WRITE);
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
