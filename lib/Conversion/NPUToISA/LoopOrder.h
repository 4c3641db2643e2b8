// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the loops of a copy: it decides in which runs both sides are
// read and written, and with that the time.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_LOOPORDER_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_LOOPORDER_H

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Cycles.h"
#include "llvm/ADT/SmallVector.h"

namespace ashlar::codegen {

/// A loop as bytes of both sides, and its place in the nest.
struct ByteLoop {
  int64_t extent;
  int64_t stride[2];
  size_t place;
};

/// Where a copy reads and writes.
struct CopySides {
  isa::Memory memory[2];
  uint64_t elementBytes = 1;

  machine::DmaSide side(int which, llvm::ArrayRef<uint64_t> counts,
                        llvm::ArrayRef<int64_t> strides,
                        const machine::Description &machine) const;
};

/// Sorts loops so that runs of side \p which are innermost.
void sortBySide(llvm::MutableArrayRef<ByteLoop> loops, int which);

/// Puts loops, outermost first, into the order of the fewest cycles: the given
/// one, or that in which the runs of one side are innermost. A machine that
/// forms any number of runs keeps the given one.
void orderForRuns(const machine::Description &machine, const CopySides &sides,
                  llvm::SmallVectorImpl<ByteLoop> &loops);

/// The same of the five loops of an instruction.
void orderForRuns(const machine::Description &machine, isa::DmaCopy &copy);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_LOOPORDER_H
