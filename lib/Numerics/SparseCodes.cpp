// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bitmaps and runs of zeros. The length of every candidate follows from one
// pass over the codes, so that only the shortest one is written.

#include "ashlar/Numerics/SparseCodes.h"

#include "ashlar/Numerics/Encode.h"
#include "ashlar/Numerics/PackedCodes.h"
#include "ashlar/Support/BitWriter.h"
#include "ashlar/Support/Error.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cstring>

using namespace ashlar;
using namespace ashlar::numerics;
using ashlar::support::BitWriter;

namespace {

/// Longest count of zeros that is tried: 2^12 zeros before a code.
constexpr unsigned kRunBits = 12;

class BitReader {
public:
  explicit BitReader(llvm::ArrayRef<uint8_t> bytes) : bytes(bytes) {}

  /// At most 32 bits.
  uint64_t take(unsigned width) {
    if (at / 8 + sizeof(uint64_t) <= bytes.size()) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + at / 8, sizeof(word));
      word >>= at % 8;
      at += width;
      return word & ((uint64_t(1) << width) - 1);
    }
    uint64_t value = 0;
    for (unsigned got = 0; got < width;) {
      const unsigned shift = at % 8, part = std::min(8 - shift, width - got);
      value |= uint64_t(bytes[at / 8] >> shift & ((1u << part) - 1)) << got;
      got += part, at += part;
    }
    return value;
  }
  int16_t code(unsigned width) { return extended(take(width), width); }
  /// The next `count` codes.
  void codes(unsigned width, int16_t *out, uint64_t count) {
    // As many as a word surely holds, whatever its first bit.
    constexpr unsigned together = 3;
    static_assert(together * 16 + 7 <= 64);
    uint64_t i = 0;
    for (; i + together <= count && at / 8 + sizeof(uint64_t) <= bytes.size();
         i += together) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + at / 8, sizeof(word));
      word >>= at % 8;
      for (unsigned k = 0; k < together; ++k)
        out[i + k] = extended(word >> (k * width), width);
      at += together * width;
    }
    for (; i < count; ++i)
      out[i] = code(width);
  }

private:
  /// The low bits of a word, the highest of them as the sign.
  static int16_t extended(uint64_t word, unsigned width) {
    const unsigned shift = 64 - width;
    return static_cast<int16_t>(static_cast<int64_t>(word << shift) >> shift);
  }

  llvm::ArrayRef<uint8_t> bytes;
  uint64_t at = 0;
};

bool isZero(llvm::ArrayRef<int16_t> codes, int16_t zero) {
  return std::all_of(codes.begin(), codes.end(),
                     [&](int16_t code) { return code == zero; });
}

/// Calls fn(zeros before it, code) for every code that is not left out.
template <typename Fn>
void forRuns(llvm::ArrayRef<int16_t> codes, int16_t zero, Fn fn) {
  uint64_t zeros = 0;
  for (int16_t code : codes) {
    if (code == zero) {
      ++zeros;
      continue;
    }
    fn(zeros, code);
    zeros = 0;
  }
}

uint64_t storedInUnits(llvm::ArrayRef<int16_t> codes, int16_t zero,
                       uint64_t unit) {
  uint64_t stored = 0;
  for (; !codes.empty(); codes = codes.drop_front(unit))
    if (!isZero(codes.take_front(unit), zero))
      stored += unit;
  return stored;
}

void packBitmap(llvm::ArrayRef<int16_t> codes, CodeStream &stream,
                BitWriter &out) {
  for (auto rest = codes; !rest.empty(); rest = rest.drop_front(stream.unit))
    out.put(!isZero(rest.take_front(stream.unit), stream.zero), 1);
  for (auto rest = codes; !rest.empty(); rest = rest.drop_front(stream.unit)) {
    const auto unit = rest.take_front(stream.unit);
    if (isZero(unit, stream.zero))
      continue;
    for (int16_t code : unit)
      out.put(static_cast<uint16_t>(code), stream.width);
    stream.stored += stream.unit;
  }
}

