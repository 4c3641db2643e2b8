// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas of the host (docs/Machine.md 10). Every product and sum saturates.

#include "Saturating.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Machine/Host.h"

#include <algorithm>
#include <bit>

using namespace ashlar::machine;
using namespace ashlar::machine::saturating;

Timing ashlar::machine::hostCall(const Description &machine,
                                 const HostWork &work) {
  Timing timing;
  timing.setup = machine.host.callCycles;
  timing.dram = dramCycles(machine, work.burstBytes, work.rows);
  const uint64_t core =
      std::max(mul(work.steps, machine.host.stepCycles),
               ceilDiv(work.bytes, machine.host.bytesPerCycle));
  timing.issue = add(timing.setup, std::max(core, timing.dram));
  timing.complete = add(timing.issue, machine.dram.latency);
  return timing;
}

uint64_t ashlar::machine::sortSteps(uint64_t count) {
  return count < 2 ? count : mul(count, std::bit_width(count - 1));
}

uint64_t ashlar::machine::nonzeroSteps(uint64_t elements, uint64_t rank) {
  return mul(elements, add(1, rank));
}

uint64_t ashlar::machine::hostSortSteps(uint64_t lists, uint64_t extent,
                                        uint64_t keep) {
  // A selection passes over the list and sorts what it keeps.
  return mul(lists, add(mul(2, extent), sortSteps(std::min(keep, extent))));
}

uint64_t ashlar::machine::uniqueSteps(uint64_t rows, uint64_t length) {
  return add(mul(sortSteps(rows), length), mul(3, rows));
}

uint64_t ashlar::machine::nmsSteps(uint64_t lists, uint64_t boxes,
                                   uint64_t keep) {
  return mul(lists, add(add(boxes, sortSteps(boxes)), mul(boxes, keep)));
}
