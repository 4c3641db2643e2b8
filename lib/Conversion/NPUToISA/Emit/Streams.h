// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams through the array whose steps take several positions side by side.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_STREAMS_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_STREAMS_H

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"

namespace ashlar::codegen {

/// Makes one loop of those whose positions follow each other, so that a step of
/// several positions ends with a row as seldom as can be.
void joinLoops(isa::PeMatmul &op);

/// Lets cells take two positions of \p op at a time, whose operands are narrow
/// (analysis::isNarrow()), if the stream then takes fewer cycles.
void setNarrow(isa::PeMatmul &op, const machine::Description &machine);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_STREAMS_H
