// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits of coefficient streams, least significant bit of a byte first.

#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <bit>
#include <tuple>

using namespace ashlar;
using namespace ashlar::isa;

//===- Widths -------------------------------------------------------------===//

/// Bits that hold the indices 0 .. count - 1.
static unsigned indexBits(uint64_t count) {
  return static_cast<unsigned>(std::bit_width(count - 1));
}

namespace {
/// Widths of a list's fields.
struct ListWidths {
  explicit ListWidths(const StreamShape &shape)
      : kernelCount(std::bit_width(uint64_t(shape.kernels) * shape.taps())),
        kernel(indexBits(shape.kernels)), count(std::bit_width(shape.taps())),
        position(indexBits(shape.taps())) {}
  unsigned kernelCount, kernel, count, position;
};
} // namespace

uint64_t isa::streamBytes(const StreamShape &shape, StreamEncoding encoding,
                          uint64_t kernels, uint64_t entries) {
  const uint64_t places =
      uint64_t(shape.channels) * shape.kernels * shape.taps();
  const ListWidths widths(shape);
  uint64_t bits = 0;
  switch (encoding) {
  case StreamEncoding::List:
    bits = shape.channels * uint64_t(widths.kernelCount) +
           kernels * (widths.kernel + widths.count) +
           entries * (shape.valueBits() + widths.position);
    break;
  case StreamEncoding::Bitmap:
    bits = places + entries * shape.valueBits();
    break;
  case StreamEncoding::Dense:
    bits = places * shape.valueBits();
    break;
  }
  return streamHeaderBytes + (bits + 7) / 8;
}

StreamEncoding isa::smallestEncoding(const StreamShape &shape, uint64_t kernels,
                                     uint64_t entries) {
  StreamEncoding best = StreamEncoding::Dense;
  for (StreamEncoding other : {StreamEncoding::Bitmap, StreamEncoding::List})
    if (streamBytes(shape, other, kernels, entries) <
        streamBytes(shape, best, kernels, entries))
      best = other;
  return best;
}

static llvm::Error checkShape(const StreamShape &shape) {
  struct Limit {
    const char *name;
    uint32_t value, low, high;
  };
  const Limit limits[] = {
      {"channels", shape.channels, 1, 65535},
      {"kernels", shape.kernels, 1, 65535},
      {"channels per group", shape.channelsPerGroup, 1, 65535},
      {"channels before the first", shape.firstInGroup, 0,
       shape.channelsPerGroup == 0 ? 0 : shape.channelsPerGroup - 1},
      {"kernel rows", shape.kH, 1, 255},
      {"kernel columns", shape.kW, 1, 255},
      {"mantissa bits", shape.mantissaBits, 1, 17},
      {"shift bits", shape.shiftBits, 0, 4},
      {"rows to a turn", shape.turn, 0, 15}};
  for (const Limit &limit : limits)
    if (limit.value < limit.low || limit.value > limit.high)
      return makeError(ErrorClass::Malformed,
                       "coefficient stream: {} {}, expected {} to {}",
                       limit.value, limit.name, limit.low, limit.high);
  return llvm::Error::success();
}

//===- Encoding -----------------------------------------------------------===//

/// Place of a coefficient in the order of its kernel.
static uint32_t placeOf(const StreamShape &shape, const Coefficient &entry) {
  return shape.tapAt(entry.ky * shape.kW + entry.kx);
}

namespace {
class BitWriter {
public:
  explicit BitWriter(std::vector<uint8_t> &out) : out(out) {}
  void put(uint64_t value, unsigned bits) {
    for (unsigned i = 0; i < bits; ++i, ++used) {
      if (used % 8 == 0)
        out.push_back(0);
      out.back() |= static_cast<uint8_t>((value >> i & 1) << used % 8);
    }
  }

private:
  std::vector<uint8_t> &out;
  uint64_t used = 0;
};

/// Writes the channels of one stream.
class Encoder {
public:
  Encoder(const StreamShape &shape, std::vector<uint8_t> &out)
      : shape(shape), widths(shape), bits(out) {}

