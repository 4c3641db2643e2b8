// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the loops of a copy: it decides in which runs both sides are
// read and written and which ports they use, and with that the time.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_LOOPORDER_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_LOOPORDER_H

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"

namespace ashlar::codegen {

/// Puts the five loops of an instruction into the order of the fewest cycles
/// (machine::TransferCosts::orderLoops).
void orderForRuns(const machine::Description &machine, isa::DmaCopy &copy);

/// Cycles of a copy in its order of loops, alone on its queue.
uint64_t copyCycles(const machine::Description &machine,
                    const isa::DmaCopy &copy);

/// Bytes of whole bursts that a copy reads from DRAM.
uint64_t copiedBytes(const machine::Description &machine,
                     const isa::DmaCopy &copy);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_LOOPORDER_H
