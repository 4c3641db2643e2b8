// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The view from a machine description.

#include "MachineView.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Dram.h"
#include "dialects/Ashlar/AshlarDialect.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace ashlar::nn {

/// What validate() has accepted fits a signed number.
static int64_t number(uint64_t parameter) {
  return static_cast<int64_t>(parameter);
}

MachineView::MachineView(const machine::Description &machine)
    : rows(number(machine.pe.rows)), columns(number(machine.pe.columns)),
      laneUnit(
          number(std::lcm(machine.pe.rowGroupGranularity, machine.xmGroup))),
      partitions(number(machine.sb.partitions)),
      partitionBytes(number(machine.sb.bytesPerPartition)),
      copyBytes(number(machine.dma.onchipBytesPerCycle)),
      dramBytes(number(machine.dram.bytesPerCycle)),
      dramPercent(number(machine::dramPercent(machine))),
      burstBytes(number(machine.dram.burstBytes)),
      copyQueues(analysis::movementQueues(machine)),
      copyRuns(number(machine.dma.runsPerCycle)),
      copySetup(number(machine.dma.setupCycles)),
      copyLatency(number(machine.dma.onchipLatency)),
      latency(number(machine.dram.latency + machine.vec.latency +
                     machine.act.latency + machine.pe.rows +
                     machine.pe.columns)),
      dramLatency(number(machine.dram.latency)),
      // A result passes through the vector unit and a copy or the array, and
      // the queue that takes it is as long busy with what it took before.
      handOver(2 * number(machine.vec.latency + machine.dma.setupCycles +
                          machine.dma.onchipLatency + machine.pe.rows +
                          machine.pe.columns + machine.act.latency)),
      vectorLatency(number(machine.vec.latency)),
      encodeCycles(number(machine::vecMap(machine, machine::VecCost::Cheap,
                                          machine::VecStore::Encode,
                                          machine.sb.partitions, 1)
                              .issue)),
      // The function of the epilogue is not known before quantise: most are
      // cheap.
      drainCycles(
          number(machine::actDrain(machine, machine.pe.columns, 1).issue)),
      writePorts(number(machine.psum.writePorts)),
      psumEntries(number(machine.psum.entriesPerBank *
                         std::max<uint64_t>(machine.psum.banks / 2, 1))),
      bankEntries(number(machine.psum.entriesPerBank)),
      clusterMultipliers(number(machine.sparse.multipliers())),
      description(machine) {
  description.dram.model = static_cast<uint64_t>(machine::DramModel::Ideal);
  description.dram.countsMisaligned = false;
}

FailureOr<MachineView> MachineView::of(Operation *op) {
  FailureOr<machine::Description> machine = records::machineOf(op);
  if (failed(machine))
    return failure();
  return MachineView(*machine);
}

FailureOr<MachineView> MachineView::of(Operation *op, int64_t activationBits,
                                       int64_t weightBits, bool useCluster) {
  FailureOr<MachineView> view = of(op);
  if (failed(view))
    return failure();
  // Mantissas without their sign are multiplied digit by digit.
  auto digits = [](int64_t bits) {
    return static_cast<uint64_t>(std::clamp<int64_t>(bits - 1, 1, 63));
  };
  view->passes = number(machine::pePasses(
      view->description, digits(activationBits), digits(weightBits)));
  if (!useCluster)
    view->clusterMultipliers = 0;
  return view;
}

int64_t MachineView::vectorCycles(machine::VecCost cost) const {
  return number(machine::vecClassCycles(description, cost));
}

} // namespace ashlar::nn
