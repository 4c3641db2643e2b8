// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one run gives: outputs, copied-out tensors, and the cycle accounting.
// Plain data; lib/Report turns it into text. All times are in machine cycles.

#ifndef ASHLAR_EMULATOR_RESULT_H
#define ASHLAR_EMULATOR_RESULT_H

#include "ashlar/Energy/Actions.h"
#include "ashlar/Partition/Map.h"
#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::emulator {

/// Number of instruction queues: dma0..3, peload, pe, act, vec, tcc, host.
inline constexpr unsigned numQueues = 10;

/// Why a queue did not execute. The first numQueues values mean "waits for a
/// semaphore that queue number v signals".
enum class StallCause : uint8_t {
  WaitDma0 = 0,
  WaitDma1 = 1,
  WaitDma2 = 2,
  WaitDma3 = 3,
  WaitPeLoad = 4,
  WaitPe = 5,
  WaitAct = 6,
  WaitVec = 7,
  WaitTcc = 8,
  WaitHost = 9,
  DramBusy = 10, ///< The DRAM server is working for another queue.
  Latency = 11,  ///< Needs a result of its own queue that is in flight.
  Drained = 12,  ///< No instruction left: the queue has finished.
  SbBusy = 13,   ///< A bank of SB works for another instruction.
  Fetch = 14,    ///< Its next instruction has not arrived yet.
};
inline constexpr unsigned numStallCauses = 15;

/// "pe", "dma0", ... as in the instruction set.
llvm::StringRef queueName(unsigned queue);
/// "wait-pe", "dram-busy", "latency", "drained", "sb-busy", "fetch".
llvm::StringRef stallCauseName(StallCause cause);

/// The account of one queue: busy + sum of stalls == total cycles.
struct QueueStats {
  uint64_t instructions = 0; ///< Without semaphore instructions.
  uint64_t busy = 0;
  std::array<uint64_t, numStallCauses> stall = {};
  uint64_t copied = 0; ///< Bytes moved inside the chip as they are.
  /// In the unit of machine::peakPerCycle(), at most that times `busy`.
  uint64_t work = 0;
};

/// The account of one node of Program::nodes.
struct NodeStats {
  /// Cycles of the run in which the critical queue worked for this node.
  uint64_t cycles = 0;
  /// From the start of its first operation to the completion of its last.
  uint64_t start = 0, end = 0;
  uint64_t macs = 0; ///< Multiplications of the array and the sparse cluster.
  std::array<uint64_t, numQueues> busy = {};
  std::array<uint64_t, numQueues> work = {}; ///< As QueueStats::work.
  uint64_t dramRead = 0;                     ///< Bytes, whole bursts.
  uint64_t dramWrite = 0;                    ///< Bytes, whole bursts.
  uint64_t dramActivations = 0; ///< Rows opened, where banks are walked.
  uint64_t copied = 0;          ///< Bytes moved inside the chip as they are.
  uint64_t saturated = 0;       ///< Encodes and aligns that saturated.
  uint64_t underflow = 0;       ///< Non-zero values that encoded to zero.
  uint64_t fetched = 0; ///< Elements fetched by the array and the cluster.
  uint64_t saturatedAtFetch = 0; ///< Part of `saturated`: aligns.
  uint64_t nonFinite = 0;        ///< NaN and infinities that encodes met.
  /// Blocks beyond a given exponent that kept their own, and the cycles of the
  /// second passes of their instructions (part of `busy`).
  uint64_t repaired = 0, repairCycles = 0;
  uint64_t instructions = 0;    ///< Without semaphore instructions.
  energy::ActionCounts actions; ///< What costs energy.
};

/// When one instruction ran. Semaphore instructions have start == complete.
struct InstructionTime {
  uint64_t start = 0;    ///< First cycle of issue.
  uint64_t issueEnd = 0; ///< First cycle in which the queue is free again.
  uint64_t complete = 0; ///< First cycle in which the results can be read.
  uint64_t copied = 0;   ///< Bytes moved inside the chip as they are.
  uint64_t macs = 0;     ///< Multiplications of the array or sparse cluster.
};

/// Cycles that a queue waited before one instruction.
struct Stall {
  uint32_t instruction = 0;
  StallCause cause = StallCause::Drained;
  uint64_t begin = 0, end = 0;
};

/// One transfer of DRAM.
struct DramTime {
  uint32_t instruction = 0;
  uint64_t granted = 0; ///< First cycle in which it owns the server.
  uint64_t end = 0;     ///< First cycle in which the server is free again.
  uint64_t bursts = 0;
};

/// What a trace event of the array tells.
enum class ArrayEventKind : uint8_t {
  Enter, ///< A moving column enters PE column 0.
  Write, ///< PSUM[column][entry] holds its sum at the end of the cycle.
  Drain, ///< ACT takes PSUM[column][entry] in the cycle.
};

