// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicted cycles of tile plans, from the formulas of lib/Machine, and the
// search for the best plan. The pipeline of a plan is followed chunk by chunk:
// loads, runs, drains and streams overlap as far as their buffers allow.

#include "ScatterPlan.h"

#include "ashlar/Analysis/MovementQueues.h"
#include "ashlar/Machine/Cycles.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

namespace ashlar::analysis {
namespace {

/// Coefficients of channel ranges in constant time, and the steps that they
/// take by the number of coefficients a step.
class EntrySums {
public:
  EntrySums(const TileProblem &problem, bool skip) {
    int64_t taps = problem.kernel[0] * problem.kernel[1];
    int64_t inPerGroup = problem.channels / problem.groups;
    int64_t outPerGroup = problem.outputs / problem.groups;
    for (size_t i = 0; i < problem.columns.size(); ++i) {
      ChannelRange range = channelsOf(problem, i);
      const ColumnTile &column = problem.columns[i];
      std::vector<int64_t> counts;
      for (int64_t c = 0; c < range.count; ++c) {
        int64_t group = (range.first + c) / inPerGroup;
        int64_t begin = std::max(group * outPerGroup, column.firstOutput);
        int64_t end = std::min((group + 1) * outPerGroup,
                               column.firstOutput + column.cols);
        counts.push_back(skip ? problem.entries[i][c]
                              : std::max<int64_t>(end - begin, 0) * taps);
      }
      columns.push_back(std::move(counts));
    }
  }

  int64_t entries(size_t column, const Chunk &chunk) {
    return steps(column, chunk, 1);
  }
  /// Groups of `perStep` coefficients of a chunk of one column.
  int64_t steps(size_t column, const Chunk &chunk, int64_t perStep) {
    const std::vector<int64_t> &sums = prefix(perStep)[column];
    return sums[chunk.first + chunk.count] - sums[chunk.first];
  }
  /// The same of the whole column.
  int64_t steps(size_t column, int64_t perStep) {
    return prefix(perStep)[column].back();
  }

private:
  const std::vector<std::vector<int64_t>> &prefix(int64_t perStep) {
    std::vector<std::vector<int64_t>> &sums = prefixes[perStep];
    if (sums.empty())
      for (const std::vector<int64_t> &counts : columns) {
        std::vector<int64_t> own{0};
        for (int64_t count : counts)
          own.push_back(own.back() + llvm::divideCeilSigned(count, perStep));
        sums.push_back(std::move(own));
      }
    return sums;
  }

  std::vector<std::vector<int64_t>> columns;
  std::map<int64_t, std::vector<std::vector<int64_t>>> prefixes;
};

/// What a number of groups of units makes of a problem, the same for all tiles.
struct Grouping {
  std::vector<ColumnWave> waves;
  /// By wave: channels of its inputs with a coefficient; last: of all columns.
  std::vector<std::vector<bool>> live;
  std::vector<bool> liveAnywhere;
};

/// A chunk of a wave with its costs.
struct ChunkCost {
  int64_t run = 0, load = 0, stream = 0;
  int64_t bytes = 0; ///< of the longest stream
};

/// A wave with its costs, the same for every round of tiles.
struct WaveCost {
  ColumnWave wave;
  std::vector<ChunkCost> chunks;
  int64_t drain = 0, stream = 0, bytes = 0;
};

/// Cycles between two steps that are neither run nor load.
constexpr int64_t kStepCycles = 4;

/// Streams that stay while tiles pass take at most this share of weight memory:
/// so there is room for them wherever other streams lie.
constexpr int64_t kKeptShare = 4;

class PlanCost {
public:
  PlanCost(const TileProblem &problem, const TilePlan &plan,
           const Grouping &grouping, EntrySums &sums,
           const ScatterSums &scatter, const machine::Description &machine);

