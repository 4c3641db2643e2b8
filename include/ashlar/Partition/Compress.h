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
inline constexpr size_t kHeaderBytes = 24;
/// Deepest tree of Format::Spt1.
inline constexpr unsigned kMaxLevels = 15;
/// Elements a reader accepts unless told otherwise.
inline constexpr uint64_t kMaxElements = uint64_t(1) << 28;

/// What the first kHeaderBytes of a compressed plane say.
struct PlaneHeader {
  /// Bytes of the header at which the number of non-zeros and the bytes of the
  /// whole plane stand, each 32 bits, little endian.
  static constexpr size_t kNonZerosAt = 16, kBytesAt = 20;

  Format format = Format::Dense;
  unsigned elementBytes = 1;
  unsigned levels = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  int32_t zero = 0;
  uint64_t nonZeros = 0;
  uint64_t bytes = 0; ///< Of the compressed plane, this header included.

  /// Edge of a leaf cell: 2^levels of them span the longer side.
  int64_t leaf() const;
};

/// Compresses; the same plane gives the same bytes. `levels` (0..15) is the
/// depth of the tree of Format::Spt1 and ignored otherwise; 0 is the plain
/// bitmap. Usage errors: sizes outside 1..2^24, element bytes, values that do
/// not fit them, levels.
llvm::Expected<std::vector<uint8_t>> compress(const Plane &plane, Format format,
                                              unsigned levels = 0);

/// The smallest of all formats and depths; among equals, the first of the
/// enumeration.
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

/// Only the header; `bytes` may continue after the plane, or end with the
/// header. Errors as decompress().
llvm::Expected<PlaneHeader> readHeader(llvm::ArrayRef<uint8_t> bytes,
                                       uint64_t maxElements = kMaxElements);

/// The format of a compressed plane, from its header.
llvm::Expected<Format> formatOf(llvm::ArrayRef<uint8_t> bytes);

/// The most bytes that a plane of rows x cols elements takes, header included.
/// More zeros never give more bytes, so this is a plane without zeros.
uint64_t largestBytes(Format format, unsigned levels, int64_t rows,
                      int64_t cols, unsigned elementBytes);

/// Expected bytes if each value of row y is nonzero with probability
/// `density[y]` (0 to 1), independently of its position and of all others.
uint64_t expectedBytes(Format format, unsigned levels,
                       llvm::ArrayRef<double> density, int64_t cols,
                       unsigned elementBytes);

llvm::StringRef name(Format format);

} // namespace ashlar::partition

#endif // ASHLAR_PARTITION_COMPRESS_H
