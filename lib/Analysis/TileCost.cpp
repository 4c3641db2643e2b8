// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicted cycles of tile plans, from the formulas of lib/Machine, and the
// search for the best plan. The pipeline of a plan is followed chunk by chunk:
// loads, runs, drains and streams overlap as far as their buffers allow.

#include "ashlar/Analysis/TilePlan.h"

#include "ashlar/Machine/Cycles.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::analysis {
namespace {

/// Coefficients of channel ranges in constant time, for one number of
/// coefficients a step.
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

  /// Steps and coefficients of a chunk of one column.
  std::pair<int64_t, int64_t> of(size_t column, const Chunk &chunk,
                                 int64_t perStep) const {
    int64_t steps = 0, entries = 0;
    for (int64_t c = chunk.first; c < chunk.first + chunk.count; ++c) {
      steps += llvm::divideCeilSigned(columns[column][c], perStep);
      entries += columns[column][c];
    }
    return {steps, entries};
  }

private:
  std::vector<std::vector<int64_t>> columns;
};

/// A chunk of a wave with its costs.
struct ChunkCost {
  int64_t run = 0, load = 0, stream = 0;
};

/// A wave with its costs, the same for every round of tiles.
struct WaveCost {
  std::vector<ChunkCost> chunks;
  int64_t drain = 0, stream = 0;
};

/// Cycles between two steps that are neither run nor load.
constexpr int64_t kStepCycles = 4;

class PlanCost {
public:
  PlanCost(const TileProblem &problem, const TilePlan &plan,
           const EntrySums &sums, const machine::Description &machine);

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
  void addWave(const ColumnWave &wave, const EntrySums &sums);
  int64_t blockOf(int64_t bytes, int64_t groups) const;
  int64_t loadCycles(const ColumnWave &wave, const Chunk &chunk) const;
  void runWave(const WaveCost &wave, bool loads, bool streams, int64_t share);

  const TileProblem &problem;
  const TilePlan &plan;
  const machine::Description &machine;
  machine::TileGeometry geometry;
  int64_t period, perStep, units, rounds, queues;
  bool resident = true, fits = true;
  std::vector<WaveCost> waves;
  int64_t blockBytes = 0; ///< weight memory of the largest wave
  int64_t allBytes = 0;
  // Pipeline state.
  int64_t loadFree = 0, runFree = 0, drainFree = 0, streamFree = 0, end = 0;
  int64_t loadBusy = 0, runBusy = 0, drainBusy = 0, streamBusy = 0;
  std::array<int64_t, 2> setFree{0, 0}, sumsFree{0, 0};
  int64_t set = 0, sums = 0;
};

PlanCost::PlanCost(const TileProblem &problem, const TilePlan &plan,
                   const EntrySums &sums, const machine::Description &machine)
    : problem(problem), plan(plan), machine(machine),
      geometry(plan.geometry(problem)) {
  int64_t lines = plan.images * plan.rows;
  period =
      machine::tileSteps(machine, lines, plan.cols, plan.cols) *
      machine::pePasses(machine, problem.activationBits, problem.weightBits);
  perStep = machine::tileCoefficients(machine, lines, plan.cols);
  units = machine.sparse.tcus / plan.groups;
  rounds = llvm::divideCeilSigned(plan.tiles(problem), units);
  queues = std::max<int64_t>(machine.dma.queues - 1, 1);
  for (const ColumnWave &wave : columnWaves(problem, plan.groups, machine))
    addWave(wave, sums);
  int64_t wm = machine.sparse.wmBytes;
  resident = blockBytes <= wm;
}

int64_t PlanCost::loadCycles(const ColumnWave &wave, const Chunk &chunk) const {
  int64_t planes = problem.cellBlock > 0
                       ? machine::cellPlanes(0, chunk.count, problem.cellBlock)
                       : 0;
  int64_t streams = wave.groupStep > 0 ? wave.count : 1;
  int64_t tiles = std::min(units, plan.tiles(problem));
  int64_t bytes = static_cast<int64_t>(geometry.slotElements()) *
                  (chunk.count * problem.elementBytes + planes) * tiles *
                  streams;
  return llvm::divideCeilSigned(machine::tileLoad(machine, bytes).issue,
                                wave.crosses ? 1 : queues);
}

/// Streams of different groups of units lie in different banks.
int64_t PlanCost::blockOf(int64_t bytes, int64_t groups) const {
  int64_t bank = machine.sparse.wmBytes / machine.sparse.wmBanks;
  return groups > 1 ? static_cast<int64_t>(llvm::alignTo(bytes, bank)) * groups
                    : bytes;
}

