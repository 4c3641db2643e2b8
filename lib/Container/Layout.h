// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Header and section table of the container (docs/BinaryFormat.md 2). Numbers
// are little endian, as are the hosts that are supported.

#ifndef ASHLAR_LIB_CONTAINER_LAYOUT_H
#define ASHLAR_LIB_CONTAINER_LAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ashlar::container {

static_assert(llvm::endianness::native == llvm::endianness::little,
              "sections are used in place");

/// First bytes of the file; the control characters betray text-mode copies.
inline constexpr char magic[8] = {'A', 'S', 'H', 'L', 'A', 'R', '\r', '\n'};

/// Sections start at multiples of this, so that mapped data can be used in
/// place by vector kernels.
inline constexpr uint64_t sectionAlignment = 64;

struct FileHeader {
  char magic[8];
  uint32_t formatVersion;
  uint16_t isaMajor, isaMinor;
  uint32_t headerBytes;  ///< Size of this struct.
  uint32_t sectionCount; ///< Entries of the section table that follows.
  uint64_t fileBytes;
  uint64_t checksum; ///< xxh3_64 of header and table, this field zero.
  uint8_t reserved[24];
};
static_assert(sizeof(FileHeader) == 64);

enum class SectionKind : uint32_t {
  Metadata = 1,    ///< FlatBuffers, program.fbs.
  Code = 2,        ///< Instruction words.
  NumericPlan = 3, ///< JSON text.
  Decisions = 4,   ///< JSON text.
  DebugMap = 5,    ///< uint32 node index per instruction.
  Constants = 6,   ///< Initial DRAM contents; any number of sections.
};
inline constexpr uint32_t firstConstants = 6; ///< Sections before: one each.

struct SectionEntry {
  uint32_t kind;
  uint32_t program; ///< Number of the program that it belongs to.
  uint64_t offset;  ///< From the start of the file.
  uint64_t bytes;
  uint64_t dramOffset; ///< Constants only, else 0.
  uint64_t checksum;   ///< xxh3_64 of the bytes.
};
static_assert(sizeof(SectionEntry) == 40);

/// The next multiple of the alignment; \p offset is far below 2^64.
inline uint64_t alignSection(uint64_t offset) {
  return (offset + sectionAlignment - 1) / sectionAlignment * sectionAlignment;
}

/// The checksum field of a header followed by its table.
inline uint64_t headerChecksum(llvm::ArrayRef<uint8_t> headerAndTable) {
  llvm::SmallVector<uint8_t, 512> copy(headerAndTable.begin(),
                                       headerAndTable.end());
  std::memset(copy.data() + offsetof(FileHeader, checksum), 0, 8);
  return llvm::xxh3_64bits(llvm::ArrayRef<uint8_t>(copy));
}

} // namespace ashlar::container

#endif // ASHLAR_LIB_CONTAINER_LAYOUT_H