/// One event of the array's trace.
struct ArrayEvent {
  uint32_t instruction = 0;
  ArrayEventKind kind = ArrayEventKind::Enter;
  uint32_t step = 0;   ///< Step of the stream, or entry number of the drain.
  uint32_t column = 0; ///< 0 for Enter.
  uint32_t entry = 0;  ///< PSUM entry; 0 for Enter.
  int64_t value = 0;   ///< The 64 bits of the entry; 0 for Enter.
  uint64_t cycle = 0;
  /// Cycles counted as if a whole column multiplied at once, from 1 at the
  /// start of the stream; 0 for Drain.
  uint64_t wave = 0;
};

/// What one tcc.part has chosen.
struct CutResult {
  uint32_t instruction = 0;
  bool met = false;     ///< The spread is at most the threshold.
  double spread = 0;    ///< Largest difference of two tiles' metric.
  double imbalance = 1; ///< Largest work of a tile over the mean.
  uint64_t probes = 0;  ///< Boxes whose non-zeros were looked up.
  /// Of each unit of the first group; of the result, or with `disjoint` of the
  /// operand. Idle units have empty ones.
  std::vector<partition::Box> tiles;
};

/// What dma.compress stored for one node.
struct StoredMaps {
  uint32_t node = 0;
  uint64_t cells = 0;
  uint64_t bytes = 0;      ///< Of the cells, headers included, no bursts.
  uint64_t denseBytes = 0; ///< Of the same elements as they are in SB.
  uint64_t nonZeros = 0;   ///< By the headers.
};

/// What a unit of the sparse cluster did in scatter mode for one instruction's
/// node on one tile.
struct UnitWork {
  uint32_t first = 0; ///< Its first tcc.run: units with the same ran together.
  uint32_t unit = 0;
  uint32_t group = 0;
  uint32_t image = 0;    ///< First image.
  partition::Box tile;   ///< Of the result.
  uint64_t cycles = 0;   ///< Of all its runs on this tile.
  uint64_t products = 0; ///< Non-zero data times non-zero coefficients.
};

/// A planned tensor copied out while the program ran.
struct TensorDump {
  uint32_t placement = 0; ///< Index into Program::dumps.
  /// Elements in logical row-major order in their stored width (encoded
  /// tensors: one or two bytes per mantissa, sign extended).
  std::vector<uint8_t> data;
  /// Stored block exponents x, logical order, block axis replaced by number
  /// of blocks; empty for plain tensors.
  std::vector<int8_t> exponents;
  int32_t scaleExponent = 0; ///< E of the encode event; 0 for plain tensors.
};

/// Everything a run produced.
struct RunResult {
  std::vector<support::HostTensor> outputs; ///< In order of Program::outputs.
  /// What the run leaves for the next (Program::state).
  std::vector<int16_t> state;
  /// The kept tensors after the run (Program::cache).
  std::vector<support::HostTensor> kept;
  std::vector<TensorDump> dumps;
  std::vector<CutResult> cuts;  ///< Chosen as the program ran, in its order.
  std::vector<UnitWork> units;  ///< In the order of their first runs.
  std::vector<StoredMaps> maps; ///< Compressed ones, by node.
  bool timed = false; ///< Whether the fields below up to `times` are filled.
  uint64_t totalCycles = 0;
  uint64_t idleCycles = 0; ///< Cycles of the critical path without a node.
  std::array<QueueStats, numQueues> queues = {};
  std::vector<InstructionTime> times; ///< Filled if Options::recordTimes.
  /// Filled if Options::recordTimes, in program order.
  std::vector<Stall> stalls;
  /// Filled if Options::traceArray, in program order.
  std::vector<ArrayEvent> arrayTrace;
  uint64_t dramBusy = 0; ///< Cycles the DRAM server transferred.
  /// Bytes that it transferred and somebody requested: without what fills up
  /// bursts.
  uint64_t dramUseful = 0;
  /// Where banks are walked (model `banked`), of all bursts: those that opened
  /// a row and those that found theirs open; and cycles of dramBusy in which
  /// DRAM was refreshed.
  uint64_t dramActivations = 0, dramRowHits = 0, dramRefresh = 0;
  /// A line for every burst in the order of service: "LD 0x40" or "ST 0x40".
  std::string dramTrace;
  std::vector<DramTime> dramTimes; ///< Filled if Options::recordTimes.
  std::vector<NodeStats> nodes;    ///< Parallel to Program::nodes.
  NodeStats unassigned;            ///< Instructions that belong to no node.
  uint64_t saturated = 0;
  uint64_t underflow = 0;
  uint64_t nonFinite = 0; ///< NaN and infinities that an encode met.
  double wallSeconds = 0; ///< Functional and timed execution.
};

} // namespace ashlar::emulator

#endif // ASHLAR_EMULATOR_RESULT_H