  /// Follows the pipeline; false if the plan does not fit the memories.
  bool simulate();
  void store(TilePlan &plan) const {
    plan.cycles = end;
    plan.run = runBusy;
    plan.load = loadBusy;
    plan.drain = drainBusy;
    plan.stream = streamBusy;
  }
  int64_t cycles() const { return end; }

private:
  void addWave(const ColumnWave &wave, const std::vector<Chunk> &chunks,
               EntrySums &sums);
  bool mayKeepTiles() const;
  int64_t loadedElements() const;
  int64_t loadCycles(const ColumnWave &wave, const Chunk &chunk) const;
  int64_t fetch(int64_t cycles, int64_t bytes);
  void runWave(const WaveCost &wave, bool loads, bool streams, int64_t share);
  void cutRound(const ColumnWave &wave, int64_t round);

  const TileProblem &problem;
  const TilePlan &plan;
  /// Cycles in scatter mode; empty in tile mode.
  const ScatterSums &scatter;
  const machine::Description &machine;
  machine::TileGeometry geometry;
  int64_t passes, period, perStep, units, rounds, queues;
  int64_t room; ///< of a group's streams in weight memory
  bool resident = true, fits = true;
  std::vector<WaveCost> waves;
  // Pipeline state.
  int64_t loadFree = 0, runFree = 0, drainFree = 0, streamFree = 0, end = 0;
  int64_t loadBusy = 0, runBusy = 0, drainBusy = 0, streamBusy = 0;
  std::array<int64_t, 2> setFree{0, 0}, sumsFree{0, 0};
  int64_t set = 0, sums = 0;
  CutCycles cut;
  /// Tables that the machine has cut, by round and groups.
  std::set<std::pair<int64_t, int64_t>> tables;
};

PlanCost::PlanCost(const TileProblem &problem, const TilePlan &plan,
                   const Grouping &grouping, EntrySums &sums,
                   const ScatterSums &scatter,
                   const machine::Description &machine)
    : problem(problem), plan(plan), scatter(scatter), machine(machine),
      geometry(plan.geometry(problem)) {
  int64_t lines = plan.images * plan.rows;
  passes =
      machine::pePasses(machine, problem.activationBits, problem.weightBits);
  period = machine::tileSteps(machine, lines, plan.cols, plan.cols) * passes;
  perStep = machine::tileCoefficients(machine, lines, plan.cols);
  units = machine.sparse.tcus / plan.groups;
  rounds = plan.rounds(problem, units);
  queues = movementQueues(machine);
  room = groupRoom(plan.groups, machine);
  for (auto [wave, live] : llvm::zip(grouping.waves, grouping.live))
    addWave(wave,
            chunksOf(problem, plan.inputs(problem, wave),
                     plan.tilesOutside ? grouping.liveAnywhere : live,
                     plan.slots),
            sums);
  // Streams that pass once are fetched chunk by chunk.
  resident = rounds > 1;
  for (const WaveCost &wave : waves)
    resident &= wave.bytes <= room;
}

/// Elements of a channel that a round loads, mean over the rounds.
int64_t PlanCost::loadedElements() const {
  int64_t slot = static_cast<int64_t>(geometry.slotElements());
  if (plan.folds.empty())
    return slot * std::min(units, plan.tiles(problem));
  int64_t elements = 0;
  for (const TileFold &fold : plan.folds)
    for (const partition::Box &tile : fold.cuts)
      if (!tile.empty())
        elements += plan.disjoint
                        ? plan.images * tile.area()
                        : static_cast<int64_t>(geometry.loadedElements(
                              plan.images, tile.rows, tile.cols));
  return elements / static_cast<int64_t>(plan.folds.size());
}

int64_t PlanCost::loadCycles(const ColumnWave &wave, const Chunk &chunk) const {
  int64_t planes = problem.cellBlock > 0
                       ? machine::cellPlanes(0, chunk.count, problem.cellBlock)
                       : 0;
  int64_t streams = wave.groupStep > 0 ? wave.count : 1;
  int64_t bytes = loadedElements() *
                  (chunk.count * problem.elementBytes + planes) * streams;
  return llvm::divideCeilSigned(machine::tileLoad(machine, bytes).issue,
                                wave.crosses ? 1 : queues);
}

void PlanCost::addWave(const ColumnWave &wave, const std::vector<Chunk> &chunks,
                       EntrySums &sums) {
  WaveCost cost;
  cost.wave = wave;
  int64_t regions = problem.columns[wave.first].cols;
  for (const Chunk &chunk : chunks) {
    ChunkCost own;
    for (int64_t g = 0; g < wave.count; ++g) {
      size_t column = wave.first + static_cast<size_t>(g);
      int64_t entries = sums.entries(column, chunk);
      int64_t cycles = scatter.empty()
                           ? sums.steps(column, chunk, perStep) * period
                           : (scatter[column][chunk.first + chunk.count] -
                              scatter[column][chunk.first]) *
                                 passes;
      own.run = std::max<int64_t>(
          {own.run, cycles,
           static_cast<int64_t>(machine::tileDecode(machine, entries))});
      own.bytes = std::max(own.bytes,
                           streamBytes(problem, chunk.count, regions, entries));
    }
    own.load = loadCycles(wave, chunk);
    own.stream = llvm::divideCeilSigned(
        own.bytes * wave.count,
        static_cast<int64_t>(machine.dram.bytesPerCycle));
    cost.stream += own.stream;
    cost.bytes += own.bytes;
    fits &= own.bytes <= room;
    cost.chunks.push_back(own);
  }
  for (int64_t d = 0; d < wave.drains; ++d)
    cost.drain +=
        llvm::divideCeilSigned(problem.drains[wave.firstDrain + d].cols,
                               static_cast<int64_t>(machine.act.lanes));
  waves.push_back(std::move(cost));
}

/// Fetches a block of streams; returns when it is there. Two blocks that do not
/// fit into weight memory together follow each other's runs.
int64_t PlanCost::fetch(int64_t cycles, int64_t bytes) {
  if (2 * bytes > room)
    streamFree = std::max(streamFree, runFree);
  streamFree += cycles;
  streamBusy += cycles;
  return streamFree;
}

void PlanCost::runWave(const WaveCost &wave, bool loads, bool streams,
                       int64_t share) {
  int64_t ready = 0;
  if (streams && resident)
    ready = fetch(wave.stream, wave.bytes);
  // Starting the sums and writing the table of tiles.
  runFree = std::max(runFree, sumsFree[sums]) + kStepCycles;
  for (const ChunkCost &chunk : wave.chunks) {
    int64_t loaded = loadFree;
    if (loads) {
      loaded = std::max(loadFree, setFree[set]) + chunk.load;
      loadBusy += chunk.load;
      loadFree = loaded;
    }
    if (streams && !resident)
      ready = fetch(chunk.stream, chunk.bytes);
    runFree = std::max({runFree, loaded, ready}) + chunk.run;
    runBusy += chunk.run;
    setFree[set] = runFree;
    set = (set + 1) %
          static_cast<int64_t>(std::min<uint64_t>(machine.sparse.fmuSets, 2));
  }
  int64_t drain = wave.drain * share;
  drainFree = std::max(drainFree, runFree) + drain;
  drainBusy += drain;
  sumsFree[sums] = drainFree + static_cast<int64_t>(machine.act.latency);
  end = std::max(end, sumsFree[sums]);
  if (plan.twoSums)
    sums = 1 - sums;
}

/// True if all columns can run on tiles that stay: their streams take half of
/// weight memory at most, and the channels one set.
bool PlanCost::mayKeepTiles() const {
  int64_t bytes = 0;
  for (const WaveCost &wave : waves) {
    bytes += wave.bytes;
    if (wave.chunks.size() > 1)
      return false;
    // What stays was loaded for one table, and a table has the tiles of all
    // groups; tiles that the machine cuts are known by the cut alone.
    if (wave.wave.count != waves.front().wave.count)
      return false;
    if (plan.cutAtRunTime &&
        2 * rounds > static_cast<int64_t>(machine.sparse.tileTables))
      return false;
  }
  return bytes <= room / kKeptShare && problem.groups == 1;
}

/// The machine cuts the tiles of a round where it has no table of them: before
/// anything is loaded, then while units run. Many tables take places in turn.
void PlanCost::cutRound(const ColumnWave &wave, int64_t round) {
  if (!plan.cutAtRunTime)
    return;
  bool known = !tables.insert({round, wave.count}).second;
  if (known && 2 * tables.size() <= machine.sparse.tileTables)
    return;
  runFree += cut.cut;
  if (tables.size() == 1)
    loadFree = runFree;
}

bool PlanCost::simulate() {
  if (!fits || (plan.tilesOutside && !mayKeepTiles()))
    return false;
  cut = cutCycles(problem, plan, machine);
  runFree = cut.count;
  // The first streams were fetched while the operation before ran.
  int64_t bytes = 0;
  for (const WaveCost &wave : waves)
    for (const ChunkCost &chunk : wave.chunks) {
      bytes += chunk.bytes;
      if (bytes <= std::max(room / 2, chunk.bytes))
        streamFree -= chunk.stream;
    }
  int64_t share = plan.disjoint
                      ? partialSums(problem, plan)
                      : llvm::divideCeilSigned(problem.positions(), rounds);
  if (plan.tilesOutside) {
    for (int64_t round = 0; round < rounds; ++round)
      for (size_t w = 0; w < waves.size(); ++w) {
        cutRound(waves[w].wave, round);
        runWave(waves[w], w == 0, round == 0, share);
      }
    return true;
  }
  for (const WaveCost &wave : waves)
    for (int64_t round = 0; round < rounds; ++round) {
      cutRound(wave.wave, round);
      runWave(wave, true, round == 0 || !resident, share);
    }
  return true;
}

/// The values ceil(extent / k) for all k, largest first, up to `limit`.
std::vector<int64_t> shares(int64_t extent, int64_t limit) {
  std::vector<int64_t> sizes;
  for (int64_t k = 1; k <= extent; ++k) {
    int64_t size = llvm::divideCeilSigned(extent, k);
    if (size <= limit && (sizes.empty() || sizes.back() != size))
      sizes.push_back(size);
  }
  return sizes;
}

/// Looks for the best plan.
class Search {
public:
  Search(const TileProblem &problem, bool skip,
         const machine::Description &machine, int64_t limit)
      : problem(problem), machine(machine), sums(problem, skip),
        scatters(skip && problem.scatter), limit(limit),
        times(machine, problem.scatter ? problem.scatter->cut.variant
                                       : machine::ScatterVariant::D) {
    for (const ColumnTile &column : problem.columns)
      regions = std::max(regions, column.cols);
  }

