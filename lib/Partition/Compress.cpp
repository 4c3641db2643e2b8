// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Header (little endian): format, element bytes, levels, 0, rows u32, cols
// u32, zero value i32, non-zeros u32, bytes u32. Then bits, least significant
// first, padded with zeros to a byte; then the values of bitmap and tree,
// elementBytes each. A reader accepts only what the writer writes: padding
// zero, counts equal, no set cell without a non-zero, no stored value that is
// the zero.

#include "ashlar/Partition/Compress.h"

#include "Positions.h"

#include "ashlar/Support/BitWriter.h"
#include "ashlar/Support/Error.h"

#include <algorithm>
#include <optional>

namespace ashlar::partition {

using support::BitWriter;

namespace {

constexpr int64_t kMaxSide = int64_t(1) << 24;

/// Reads past the end give zero and stick as an error.
class BitReader {
public:
  explicit BitReader(llvm::ArrayRef<uint8_t> bytes) : bytes(bytes) {}

  uint64_t get(unsigned count) {
    uint64_t value = 0;
    unsigned i = 0;
    for (; used % 8 == 0 && count - i >= 8 && used / 8 < bytes.size();
         i += 8, used += 8)
      value |= uint64_t(bytes[used / 8]) << i;
    for (; i < count; ++i, ++used) {
      if (used / 8 >= bytes.size()) {
        good = false;
        return 0;
      }
      value |= uint64_t(bytes[used / 8] >> used % 8 & 1) << i;
    }
    return value;
  }
  bool ok() const { return good; }
  bool enough(uint64_t bits) const { return bits <= bytes.size() * 8 - used; }
  /// Skips to the next byte; false if a skipped bit is set.
  bool align() {
    while (used % 8)
      if (get(1))
        return false;
    return true;
  }
  llvm::ArrayRef<uint8_t> rest() const { return bytes.drop_front(used / 8); }

private:
  llvm::ArrayRef<uint8_t> bytes;
  uint64_t used = 0;
  bool good = true;
};

void put32(std::vector<uint8_t> &bytes, uint32_t value) {
  for (unsigned i = 0; i < 4; ++i)
    bytes.push_back(uint8_t(value >> 8 * i));
}

uint32_t get32(llvm::ArrayRef<uint8_t> bytes, size_t at) {
  uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i)
    value |= uint32_t(bytes[at + i]) << 8 * i;
  return value;
}

int32_t signExtend(uint64_t value, unsigned bytes) {
  unsigned shift = 64 - 8 * bytes;
  return int32_t(int64_t(value << shift) >> shift);
}

/// Cells of a level that may hold something: their boxes, row-major inside
/// their parent. Boxes outside the feature map are empty.
std::vector<Box> childrenOf(const Box &cell, int64_t half,
                            const PlaneHeader &head) {
  std::vector<Box> children;
  for (int64_t i = 0; i < 4; ++i) {
    int64_t y = cell.y0 + i / 2 * half, x = cell.x0 + i % 2 * half;
    children.push_back(Box::of({y, std::min(y + half, head.rows)},
                               {x, std::min(x + half, head.cols)}));
  }
  return children;
}

/// Walks the tree level by level. `isSet(cell)` says or reads a cell's bit;
/// returns the boxes of the set leaves, or nothing if `isSet` gave up.
std::optional<std::vector<Box>>
walkTree(const PlaneHeader &head,
         llvm::function_ref<std::optional<bool>(const Box &)> isSet) {
  std::vector<Box> cells{{0, 0, head.rows, head.cols}};
  for (unsigned level = 0; level < head.levels; ++level) {
    int64_t half = head.leaf() << (head.levels - level - 1);
    std::vector<Box> next;
    for (const Box &cell : cells)
      for (const Box &child : childrenOf(cell, half, head)) {
        std::optional<bool> set = isSet(child);
        if (!set)
          return std::nullopt;
        if (*set)
          next.push_back(child);
      }
    cells = std::move(next);
  }
  return cells;
}

template <typename Visit>
void forEach(const Box &box, Visit visit) {
  for (int64_t y = box.y0; y < box.y0 + box.rows; ++y)
    for (int64_t x = box.x0; x < box.x0 + box.cols; ++x)
      visit(y, x);
}

llvm::Error malformed(const char *what) {
  return makeError(ErrorClass::Malformed, "compressed plane: {}", what);
}

} // namespace