void PlanCost::addWave(const ColumnWave &wave, const EntrySums &sums) {
  WaveCost cost;
  int64_t groupBytes = 0;
  int64_t regions = problem.columns[wave.first].cols;
  for (const Chunk &chunk :
       chunksOf(problem, plan.inputs(problem, wave), plan.slots)) {
    ChunkCost own;
    int64_t bytes = 0;
    for (int64_t g = 0; g < wave.count; ++g) {
      auto [steps, entries] = sums.of(wave.first + g, chunk, perStep);
      own.run = std::max<int64_t>(
          {own.run, steps * period,
           static_cast<int64_t>(machine::tileDecode(machine, entries))});
      bytes =
          std::max(bytes, streamBytes(problem, chunk.count, regions, entries));
    }
    own.load = loadCycles(wave, chunk);
    own.stream = llvm::divideCeilSigned(
        bytes * wave.count, static_cast<int64_t>(machine.dram.bytesPerCycle));
    cost.stream += own.stream;
    groupBytes += bytes;
    fits &= blockOf(bytes, wave.count) <=
            static_cast<int64_t>(machine.sparse.wmBytes);
    cost.chunks.push_back(own);
  }
  for (int64_t g = 0; g < wave.count; ++g)
    cost.drain +=
        llvm::divideCeilSigned(problem.columns[wave.first + g].cols,
                               static_cast<int64_t>(machine.act.lanes));
  int64_t bytes = blockOf(groupBytes, wave.count);
  blockBytes = std::max(blockBytes, bytes);
  allBytes += bytes;
  waves.push_back(std::move(cost));
}

void PlanCost::runWave(const WaveCost &wave, bool loads, bool streams,
                       int64_t share) {
  int64_t ready = 0;
  if (streams) {
    streamFree += wave.stream;
    streamBusy += wave.stream;
    ready = streamFree;
  }
  // Starting the sums and writing the table of tiles.
  runFree = std::max(runFree, sumsFree[sums]) + kStepCycles;
  for (const ChunkCost &chunk : wave.chunks) {
    int64_t loaded = loadFree;
    if (loads) {
      loaded = std::max(loadFree, setFree[set]) + chunk.load;
      loadBusy += chunk.load;
      loadFree = loaded;
    }
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

bool PlanCost::simulate() {
  if (!fits)
    return false;
  bool oneChunk = llvm::all_of(
      waves, [](const WaveCost &w) { return w.chunks.size() <= 1; });
  if (plan.tilesOutside &&
      (allBytes > static_cast<int64_t>(machine.sparse.wmBytes) / 2 ||
       !oneChunk || problem.groups != 1))
    return false;
  // The first streams were fetched while the operation before ran.
  if (!waves.empty())
    streamFree = -waves.front().stream;
  int64_t share = llvm::divideCeilSigned(problem.positions(), rounds);
  if (plan.tilesOutside) {
    for (int64_t round = 0; round < rounds; ++round)
      for (size_t w = 0; w < waves.size(); ++w)
        runWave(waves[w], w == 0, round == 0, share);
    return true;
  }
  for (const WaveCost &wave : waves)
    for (int64_t round = 0; round < rounds; ++round)
      runWave(wave, true, round == 0 || !resident, share);
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
  Search(const TileProblem &problem, const machine::Description &machine)
      : problem(problem), machine(machine), skipped(problem, true),
        dense(problem, false) {
    for (const ColumnTile &column : problem.columns)
      regions = std::max(regions, column.cols);
  }

  std::optional<TilePlan> run() {
    int64_t entries = machine.sparse.accumulatorEntries;
    int64_t limit =
        std::min<int64_t>(entries / std::max<int64_t>(regions, 1), 16383);
    int64_t most = std::min<int64_t>(machine.sparse.tcus, 64);
    for (int64_t groups = 1; groups <= most; groups *= 2)
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
    if (best)
      best->unskipped = cyclesOf(*best, dense);
    return best;
  }

private:
  int64_t cyclesOf(const TilePlan &plan, const EntrySums &sums) const {
    PlanCost cost(problem, plan, sums, machine);
    return cost.simulate() ? cost.cycles() : 0;
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

  void consider(int64_t groups, int64_t images, int64_t rows, int64_t cols) {
    TilePlan plan;
    plan.groups = groups;
    plan.images = images;
    plan.rows = rows;
    plan.cols = cols;
    plan.slots = slotsOf(plan);
    if (plan.slots < 1)
      return;
    plan.twoSums = 2 * regions * images * rows * cols <=
                   static_cast<int64_t>(machine.sparse.accumulatorEntries);
    for (const ColumnWave &wave : columnWaves(problem, groups, machine))
      if (wave.crosses && channelsOf(problem, wave.first).count > plan.slots)
        return;
    for (bool outside : {false, true}) {
      plan.tilesOutside = outside;
      PlanCost cost(problem, plan, skipped, machine);
      if (!cost.simulate() || (best && cost.cycles() >= best->cycles))
        continue;
      cost.store(plan);
      best = plan;
    }
  }

  const TileProblem &problem;
  const machine::Description &machine;
  EntrySums skipped, dense;
  int64_t regions = 1;
  std::optional<TilePlan> best;
};

} // namespace

std::optional<TilePlan> planTiles(const TileProblem &problem,
                                  const machine::Description &machine) {
  return Search(problem, machine).run();
}

} // namespace ashlar::analysis