  std::optional<TilePlan> run() {
    int64_t entries = machine.sparse.accumulatorEntries;
    int64_t limit =
        std::min<int64_t>(entries / std::max<int64_t>(regions, 1), 16383);
    int64_t most = std::min<int64_t>(machine.sparse.tcus, 64);
    for (int64_t groups = mostParts(problem); groups <= most; groups *= 2) {
      groupBy(groups);
      for (int64_t cols : shares(problem.extent[2], limit))
        for (int64_t rows : shares(problem.extent[1], limit / cols)) {
          bool whole = cols == problem.extent[2] && rows == problem.extent[1];
          for (int64_t images : shares(
                   problem.extent[0],
                   whole ? std::min<int64_t>(limit / (cols * rows), 255) : 1))
            consider(groups, images, rows, cols);
          if (!whole || problem.extent[0] > 1)
            consider(groups, 1, rows, cols);
        }
    }
    if (best && scatters)
      cut();
    return best;
  }

  /// Cycles of a plan that another search found; nothing if it does not fit.
  std::optional<int64_t> cyclesOf(const TilePlan &plan) {
    groupBy(plan.groups);
    PlanCost cost(problem, plan, grouping, sums, scatter, machine);
    if (!cost.simulate())
      return std::nullopt;
    return cost.cycles();
  }

private:
  int64_t unitsOf(const TilePlan &plan) const {
    return static_cast<int64_t>(machine.sparse.tcus) / plan.groups;
  }

