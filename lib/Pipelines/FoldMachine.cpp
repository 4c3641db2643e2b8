// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the folds, from a machine description.

#include "FoldMachine.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Dram.h"

#include <algorithm>
#include <numeric>

using namespace ashlar;

nn::FoldOptions pipelines::foldOptions(const machine::Description &machine,
                                       const numerics::FormatTable &formats,
                                       const std::string &foldWidth) {
  nn::FoldOptions fold;
  fold.arrayRows = machine.pe.rows;
  fold.arrayColumns = machine.pe.columns;
  // Mantissas without their sign are multiplied digit by digit.
  auto digits = [](const numerics::BlockFormat &format) {
    return static_cast<uint64_t>(std::max(format.mantissa - 1, 1));
  };
  fold.arrayPasses = static_cast<int64_t>(machine::pePasses(
      machine, digits(formats.activations), digits(formats.weights)));
  fold.partitionBytes = static_cast<int64_t>(machine.sb.bytesPerPartition);
  fold.foldWidth = foldWidth;
  fold.laneUnit = static_cast<int64_t>(
      std::lcm(std::max<uint64_t>(machine.pe.rowGroupGranularity, 1),
               std::max<uint64_t>(machine.xmGroup, 1)));
  fold.partitions = static_cast<int64_t>(machine.sb.partitions);
  fold.copyBytes = static_cast<int64_t>(machine.dma.onchipBytesPerCycle);
  fold.dramBytes = static_cast<int64_t>(machine.dram.bytesPerCycle);
  fold.dramPercent = static_cast<int64_t>(machine::dramPercent(machine));
  fold.copyQueues = analysis::movementQueues(machine);
  fold.copyRuns = static_cast<int64_t>(machine.dma.runsPerCycle);
  fold.copySetup = static_cast<int64_t>(machine.dma.setupCycles);
  fold.copyLatency = static_cast<int64_t>(machine.dma.onchipLatency);
  fold.banks = static_cast<int64_t>(machine.sb.banks);
  fold.ports = static_cast<int64_t>(machine.sb.ports);
  fold.portBytes = static_cast<int64_t>(machine.sb.portBytes);
  fold.burstBytes = static_cast<int64_t>(machine.dram.burstBytes);
  fold.latency = static_cast<int64_t>(
      machine.dram.latency + machine.vec.latency + machine.act.latency +
      machine.pe.rows + machine.pe.columns);
  // A result passes through the vector unit and a copy or the array, and the
  // queue that takes it is as long busy with what it took before.
  fold.handOver =
      2 * static_cast<int64_t>(machine.vec.latency + machine.dma.setupCycles +
                               machine.dma.onchipLatency + machine.pe.rows +
                               machine.pe.columns + machine.act.latency);
  fold.vectorLatency = static_cast<int64_t>(machine.vec.latency);
  fold.dramLatency = static_cast<int64_t>(machine.dram.latency);
  fold.encodeCycles = static_cast<int64_t>(
      machine::vecMap(machine, machine::VecCost::Cheap,
                      machine::VecStore::Encode, machine.sb.partitions, 1)
          .issue);
  // The function of the epilogue is not known before quantise: most are cheap.
  fold.drainCycles = static_cast<int64_t>(
      machine::actDrain(machine, machine.pe.columns, 1).issue);
  fold.writePorts = static_cast<int64_t>(machine.psum.writePorts);
  fold.bankEntries = static_cast<int64_t>(machine.psum.entriesPerBank);
  fold.psumEntries =
      fold.bankEntries * std::max<int64_t>(machine.psum.banks / 2, 1);
  fold.clusterMultipliers = static_cast<int64_t>(machine.sparse.multipliers());
  return fold;
}
