// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What brings the chunks of a tile plan into the memory units: the loads that
// code generation emits, and their cycles.

#include "PlanCost.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Machine/Ports.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace ashlar::analysis {

llvm::SmallVector<Chunk, 8>
loadPieces(const TileProblem &problem, const TilePlan &plan,
           const ColumnWave &wave, const Chunk &chunk, int64_t turns,
           int64_t part, const machine::Description &machine) {
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  if (wave.crosses || (turns > 1 && turns * chunk.count > partitions))
    return {chunk};
  const int64_t block = std::max<int64_t>(plan.cellBlock, 1);
  const auto share = static_cast<int64_t>(llvm::alignTo(
      llvm::divideCeilSigned(chunk.count, movementQueues(machine)), block));
  const int64_t base = channelsOf(problem, wave.first).first;
  const int64_t end = chunk.first + chunk.count;
  llvm::SmallVector<Chunk, 8> pieces;
  for (int64_t c = chunk.first; c < end; c += pieces.back().count) {
    const int64_t at = (part + problem.depth.channelOf(base + c)) % partitions;
    pieces.push_back(
        {c, std::min({share - at % block, partitions - at, end - c})});
  }
  return pieces;
}

PlanCost::Loaded PlanCost::loadOfRound() const {
  auto runsOf = [&](int64_t rows, int64_t cols) {
    return static_cast<int64_t>(
        geometry.loadedRuns(plan.images, rows, cols, /*apart=*/false));
  };
  int64_t slot = static_cast<int64_t>(geometry.slotElements());
  if (plan.folds.empty()) {
    int64_t tiles = std::min(units, plan.tiles(problem));
    return {slot * tiles, runsOf(plan.rows, plan.cols) * tiles, slot};
  }
  Loaded sum;
  for (const TileFold &fold : plan.folds)
    for (const partition::Box &tile : fold.cuts)
      if (!tile.empty()) {
        int64_t elements = plan.disjoint
                               ? plan.images * tile.area()
                               : static_cast<int64_t>(geometry.loadedElements(
                                     plan.images, tile.rows, tile.cols));
        sum.elements += elements;
        sum.most = std::max(sum.most, elements);
        sum.runs += std::min(elements, runsOf(tile.rows, tile.cols));
      }
  auto rounds = static_cast<int64_t>(plan.folds.size());
  return {sum.elements / rounds, sum.runs / rounds, sum.most};
}

/// Cycles of the busiest bank of SB while a round of tiles is loaded. Channels
/// lie in partitions of their own, whose ports work side by side: the price of
/// loads of few channels.
uint64_t PlanCost::portCycles(const Loaded &each) const {
  if (each.runs == 0)
    return 0;
  auto bytes = static_cast<uint64_t>(each.elements * problem.elementBytes);
  // The phases of a row are read from SB together.
  const uint64_t runs = std::max<uint64_t>(
      static_cast<uint64_t>(each.runs) / geometry.w.phases.size(), 1);
  uint64_t accesses = runs * llvm::divideCeil(llvm::divideCeil(bytes, runs),
                                              machine.sb.portBytes);
  uint64_t banks =
      std::max<uint64_t>(llvm::divideCeil(bytes, machine.sb.bankBytes()), 1);
  return machine::bankCycles(machine, llvm::divideCeil(accesses, banks));
}

/// One load of a round, for each of `streams` groups that have channels of
/// their own: `channels` channels with `planes` planes of cells.
machine::Timing PlanCost::loadTime(int64_t streams, int64_t channels,
                                   int64_t planes, const Loaded &each) const {
  const int64_t ofElement = channels * problem.elementBytes + planes;
  const machine::Timing time = machine::tileLoad(
      machine, each.elements * ofElement * streams,
      each.runs * (channels + planes) * streams,
      // Groups with channels of their own take them in different units.
      each.most * ofElement);
  return machine.sb.banks > 0 ? machine::withPorts(time, portCycles(each))
                              : time;
}

/// Loads of a chunk, and of those that are handed on with it.
void PlanCost::addLoads(const ColumnWave &wave, const Chunk &chunk,
                        int64_t turns, ChunkCost &own) const {
  const Loaded each = loadOfRound();
  const int64_t streams = wave.groupStep > 0 ? wave.count : turns;
  const int64_t base = problem.part + channelsOf(problem, wave.first).first;
  for (const Chunk &piece :
       loadPieces(problem, plan, wave, chunk, turns, problem.part, machine)) {
    const uint64_t planes =
        plan.cellBlock > 0
            ? machine::cellPlanes((base + piece.first) % plan.cellBlock,
                                  piece.count, plan.cellBlock)
            : 0;
    const machine::Timing time =
        loadTime(streams, piece.count, static_cast<int64_t>(planes), each);
    own.loads.push_back(static_cast<int64_t>(time.issue));
    own.arrival = static_cast<int64_t>(time.complete - time.issue);
  }
  // Of loads of whole planes the queues are the limit.
  if (machine.sb.banks > 0 && plan.cellBlock < problem.cellBlock)
    own.ports = static_cast<int64_t>(portCycles(each));
}

} // namespace ashlar::analysis