  /// Scatter mode: unequal tiles, and tiles of the operand.
  void cut() {
    using partition::HaloMode;
    const TilePlan grid = *best;
    const CutOptions &options = problem.scatter->cut;
    double even = balanceOf(problem, grid, unitsOf(grid));
    auto forget = [&](bool forced) {
      if (forced)
        best.reset(), limit = INT64_MAX;
    };
    bool forced = partition::isForced(options.time);
    forget(forced || options.halo == HaloMode::Disjoint);
    if (options.halo != HaloMode::Overlap)
      cutOperand(grid);
    if (options.halo != HaloMode::Disjoint || !best) {
      if (!best && !forced)
        best = grid, limit = grid.cycles;
      cutResults(grid);
    }
    if (!best)
      best = grid;
    best->balance = balanceOf(problem, *best, unitsOf(*best));
    best->gridBalance = even;
  }

  /// Unequal tiles of the results, in as many groups of units as the best grid
  /// has or half or twice as many.
  void cutResults(const TilePlan &grid) {
    for (int64_t groups : {grid.groups / 2, grid.groups, grid.groups * 2})
      if (groups >= mostParts(problem))
        cutInto(grid, groups, cutPlans);
  }

  /// Tiles of the operand, in any number of groups.
  void cutOperand(const TilePlan &grid) {
    for (int64_t groups = mostParts(problem);
         groups <= static_cast<int64_t>(machine.sparse.tcus); groups *= 2)
      cutInto(grid, groups, disjointPlans);
  }

