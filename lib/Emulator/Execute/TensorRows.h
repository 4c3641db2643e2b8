// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of tensors in SB for ACT and VEC: loaded as binary32 or int64, stored
// and encoded.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_TENSORROWS_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_TENSORROWS_H

#include "../State/TensorView.h"
#include "Engine.h"
#include "ashlar/Numerics/BlockArithmetic.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace ashlar::emulator {

/// Elements [k0, k1) of a channel as binary32: into \p buffer, or, for binary32
/// without gaps, a pointer to where they are.
const float *loadFloats(Engine &engine, const TensorView &view,
                        uint64_t channel, uint64_t k0, uint64_t k1,
                        float *buffer);
/// Positions [k0, k1) of the `count` channels from `first` on: a row of each,
/// one after the other.
struct RowRange {
  uint64_t first, count, k0, k1;
  uint64_t steps() const { return k1 - k0; }
  uint64_t elements() const { return count * steps(); }
};
/// Rows with fewer elements, a vector of the host, are computed several at a
/// time: the calls for a row take as long as the arithmetic of some hundred.
inline constexpr uint64_t shortRow = 16;
/// The rows of a range as binary32: into \p buffer, or, where loadFloats() does
/// so, a pointer to where the only one of them is.
const float *loadRows(Engine &engine, const TensorView &view,
                      const RowRange &range, float *buffer);
/// n stored elements without gaps as binary32; cells for bfp only.
void decodeElements(Engine &engine, isa::ElemType type, unsigned mantissa,
                    const uint8_t *raw, const int8_t *cells, uint64_t n,
                    float *out);
/// n values as they would be stored and loaded again; not for bfp.
void roundElements(isa::ElemType type, float *values, uint64_t n);
/// The same as int64; integer and bool types only.
void loadIntegers(Engine &engine, const TensorView &view, uint64_t channel,
                  uint64_t k0, uint64_t k1, int64_t *out);
/// The same as binary64: exact but for 64-bit integers; not for bfp.
void loadDoubles(Engine &engine, const TensorView &view, uint64_t channel,
                 uint64_t k0, uint64_t k1, double *out);
/// A fetched mantissa and its step exponent.
struct EncodedElement {
  int32_t mantissa;
  int32_t exponent;
};
/// Elements [k0, k1) of a channel of an encoded tensor.
void loadEncoded(Engine &engine, const TensorView &view, uint64_t channel,
                 uint64_t k0, uint64_t k1, EncodedElement *out);
/// Converts and stores a row; not for bfp.
void storeFloats(Engine &engine, const TensorView &view, uint64_t channel,
                 uint64_t k0, uint64_t k1, const float *values);
/// The same for short rows.
void storeRows(Engine &engine, const TensorView &view, const RowRange &range,
               const float *values);
void storeIntegers(Engine &engine, const TensorView &view, uint64_t channel,
                   uint64_t k0, uint64_t k1, const int64_t *values);
/// Floats narrower than binary64 are rounded to binary32 first.
void storeDoubles(Engine &engine, const TensorView &view, uint64_t channel,
                  uint64_t k0, uint64_t k1, const double *values);
/// Where a binary32 row may be computed in place, or null.
float *directRow(Engine &engine, const TensorView &view, uint64_t channel,
                 uint64_t k0);

/// Where an encoder puts positions [k0, k1) of one block: rows of mantissas,
/// in their place in SB or in a buffer, and cells.
template <typename T>
struct BlockRows {
  T **mantissas;
  int8_t *cells;
  bool direct; ///< The rows are those of SB.
};
/// Valid until the next call on the same thread.
template <typename T>
BlockRows<T> startBlock(Engine &engine, const TensorView &view,
                        uint64_t firstChannel, uint64_t count, uint64_t k0,
                        uint64_t k1);
/// Stores what has been encoded.
template <typename T>
void finishBlock(Engine &engine, const TensorView &view, uint64_t firstChannel,
                 uint64_t count, uint64_t k0, uint64_t k1,
                 const BlockRows<T> &rows);

/// Calls \p encode(firstChannel, count, k0, k1, stats) for every block of a
/// result with at most \p mostSteps positions at a time, split over threads,
/// and merges what they found into the scale register. `cost` is a factor on
/// the number of elements.
void forBlocks(Engine &engine, const TensorView &view,
               const EncodeTarget &target, uint64_t channels, uint64_t cost,
               uint64_t mostSteps,
               llvm::function_ref<void(uint64_t, uint64_t, uint64_t, uint64_t,
                                       numerics::EncodeStats &)>
                   encode);

/// Encodes positions [k0, k1) of one block whose channels start at
/// \p firstChannel; rows[i] is channel firstChannel + i.
void encodeRows(Engine &engine, const TensorView &view, uint64_t firstChannel,
                llvm::ArrayRef<const float *> rows, uint64_t k0, uint64_t k1,
                numerics::EncodeStats &stats);

/// Computes a result tensor: \p compute fills the rows of a range with
/// binary32, which are then stored or encoded as \p view says. Ranges of
/// several channels are those of a block, or of short rows. Splits the work
/// over threads; `cost` is a factor on the number of elements.
using ComputeRows = llvm::function_ref<void(const RowRange &, float *)>;
void produceRows(Engine &engine, const TensorView &view,
                 const EncodeTarget &target, uint64_t channels, uint64_t cost,
                 ComputeRows compute);

/// The same, row by row: \p compute(channel, k0, k1, out).
void produceFloats(
    Engine &engine, const TensorView &view, const EncodeTarget &target,
    uint64_t channels, uint64_t cost,
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t, float *)> compute);

/// The same under an exponent that the target gives; encoded results only.
void produceGiven(
    Engine &engine, const TensorView &view, const EncodeTarget &target,
    uint64_t channels, uint64_t cost,
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t, float *)> compute);

/// Encodes a row in blocks of \p block elements without row kernels: a mantissa
/// per element, a cell per block. Floats need an exponent that the target
/// gives.
template <typename Value>
void encodeLine(Engine &engine, const EncodeTarget &target, int mantissa,
                llvm::ArrayRef<Value> row, uint64_t block, int16_t *mantissas,
                int8_t *cells, numerics::EncodeStats &stats);

/// Computes an encoded result from exact values, rounded once:
/// \p compute(channel, k0, k1, out) fills a row.
void produceExact(Engine &engine, const TensorView &view,
                  const EncodeTarget &target, uint64_t channels,
                  llvm::function_ref<void(uint64_t, uint64_t, uint64_t,
                                          numerics::WideValue *)>
                      compute);

/// Stores positions [k0, k1) of one block: mantissas[i * (k1 - k0) + k] of
/// channel firstChannel + i, one cell for each position.
void storeBlock(Engine &engine, const TensorView &view, uint64_t firstChannel,
                uint64_t count, uint64_t k0, uint64_t k1,
                const int16_t *mantissas, const int8_t *cells);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_TENSORROWS_H
