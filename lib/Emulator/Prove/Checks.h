// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one instruction may say on a given machine, beyond the field limits
// that the decoder has checked and the bounds that its footprint shows.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_CHECKS_H
#define ASHLAR_LIB_EMULATOR_PROVE_CHECKS_H

#include "ProofWork.h"
#include "ashlar/Emulator/Fault.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>

namespace ashlar::emulator {

/// docs/Numerics.md 4 proves one bit less than an int64 holds.
inline constexpr double accumulatorLimit = 0x1p62;

/// A fault without its place.
struct Finding {
  FaultKind kind;
  std::string message;
  std::string space = {};
  uint64_t address = 0;
};

/// Field combinations: modes and types, formats, alignment of encoded tensors,
/// destinations that do not overlap themselves. Run before footprints().
std::optional<Finding> checkFields(const isa::Instruction &inst,
                                   const machine::Description &machine);

/// Footprints inside the memories of the machine.
std::optional<Finding> checkBounds(llvm::ArrayRef<isa::Access> accesses,
                                   const machine::Description &machine,
                                   uint64_t dramBytes);

/// Sources and destination of one instruction: either apart, or, for
/// elementwise instructions, exactly the same elements.
std::optional<Finding> checkOverlap(const isa::Instruction &inst,
                                    llvm::ArrayRef<isa::Access> accesses,
                                    ProofWork &work);

/// Linear address of a unit of a space, for messages.
uint64_t linearAddress(isa::Space space, uint64_t partition, uint64_t unit,
                       const machine::Description &machine);

/// Largest magnitude of an operand of the array, minus its zero point; 0 in
/// modes of words.
double operandBound(isa::OperandMode mode, isa::ElemType type,
                    unsigned mantissa, unsigned range, int zero = 0);

/// A zero point is an element of the bytes that it is subtracted from.
std::optional<Finding> checkZero(isa::OperandMode mode, isa::ElemType type,
                                 int zero);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_CHECKS_H
