// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams of codes that leave zeros out, and of exponents in few bits: how
// weights lie in DRAM (docs/Machine.md 3). Codes are those of PackedCodes.h.

#ifndef ASHLAR_NUMERICS_SPARSECODES_H
#define ASHLAR_NUMERICS_SPARSECODES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace ashlar::numerics {

/// What a stream says about codes that it does not store.
enum class CodeForm : uint8_t {
  Dense, ///< Every code is stored.
  /// One flag for each unit of neighbouring codes, then the codes of the
  /// flagged units.
  Bitmap,
  /// Before each stored code the number of zeros to skip, in `unit` bits; all
  /// after the last stored code is zero.
  Runs,
  /// Exponents of blocks as distances from the largest, without a sign; the
  /// largest code is that of a block of zeros.
  Exponents,
};

/// Bits of an exponent in a stream at most. Those of weights are at most D <=
/// 15 octaves below the scale of their output: with the code for blocks of
/// zeros 17 values.
inline constexpr unsigned kMostExponentBits = 5;

/// A stream of \p count codes of \p width bits, as the fields of dma.unpack
/// describe it.
struct CodeStream {
  CodeForm form = CodeForm::Dense;
  unsigned width = 8;
  uint64_t count = 0;
  /// Bitmap: codes of a flag, a divisor of the count. Runs: bits of a number of
  /// zeros. Others: 0.
  unsigned unit = 0;
  /// Codes that are stored, where some are left out.
  uint64_t stored = 0;
  /// The code that is left out; the largest exponent.
  int16_t zero = 0;

  bool operator==(const CodeStream &) const = default;

  /// Flags of a bitmap, which precede the codes.
  uint64_t flags() const {
    return form == CodeForm::Bitmap && unit > 0 ? count / unit : 0;
  }
  /// All codes are stored, one after the other.
  bool storesAll() const {
    return form == CodeForm::Dense || form == CodeForm::Exponents;
  }
  /// Codes that pass through the decoder.
  uint64_t decoded() const {
    return form == CodeForm::Dense       ? 0
           : form == CodeForm::Exponents ? count
                                         : stored;
  }
  /// Length in bytes; lengths beyond any memory stay so.
  uint64_t bytes() const;
};

/// Bytes that hold `codes` in the form, unit and zero of \p stream, which gets
/// their number and how many are stored. A run of more zeros than `unit` bits
/// can count stores a zero.
std::vector<uint8_t> packSparse(llvm::ArrayRef<int16_t> codes,
                                CodeStream &stream);

/// The shortest stream of \p codes of \p width bits that leaves out \p zero:
/// dense, flags for each code or for each \p row codes, or runs; of the last
/// two only \p only, if given.
CodeStream shortestStream(llvm::ArrayRef<int16_t> codes, unsigned width,
                          int16_t zero, uint64_t row,
                          std::optional<CodeForm> only = std::nullopt);

/// The stream of fewest bits for the exponents \p cells of blocks, each with
/// -128 for a block of zeros; nothing if they lie too far apart.
std::optional<CodeStream> exponentStream(llvm::ArrayRef<int16_t> cells);

/// Bits per code of the shortest stream of very many codes of which the share
/// \p density is not zero, wherever those are.
double expectedBits(unsigned width, double density);

/// All codes of a stream, sign-extended. Malformed: flags or runs that name
/// more or fewer codes than the stream stores.
llvm::Error unpackSparse(llvm::ArrayRef<uint8_t> bytes,
                         const CodeStream &stream, int16_t *out);

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_SPARSECODES_H