void packRuns(llvm::ArrayRef<int16_t> codes, CodeStream &stream,
              BitWriter &out) {
  const uint64_t longest = (uint64_t(1) << stream.unit) - 1;
  auto put = [&](uint64_t zeros, int16_t code) {
    out.put(zeros, stream.unit);
    out.put(static_cast<uint16_t>(code), stream.width);
    ++stream.stored;
  };
  forRuns(codes, stream.zero, [&](uint64_t zeros, int16_t code) {
    for (; zeros > longest; zeros -= longest + 1)
      put(longest, stream.zero);
    put(zeros, code);
  });
}

/// The code of a block of zeros.
constexpr unsigned zeroBlockCode(unsigned width) { return (1u << width) - 1; }

void packExponents(llvm::ArrayRef<int16_t> cells, const CodeStream &stream,
                   BitWriter &out) {
  for (int16_t cell : cells)
    out.put(cell == kZeroBlock ? zeroBlockCode(stream.width)
                               : static_cast<uint64_t>(stream.zero - cell),
            stream.width);
}

void unpackExponents(llvm::ArrayRef<uint8_t> bytes, const CodeStream &stream,
                     int16_t *out) {
  BitReader reader(bytes);
  for (uint64_t i = 0; i < stream.count; ++i) {
    const uint64_t code = reader.take(stream.width);
    out[i] = code == zeroBlockCode(stream.width)
                 ? int16_t(kZeroBlock)
                 : static_cast<int16_t>(stream.zero - static_cast<int>(code));
  }
}

llvm::Error malformed(llvm::StringRef what, uint64_t named, uint64_t stored) {
  return makeError(ErrorClass::Malformed,
                   "{} of packed codes name {} codes, the stream stores {}",
                   what.str(), named, stored);
}

llvm::Error unpackBitmap(llvm::ArrayRef<uint8_t> bytes,
                         const CodeStream &stream, int16_t *out) {
  constexpr uint64_t together = 32; // flags
  BitReader flags(bytes), codes(bytes);
  const uint64_t units = stream.flags();
  auto take = [&](BitReader &reader, uint64_t i) {
    return reader.take(static_cast<unsigned>(std::min(together, units - i)));
  };
  uint64_t named = 0;
  for (uint64_t i = 0; i < units; i += together)
    named +=
        static_cast<uint64_t>(llvm::popcount(take(codes, i))) * stream.unit;
  if (named != stream.stored)
    return malformed("flags", named, stream.stored);
  std::fill(out, out + stream.count, stream.zero);
  int16_t single[together];
  for (uint64_t i = 0; i < units; i += together) {
    uint64_t word = take(flags, i);
    const int16_t *next = single;
    if (stream.unit == 1)
      codes.codes(stream.width, single,
                  static_cast<uint64_t>(llvm::popcount(word)));
    for (; word != 0; word &= word - 1) {
      const uint64_t unit = i + static_cast<uint64_t>(llvm::countr_zero(word));
      if (stream.unit == 1)
        out[unit] = *next++;
      else
        codes.codes(stream.width, out + unit * stream.unit, stream.unit);
    }
  }
  return llvm::Error::success();
}

llvm::Error unpackRuns(llvm::ArrayRef<uint8_t> bytes, const CodeStream &stream,
                       int16_t *out) {
  BitReader reader(bytes);
  std::fill(out, out + stream.count, stream.zero);
  uint64_t at = 0;
  for (uint64_t i = 0; i < stream.stored; ++i) {
    at += reader.take(stream.unit);
    if (at >= stream.count)
      return makeError(ErrorClass::Malformed,
                       "run {} of packed codes reaches code {} of {}", i, at,
                       stream.count);
    out[at++] = reader.code(stream.width);
  }
  return llvm::Error::success();
}

} // namespace

uint64_t CodeStream::bytes() const {
  constexpr uint64_t limit = uint64_t(1) << 43;
  const uint64_t codes = std::min(storesAll() ? count : stored, limit);
  const uint64_t bits = width + (form == CodeForm::Runs ? unit : 0);
  return (std::min(flags(), limit) + codes * bits + 7) / 8;
}

