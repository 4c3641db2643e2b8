// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checksums would stop nearly every mutation of a program at the door, so they
// are made right; the other checks do the work.

#ifndef ASHLAR_TEST_FUZZ_RESEAL_H
#define ASHLAR_TEST_FUZZ_RESEAL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"
#include <cstdint>
#include <cstring>
#include <vector>

/// Recomputes the checksums of sections and header that lie inside the file.
inline void reseal(std::vector<uint8_t> &file) {
  constexpr size_t headerBytes = 64, entryBytes = 40;
  if (file.size() < headerBytes)
    return;
  uint64_t size = file.size();
  std::memcpy(file.data() + 24, &size, 8);
  uint32_t sections;
  std::memcpy(&sections, file.data() + 20, 4);
  if (sections > (file.size() - headerBytes) / entryBytes)
    return;
  for (uint32_t i = 0; i < sections; ++i) {
    uint8_t *entry = file.data() + headerBytes + entryBytes * i;
    uint64_t place[2];
    std::memcpy(place, entry + 8, 16);
    if (place[0] > size || place[1] > size - place[0])
      continue;
    uint64_t sum =
        llvm::xxh3_64bits(llvm::ArrayRef(file.data() + place[0], place[1]));
    std::memcpy(entry + 32, &sum, 8);
  }
  std::memset(file.data() + 32, 0, 8);
  uint64_t sum = llvm::xxh3_64bits(
      llvm::ArrayRef(file.data(), headerBytes + entryBytes * sections));
  std::memcpy(file.data() + 32, &sum, 8);
}

#endif // ASHLAR_TEST_FUZZ_RESEAL_H