  /// Considers the plans of `cut` for `groups` groups of units.
  void cutInto(const TilePlan &grid, int64_t groups, decltype(cutPlans) *cut) {
    if (groups > static_cast<int64_t>(machine.sparse.tcus))
      return;
    groupBy(groups);
    TilePlan plan = grid;
    plan.groups = groups;
    for (int64_t copies : {1, 2}) {
      int64_t most = static_cast<int64_t>(machine.sparse.accumulatorEntries) /
                     (regions * copies * plan.images);
      for (const TilePlan &own : cut(problem, plan, unitsOf(plan),
                                     std::max<int64_t>(most, 1), machine))
        consider(own);
    }
  }

  void groupBy(int64_t groups) {
    grouping = {columnWaves(problem, groups, machine), {}, {}};
    for (const ColumnWave &wave : grouping.waves)
      grouping.live.push_back(liveChannels(problem, wave));
    TilePlan outside;
    outside.tilesOutside = true;
    if (problem.groups == 1)
      grouping.liveAnywhere =
          liveChannels(problem, outside.inputs(problem, ColumnWave()));
  }

  /// Channels that a set holds; whole blocks where that is possible.
  int64_t slotsOf(const TilePlan &plan) const {
    auto elements = static_cast<int64_t>(plan.geometry(problem).slotElements());
    int64_t block = std::max<int64_t>(problem.cellBlock, 1);
    int64_t planes = problem.cellBlock > 0 ? elements : 0;
    int64_t bytes = elements * problem.elementBytes;
    int64_t capacity = machine.sparse.fmuBytes;
    int64_t blocks = capacity / (block * bytes + planes);
    if (blocks > 0)
      return std::min<int64_t>(blocks * block, 4095 / block * block);
    // Less than a block: at most one plane more than whole blocks touch.
    return (capacity - 2 * planes) / bytes;
  }