static llvm::Error check(const Plane &plane, unsigned levels) {
  if (plane.rows < 1 || plane.cols < 1 || plane.rows > kMaxSide ||
      plane.cols > kMaxSide ||
      plane.values.size() != size_t(plane.rows) * size_t(plane.cols) ||
      plane.values.size() > UINT32_MAX)
    return makeError(ErrorClass::Usage,
                     "cannot compress a plane of {} x {} with {} values",
                     plane.rows, plane.cols, plane.values.size());
  unsigned bytes = plane.elementBytes;
  if ((bytes != 1 && bytes != 2 && bytes != 4) || levels > kMaxLevels)
    return makeError(ErrorClass::Usage,
                     "cannot compress elements of {} bytes with {} levels",
                     bytes, levels);
  auto fits = [&](int32_t v) {
    return signExtend(uint64_t(int64_t(v)), bytes) == v;
  };
  if (!fits(plane.zero) ||
      !std::all_of(plane.values.begin(), plane.values.end(), fits))
    return makeError(ErrorClass::Usage, "a value does not fit {} bytes", bytes);
  return llvm::Error::success();
}

namespace {

/// The body of a plane in one format.
class BodyWriter {
public:
  BodyWriter(const PlaneHeader &head, const Plane &plane, const CountMap &marks)
      : head(head), plane(plane), marks(marks) {}

  std::vector<uint8_t> write(const PrefixSums &sums) {
    Box whole{0, 0, plane.rows, plane.cols};
    if (head.format == Format::Dense)
      forEach(whole, [&](int64_t y, int64_t x) { value(values, y, x); });
    else if (head.format == Format::Coo)
      forEach(whole, [&](int64_t y, int64_t x) { entry(y, x); });
    else
      tree(sums);
    std::vector<uint8_t> bytes = bits.take(), tail = values.take();
    bytes.insert(bytes.end(), tail.begin(), tail.end());
    return bytes;
  }

private:
  void value(BitWriter &to, int64_t y, int64_t x) {
    to.put(uint64_t(int64_t(plane.values[y * plane.cols + x])),
           8 * plane.elementBytes);
  }

  void entry(int64_t y, int64_t x) {
    if (!marks.at(y, x))
      return;
    bits.put(uint64_t(y), indexBits(plane.rows));
    bits.put(uint64_t(x), indexBits(plane.cols));
    value(bits, y, x);
  }

  void tree(const PrefixSums &sums) {
    std::vector<Box> leaves = *walkTree(head, [&](const Box &cell) {
      bool set = sums.sum(cell) != 0;
      bits.put(set, 1);
      return std::optional<bool>(set);
    });
    for (const Box &leaf : leaves)
      forEach(leaf, [&](int64_t y, int64_t x) {
        bits.put(marks.at(y, x), 1);
        if (marks.at(y, x))
          value(values, y, x);
      });
  }

  const PlaneHeader &head;
  const Plane &plane;
  const CountMap &marks;
  BitWriter bits, values;
};

} // namespace

