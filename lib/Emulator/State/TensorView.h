// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors in SB as ACT and VEC see them: channels over partitions and tiles,
// three free dimensions by byte strides, any element type.

#ifndef ASHLAR_LIB_EMULATOR_STATE_TENSORVIEW_H
#define ASHLAR_LIB_EMULATOR_STATE_TENSORVIEW_H

#include "Pattern.h"
#include "ashlar/Isa/Operands.h"
#include "ashlar/Numerics/BlockArithmetic.h"
#include "ashlar/Numerics/Kernels.h"
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
    if (lane < partitions) // no division for most
      return {lane, offset};
    return {lane % partitions,
            offset + static_cast<uint64_t>(
                         static_cast<int64_t>(lane / partitions) * tileStride)};
  }
};

/// An encoded result: which channels share a block, which registers give and
/// collect exponents.
struct EncodeTarget {
  uint64_t block = 0; ///< Channels per block; 0: all.
  unsigned xr = 0;
  bool clear = false;
  /// The exponent is read from the register, not merged into it.
  bool given = false;
  numerics::Overflow overflow = numerics::Overflow::Saturate;
  /// A block beyond a given exponent keeps its own.
  bool repair = false;
  /// Under a given exponent: `ownXr` collects what the blocks have of their
  /// own.
  bool keepOwn = false;
  unsigned ownXr = 0;

  bool merges() const { return !given || keepOwn; }
  /// What collects exponents, if anything does.
  unsigned merged() const { return given ? ownXr : xr; }
};

/// The loops of an operand, at most three, as they are in its instruction.
Pattern patternOf(const isa::Operand &operand);

/// An operand of an instruction, its pattern merged.
TensorView viewOf(const isa::TensorOperand &operand);

/// The target that an instruction with encoded results describes.
template <typename Op>
EncodeTarget encodeTarget(const Op &op) {
  EncodeTarget target{op.dstBlock, static_cast<unsigned>(op.dstXr),
                      op.dstXrClear};
  if constexpr (requires { op.cellFromXr; }) {
    target.given = op.cellFromXr;
    target.overflow = static_cast<numerics::Overflow>(op.overflow);
    target.repair = op.repair;
    target.keepOwn = op.keepOwn;
    target.ownXr = static_cast<unsigned>(op.ownXr);
  }
  return target;
}

/// Copies elements [k0, k1) of \p pattern over \p base to \p out without gaps.
void gatherElements(const numerics::KernelTable &kernels, const uint8_t *base,
                    const Pattern &pattern, unsigned bytes, uint64_t k0,
                    uint64_t k1, void *out);
/// The inverse.
void scatterElements(uint8_t *base, const Pattern &pattern, unsigned bytes,
                     uint64_t k0, uint64_t k1, const void *in);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STATE_TENSORVIEW_H
