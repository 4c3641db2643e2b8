// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run measured, in terms of names and numbers: the input of every
// report. Nothing here knows the emulator, so reports can be tested with
// hand-made statistics. All times are in machine cycles.

#ifndef ASHLAR_REPORT_STATISTICS_H
#define ASHLAR_REPORT_STATISTICS_H

#include "ashlar/Energy/Table.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Partition/Map.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::report {

/// Cycles of one queue by cause: busy + sum of stalls == total cycles.
struct EngineStatistics {
  std::string name; ///< "dma0", "peload", "pe", "act", "vec", ...
  uint64_t instructions = 0;
  uint64_t busy = 0;
  /// Cycles by cause, causes without cycles omitted.
  std::vector<std::pair<std::string, uint64_t>> stalls;
  uint64_t copied = 0; ///< Bytes moved inside the chip as they are.
  /// What it did, in units of which it can do `peak` per cycle: at most `peak`
  /// times `busy`.
  uint64_t work = 0;
  /// Of that, what the model requests; the rest are zeros that tiles and folds
  /// add. The same as `work` for engines that do not multiply.
  uint64_t useful = 0;
  uint64_t peak = 0;
  std::string unit = {}; ///< "products", "bytes", ...

  /// Shares of what it could do while busy: of its lanes or cells at work, and
  /// at work for the model.
  double occupancy() const { return share(work, busy); }
  double utilisation() const { return share(useful, busy); }
  /// Share of what it could do in all \p cycles of a run.
  double endToEnd(uint64_t cycles) const { return share(useful, cycles); }

private:
  double share(uint64_t part, uint64_t cycles) const {
    const double most = static_cast<double>(peak) * static_cast<double>(cycles);
    return most > 0 ? static_cast<double>(part) / most : 0;
  }
};

/// What a unit of the sparse cluster did for a node on one of its tiles.
struct UnitStatistics {
  uint64_t first = 0; ///< Instruction; units with the same ran together.
  uint32_t unit = 0, group = 0, image = 0;
  partition::Box tile; ///< Of the result.
  uint64_t cycles = 0, products = 0;
};

/// Cycles and counts of one source node.
struct NodeStatistics {
  std::string name;                  ///< ONNX name, or "Op_<index>".
  std::string opType;                ///< ONNX operator.
  std::string engine;                ///< Engine that does its main work.
  std::vector<std::string> absorbed; ///< Nodes fused into it.
  uint64_t cycles = 0; ///< Share of the run; nodes + idle sum to the total.
  /// From the start of its first instruction to the completion of its last.
  uint64_t start = 0, end = 0;
  uint64_t macs = 0;   ///< Of the model: structural zeros do not count.
  uint64_t issued = 0; ///< By the array or the units of the sparse cluster.
  /// By engine, in the order of RunStatistics::engines: cycles of issue, and
  /// work as in EngineStatistics.
  std::vector<uint64_t> busy, work;
  uint64_t dramRead = 0, dramWrite = 0; ///< Bytes, whole bursts.
  uint64_t dramActivations = 0; ///< Rows opened, where banks are walked.
  uint64_t copied = 0;          ///< Bytes moved inside the chip as they are.
  uint64_t saturated = 0, underflow = 0;
  /// Blocks shifted to their own exponent, and the cycles of that.
  uint64_t repaired = 0, repairCycles = 0;
  std::vector<UnitStatistics> units; ///< In scatter mode.
  energy::ActionCounts actions;      ///< What costs energy.

  /// Work of engine \p index that the model requests.
  uint64_t useful(size_t index, const EngineStatistics &engine) const;
  /// useful() over what the engine could do in its cycles for this node.
  double utilisation(size_t index, const EngineStatistics &engine) const;
};

/// One instruction on the time line.
struct TimedInstruction {
  uint64_t start = 0;    ///< First cycle of issue.
  uint64_t issueEnd = 0; ///< The queue is free again.
  uint64_t complete = 0; ///< Results are readable.
  uint32_t index = 0;    ///< In program order.
  uint32_t engine = 0;   ///< Index into RunStatistics::engines.
  uint32_t node = noNode;
  std::string opcode;       ///< Mnemonic.
  bool isSemaphore = false; ///< Takes no time: no slice of its own.
  uint64_t copied = 0;      ///< Bytes moved inside the chip as they are.
  uint64_t macs = 0;        ///< Multiplications.
  /// Instructions of other queues whose completion it waits for.
  std::vector<uint32_t> sources = {};
  static constexpr uint32_t noNode = ~uint32_t(0);
};

