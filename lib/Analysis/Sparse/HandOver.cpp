// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of units that load different channels and hand them on: each group
// takes its tiles from the memories of all groups in turn (tcc.bind), instead
// of having every channel in its own.

#include "PlanCost.h"

#include "ashlar/Partition/Binding.h"
#include "dialects/NPU/NPUDialect.h"

#include <algorithm>

using namespace mlir;

namespace ashlar::analysis {

/// Tables of a step that hands tiles on, of its loads and its turns, and as
/// many of the next one.
static constexpr uint64_t kTablesOfSteps = 6;

HandOver handOverOf(Operation *op, llvm::StringRef binding,
                    const machine::Description &machine) {
  const auto routes = static_cast<partition::Binding>(machine.sparse.binding);
  // In turn every group reaches every other one: switches of two units do not.
  const bool reaches =
      routes == partition::Binding::Mesh || routes == partition::Binding::Benes;
  // A view of another map may begin at any partition; joined maps do not.
  Operation *producer = op->getOperand(0).getDefiningOp();
  auto move = dyn_cast_or_null<npu::DmaMoveOp>(producer);
  const bool begins = producer && (!move || move.getInputs().size() > 1);
  const bool depth = shapeOf(op->getOperand(1)).size() > 4;
  if (depth || binding == "off" || !reaches || !begins ||
      machine.sparse.tileTables < kTablesOfSteps)
    return HandOver::Off;
  return binding == "always" ? HandOver::Always : HandOver::Auto;
}

/// A load of `span` channels from `first` on starts a channel tile or stays in
/// one.
static bool staysInTile(int64_t first, int64_t span, int64_t partitions) {
  return first % partitions == 0 || first % partitions + span <= partitions;
}

int64_t handedChannels(const TileProblem &problem, const TilePlan &plan,
                       int64_t count, const machine::Description &machine) {
  const int64_t block = std::max<int64_t>(plan.cellBlock, 1);
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  if (plan.turns < 2 || count % plan.turns != 0 || problem.groups != 1)
    return 0;
  const int64_t most = std::min(plan.slots, problem.channels / plan.turns);
  for (int64_t own = most / block * block; own > 0; own -= block) {
    const int64_t span = own * plan.turns;
    int64_t first = 0;
    while (first + span <= problem.channels &&
           staysInTile(first, span, partitions))
      first += span;
    if (first + span > problem.channels)
      return own;
  }
  return 0;
}

WaveChunks waveChunks(const TileProblem &problem, const TilePlan &plan,
                      const ColumnWave &wave, const std::vector<bool> &live,
                      const machine::Description &machine) {
  WaveChunks result;
  int64_t own = handedChannels(problem, plan, wave.count, machine);
  if (own == 0) {
    for (const Chunk &chunk :
         chunksOf(problem, plan.inputs(problem, wave), live, plan.slots))
      result.chunks.push_back({chunk});
    return result;
  }
  const int64_t all = problem.channels;
  const int64_t block = std::max<int64_t>(plan.cellBlock, 1);
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  int64_t first = 0;
  auto add = [&](int64_t count, int64_t turns) {
    for (int64_t turn = 0; turn < turns; ++turn, first += count)
      result.chunks.push_back({{first, count}, turn, turns});
  };
  while (first + own * plan.turns <= all)
    add(own, plan.turns);
  // What is left: in smaller parts, then to all groups.
  own = (all - first) / plan.turns / block * block;
  if (own > 0 && staysInTile(first, own * plan.turns, partitions))
    add(own, plan.turns);
  while (first < all)
    add(std::min(plan.slots, all - first), 1);
  return result;
}

HandOverRoutes::HandOverRoutes(const machine::Description &machine,
                               int64_t units, int64_t groups, int64_t turns) {
  const auto routes = static_cast<partition::Binding>(machine.sparse.binding);
  for (int64_t turn = 0; turn < turns; ++turn) {
    partition::RouteLoad load(routes, machine.sparse.tcus);
    for (int64_t unit = 0; unit < units * groups; ++unit)
      load.add((unit + turn * units) % (units * groups), unit, /*bytes=*/1);
    perTurn.push_back({load.farthest(), load.busiest()});
  }
}

int64_t HandOverRoutes::runCycles(const machine::Description &machine,
                                  int64_t cycles, int64_t turn,
                                  int64_t bytes) const {
  const Turn &own = perTurn[static_cast<size_t>(turn)];
  if (turn == 0)
    return cycles;
  // Two instructions bind the units of a turn.
  return static_cast<int64_t>(machine::routedRun(
             machine, static_cast<uint64_t>(cycles), own.hops,
             own.tiles * static_cast<uint64_t>(bytes))) +
         2 * static_cast<int64_t>(machine::tileTable().issue);
}

} // namespace ashlar::analysis
