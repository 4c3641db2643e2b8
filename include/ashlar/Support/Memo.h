// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memoisation of pure functions by all of their arguments. A search over
// formats compiles a network many times and changes a few layers each time;
// results for all other layers are looked up.

#ifndef ASHLAR_SUPPORT_MEMO_H
#define ASHLAR_SUPPORT_MEMO_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/BLAKE3.h"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <type_traits>
#include <vector>

namespace ashlar::support {

/// Arguments of a function as one number; different arguments, different
/// numbers. Values that have padding or pointers do not compile.
class ArgumentDigest {
public:
  using Number = std::array<uint8_t, 32>;

  template <typename T>
    requires(std::has_unique_object_representations_v<T> &&
             !std::is_pointer_v<T> && std::is_trivially_copyable_v<T>)
  ArgumentDigest &add(const T &value) {
    return addBytes(&value, sizeof(T));
  }
  ArgumentDigest &add(double value) {
    return add(llvm::bit_cast<uint64_t>(value));
  }
  /// Elements with their number, so that neighbouring lists do not mix.
  template <typename T>
    requires(std::has_unique_object_representations_v<T> &&
             !std::is_pointer_v<T> && std::is_trivially_copyable_v<T>)
  ArgumentDigest &add(llvm::ArrayRef<T> values) {
    add(uint64_t(values.size()));
    return addBytes(values.data(), values.size() * sizeof(T));
  }
  template <typename T>
  ArgumentDigest &add(const std::vector<T> &values) {
    return add(llvm::ArrayRef<T>(values));
  }
  ArgumentDigest &add(llvm::StringRef text) {
    return add(llvm::ArrayRef<char>(text.data(), text.size()));
  }

  Number take() {
    hasher.update(waiting);
    waiting.clear();
    return hasher.final();
  }

private:
  ArgumentDigest &addBytes(const void *data, size_t size) {
    const auto *bytes = static_cast<const uint8_t *>(data);
    waiting.append(bytes, bytes + size);
    if (waiting.size() >= kManyBytes) {
      hasher.update(waiting);
      waiting.clear();
    }
    return *this;
  }

  /// Vector instructions hash up to sixteen chunks of one kilobyte in parallel,
  /// all from a single call.
  static constexpr size_t kManyBytes = size_t(64) << 10;
  llvm::SmallVector<uint8_t, 0> waiting;
  llvm::BLAKE3 hasher;
};

/// Remembers at most `limit` results and forgets all of them when there are
/// more. Thread-safe.
template <typename Value>
class Memo {
public:
  explicit Memo(size_t limit) : limit(limit) {}

  /// The result for arguments of that digest: as before, or computed now.
  template <typename Compute>
  Value get(const ArgumentDigest::Number &arguments, Compute compute) {
    {
      std::lock_guard<std::mutex> guard(lock);
      if (auto found = values.find(arguments); found != values.end())
        return found->second;
    }
    Value value = compute();
    std::lock_guard<std::mutex> guard(lock);
    if (values.size() >= limit)
      values.clear();
    values.try_emplace(arguments, value);
    return value;
  }

private:
  const size_t limit;
  std::mutex lock;
  std::map<ArgumentDigest::Number, Value> values;
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_MEMO_H
