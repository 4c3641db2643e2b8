// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors that are filled after they are sized: large ones would be written
// twice if their new elements were set to zero first.

#ifndef ASHLAR_SUPPORT_RAWVECTOR_H
#define ASHLAR_SUPPORT_RAWVECTOR_H

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace ashlar::support {

/// An allocator whose vectors leave elements of plain types that they are not
/// given a value for as memory has them.
template <typename T>
struct RawAllocator : std::allocator<T> {
  // The name that std::allocator_traits asks for.
  template <typename U>
  struct rebind { // NOLINT(readability-identifier-naming)
    using other = RawAllocator<U>;
  };

  RawAllocator() = default;
  template <typename U>
  RawAllocator(const RawAllocator<U> &) {}

  template <typename U>
  void construct(U *place) {
    ::new (static_cast<void *>(place)) U;
  }
  template <typename U, typename... Args>
  void construct(U *place, Args &&...args) {
    ::new (static_cast<void *>(place)) U(std::forward<Args>(args)...);
  }
};

/// A vector whose resize() sets nothing.
template <typename T>
using RawVector = std::vector<T, RawAllocator<T>>;

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_RAWVECTOR_H
