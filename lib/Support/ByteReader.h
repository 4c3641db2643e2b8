// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Little-endian fields of a byte range; every access is checked, and a failed
// one sticks so that callers may check once per record.

#ifndef ASHLAR_LIB_SUPPORT_BYTEREADER_H
#define ASHLAR_LIB_SUPPORT_BYTEREADER_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace ashlar::support {

class ByteReader {
public:
  ByteReader(llvm::ArrayRef<uint8_t> bytes, uint64_t offset)
      : bytes(bytes), position(offset), good(offset <= bytes.size()) {}

  bool ok() const { return good; }
  uint64_t offset() const { return position; }
  uint64_t left() const { return good ? bytes.size() - position : 0; }

  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }

  llvm::ArrayRef<uint8_t> take(uint64_t count) {
    if (count > left()) {
      good = false;
      return {};
    }
    llvm::ArrayRef<uint8_t> part = bytes.slice(position, count);
    position += count;
    return part;
  }

  void skip(uint64_t count) { (void)take(count); }

private:
  uint64_t number(unsigned count) {
    uint64_t value = 0;
    unsigned shift = 0;
    for (uint8_t byte : take(count)) {
      value |= static_cast<uint64_t>(byte) << shift;
      shift += 8;
    }
    return value;
  }

  llvm::ArrayRef<uint8_t> bytes;
  uint64_t position;
  bool good;
};

} // namespace ashlar::support

#endif // ASHLAR_LIB_SUPPORT_BYTEREADER_H
