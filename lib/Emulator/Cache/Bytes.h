// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of this host's byte order, and lists with their lengths in front.

#ifndef ASHLAR_LIB_EMULATOR_CACHE_BYTES_H
#define ASHLAR_LIB_EMULATOR_CACHE_BYTES_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <cstring>
#include <vector>

namespace ashlar::emulator {

class Writer {
public:
  template <typename T>
  void number(const T &value) {
    const auto *from = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(T));
  }
  template <typename T>
  void list(llvm::ArrayRef<T> values) {
    number(uint64_t(values.size()));
    const auto *from = reinterpret_cast<const uint8_t *>(values.data());
    bytes.insert(bytes.end(), from, from + values.size() * sizeof(T));
  }
  std::vector<uint8_t> bytes;
};

/// Whatever does not fit makes `good` false, and reads as nothing.
class Reader {
public:
  explicit Reader(llvm::ArrayRef<uint8_t> bytes) : bytes(bytes) {}
  template <typename T>
  T number() {
    T value{};
    if (!take(sizeof(T), &value))
      value = {};
    return value;
  }
  template <typename T>
  std::vector<T> list() {
    const auto count = number<uint64_t>();
    if (count > bytes.size() / sizeof(T)) {
      good = false;
      return {};
    }
    std::vector<T> values(count);
    take(count * sizeof(T), values.data());
    return values;
  }
  bool atEnd() const { return good && bytes.empty(); }
  bool good = true;

private:
  bool take(uint64_t count, void *to) {
    if (count > bytes.size())
      return good = false;
    if (count != 0)
      std::memcpy(to, bytes.data(), count);
    bytes = bytes.drop_front(count);
    return true;
  }
  llvm::ArrayRef<uint8_t> bytes;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_CACHE_BYTES_H
