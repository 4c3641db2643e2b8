// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phases of a kernel axis.

#include "ashlar/Machine/TileGeometry.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace ashlar::machine;

AxisPhases::AxisPhases(uint64_t kernel, uint64_t stride, uint64_t dilation)
    : stride(stride) {
  for (uint64_t k = 0; k < kernel; ++k) {
    const uint64_t residue = k * dilation % stride;
    if (llvm::none_of(phases, [&](const Phase &phase) {
          return phase.residue == residue;
        }))
      phases.push_back({residue, 0});
  }
  llvm::sort(phases, [](const Phase &a, const Phase &b) {
    return a.residue < b.residue;
  });
  for (uint64_t k = 0; k < kernel; ++k) {
    const uint64_t residue = k * dilation % stride;
    const uint64_t shift = k * dilation / stride;
    auto *phase = llvm::find_if(
        phases, [&](const Phase &phase) { return phase.residue == residue; });
    phase->halo = std::max(phase->halo, shift);
    taps.push_back({static_cast<uint32_t>(phase - phases.begin()), shift});
  }
}

uint64_t AxisPhases::extent(uint64_t results) const {
  uint64_t sum = 0;
  for (const Phase &phase : phases)
    sum += results + phase.halo;
  return sum;
}

uint64_t AxisPhases::base(uint64_t phase, uint64_t results) const {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < phase; ++i)
    sum += results + phases[i].halo;
  return sum;
}