  void list(llvm::ArrayRef<Coefficient> entries, uint32_t firstRegion);
  /// Bitmap or dense: \p entries by place.
  void places(llvm::ArrayRef<Coefficient> entries, uint32_t firstRegion,
              bool dense);

private:
  void value(const Coefficient &entry) {
    bits.put(static_cast<uint32_t>(entry.mantissa), shape.mantissaBits);
    bits.put(entry.shift, shape.shiftBits);
  }

  const StreamShape &shape;
  const ListWidths widths;
  BitWriter bits;
};
} // namespace

void Encoder::list(llvm::ArrayRef<Coefficient> entries, uint32_t firstRegion) {
  llvm::SmallVector<size_t> starts;
  for (size_t i = 0; i < entries.size(); ++i)
    if (i == 0 || entries[i].z != entries[i - 1].z ||
        i - starts.back() == shape.taps())
      starts.push_back(i);
  bits.put(starts.size(), widths.kernelCount);
  for (size_t k = 0; k < starts.size(); ++k) {
    const size_t end = k + 1 < starts.size() ? starts[k + 1] : entries.size();
    bits.put(entries[starts[k]].z - firstRegion, widths.kernel);
    bits.put(end - starts[k], widths.count);
    for (size_t i = starts[k]; i < end; ++i) {
      value(entries[i]);
      bits.put(entries[i].ky * shape.kW + entries[i].kx, widths.position);
    }
  }
}

void Encoder::places(llvm::ArrayRef<Coefficient> entries, uint32_t firstRegion,
                     bool dense) {
  size_t next = 0;
  for (uint32_t z = 0; z < shape.kernels; ++z) {
    size_t end = next;
    std::vector<const Coefficient *> at(shape.taps(), nullptr);
    for (; end < entries.size() && entries[end].z == firstRegion + z; ++end)
      at[placeOf(shape, entries[end])] = &entries[end];
    next = end;
    if (!dense)
      for (const Coefficient *entry : at)
        bits.put(entry != nullptr, 1);
    for (const Coefficient *entry : at) {
      if (entry)
        value(*entry);
      else if (dense)
        value({});
    }
  }
}

static llvm::Error checkEntry(const StreamShape &shape, uint32_t firstRegion,
                              const Coefficient &entry) {
  const int32_t limit = int32_t(1) << (shape.mantissaBits - 1);
  if (entry.z < firstRegion || entry.z >= firstRegion + shape.kernels ||
      entry.ky >= shape.kH || entry.kx >= shape.kW || entry.mantissa < -limit ||
      entry.mantissa >= limit || entry.shift >> shape.shiftBits != 0)
    return makeError(ErrorClass::Internal,
                     "coefficient {} << {} at ({}, {}, {}) does not fit its "
                     "stream",
                     entry.mantissa, entry.shift, entry.z, entry.ky, entry.kx);
  return llvm::Error::success();
}

/// Error if \p entries have two coefficients in one place, or as a list taps of
/// a kernel that follow each other in another order than the shape says.
static llvm::Error checkOrder(const StreamShape &shape, uint32_t channel,
                              llvm::ArrayRef<Coefficient> entries,
                              llvm::ArrayRef<Coefficient> sorted, bool list) {
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].z == sorted[i - 1].z &&
        placeOf(shape, sorted[i]) == placeOf(shape, sorted[i - 1]))
      return makeError(ErrorClass::Internal,
                       "two coefficients at ({}, {}, {}) of channel {}",
                       sorted[i].z, sorted[i].ky, sorted[i].kx, channel);
  if (list && shape.turn > 0)
    for (size_t i = 1; i < entries.size(); ++i)
      if (entries[i].z == entries[i - 1].z &&
          placeOf(shape, entries[i]) < placeOf(shape, entries[i - 1]))
        return makeError(ErrorClass::Internal,
                         "taps of kernel {} of channel {} are out of order",
                         entries[i].z, channel);
  return llvm::Error::success();
}

static void putHeader(const StreamShape &shape, StreamEncoding encoding,
                      std::vector<uint8_t> &out) {
  auto low = [](uint32_t value) { return static_cast<uint8_t>(value); };
  auto high = [](uint32_t value) { return static_cast<uint8_t>(value >> 8); };
  out = {static_cast<uint8_t>(encoding),
         low(shape.mantissaBits),
         low(shape.shiftBits),
         low(shape.kH),
         low(shape.kW),
         low(shape.turn),
         low(shape.channels),
         high(shape.channels),
         low(shape.kernels),
         high(shape.kernels),
         low(shape.channelsPerGroup),
         high(shape.channelsPerGroup),
         low(shape.firstInGroup),
         high(shape.firstInGroup),
         0,
         0};
}

