// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicted cycles of one tile plan, from the formulas of lib/Machine: the
// pipeline is followed chunk by chunk; loads, runs, drains and streams overlap
// as far as their buffers allow.

#ifndef ASHLAR_LIB_ANALYSIS_SPARSE_PLANCOST_H
#define ASHLAR_LIB_ANALYSIS_SPARSE_PLANCOST_H

#include "ScatterPlan.h"

#include "llvm/Support/MathExtras.h"

#include <array>
#include <map>
#include <set>

namespace ashlar::analysis {

/// Coefficients of channel ranges in constant time, the steps that they take by
/// the number of coefficients a step, and the cycles by what a unit does.
class EntrySums {
public:
  EntrySums(const TileProblem &problem, bool skip,
            const machine::Description &machine);

  int64_t entries(size_t column, const Chunk &chunk) {
    return steps(column, chunk, 1);
  }
  /// Groups of `perStep` coefficients of a chunk of one column.
  int64_t steps(size_t column, const Chunk &chunk, int64_t perStep) {
    const std::vector<int64_t> &sums = prefix(perStep)[column];
    return sums[chunk.first + chunk.count] - sums[chunk.first];
  }
  /// Cycles of a chunk of one column in tile mode.
  int64_t cycles(size_t column, const Chunk &chunk,
                 const machine::TileStep &step, uint64_t passes);
  /// Cycles of the whole column.
  int64_t cycles(size_t column, const machine::TileStep &step,
                 uint64_t passes) {
    const auto channels = static_cast<int64_t>(columns[column].size());
    return cycles(column, {0, channels}, step, passes);
  }
  /// Steps of the whole column.
  int64_t steps(size_t column, int64_t perStep) {
    return prefix(perStep)[column].back();
  }

private:
  using Prefixes = std::vector<std::vector<int64_t>>;
  const Prefixes &prefix(int64_t perStep);
  Prefixes alternating(const machine::TileStep &step, uint64_t passes) const;
  Prefixes inOrder(const machine::TileStep &step, uint64_t passes) const;

  const TileProblem &problem;
  const machine::Description &machine;
  const bool skip;
  /// By column: those of the problem, or all coefficients that there may be.
  std::vector<llvm::ArrayRef<machine::ChannelCrowd>> columns;
  std::vector<std::vector<machine::ChannelCrowd>> full;
  std::map<int64_t, Prefixes> prefixes;
  /// Cycles, by steps, coefficients and width of a step, and passes.
  std::map<std::array<uint64_t, 4>, Prefixes> priced;
};

/// What a number of groups of units makes of a problem, the same for all tiles.
struct Grouping {
  std::vector<ColumnWave> waves;
  /// By wave: channels of its inputs with a coefficient; last: of all columns.
  std::vector<std::vector<bool>> live;
  std::vector<bool> liveAnywhere;
};

/// The routes on which groups of units hand tiles on, turn by turn.
class HandOverRoutes {
public:
  HandOverRoutes(const machine::Description &machine, int64_t units,
                 int64_t groups, int64_t turns);
  /// Cycles of a run of `cycles` cycles that takes `bytes` of each tile from
  /// the memory of the group that is `turn` groups further on.
  int64_t runCycles(const machine::Description &machine, int64_t cycles,
                    int64_t turn, int64_t bytes) const;

private:
  struct Turn {
    uint64_t hops = 0, tiles = 0; ///< of the longest route; on a link at most
  };
  std::vector<Turn> perTurn;
};

/// A chunk of a wave with its costs.
struct ChunkCost {
  bool lasts = false; ///< the next one is in the same load
  int64_t run = 0, stream = 0;
  llvm::SmallVector<int64_t, 4> loads; ///< cycles of each, one per queue
  int64_t arrival = 0; ///< from the end of a load until runs may read it
  int64_t ports = 0;   ///< cycles of a load that a bank of SB is taken
  int64_t bytes = 0;   ///< of the longest stream
};

/// Drains of a wave that take as many tiles side by side.
struct DrainCost {
  int64_t tiles = 1;
  int64_t cycles = 0; ///< for a result of each tile
};

/// A wave with its costs, the same for every round of tiles.
struct WaveCost {
  ColumnWave wave;
  std::vector<ChunkCost> chunks;
  llvm::SmallVector<DrainCost, 2> drains;
  int64_t stream = 0, bytes = 0;
  int64_t steps = 0; ///< loads that its chunks take
};

/// Cycles of the busiest bank of SB for a drain that writes `results` results
/// to every partition, `row` of them side by side, and reads what is added to
/// them.
int64_t drainPorts(const TileProblem &problem, int64_t results, int64_t row,
                   const machine::Description &machine);

/// Cycles in which ACT takes `results` results of every result of a drain.
int64_t drainCycles(const TileProblem &problem, const DrainColumn &column,
                    int64_t results, const machine::Description &machine);

/// Follows a plan through the cluster.
class PlanCost {
public:
  PlanCost(const TileProblem &problem, const TilePlan &plan,
           const Grouping &grouping, EntrySums &sums,
           const ScatterSums &scatter, const machine::Description &machine);

