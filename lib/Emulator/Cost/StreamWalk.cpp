// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles and bounds of coefficient streams.

#include "StreamWalk.h"
#include "../State/TensorView.h"
#include "ashlar/Isa/ElementBytes.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace ashlar;
using namespace ashlar::emulator;

uint64_t emulator::clusterPasses(const machine::Description &machine,
                                 const isa::TccRun &op, uint64_t weightBits) {
  // Coefficients are mantissas where the data are.
  const uint64_t sign = op.mode == isa::OperandMode::Bfp ? 1 : 0;
  return machine::pePasses(machine,
                           isa::multipliedBits(op.mode, op.type, op.mantissa),
                           std::max(weightBits, sign) - sign);
}

StreamWalk::StreamWalk(const machine::Description &machine,
                       const isa::TccRun &op, const TileTable &table,
                       uint32_t group, uint64_t weightBits)
    : machine(machine), sums(op.regions) {
  streamForm.passes = clusterPasses(machine, op, weightBits);
  streamForm.regions = op.regions;
  streamForm.regionStride = op.regionStride;
  streamForm.issueZeros = op.issueZeros;
  // An issue model for each different time that units of a group can take.
  std::vector<machine::TileStep> &shapes = streamForm.shapes;
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const TileEntry &entry = table[unit];
    if (entry.idle() || entry.group != group)
      continue;
    streamForm.results += entry.results();
    const uint64_t lines = uint64_t(entry.images) * entry.rows;
    const machine::TileStep shape = machine::tileStep(
        machine, machine.sparse.lanesOf(unit), lines, entry.cols, op.tileW);
    if (!llvm::is_contained(shapes, shape))
      shapes.push_back(shape);
  }
  for (const machine::TileStep &shape : shapes)
    units.emplace_back(machine, shape, streamForm.passes, op.regions,
                       op.regionStride);
}

void StreamWalk::coefficient(uint32_t, const isa::Coefficient &entry) {
  if (entry.z >= streamForm.regions) {
    beyond = std::max(beyond, entry.z);
    return;
  }
  sums[entry.z] += std::fabs(static_cast<double>(entry.value()));
  ++entries;
  if (entry.mantissa == 0 && !streamForm.issueZeros)
    return;
  ++issued;
  for (machine::TileIssue &unit : units)
    unit.issue(entry.z);
}

void StreamWalk::endChannel(uint32_t) {
  for (machine::TileIssue &unit : units)
    unit.endChannel();
}

StreamWalk::Facts StreamWalk::facts(uint64_t taken) const {
  uint64_t most = machine::tileDecode(machine, entries);
  for (const machine::TileIssue &unit : units)
    most = std::max(most, unit.cycles());
  return {most, issued * streamForm.results, taken, sums};
}