llvm::Expected<std::vector<uint8_t>> compress(const Plane &plane, Format format,
                                              unsigned levels) {
  if (format != Format::Spt1)
    levels = 0;
  if (llvm::Error error = check(plane, levels))
    return error;
  CountMap marks = CountMap::zeros(plane.rows, plane.cols);
  for (size_t i = 0; i < plane.values.size(); ++i)
    marks.counts[i] = plane.values[i] != plane.zero;
  PrefixSums sums(marks);
  PlaneHeader head{format,     plane.elementBytes, levels,       plane.rows,
                   plane.cols, plane.zero,         sums.total(), 0};
  std::vector<uint8_t> bytes{uint8_t(format), uint8_t(plane.elementBytes),
                             uint8_t(levels), 0};
  put32(bytes, uint32_t(plane.rows));
  put32(bytes, uint32_t(plane.cols));
  put32(bytes, uint32_t(plane.zero));
  put32(bytes, uint32_t(sums.total()));
  std::vector<uint8_t> body = BodyWriter(head, plane, marks).write(sums);
  if (body.size() > UINT32_MAX - kHeaderBytes)
    return makeError(ErrorClass::Capacity,
                     "compressed plane of more than 2^32 - 1 bytes");
  put32(bytes, uint32_t(kHeaderBytes + body.size()));
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

llvm::Expected<std::vector<uint8_t>> compressSmallest(const Plane &plane) {
  std::optional<std::vector<uint8_t>> best;
  auto consider = [&](Format format, unsigned levels) -> llvm::Error {
    llvm::Expected<std::vector<uint8_t>> bytes =
        compress(plane, format, levels);
    if (!bytes)
      return bytes.takeError();
    if (!best || bytes->size() < best->size())
      best = std::move(*bytes);
    return llvm::Error::success();
  };
  for (Format format : {Format::Dense, Format::Bitmap, Format::Coo})
    if (llvm::Error error = consider(format, 0))
      return error;
  // Deeper trees than leaves of one position only add bits.
  unsigned deepest = indexBits(std::max(plane.rows, plane.cols));
  for (unsigned levels = 1; levels <= std::min(deepest, kMaxLevels); ++levels)
    if (llvm::Error error = consider(Format::Spt1, levels))
      return error;
  return std::move(*best);
}

llvm::Expected<PlaneHeader> readHeader(llvm::ArrayRef<uint8_t> bytes,
                                       uint64_t maxElements) {
  if (bytes.size() < kHeaderBytes)
    return malformed("shorter than its header");
  PlaneHeader head;
  if (bytes[0] > uint8_t(Format::Spt1))
    return malformed("unknown format");
  head.format = Format(bytes[0]);
  head.elementBytes = bytes[1];
  head.levels = bytes[2];
  head.rows = get32(bytes, 4);
  head.cols = get32(bytes, 8);
  head.zero = int32_t(get32(bytes, 12));
  head.nonZeros = get32(bytes, PlaneHeader::kNonZerosAt);
  head.bytes = get32(bytes, PlaneHeader::kBytesAt);
  if (head.elementBytes != 1 && head.elementBytes != 2 &&
      head.elementBytes != 4)
    return malformed("element size is not 1, 2 or 4 bytes");
  if (bytes[3] != 0 || head.levels > kMaxLevels ||
      (head.levels && head.format != Format::Spt1))
    return malformed("bad number of levels");
  if (head.rows < 1 || head.cols < 1 || head.rows > kMaxSide ||
      head.cols > kMaxSide)
    return malformed("bad size");
  if (signExtend(uint64_t(int64_t(head.zero)), head.elementBytes) != head.zero)
    return malformed("zero value does not fit the elements");
  uint64_t elements = uint64_t(head.rows) * uint64_t(head.cols);
  if (elements > maxElements)
    return makeError(ErrorClass::Capacity,
                     "compressed plane of {} elements, at most {} are read",
                     elements, maxElements);
  if (head.nonZeros > elements)
    return malformed("more non-zeros than elements");
  if (head.bytes < kHeaderBytes)
    return malformed("length does not match its contents");
  return head;
}

/// The header of a plane that fills `bytes`.
static llvm::Expected<PlaneHeader> wholePlane(llvm::ArrayRef<uint8_t> bytes,
                                              uint64_t maxElements) {
  llvm::Expected<PlaneHeader> head = readHeader(bytes, maxElements);
  if (head && head->bytes != bytes.size())
    return malformed("length does not match its contents");
  return head;
}

namespace {

/// Reads a body: mark(y, x), then store(y, x, value) for each non-zero in
/// order of storage.
class Body {
public:
  Body(const PlaneHeader &head, llvm::ArrayRef<uint8_t> bytes)
      : head(head), bits(bytes) {}

  llvm::Error read(llvm::function_ref<void(int64_t, int64_t)> mark,
                   llvm::function_ref<void(int64_t, int64_t, int32_t)> store) {
    switch (head.format) {
    case Format::Dense:
      return readDense(mark, store);
    case Format::Coo:
      return readCoo(mark, store);
    case Format::Bitmap:
    case Format::Spt1:
      return readTree(mark, store);
    }
    llvm_unreachable("unknown format");
  }

private:
  using Mark = llvm::function_ref<void(int64_t, int64_t)>;
  using Store = llvm::function_ref<void(int64_t, int64_t, int32_t)>;

  unsigned valueBits() const { return 8 * head.elementBytes; }
  int32_t value() {
    return signExtend(bits.get(valueBits()), head.elementBytes);
  }

  llvm::Error finish() {
    if (!bits.ok() || !bits.align() || !bits.rest().empty())
      return malformed("length does not match its contents");
    return llvm::Error::success();
  }

  llvm::Error readDense(Mark mark, Store store) {
    uint64_t elements = uint64_t(head.rows) * uint64_t(head.cols);
    if (bits.rest().size() != elements * head.elementBytes)
      return malformed("length does not match its contents");
    uint64_t found = 0;
    forEach({0, 0, head.rows, head.cols}, [&](int64_t y, int64_t x) {
      int32_t v = value();
      if (v == head.zero)
        return;
      ++found;
      mark(y, x);
      store(y, x, v);
    });
    if (found != head.nonZeros)
      return malformed("count of non-zeros does not match");
    return finish();
  }

  llvm::Error readCoo(Mark mark, Store store) {
    int64_t before = -1;
    for (uint64_t i = 0; i < head.nonZeros && bits.ok(); ++i) {
      int64_t y = int64_t(bits.get(indexBits(head.rows)));
      int64_t x = int64_t(bits.get(indexBits(head.cols)));
      int32_t v = value();
      if (!bits.ok() || y >= head.rows || x >= head.cols ||
          y * head.cols + x <= before)
        return malformed("positions out of order or outside the plane");
      if (v == head.zero)
        return malformed("a stored value is zero");
      before = y * head.cols + x;
      mark(y, x);
      store(y, x, v);
    }
    return finish();
  }

  llvm::Error readTree(Mark mark, Store store) {
    std::optional<std::vector<Box>> leaves =
        walkTree(head, [&](const Box &cell) -> std::optional<bool> {
          bool set = bits.get(1);
          if (!bits.ok() || (set && cell.empty()))
            return std::nullopt;
          return set;
        });
    if (!leaves)
      return malformed("broken tree");
    std::vector<std::pair<int64_t, int64_t>> positions;
    for (const Box &leaf : *leaves) {
      size_t had = positions.size();
      if (!bits.enough(uint64_t(leaf.area())))
        return malformed("length does not match its contents");
      forEach(leaf, [&](int64_t y, int64_t x) {
        if (bits.get(1))
          positions.emplace_back(y, x);
      });
      if (head.levels && positions.size() == had)
        return malformed("a set cell has no non-zero");
    }
    if (positions.size() != head.nonZeros)
      return malformed("count of non-zeros does not match");
    if (!bits.align() ||
        bits.rest().size() != head.nonZeros * head.elementBytes)
      return malformed("length does not match its contents");
    for (auto [y, x] : positions) {
      int32_t v = value();
      if (v == head.zero)
        return malformed("a stored value is zero");
      mark(y, x);
      store(y, x, v);
    }
    return finish();
  }

  const PlaneHeader &head;
  BitReader bits;
};

} // namespace

llvm::Expected<Plane> decompress(llvm::ArrayRef<uint8_t> bytes,
                                 uint64_t maxElements) {
  llvm::Expected<PlaneHeader> head = wholePlane(bytes, maxElements);
  if (!head)
    return head.takeError();
  Plane plane{head->rows, head->cols, head->elementBytes, head->zero, {}};
  plane.values.assign(head->rows * head->cols, head->zero);
  if (llvm::Error error = Body(*head, bytes.drop_front(kHeaderBytes))
                              .read([](int64_t, int64_t) {},
                                    [&](int64_t y, int64_t x, int32_t v) {
                                      plane.values[y * head->cols + x] = v;
                                    }))
    return error;
  return plane;
}

llvm::Expected<CountMap> countsOf(llvm::ArrayRef<uint8_t> bytes,
                                  uint64_t maxElements) {
  llvm::Expected<PlaneHeader> head = wholePlane(bytes, maxElements);
  if (!head)
    return head.takeError();
  CountMap map = CountMap::zeros(head->rows, head->cols);
  if (llvm::Error error =
          Body(*head, bytes.drop_front(kHeaderBytes))
              .read([&](int64_t y, int64_t x) { map.at(y, x) = 1; },
                    [](int64_t, int64_t, int32_t) {}))
    return error;
  return map;
}

llvm::Expected<Format> formatOf(llvm::ArrayRef<uint8_t> bytes) {
  llvm::Expected<PlaneHeader> head = readHeader(bytes, UINT64_MAX);
  if (!head)
    return head.takeError();
  return head->format;
}

llvm::StringRef name(Format format) {
  switch (format) {
  case Format::Dense:
    return "dense";
  case Format::Bitmap:
    return "bitmap";
  case Format::Coo:
    return "coo";
  case Format::Spt1:
    return "spt1";
  }
  llvm_unreachable("unknown format");
}

} // namespace ashlar::partition
