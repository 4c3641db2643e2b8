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

/// Room for \p count elements of a list that has fewer, in large pages as far
/// as it is large.
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

/// Takes the pages of [\p begin, \p begin + \p bytes), which are mapped and
/// whose contents stay, before they are used. The system may ignore it.
void populate(void *begin, uint64_t bytes);

/// From now on what the process allocates comes, as long as it suffices, from
/// \p bytes of address space in large pages; none of it is taken before it is
/// used. Does nothing where the process has a limit on its memory, or the
/// system's allocator cannot be told so. Call it once, before there are other
/// threads.
void allocateInLargePages(uint64_t bytes);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_LARGEPAGES_H
