// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors in SB as ACT and VEC see them: channels over partitions and tiles,
// three free dimensions by byte strides, any element type; loading rows as
// binary32 or int64, storing and encoding them.

#ifndef ASHLAR_LIB_EMULATOR_TENSOR_H
#define ASHLAR_LIB_EMULATOR_TENSOR_H

#include "Engine.h"
#include "Pattern.h"
#include "ashlar/Numerics/BlockArithmetic.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace ashlar::emulator {

/// Stored bytes of one element.
unsigned storedBytes(isa::ElemType type, unsigned mantissa);
/// i8 .. u64; not bool.
bool isInteger(isa::ElemType type);

/// A tensor of channels x pattern in SB.
struct TensorView {
  isa::ElemType type = isa::ElemType::F32;
  unsigned mantissa = 0;
  uint64_t part = 0, offset = 0;
  int64_t tileStride = 0;
  bool broadcast = false; ///< Every channel is channel 0.
  Pattern pattern;        ///< Byte strides.

  struct Place {
    uint64_t partition;
    uint64_t offset;
  };
  /// Where element 0 of a channel lies.
  Place place(uint64_t channel, uint64_t partitions) const {
    uint64_t lane = broadcast ? part : part + channel;
    return {lane % partitions,
            offset + static_cast<uint64_t>(
                         static_cast<int64_t>(lane / partitions) * tileStride)};
  }
};

/// An encoded result: which channels share a block, which register collects E.
struct EncodeTarget {
  uint64_t block = 0; ///< Channels per block; 0: all.
  unsigned xr = 0;
  bool clear = false;
  /// The exponent is read from the register, not merged into it.
  bool given = false;
  numerics::Overflow overflow = numerics::Overflow::Saturate;
};

/// The target that an instruction with encoded results describes.
template <typename Op>
EncodeTarget encodeTarget(const Op &op) {
  return {op.dstBlock, static_cast<unsigned>(op.dstXr), op.dstXrClear,
          op.cellFromXr, static_cast<numerics::Overflow>(op.overflow)};
}

/// Copies elements [k0, k1) of \p pattern over \p base to \p out without gaps.
void gatherElements(const numerics::KernelTable &kernels, const uint8_t *base,
                    const Pattern &pattern, unsigned bytes, uint64_t k0,
                    uint64_t k1, void *out);
/// The inverse.
void scatterElements(uint8_t *base, const Pattern &pattern, unsigned bytes,
                     uint64_t k0, uint64_t k1, const void *in);

/// Elements [k0, k1) of a channel as binary32: into \p buffer, or, for binary32
/// without gaps, a pointer to where they are.
const float *loadFloats(Engine &engine, const TensorView &view,
                        uint64_t channel, uint64_t k0, uint64_t k1,
                        float *buffer);
/// n stored elements without gaps as binary32; cells for bfp only.
void decodeElements(Engine &engine, isa::ElemType type, unsigned mantissa,
                    const uint8_t *raw, const int8_t *cells, uint64_t n,
                    float *out);
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
void storeIntegers(Engine &engine, const TensorView &view, uint64_t channel,
                   uint64_t k0, uint64_t k1, const int64_t *values);
/// Floats narrower than binary64 are rounded to binary32 first.
void storeDoubles(Engine &engine, const TensorView &view, uint64_t channel,
                  uint64_t k0, uint64_t k1, const double *values);
/// Where a binary32 row may be computed in place, or null.
float *directRow(Engine &engine, const TensorView &view, uint64_t channel,
                 uint64_t k0);

/// Encodes positions [k0, k1) of one block whose channels start at
/// \p firstChannel; rows[i] is channel firstChannel + i.
void encodeRows(Engine &engine, const TensorView &view, uint64_t firstChannel,
                llvm::ArrayRef<const float *> rows, uint64_t k0, uint64_t k1,
                numerics::EncodeStats &stats);

/// Computes a result tensor: \p compute(channel, k0, k1, out) fills a row of
/// binary32, which is then stored or encoded as \p view says. Splits the work
/// over threads; `cost` is a factor on the number of elements.
void produceFloats(
    Engine &engine, const TensorView &view, const EncodeTarget &target,
    uint64_t channels, uint64_t cost,
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t, float *)> compute);

/// The same under an exponent that the target gives; encoded results only.
void produceGiven(
    Engine &engine, const TensorView &view, const EncodeTarget &target,
    uint64_t channels, uint64_t cost,
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t, float *)> compute);

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

#endif // ASHLAR_LIB_EMULATOR_TENSOR_H