  /// Follows the pipeline, once; false if the plan does not fit the memories or
  /// takes `most` cycles or more. In a network (`alone` false) nothing waits
  /// for the latency of loads.
  bool simulate(bool alone, int64_t most = INT64_MAX);
  void store(TilePlan &plan) const {
    plan.cycles = end;
    plan.run = runBusy;
    plan.load = llvm::divideCeilSigned(loadBusy, queues);
    plan.drain = drainBusy;
    plan.stream = streamBusy;
  }
  int64_t cycles() const { return end; }
  /// Times that a chunk is loaded into a buffer set.
  int64_t loadSteps() const;

private:
  void addWave(const ColumnWave &wave, const WaveChunks &chunks,
               EntrySums &sums);
  int64_t runOf(const ColumnWave &wave, const WaveChunks &chunks, size_t i,
                ChunkCost &own, EntrySums &sums) const;
  void addLoads(const ColumnWave &wave, const Chunk &chunk, int64_t turns,
                ChunkCost &own) const;
  bool mayKeepTiles() const;
  /// What a round loads of a channel, mean over the rounds.
  struct Loaded {
    int64_t elements = 0, runs = 0;
    int64_t most = 0; ///< elements of one unit
  };
  Loaded loadOfRound() const;
  uint64_t portCycles(const Loaded &each) const;
  machine::Timing loadTime(int64_t streams, int64_t channels, int64_t planes,
                           const Loaded &each) const;
  int64_t load(const ChunkCost &chunk);
  std::vector<uint64_t> tilesOf(int64_t round) const;
  int64_t shareOf(int64_t round) const {
    return round + 1 == rounds ? lastShare : share;
  }
  int64_t stepsOf(int64_t tiles, int64_t round);
  int64_t drainOf(const WaveCost &wave, int64_t round);
  int64_t portsOf(int64_t round) const;
  void holdBanks(const WaveCost &wave, int64_t round, int64_t from,
                 int64_t drain);
  int64_t afterDrains(int64_t start) const;
  int64_t fetch(int64_t cycles, int64_t bytes);
  int64_t startCycles(const WaveCost &wave) const;
  void runWave(const WaveCost &wave, bool loads, bool streams, int64_t round);
  void cutRound(const ColumnWave &wave, int64_t round);
  bool forEachRound(llvm::function_ref<bool(int64_t)> run);
  llvm::SmallVector<int64_t *, 16> counters();

  const TileProblem &problem;
  const TilePlan &plan;
  /// Cycles in scatter mode; empty in tile mode.
  const ScatterSums &scatter;
  const machine::Description &machine;
  machine::TileGeometry geometry;
  /// What the units of each class do for a coefficient.
  llvm::SmallVector<machine::TileStep, 2> steps;
  int64_t passes, units, rounds, queues;
  bool alternate; ///< kernels do in the streams
  int64_t room;   ///< of a group's streams in weight memory
  bool resident = true, fits = true;
  std::vector<WaveCost> waves;
  // Pipeline state.
  bool waits = true;    ///< runs do, for the latency of loads
  int64_t loadFrom = 0; ///< no load before
  int64_t loaded = 0;   ///< end of the last one
  std::vector<int64_t> queueFree;
  int64_t bankFree = 0; ///< of SB, where the feature map lies
  size_t queue = 0;
  /// Cycles in which the last drains have banks of SB, if the layer is alone.
  std::array<std::pair<int64_t, int64_t>, 4> held{};
  size_t nextHeld = 0;
  int64_t runFree = 0, drainFree = 0, streamFree = 0, end = 0;
  int64_t loadBusy = 0, runBusy = 0, drainBusy = 0, streamBusy = 0;
  std::array<int64_t, 2> setFree{0, 0}, sumsFree{0, 0};
  int64_t set = 0, sums = 0;
  CutCycles cut;
  int64_t share = 0, lastShare = 0; ///< results of a round, of the last one
  /// Results of a drain in each round, by the tiles that it has side by side.
  std::map<int64_t, std::vector<int64_t>> sideBySide;
  /// Tables that the machine has cut, by round and groups.
  std::set<std::pair<int64_t, int64_t>> tables;
};

} // namespace ashlar::analysis

#endif // ASHLAR_LIB_ANALYSIS_SPARSE_PLANCOST_H