  /// Sums and drains alone, without what they wait for.
  int64_t leastCycles(const TilePlan &plan) {
    int64_t lines = plan.images * plan.rows;
    int64_t period =
        machine::tileSteps(machine, lines, plan.cols, plan.cols) *
        machine::pePasses(machine, problem.activationBits, problem.weightBits);
    int64_t perStep = machine::tileCoefficients(machine, lines, plan.cols);
    int64_t rounds = plan.rounds(problem, unitsOf(plan));
    int64_t steps = 0, drain = 0;
    for (const ColumnWave &wave : grouping.waves) {
      int64_t longest = 0;
      for (int64_t g = 0; g < wave.count; ++g)
        longest = std::max(longest, sums.steps(wave.first + g, perStep));
      steps += longest;
    }
    for (const DrainColumn &column : problem.drains)
      drain += llvm::divideCeilSigned(column.cols,
                                      static_cast<int64_t>(machine.act.lanes));
    return scatters
               ? drain * problem.positions()
               : std::max(rounds * steps * period, drain * problem.positions());
  }

  void consider(int64_t groups, int64_t images, int64_t rows, int64_t cols) {
    TilePlan plan;
    plan.groups = groups;
    plan.images = images;
    plan.rows = rows;
    plan.cols = cols;
    consider(std::move(plan));
  }

  void consider(TilePlan plan) {
    int64_t slots = slotsOf(plan);
    if (slots < 1 || leastCycles(plan) >= limit)
      return;
    plan.scatter = scatters;
    if (scatters)
      scatter = scatterSums(problem, plan, unitsOf(plan), times, machine);
    plan.twoSums = 2 * regions * plan.images * plan.rows * plan.cols <=
                   static_cast<int64_t>(machine.sparse.accumulatorEntries);
    int64_t channels = 1;
    for (const ColumnWave &wave : grouping.waves) {
      int64_t count = channelsOf(problem, wave.first).count;
      if (wave.crosses && count > slots)
        return;
      channels = std::max(channels, count);
    }
    // Smaller chunks start earlier and need less weight memory at a time.
    int64_t block = std::max<int64_t>(problem.cellBlock, 1);
    slots =
        std::min(slots, static_cast<int64_t>(llvm::alignTo(channels, block)));
    for (int64_t parts : {1, 2, 4, 8}) {
      plan.slots = parts == 1 ? slots : slots / parts / block * block;
      if (plan.slots < 1)
        break;
      for (bool outside : {false, true}) {
        plan.tilesOutside = outside;
        tryPlan(plan);
      }
    }
  }

  void tryPlan(const TilePlan &plan) {
    if (plan.tilesOutside && problem.groups != 1)
      return;
    for (const ColumnWave &wave : grouping.waves)
      if (wave.crosses && channelsOf(problem, wave.first).count > plan.slots)
        return;
    PlanCost cost(problem, plan, grouping, sums, scatter, machine);
    if (!cost.simulate() || cost.cycles() >= limit)
      return;
    best = plan;
    cost.store(*best);
    limit = best->cycles;
  }

  const TileProblem &problem;
  const machine::Description &machine;
  EntrySums sums;
  const bool scatters;
  int64_t limit; ///< plans have to take fewer cycles
  ScatterTimes times;
  ScatterSums scatter; ///< of the plan under consideration
  Grouping grouping;
  int64_t regions = 1;
  std::optional<TilePlan> best;
};

} // namespace

std::optional<TilePlan> searchTiles(const TileProblem &problem,
                                    const machine::Description &machine,
                                    int64_t limit) {
  return Search(problem, true, machine, limit).run();
}

int64_t searchUnskipped(const TileProblem &problem, const TilePlan &plan,
                        const machine::Description &machine) {
  Search dense(problem, false, machine, INT64_MAX);
  if (std::optional<int64_t> cycles = dense.cyclesOf(plan))
    return *cycles;
  std::optional<TilePlan> other = dense.run();
  return other ? other->cycles : 0;
}

} // namespace ashlar::analysis
