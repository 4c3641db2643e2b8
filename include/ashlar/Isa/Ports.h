// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The use that an instruction makes of the ports of the state buffer. A
// footprint says which bytes it touches; this file says how often they are
// streamed.

#ifndef ASHLAR_ISA_PORTS_H
#define ASHLAR_ISA_PORTS_H

#include "ashlar/Isa/Footprint.h"
#include "ashlar/Machine/Ports.h"

namespace ashlar::isa {

/// One operand in SB.
struct SbStream {
  machine::PortPattern pattern;
  /// The pattern is by address (machine::addLinearAccesses), for an engine that
  /// moves bytes between any partitions. Otherwise partitions [partBegin,
  /// partEnd) work in lockstep, all with the same pattern.
  bool linear = false;
  uint32_t partBegin = 0, partEnd = 1;
};

/// Appends the operands of \p inst, which must be legal (verify()), in SB.
///
/// - vec.pool streams every position of every window that lies in the feature
/// map, or
///   if that is less, what the first axis of a separable maximum reads.
/// - vec.gather may find each element anywhere along the axis.
/// - dma.tile and act.drain of tiles take all that their fields allow; what
///   their table says is less, and known to the loader alone.
/// - dma.compress into a tree reads its source twice.
void sbStreams(const Instruction &inst, const machine::Description &machine,
               llvm::SmallVectorImpl<SbStream> &out);

/// Cycles for which each bank of SB works for an instruction that streams its
/// operands \p passes times, the largest over its partitions; empty if it does
/// not use SB or the machine has no banks.
using BankClaims = machine::BankAccesses;
BankClaims bankClaims(const Instruction &inst,
                      const machine::Description &machine, uint64_t passes = 1);

/// The same for exact accesses, for instructions whose tile table says what
/// they touch: each run of an access is streamed once.
BankClaims bankClaims(llvm::ArrayRef<Access> accesses,
                      const machine::Description &machine);

} // namespace ashlar::isa

#endif // ASHLAR_ISA_PORTS_H
