// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage of planes with many zeros: feature maps per channel, kernels as
// rows. Which positions are not zero follows from the compressed form without
// its values (docs/SparseTiles.md).

#ifndef ASHLAR_PARTITION_COMPRESS_H
#define ASHLAR_PARTITION_COMPRESS_H

#include "ashlar/Partition/Map.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace ashlar::partition {

enum class Format : uint8_t {
  Dense,  ///< all values
  Bitmap, ///< a bit per position, then the non-zero values
  Coo,    ///< (row, column, value) of each non-zero, bit-packed
  Spt1,   ///< quad-tree of bits, bitmaps of the leaves that are set, values
};

/// A plane of integers. "Zero" is the value `zero` (a zero point).
struct Plane {
  int64_t rows = 0;
  int64_t cols = 0;
  unsigned elementBytes = 1; ///< 1, 2 or 4; values fit it as signed numbers.
  int32_t zero = 0;
  std::vector<int32_t> values; ///< Row-major.
  bool operator==(const Plane &) const = default;
};

/// Bytes of the header that every compressed plane starts with.
inline constexpr size_t kHeaderBytes = 20;
/// Elements a reader accepts unless told otherwise.
inline constexpr uint64_t kMaxElements = uint64_t(1) << 28;

/// Compresses; the same plane gives the same bytes. `levels` (0..15) is the
/// depth of the tree of Format::Spt1 and ignored otherwise; 0 is the plain
/// bitmap. Usage errors: sizes outside 1..2^24, element bytes, values that do
/// not fit them, levels.
llvm::Expected<std::vector<uint8_t>> compress(const Plane &plane, Format format,
                                              unsigned levels = 0);

/// The smallest of all formats and depths; of equals the first in the order
/// of the enumeration.
llvm::Expected<std::vector<uint8_t>> compressSmallest(const Plane &plane);

/// The inverse of compress(). Bytes that compress() never writes are a
/// Malformed error, more than `maxElements` elements a Capacity error.
llvm::Expected<Plane> decompress(llvm::ArrayRef<uint8_t> bytes,
                                 uint64_t maxElements = kMaxElements);

/// Non-zeros per position of a compressed plane, without expanding it: bits
/// and indices decide, values are only checked (those of Format::Dense
/// decide). Errors as decompress().
llvm::Expected<CountMap> countsOf(llvm::ArrayRef<uint8_t> bytes,
                                  uint64_t maxElements = kMaxElements);

/// The format of a compressed plane, from its header.
llvm::Expected<Format> formatOf(llvm::ArrayRef<uint8_t> bytes);

llvm::StringRef name(Format format);

} // namespace ashlar::partition

#endif // ASHLAR_PARTITION_COMPRESS_H
