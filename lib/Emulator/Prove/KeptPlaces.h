// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where dma.put may write.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_KEPTPLACES_H
#define ASHLAR_LIB_EMULATOR_PROVE_KEPTPLACES_H

#include "Checks.h"
#include "ashlar/Container/Container.h"

namespace ashlar::emulator {

/// A finding unless all places that a dma.put may choose lie in one kept
/// tensor. What it does not choose keeps its bytes, so they must be defined
/// before; other tensors have one layout that nothing chooses.
std::optional<Finding> checkPlaces(const isa::Instruction &inst,
                                   const container::Program &program,
                                   const machine::Description &machine);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_KEPTPLACES_H
