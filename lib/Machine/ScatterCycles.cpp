// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closed forms of scatter mode.

#include "ashlar/Machine/ScatterCycles.h"

#include <algorithm>

bool ashlar::machine::queuesHold(const Description &machine,
                                 ScatterVariant variant) {
  const bool waits =
      variant == ScatterVariant::C ||
      (variant == ScatterVariant::D && machine.sparse.coefficientsPerStep > 2);
  return !waits || machine.sparse.queueDepth == 0 ||
         machine.sparse.queueDepth >= machine.sparse.lanes;
}

uint64_t ashlar::machine::scatterCycles(ScatterVariant variant,
                                        uint64_t multipliers,
                                        uint64_t weightsPerStep, uint64_t data,
                                        uint64_t weights) {
  if (data == 0 || weights == 0)
    return 0;
  const uint64_t p = multipliers;
  if (variant <= ScatterVariant::B)
    return weights * ((data + p - 1) / p);
  const uint64_t total = data * weights;
  // P products in a row touch at most floor((P - 2) / data) + 2 weights.
  if (p == 1 || (p - 2) / data + 2 <= weightsPerStep)
    return (total + p - 1) / p;
  uint64_t cycles = 0;
  for (uint64_t next = 0; next < total; ++cycles)
    next = std::min({next + p, (next / data + weightsPerStep) * data, total});
  return cycles;
}

uint64_t ashlar::machine::scatterPointCycles(uint64_t multipliers,
                                             uint64_t data, uint64_t weights) {
  return (data * weights + multipliers - 1) / multipliers;
}
