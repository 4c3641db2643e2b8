// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an instruction takes on one thread of the host, as far as the balance of
// two threads needs it: some factor is the same for all, and no result depends
// on it.

#ifndef ASHLAR_LIB_EMULATOR_PARALLEL_HOSTTIME_H
#define ASHLAR_LIB_EMULATOR_PARALLEL_HOSTTIME_H

#include "ashlar/Isa/Footprint.h"
#include "ashlar/Isa/Instruction.h"
#include "llvm/ADT/ArrayRef.h"

namespace ashlar::emulator {

/// Nanoseconds of an instruction that is no matmul, without products of its
/// sums.
float hostTime(const isa::Instruction &inst,
               llvm::ArrayRef<isa::Access> accesses);
/// Nanoseconds that the operand of a matmul takes to be fetched and packed, the
/// first time.
float packTime(const isa::PeMatmul &op);
/// Nanoseconds of the products of a matmul, in its drain.
float productTime(const isa::PeMatmul &op);
/// Nanoseconds of a matmul whose operand is packed already.
inline constexpr float packedTime = 150;

/// A message from one processor to another.
inline constexpr float messageTime = 500;
/// Nanoseconds for each byte that another processor has written and this one
/// reads, and for each that another one has read or written and this one
/// writes: stores wait for their lines one after another.
inline constexpr float farReadTime = 0.125f, farWriteTime = 0.6f;

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PARALLEL_HOSTTIME_H
