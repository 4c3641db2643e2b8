// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing collects codes in a word. Unpacking is on the path of every emulated
// weight: eight (or four) codes are spread over a 64-bit
// word by halving steps and sign-extended in it.

#include "ashlar/Numerics/PackedCodes.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using namespace ashlar;

std::vector<uint8_t> numerics::packCodes(llvm::ArrayRef<int16_t> codes,
                                         unsigned width) {
  std::vector<uint8_t> stream(packedBytes(codes.size(), width));
  uint8_t *to = stream.data();
  if (width == 8) {
    for (size_t i = 0; i < codes.size(); ++i)
      to[i] = static_cast<uint8_t>(codes[i]);
    return stream;
  }
  const uint64_t mask = (uint64_t(1) << width) - 1;
  uint64_t pending = 0;
  unsigned bits = 0;
  for (int16_t code : codes) {
    pending |= (static_cast<uint64_t>(code) & mask) << bits;
    bits += width;
    if (bits < 32)
      continue;
    std::memcpy(to, &pending, sizeof(uint32_t));
    to += sizeof(uint32_t);
    pending >>= 32;
    bits -= 32;
  }
  for (; bits > 0; bits -= std::min(bits, 8u), pending >>= 8)
    *to++ = static_cast<uint8_t>(pending);
  return stream;
}

/// `word` in every lane of `Bits` bits.
template <unsigned Bits>
static constexpr uint64_t inLanes(uint64_t word) {
  uint64_t lanes = 0;
  for (unsigned at = 0; at < 64; at += Bits)
    lanes |= word << at;
  return lanes;
}

/// The upper half of every lane of `Bits` bits moves up so that both halves,
/// `used` bits each, start at multiples of Bits / 2.
template <unsigned Bits>
static uint64_t halve(uint64_t word, unsigned used) {
  const uint64_t low = inLanes<Bits>((uint64_t(1) << used) - 1);
  return (word & low) | (word & low << used) << (Bits / 2 - used);
}

/// Sign-extends the low `width` bits, fewer than all, of every lane.
template <unsigned Bits>
static uint64_t signExtend(uint64_t word, unsigned width) {
  const uint64_t sign = inLanes<Bits>(uint64_t(1) << (width - 1));
  const uint64_t top = inLanes<Bits>(uint64_t(1) << (Bits - 1));
  // The top bit keeps borrows inside their lane.
  return (((word ^ sign) | top) - sign) ^ top;
}

/// Code `index`, byte by byte.
static int16_t codeAt(llvm::ArrayRef<uint8_t> stream, uint64_t index,
                      unsigned width) {
  uint64_t bit = index * width;
  uint32_t word = 0;
  for (uint64_t byte = bit / 8, i = 0; byte <= (bit + width - 1) / 8;
       ++byte, ++i)
    word |= uint32_t(stream[byte]) << (8 * i);
  word >>= bit % 8;
  return static_cast<int16_t>(static_cast<int32_t>(word << (32 - width)) >>
                              (32 - width));
}

template <typename T>
static void unpack(llvm::ArrayRef<uint8_t> stream, uint64_t first,
                   unsigned width, T *out, uint64_t count) {
  constexpr unsigned laneBits = 8 * sizeof(T), lanes = 64 / laneBits;
  assert(width >= 1 && width <= laneBits);
  uint64_t done = 0;
  if (width == laneBits) {
    if (count > 0)
      std::memcpy(out, stream.data() + first * sizeof(T), count * sizeof(T));
    return;
  }
  for (; done + lanes <= count; done += lanes) {
    const uint64_t bit = (first + done) * width, byte = bit / 8;
    if (byte + sizeof(uint64_t) + 1 > stream.size())
      break;
    uint64_t word;
    std::memcpy(&word, stream.data() + byte, sizeof(word));
    word >>= bit % 8;
    // Four codes of 15 bits may reach into a ninth byte.
    if (bit % 8 + lanes * width > 64)
      word |= uint64_t(stream[byte + 8]) << (64 - bit % 8);
    if constexpr (lanes == 8)
      word = halve<16>(halve<32>(halve<64>(word, 4 * width), 2 * width), width);
    else
      word = halve<32>(halve<64>(word, 2 * width), width);
    word = signExtend<laneBits>(word, width);
    std::memcpy(out + done, &word, sizeof(word));
  }
  for (; done < count; ++done)
    out[done] = static_cast<T>(codeAt(stream, first + done, width));
}

void numerics::unpackCodes(llvm::ArrayRef<uint8_t> stream, uint64_t first,
                           unsigned width, int8_t *out, uint64_t count) {
  unpack(stream, first, width, out, count);
}

void numerics::unpackCodes(llvm::ArrayRef<uint8_t> stream, uint64_t first,
                           unsigned width, int16_t *out, uint64_t count) {
  unpack(stream, first, width, out, count);
}
