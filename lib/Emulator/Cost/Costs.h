// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost of one instruction: which formula of Machine/Cycles.h applies.

#ifndef ASHLAR_LIB_EMULATOR_COST_COSTS_H
#define ASHLAR_LIB_EMULATOR_COST_COSTS_H

#include "../State/KeptTiles.h"
#include "ashlar/Energy/Counter.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Cycles.h"
#include <algorithm>

namespace ashlar::emulator {

struct TileTraffic;

/// Cost and traffic of one instruction.
struct Cost {
  machine::Timing timing;
  uint64_t dramRead = 0, dramWrite = 0; ///< Bytes, whole bursts.
  /// Multiplications of the array or of the sparse cluster.
  uint64_t macs = 0;
  /// Bytes moved inside the chip as they are (docs/ReportSchema.md, `copied`).
  uint64_t copied = 0;
  /// What its engine did, in the unit of machine::peakPerCycle(): never more
  /// than that times the cycles of issue.
  uint64_t work = 0;
  /// So often the operands are streamed from SB.
  uint64_t passes = 1;
  /// So often the instruction ran: a second time if it repaired blocks.
  uint64_t runs = 1;
  uint64_t dramActivations = 0; ///< Rows opened, where banks are walked.
  uint64_t dramUseful = 0; ///< Bytes that were requested, without the rest of
                           ///< their bursts.

  /// DRAM works for this transfer for \p cycles cycles, no less than before.
  void setDram(uint64_t cycles) {
    const uint64_t after = timing.complete - timing.issue;
    timing.dram = cycles;
    timing.issue = std::max(timing.issue, timing.setup + cycles);
    timing.complete = timing.issue + after;
  }
  /// The same instruction, run a second time directly after the first.
  Cost repeated() const {
    Cost cost = *this;
    cost.timing.complete += timing.issue;
    cost.timing.issue += timing.issue;
    cost.passes += passes;
    cost.runs += runs;
    return cost;
  }
  /// Bytes that dma.tile and drains write to or tcc.run reads of feature-map
  /// memories.
  uint64_t fmuBytes = 0;
  uint64_t streamBytes = 0; ///< Of weight memory that tcc.run reads.
  uint64_t weightBits = 0;  ///< Of its coefficients.

  /// What counting actions needs besides the instruction.
  energy::Measured measured() const {
    return {dramRead, dramWrite, dramActivations, work,      macs,
            work,     fmuBytes,  streamBytes,     weightBits};
  }
};

/// Costs of a compressed transfer whose cells take \p bytes bytes, in whole
/// bursts \p bursts, altogether.
Cost compressedCost(const machine::Description &machine,
                    const isa::DmaCompress &op, uint64_t bytes,
                    uint64_t bursts);
Cost compressedCost(const machine::Description &machine,
                    const isa::DmaExpand &op, uint64_t bytes, uint64_t bursts);
/// Cost of a gather whose rows take \p bursts bytes of whole bursts altogether.
Cost gatherCost(const machine::Description &machine, const isa::DmaGather &op,
                uint64_t bursts);
/// Neighbours of dimension 2 that a step of a stream takes.
uint64_t stepPositions(const machine::Description &machine,
                       const isa::PeMatmul &op);
/// Steps of a stream, of stepPositions() neighbours each.
uint64_t streamSteps(const machine::Description &machine,
                     const isa::PeMatmul &op);
/// Groups of rows that give results of their own in a step.
uint64_t rowGroups(const machine::Description &machine,
                   const isa::PeMatmul &op);
/// Cost of a load of \p traffic into the feature-map units.
Cost tileLoadCost(const machine::Description &machine,
                  const TileTraffic &traffic);
/// Cost of opening tiles for drains.
Cost tileOpenCost(const machine::Description &machine, const KeptTiles &kept);
/// The class of a function; one that the table does not know would be the most
/// expensive.
machine::VecCost functionCost(isa::Function function);
/// Cost of a drain of the sparse cluster that takes \p results accumulators of
/// each column in \p steps steps.
Cost tileDrainCost(const machine::Description &machine, const isa::ActDrain &op,
                   uint64_t steps, uint64_t results);
/// \p cost of a drain with what it writes to tiles that were opened.
Cost keptCost(const machine::Description &machine, Cost cost,
              const KeptTraffic &traffic);

/// The cost of a host.nms that takes \p steps.
Cost nmsCost(const machine::Description &machine, const isa::HostNms &op,
             uint64_t steps);

/// Walks a program in order: matmuls depend on the stationary set before them.
class CostModel {
public:
  explicit CostModel(const machine::Description &machine) : machine(machine) {}
  Cost operator()(const isa::Instruction &inst);

private:
  Cost of(const isa::SemWait &) { return {}; }
  Cost of(const isa::SemSignal &) { return {}; }
  Cost of(const isa::XrSet &);
  Cost of(const isa::XrMerge &);
  Cost of(const isa::XrSelect &);
  Cost of(const isa::XrPick &);
  Cost of(const isa::XrPredict &op);
  Cost of(const isa::DmaCopy &op);
  Cost of(const isa::DmaUnpack &op);
  Cost of(const isa::DmaGather &op);
  Cost of(const isa::DmaCompress &op);
  Cost of(const isa::DmaExpand &op);
  Cost of(const isa::DmaPut &op);
  Cost of(const isa::DmaFill &op);
  Cost of(const isa::PeLoad &op);
  Cost of(const isa::PeSwap &op);
  Cost of(const isa::PeMatmul &op);
  Cost of(const isa::ActDrain &op);
  Cost of(const isa::ActPool &op);
  Cost of(const isa::VecMap &op);
  Cost of(const isa::VecPool &op);
  Cost of(const isa::VecDrain &op);
  Cost of(const isa::VecReduce &op);
  Cost of(const isa::VecReduceChannels &op);
  Cost of(const isa::VecStat &op);
  Cost of(const isa::VecMeasure &op);
  Cost of(const isa::VecGather &op);
  Cost of(const isa::HostNonzero &op);
  Cost of(const isa::HostSort &op);
  Cost of(const isa::HostUnique &op);
  Cost of(const isa::HostNms &op);
  Cost vecCost(machine::Timing timing, uint64_t channels) const;
  // Tiles and coefficients decide what these take; SparseChecker knows.
  Cost of(const isa::TccTile &) { return {}; }
  Cost of(const isa::DmaTile &) { return {}; }
  Cost of(const isa::TccInit &) { return {}; }
  Cost of(const isa::TccRun &) { return {}; }
  Cost of(const isa::TccNnz &) { return {}; }
  Cost of(const isa::TccPart &) { return {}; }
  Cost of(const isa::TccOperand &) { return {}; }
  Cost of(const isa::TccBind &) { return {}; }

  const machine::Description &machine;
  uint64_t shadowBits = 8, activeBits = 8;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_COST_COSTS_H
