// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles and bounds of coefficient streams.

#include "StreamWalk.h"
#include "../State/TensorView.h"
#include "ashlar/Isa/ElementBytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
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
    : machine(machine), op(op), sums(op.regions),
      digitPasses(clusterPasses(machine, op, weightBits)) {
  // An issue model for each different time that units of a group can take.
  llvm::SmallVector<machine::TileStep> shapes;
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const TileEntry &entry = table[unit];
    if (entry.idle() || entry.group != group)
      continue;
    results += entry.results();
    const uint64_t lines = uint64_t(entry.images) * entry.rows;
    const machine::TileStep shape = machine::tileStep(
        machine, machine.sparse.lanesOf(unit), lines, entry.cols, op.tileW);
    if (!llvm::is_contained(shapes, shape))
      shapes.push_back(shape);
  }
  for (const machine::TileStep &shape : shapes)
    units.emplace_back(machine, shape, digitPasses, op.regions,
                       op.regionStride);
}

void StreamWalk::coefficient(uint32_t, const isa::Coefficient &entry) {
  if (entry.z >= op.regions) {
    beyond = std::max(beyond, entry.z);
    return;
  }
  sums[entry.z] += std::fabs(static_cast<double>(entry.value()));
  ++entries;
  if (entry.mantissa == 0 && !op.issueZeros)
    return;
  ++issued;
  for (machine::TileIssue &unit : units)
    unit.issue(entry.z);
}

void StreamWalk::endChannel(uint32_t) {
  for (machine::TileIssue &unit : units)
    unit.endChannel();
}

uint64_t StreamWalk::cycles() const {
  uint64_t most = machine::tileDecode(machine, entries);
  for (const machine::TileIssue &unit : units)
    most = std::max(most, unit.cycles());
  return most;
}
