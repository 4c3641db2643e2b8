// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams of fields that are not aligned to bytes.

#ifndef ASHLAR_SUPPORT_BITWRITER_H
#define ASHLAR_SUPPORT_BITWRITER_H

#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar::support {

/// Fields of a few bits one after the other, lowest bit first.
class BitWriter {
public:
  /// The low \p width bits of \p value, at most 64.
  void put(uint64_t value, unsigned width) {
    for (; used % 8 == 0 && width >= 8; width -= 8, used += 8, value >>= 8)
      bytes.push_back(static_cast<uint8_t>(value));
    for (unsigned i = 0; i < width; ++i, ++used) {
      if (used % 8 == 0)
        bytes.push_back(0);
      bytes.back() |= static_cast<uint8_t>((value >> i & 1) << used % 8);
    }
  }
  /// The stream so far, its last byte padded with zeros.
  std::vector<uint8_t> take() { return std::move(bytes); }

private:
  std::vector<uint8_t> bytes;
  uint64_t used = 0;
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_BITWRITER_H
