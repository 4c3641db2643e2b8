// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the process in large pages, where the system has them. A page that
// is touched for the first time costs a fault; a short run of a small network
// spent a tenth of its time on pages of 4 KiB.

#ifndef ASHLAR_SUPPORT_LARGEPAGES_H
#define ASHLAR_SUPPORT_LARGEPAGES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar::support {

inline constexpr uint64_t largePageBytes = uint64_t(2) << 20;

/// Asks for large pages in [\p begin, \p begin + \p bytes), as far as whole
/// ones lie inside. The system may ignore it.
void adviseLargePages(void *begin, uint64_t bytes);

/// Reserves \p count elements of a list, in large pages if it is large.
template <typename T>
void reserveInLargePages(std::vector<T> &list, size_t count) {
  list.reserve(count);
  adviseLargePages(list.data(), list.capacity() * sizeof(T));
}

/// A mapping of zeros of at least \p bytes that starts at a large page and is
/// in large pages where the system has them; what is not touched takes no
/// memory. Null where the system refuses or has no such mappings. To be given
/// back by unmapZeros() with the same number of bytes.
uint8_t *mapZeros(uint64_t bytes);
void unmapZeros(uint8_t *begin, uint64_t bytes);

/// Populates the pages of [\p begin, \p begin + \p bytes), which are mapped,
/// before they are used. Their contents do not change. The system may ignore
/// it.
void populate(void *begin, uint64_t bytes);

/// Makes the process allocate from \p bytes of address space in large pages
/// while they last; no page is taken before it is used. Does nothing if the
/// process has a memory limit, or if the system's allocator does not support
/// it. Call it once, before there are other threads.
void allocateInLargePages(uint64_t bytes);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_LARGEPAGES_H