/// Cycles [begin, end) that an engine waited before an instruction.
struct TimedStall {
  uint64_t begin = 0, end = 0;
  uint32_t index = 0; ///< Of the instruction.
  std::string cause;  ///< "wait-pe", "dram-busy", ...
};

/// One transfer of DRAM on the time line: it owns the server from `start` to
/// `end`.
struct TimedTransfer {
  uint64_t start = 0, end = 0, bursts = 0;
  uint32_t index = 0; ///< Of the instruction, in program order.
  uint32_t node = TimedInstruction::noNode;
  std::string opcode; ///< Mnemonic.
};

/// Tiles that the program has cut by the zeros of its data (tcc.part).
struct CutStatistics {
  uint64_t instruction = 0;
  std::string node;
  bool met = false;     ///< The threshold holds.
  double spread = 0;    ///< Largest difference of two tiles' metric.
  double imbalance = 1; ///< Largest work of a tile over the mean.
  uint64_t probes = 0;  ///< Boxes whose non-zeros were looked up.
  std::vector<partition::Box> tiles;
};

/// Maps that a node has stored compressed (dma.compress).
struct MapStatistics {
  std::string node;
  uint64_t cells = 0, bytes = 0, denseBytes = 0, nonZeros = 0;
};

/// Where a planned tensor lies while it lives.
struct PlacementStatistics {
  std::string name;    ///< In the numeric plan.
  std::string node;    ///< That makes it.
  bool inDram = false; ///< Else in SB.
  uint64_t offset = 0; ///< DRAM address, or byte of a partition.
  uint64_t bytes = 0;  ///< From the first to the last; in SB of a partition.
  /// Cycles from the first instruction of its layer to the completion of its
  /// last reader; equal if none of them ran.
  uint64_t start = 0, end = 0;
};

/// A whole run.
struct RunStatistics {
  std::string model;
  machine::Description machine;
  /// Name of the machine that the program was compiled for, if it ran on
  /// another.
  std::string compiledFor;
  uint64_t samples = 1; ///< Runs; cycles and times are those of the first.
  bool timed = false;   ///< Cycles were counted.
  uint64_t totalCycles = 0;
  uint64_t idleCycles = 0; ///< Cycles that belong to no node.
  uint64_t dramBusy = 0;   ///< Cycles in which DRAM transferred.
  uint64_t dramUseful = 0; ///< Bytes without what fills up bursts.
  /// Of all bursts, those that opened a row and those that found theirs open;
  /// cycles of dramBusy that refresh took. Model `banked` only.
  uint64_t dramActivations = 0, dramRowHits = 0, dramRefresh = 0;
  double wallSeconds = 0; ///< Functional and timed execution, first sample.
  double loadSeconds = 0; ///< Read, verify, prepare.
  uint64_t saturated = 0, underflow = 0, nonFinite = 0; ///< All samples.
  std::vector<EngineStatistics> engines;
  std::vector<NodeStatistics> nodes;
  NodeStatistics unassigned;       ///< Instructions without a node.
  std::vector<CutStatistics> cuts; ///< Program order, first sample.
  std::vector<MapStatistics> maps;
  std::vector<TimedInstruction> timeline; ///< Program order; may be empty.
  std::vector<TimedStall> stalls;         ///< The same.
  std::vector<TimedTransfer> transfers;   ///< In the order of service.
  std::string decisionsJson;              ///< From the container.
  std::string planJson;                   ///< From the container.
  std::vector<PlacementStatistics> placements;
  /// Prices of the actions; reports of a timed run without it have no energy.
  std::optional<energy::Table> energyTable;
};

/// Index of the engine called \p name, or engines.size().
size_t engineIndex(const RunStatistics &statistics, llvm::StringRef name);

/// Bytes over what DRAM could transfer in \p cycles; bursts are cut to what was
/// requested.
double dramShare(const RunStatistics &statistics, uint64_t cycles);

/// Sums over the nodes, and what belongs to none.
struct Totals {
  uint64_t macs = 0, issued = 0, dramRead = 0, dramWrite = 0, copied = 0;
};
Totals totalsOf(const RunStatistics &statistics);

} // namespace ashlar::report

#endif // ASHLAR_REPORT_STATISTICS_H
