// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time of copies to a place that a number in DRAM decides.

#ifndef ASHLAR_MACHINE_PUTCYCLES_H
#define ASHLAR_MACHINE_PUTCYCLES_H

#include "ashlar/Machine/Cycles.h"

namespace ashlar::machine {

/// dma.put: DRAM gives the number first, then come source and destination. The
/// address of \p destination is that of the place that the number names.
Timing dmaPut(const Description &machine, const DmaSide &index,
              const DmaSide &source, const DmaSide &destination);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_PUTCYCLES_H