llvm::Expected<std::vector<uint8_t>>
isa::encodeStream(const StreamShape &shape,
                  llvm::ArrayRef<std::vector<Coefficient>> channels,
                  StreamEncoding encoding) {
  if (llvm::Error error = checkShape(shape))
    return error;
  if (channels.size() != shape.channels)
    return makeError(ErrorClass::Internal,
                     "{} lists of coefficients for {} channels",
                     channels.size(), shape.channels);
  std::vector<uint8_t> out;
  putHeader(shape, encoding, out);
  Encoder encoder(shape, out);
  for (uint32_t channel = 0; channel < shape.channels; ++channel) {
    const uint32_t firstRegion = shape.firstRegion(channel);
    std::vector<Coefficient> entries;
    for (const Coefficient &entry : channels[channel]) {
      if (llvm::Error error = checkEntry(shape, firstRegion, entry))
        return error;
      if (entry.mantissa != 0)
        entries.push_back(entry);
    }
    std::vector<Coefficient> sorted = entries;
    llvm::sort(sorted, [&](const Coefficient &a, const Coefficient &b) {
      return std::tuple(a.z, placeOf(shape, a)) <
             std::tuple(b.z, placeOf(shape, b));
    });
    const bool isList = encoding == StreamEncoding::List;
    if (llvm::Error error = checkOrder(shape, channel, entries, sorted, isList))
      return error;
    if (isList)
      encoder.list(entries, firstRegion);
    else
      encoder.places(sorted, firstRegion, encoding == StreamEncoding::Dense);
  }
  return out;
}

//===- Decoding -----------------------------------------------------------===//

llvm::Expected<StreamHeader>
isa::readStreamHeader(llvm::ArrayRef<uint8_t> bytes) {
  if (bytes.size() < streamHeaderBytes)
    return makeError(ErrorClass::Malformed,
                     "coefficient stream of {} bytes, its header has {}",
                     bytes.size(), streamHeaderBytes);
  auto word = [&](unsigned i) {
    return static_cast<uint32_t>(bytes[i] | bytes[i + 1] << 8);
  };
  StreamHeader header;
  header.shape.mantissaBits = bytes[1];
  header.shape.shiftBits = bytes[2];
  header.shape.kH = bytes[3];
  header.shape.kW = bytes[4];
  header.shape.turn = bytes[5];
  header.shape.channels = word(6);
  header.shape.kernels = word(8);
  header.shape.channelsPerGroup = word(10);
  header.shape.firstInGroup = word(12);
  if (bytes[0] > 2 || word(14) != 0)
    return makeError(ErrorClass::Malformed,
                     "coefficient stream of encoding {}, expected 0 to 2 and "
                     "zeros in bytes 14 and 15",
                     bytes[0]);
  header.encoding = static_cast<StreamEncoding>(bytes[0]);
  if (llvm::Error error = checkShape(header.shape))
    return error;
  return header;
}

namespace {
class BitReader {
public:
  explicit BitReader(llvm::ArrayRef<uint8_t> bytes) : bytes(bytes) {}

  /// The next bits, at most 32; zeros after the end, where `overran` is set.
  uint32_t get(unsigned bits) {
    while (held < bits) {
      if (next < bytes.size())
        window |= uint64_t(bytes[next]) << held;
      else
        overran = true;
      ++next;
      held += 8;
    }
    const auto value =
        static_cast<uint32_t>(window & ((uint64_t(1) << bits) - 1));
    window >>= bits;
    held -= bits;
    return value;
  }
  /// Bytes that were begun.
  uint64_t position() const { return next; }
  bool overran = false;

private:
  llvm::ArrayRef<uint8_t> bytes;
  uint64_t window = 0, next = 0;
  unsigned held = 0;
};

class Decoder {
public:
  Decoder(const StreamHeader &header, llvm::ArrayRef<uint8_t> bytes,
          StreamVisitor &visitor)
      : shape(header.shape), encoding(header.encoding), widths(header.shape),
        bits(bytes.drop_front(streamHeaderBytes)), visitor(visitor) {}