std::vector<uint8_t> numerics::packSparse(llvm::ArrayRef<int16_t> codes,
                                          CodeStream &stream) {
  stream.count = codes.size();
  stream.stored = 0;
  if (stream.form == CodeForm::Dense)
    return packCodes(codes, stream.width);
  BitWriter out;
  if (stream.form == CodeForm::Exponents)
    packExponents(codes, stream, out);
  else if (stream.form == CodeForm::Bitmap)
    packBitmap(codes, stream, out);
  else
    packRuns(codes, stream, out);
  return out.take();
}

CodeStream numerics::shortestStream(llvm::ArrayRef<int16_t> codes,
                                    unsigned width, int16_t zero, uint64_t row,
                                    std::optional<CodeForm> only) {
  CodeStream best{CodeForm::Dense, width, codes.size(), 0, 0, zero};
  auto consider = [&](CodeForm form, uint64_t unit, uint64_t stored) {
    const CodeStream stream{
        form, width, codes.size(), static_cast<unsigned>(unit), stored, zero};
    if (only.value_or(form) == form && stream.bytes() < best.bytes())
      best = stream;
  };
  // Most weights have few zeros, and only a count of them is needed to know.
  const auto zeros =
      static_cast<uint64_t>(std::count(codes.begin(), codes.end(), zero));
  const uint64_t kept = codes.size() - zeros;
  consider(CodeForm::Bitmap, 1, kept);
  if (row > 1 && row <= 255 && codes.size() % row == 0 && zeros >= row)
    consider(CodeForm::Bitmap, row, storedInUnits(codes, zero, row));
  if (kept * (width + 1) >= 8 * best.bytes())
    return best;
  uint64_t fillers[kRunBits + 1] = {};
  forRuns(codes, zero, [&](uint64_t count, int16_t) {
    for (unsigned bits = 1; bits <= kRunBits && count >> bits; ++bits)
      fillers[bits] += count >> bits;
  });
  for (unsigned bits = 1; bits <= kRunBits; ++bits)
    consider(CodeForm::Runs, bits, kept + fillers[bits]);
  return best;
}

std::optional<CodeStream>
numerics::exponentStream(llvm::ArrayRef<int16_t> cells) {
  int16_t largest = kZeroBlock, smallest = INT16_MAX;
  for (int16_t cell : cells) {
    if (cell == kZeroBlock)
      continue;
    largest = std::max(largest, cell);
    smallest = std::min(smallest, cell);
  }
  if (largest == kZeroBlock) // blocks of zeros alone
    largest = smallest = 0;
  // The largest code is that of a block of zeros, whether there is one or not.
  for (unsigned width = 1; width <= kMostExponentBits; ++width)
    if (static_cast<unsigned>(largest - smallest) < zeroBlockCode(width))
      return CodeStream{
          CodeForm::Exponents, width, cells.size(), 0, 0, largest};
  return std::nullopt;
}

double numerics::expectedBits(unsigned width, double density) {
  double best = std::min<double>(width, 1 + density * width);
  for (unsigned bits = 1; density > 0 && bits <= kRunBits; ++bits) {
    // Zeros before a code follow a geometric distribution; a run of 2^bits of
    // them or more stores fillers.
    double longer = 1 - density;
    for (unsigned i = 0; i < bits; ++i)
      longer *= longer;
    best = std::min(best, density * (width + bits) / (1 - longer));
  }
  return best;
}

llvm::Error numerics::unpackSparse(llvm::ArrayRef<uint8_t> bytes,
                                   const CodeStream &stream, int16_t *out) {
  switch (stream.form) {
  case CodeForm::Dense:
    unpackCodes(bytes, 0, stream.width, out, stream.count);
    return llvm::Error::success();
  case CodeForm::Bitmap:
    return unpackBitmap(bytes, stream, out);
  case CodeForm::Runs:
    return unpackRuns(bytes, stream, out);
  case CodeForm::Exponents:
    unpackExponents(bytes, stream, out);
    return llvm::Error::success();
  }
  return llvm::Error::success();
}
