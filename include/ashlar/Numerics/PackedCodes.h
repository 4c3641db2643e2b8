// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dense streams of two's complement codes of a few bits: how mantissas lie in
// DRAM. Code k of width W is bits [k*W, (k+1)*W) of the stream, bit 0 being the
// lowest bit of the first byte.

#ifndef ASHLAR_NUMERICS_PACKEDCODES_H
#define ASHLAR_NUMERICS_PACKEDCODES_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace ashlar::numerics {

/// Bytes of a stream of \p count codes of \p width bits.
constexpr uint64_t packedBytes(uint64_t count, unsigned width) {
  return (count * width + 7) / 8;
}

/// The low \p width bits (1 to 16) of each code, without gaps; the bits that
/// fill the last byte are zero.
std::vector<uint8_t> packCodes(llvm::ArrayRef<int16_t> codes, unsigned width);

/// Codes [first, first + count) of \p stream, sign-extended. \p width is 1 to
/// the bits of an element; the stream holds all of them.
void unpackCodes(llvm::ArrayRef<uint8_t> stream, uint64_t first, unsigned width,
                 int8_t *out, uint64_t count);
void unpackCodes(llvm::ArrayRef<uint8_t> stream, uint64_t first, unsigned width,
                 int16_t *out, uint64_t count);

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_PACKEDCODES_H