  llvm::Expected<uint64_t> run();

private:
  llvm::Error list(uint32_t channel);
  llvm::Error places(uint32_t channel);
  llvm::Error entry(uint32_t channel, uint32_t kernel, uint32_t position,
                    bool zeroAllowed);
  /// Reads mantissa and shift of the next coefficient.
  void readValue() {
    const uint32_t unused = 32 - shape.mantissaBits;
    current.mantissa =
        static_cast<int32_t>(bits.get(shape.mantissaBits) << unused) >> unused;
    current.shift = bits.get(shape.shiftBits);
  }
  llvm::Error malformed(uint32_t channel, const char *what) const {
    return makeError(ErrorClass::Malformed,
                     "coefficient stream, channel {}: {}", channel, what);
  }

  const StreamShape &shape;
  const StreamEncoding encoding;
  const ListWidths widths;
  BitReader bits;
  StreamVisitor &visitor;
  Coefficient current;
};
} // namespace

llvm::Error Decoder::entry(uint32_t channel, uint32_t kernel, uint32_t position,
                           bool zeroAllowed) {
  if (bits.overran)
    return malformed(channel, "the stream ends inside a coefficient");
  if (current.mantissa == 0 && !zeroAllowed)
    return malformed(channel, "a coefficient of zero");
  current.z = shape.firstRegion(channel) + kernel;
  current.ky = position / shape.kW;
  current.kx = position % shape.kW;
  visitor.coefficient(channel, current);
  return llvm::Error::success();
}

llvm::Error Decoder::list(uint32_t channel) {
  const uint32_t kernels = bits.get(widths.kernelCount);
  for (uint32_t k = 0; k < kernels; ++k) {
    const uint32_t kernel = bits.get(widths.kernel);
    const uint32_t count = bits.get(widths.count);
    if (bits.overran)
      return malformed(channel, "the stream ends inside a kernel");
    if (kernel >= shape.kernels || count > shape.taps())
      return malformed(channel, "a kernel that the header does not allow");
    for (uint32_t i = 0, next = 0; i < count; ++i) {
      readValue();
      const uint32_t position = bits.get(widths.position);
      if (position >= shape.taps())
        return malformed(channel, "a position outside the kernel");
      if (shape.turn > 0) {
        if (shape.tapAt(position) < next)
          return malformed(channel, "positions of a kernel out of order");
        next = shape.tapAt(position) + 1;
      }
      if (llvm::Error error = entry(channel, kernel, position, false))
        return error;
    }
  }
  return llvm::Error::success();
}

llvm::Error Decoder::places(uint32_t channel) {
  const bool dense = encoding == StreamEncoding::Dense;
  std::vector<uint8_t> present(shape.taps(), 1);
  for (uint32_t kernel = 0; kernel < shape.kernels; ++kernel) {
    for (uint8_t &flag : present)
      flag = dense || bits.get(1);
    for (uint32_t i = 0; i < shape.taps(); ++i) {
      if (!present[i])
        continue;
      readValue();
      if (llvm::Error error = entry(channel, kernel, shape.tapAt(i), dense))
        return error;
    }
    if (bits.overran)
      return malformed(channel, "the stream ends inside a kernel");
  }
  return llvm::Error::success();
}

llvm::Expected<uint64_t> Decoder::run() {
  for (uint32_t channel = 0; channel < shape.channels; ++channel) {
    if (llvm::Error error =
            encoding == StreamEncoding::List ? list(channel) : places(channel))
      return error;
    if (bits.overran)
      return malformed(channel, "the stream ends before it");
    visitor.endChannel(channel);
  }
  return streamHeaderBytes + bits.position();
}

llvm::Expected<uint64_t> isa::decodeStream(llvm::ArrayRef<uint8_t> bytes,
                                           StreamVisitor &visitor) {
  llvm::Expected<StreamHeader> header = readStreamHeader(bytes);
  if (!header)
    return header.takeError();
  return Decoder(*header, bytes, visitor).run();
}
