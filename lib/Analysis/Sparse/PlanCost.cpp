// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipeline of a tile plan.

#include "PlanCost.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Machine/Ports.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace ashlar::analysis {

EntrySums::EntrySums(const TileProblem &problem, bool skip,
                     const machine::Description &machine)
    : problem(problem), machine(machine), skip(skip) {
  if (skip) {
    columns.assign(problem.crowds.begin(), problem.crowds.end());
    return;
  }
  int64_t taps = problem.kernel[0] * problem.kernel[1];
  int64_t inPerGroup = problem.channels / problem.groups;
  int64_t outPerGroup = problem.outputs / problem.groups;
  for (size_t i = 0; i < problem.columns.size(); ++i) {
    ChannelRange range = channelsOf(problem, i);
    const ColumnTile &column = problem.columns[i];
    std::vector<machine::ChannelCrowd> crowds;
    for (int64_t c = 0; c < range.count; ++c) {
      int64_t group = (range.first + c) / inPerGroup;
      int64_t begin = std::max(group * outPerGroup, column.firstOutput);
      int64_t end =
          std::min((group + 1) * outPerGroup, column.firstOutput + column.cols);
      uint64_t kernels = std::max<int64_t>(end - begin, 0);
      crowds.push_back(
          {kernels * taps, kernels, static_cast<uint64_t>(taps), kernels});
    }
    full.push_back(std::move(crowds));
  }
  columns.assign(full.begin(), full.end());
}

/// Sums of `of` over the first channels of each column.
template <typename Of>
static std::vector<std::vector<int64_t>>
prefixSums(llvm::ArrayRef<llvm::ArrayRef<machine::ChannelCrowd>> columns,
           Of of) {
  std::vector<std::vector<int64_t>> sums;
  for (llvm::ArrayRef<machine::ChannelCrowd> crowds : columns) {
    std::vector<int64_t> own{0};
    own.reserve(crowds.size() + 1);
    for (const machine::ChannelCrowd &crowd : crowds)
      own.push_back(own.back() + static_cast<int64_t>(of(crowd)));
    sums.push_back(std::move(own));
  }
  return sums;
}

const EntrySums::Prefixes &EntrySums::prefix(int64_t perStep) {
  Prefixes &sums = prefixes[perStep];
  if (sums.empty() && perStep == 1)
    sums = prefixSums(columns, [](const machine::ChannelCrowd &crowd) {
      return crowd.entries;
    });
  else if (sums.empty())
    sums = prefixSums(columns, [=](const machine::ChannelCrowd &crowd) {
      return llvm::divideCeil(crowd.entries, static_cast<uint64_t>(perStep));
    });
  return sums;
}

/// True if the sums of regions that are `apart` regions apart meet in a bank.
/// Sums of a region begin where those of the one before end.
static bool regionsMeet(const machine::Description &machine,
                        const machine::TileStep &step, uint64_t apart) {
  const uint64_t banks = machine.sparse.accumulatorBanks;
  const uint64_t distance = apart * step.window % banks;
  return distance < step.window || banks - distance < step.window;
}

/// Coefficients that start in a step if each two share a bank with the chance
/// `meet`.
static double startsPerStep(const machine::TileStep &step, double meet) {
  double all = 1, next = 1;
  for (uint64_t i = 1; i < step.coefficients; ++i) {
    next *= std::max(0.0, 1 - static_cast<double>(i) * meet);
    all += next;
  }
  return all;
}

namespace {

/// The chances that two of some regions that follow each other in ascending
/// order share a bank.
class MeetingChances {
public:
  MeetingChances(const machine::Description &machine,
                 const machine::TileStep &step)
      : machine(machine), step(step) {}

  /// Of `kernels` regions out of `regions`: of all choices, C(regions - d,
  /// kernels - 1) of C(regions, kernels) have a certain pair d apart.
  double of(uint64_t regions, uint64_t kernels) {
    if (kernels < 2 || step.coefficients < 2 ||
        machine.sparse.accumulatorBanks == 0)
      return 0;
    auto [chance, added] = known.try_emplace({regions, kernels}, 0);
    if (!added)
      return chance->second;
    double share = static_cast<double>(kernels) / static_cast<double>(regions);
    for (uint64_t apart = 1; apart + kernels <= regions + 1; ++apart) {
      if (regionsMeet(machine, step, apart))
        chance->second += share;
      share *= static_cast<double>(regions - apart + 1 - kernels) /
               static_cast<double>(regions - apart);
    }
    return chance->second;
  }

  /// startsPerStep() with that chance. Most channels are like the one before.
  double rateOf(uint64_t regions, uint64_t kernels) {
    if (std::pair(regions, kernels) != last) {
      last = {regions, kernels};
      rate = startsPerStep(step, of(regions, kernels));
    }
    return rate;
  }

private:
  const machine::Description &machine;
  const machine::TileStep &step;
  std::map<std::pair<uint64_t, uint64_t>, double> known;
  std::pair<uint64_t, uint64_t> last{0, 0};
  double rate = 0;
};

} // namespace

/// Steps to expect of a channel whose kernels follow each other, two of them
/// sharing a bank with the chance `meet`. Sums of one kernel do not compete.
static double expectedSteps(const machine::TileStep &step,
                            const machine::ChannelCrowd &crowd, double meet) {
  const auto entries = static_cast<double>(crowd.entries);
  const auto least =
      static_cast<double>(llvm::divideCeil(crowd.entries, step.coefficients));
  if (meet == 0 || crowd.entries < 2)
    return least;
  const double rate = startsPerStep(
      step, meet * static_cast<double>(crowd.kernels - 1) / (entries - 1));
  // The last step of a channel is not full: half of what is left, on average.
  return std::max(least, entries / rate + (rate - 1) / (2 * rate));
}

/// Cycles of streams whose kernels alternate. Short channels wait for sums of
/// those before, so they are followed; the closed form has the others.
EntrySums::Prefixes EntrySums::alternating(const machine::TileStep &step,
                                           uint64_t passes) const {
  const uint64_t gap = machine::kernelGap(machine, step, passes);
  const auto period =
      static_cast<int64_t>(machine::tilePeriod(machine, step, passes));
  const auto latency = static_cast<int64_t>(machine.sparse.accumulateLatency);
  MeetingChances chances(machine, step);
  Prefixes sums;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto kernels = static_cast<uint64_t>(problem.columns[i].cols);
    std::optional<KernelTurns> turns;
    std::vector<int64_t> own{0};
    own.reserve(columns[i].size() + 1);
    for (size_t c = 0; c < columns[i].size(); ++c) {
      const machine::ChannelCrowd &crowd = columns[i][c];
      // Kernels with as many coefficients left go in ascending order: in each
      // of `most` passes a part of them. Neighbours are different kernels, also
      // in the passes of one kernel, as long as there is another one.
      const uint64_t pass =
          std::max(crowd.entries / std::max<uint64_t>(crowd.most, 1),
                   std::min<uint64_t>(crowd.kernels, 2));
      const double rate = chances.rateOf(kernels, pass);
      int64_t cycles = static_cast<int64_t>(
                           static_cast<double>(crowd.entries) / rate + 0.5) *
                       period;
      if (crowd.entries >= kLongChannel * gap) {
        turns.reset();
        cycles =
            std::max(cycles, static_cast<int64_t>(crowd.most - 1) * latency +
                                 static_cast<int64_t>(llvm::divideCeil(
                                     crowd.fullest, step.coefficients)) *
                                     period);
      } else {
        if (!turns)
          turns.emplace(kernels, gap, step.coefficients);
        auto shares = llvm::to_vector(problem.shares[i].of(c));
        const uint64_t before = turns->turns();
        turns->take(shares, [](size_t) {});
        cycles = std::max(
            cycles, static_cast<int64_t>(turns->turns() - before) * period);
      }
      own.push_back(own.back() + cycles);
    }
    sums.push_back(std::move(own));
  }
  return sums;
}

/// Cycles of streams whose kernels follow each other, some of them in a bank of
/// the one before.
EntrySums::Prefixes EntrySums::inOrder(const machine::TileStep &step,
                                       uint64_t passes) const {
  const auto period =
      static_cast<double>(machine::tilePeriod(machine, step, passes));
  Prefixes sums;
  MeetingChances chances(machine, step);
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto regions = static_cast<uint64_t>(problem.columns[i].cols);
    std::vector<int64_t> own{0};
    double all = 0;
    for (const machine::ChannelCrowd &crowd : columns[i]) {
      all += expectedSteps(step, crowd, chances.of(regions, crowd.kernels)) *
             period;
      own.push_back(static_cast<int64_t>(all + 0.5));
    }
    sums.push_back(std::move(own));
  }
  return sums;
}

int64_t EntrySums::cycles(size_t column, const Chunk &chunk,
                          const machine::TileStep &step, uint64_t passes) {
  const bool waits = machine::kernelsAlternate(machine, step, passes);
  // Without skipping, kernels follow each other whole.
  if (waits && problem.issuesZeros)
    return steps(column, chunk, 1) *
           static_cast<int64_t>(machine.sparse.accumulateLatency);
  const bool alternate = waits;
  bool meet = machine.sparse.accumulatorBanks > 0 && step.coefficients > 1;
  if (!alternate && !meet)
    return steps(column, chunk, static_cast<int64_t>(step.coefficients)) *
           static_cast<int64_t>(machine::tilePeriod(machine, step, passes));
  Prefixes &sums = priced[{step.steps, step.coefficients, step.window, passes}];
  if (sums.empty() && alternate && skip)
    sums = alternating(step, passes);
  else if (sums.empty() && alternate)
    sums = prefixSums(columns, [&](const machine::ChannelCrowd &crowd) {
      return machine::tileChannel(machine, step, passes, crowd);
    });
  else if (sums.empty())
    sums = inOrder(step, passes);
  return sums[column][chunk.first + chunk.count] - sums[column][chunk.first];
}

int64_t drainCycles(const TileProblem &problem, const DrainColumn &column,
                    int64_t results, const machine::Description &machine) {
  return static_cast<int64_t>(
      machine::tileDrain(machine, column.cols, results, problem.function)
          .issue);
}

int64_t drainPorts(const TileProblem &problem, int64_t results, int64_t row,
                   const machine::Description &machine) {
  if (machine.sb.banks == 0)
    return 0;
  row = std::clamp<int64_t>(row, 1, std::max<int64_t>(results, 1));
  uint64_t accesses = 0;
  for (int64_t bytes : {problem.resultBytes, problem.residualBytes}) {
    if (bytes == 0)
      continue;
    machine::PortPattern rows;
    rows.elementBytes = static_cast<uint64_t>(bytes);
    rows.add(llvm::divideCeil(results, row), (row + 1) * bytes);
    rows.add(static_cast<uint64_t>(row), bytes);
    accesses += machine::portAccesses(machine, rows);
  }
  return static_cast<int64_t>(machine::bankCycles(machine, accesses));
}

/// Streams that stay while tiles pass take at most this share of weight memory:
/// so there is room for them wherever other streams lie.
static constexpr int64_t kKeptShare = 4;

PlanCost::PlanCost(const TileProblem &problem, const TilePlan &plan,
                   const Grouping &grouping, EntrySums &sums,
                   const ScatterSums &scatter,
                   const machine::Description &machine)
    : problem(problem), plan(plan), scatter(scatter), machine(machine),
      geometry(plan.geometry(problem)) {
  passes = problem.passes(machine);
  for (const UnitClass &own : unitClasses(plan, machine))
    steps.push_back(machine::tileStep(
        machine, own.lanes, plan.images * own.rows, own.cols, plan.cols));
  units = unitsOf(plan, machine);
  alternate = kernelsAlternate(problem, plan, machine);
  rounds = plan.rounds(problem, units);
  queues = movementQueues(machine);
  queueFree.assign(static_cast<size_t>(queues), 0);
  room = groupRoom(plan.groups, machine);
  for (auto [wave, live] : llvm::zip(grouping.waves, grouping.live))
    addWave(wave,
            waveChunks(problem, plan, wave,
                       plan.tilesOutside ? grouping.liveAnywhere : live,
                       machine),
            sums);
  // Streams that pass once are fetched chunk by chunk.
  resident = rounds > 1;
  for (const WaveCost &wave : waves)
    resident &= wave.bytes <= room;
}

/// Cycles of the units that work on chunk `i`, and the longest stream.
int64_t PlanCost::runOf(const ColumnWave &wave, const WaveChunks &chunks,
                        size_t i, ChunkCost &own, EntrySums &sums) const {
  const int64_t regions = problem.columns[wave.first].cols;
  int64_t run = 0;
  for (int64_t g = 0; g < wave.count; ++g) {
    const size_t column = wave.first + static_cast<size_t>(g);
    const Chunk &chunk = chunks.of(i, g);
    const int64_t entries = sums.entries(column, chunk);
    int64_t cycles = scatter.empty()
                         ? 0
                         : scatter[column][chunk.first + chunk.count] -
                               scatter[column][chunk.first];
    for (const machine::TileStep &step : steps)
      if (scatter.empty())
        cycles = std::max(cycles, sums.cycles(column, chunk, step, passes));
    run = std::max<int64_t>(
        {run, cycles,
         static_cast<int64_t>(machine::tileDecode(machine, entries))});
    own.bytes = std::max(own.bytes, streamBytes(problem, chunk.count, regions,
                                                entries, alternate));
  }
  return run;
}

void PlanCost::addWave(const ColumnWave &wave, const WaveChunks &chunks,
                       EntrySums &sums) {
  WaveCost cost;
  cost.wave = wave;
  const int64_t regions = problem.columns[wave.first].cols;
  const auto elements = static_cast<int64_t>(geometry.slotElements());
  const HandOverRoutes routes(machine, std::min(units, plan.tiles(problem)),
                              wave.count, plan.turns);
  for (size_t i = 0; i < chunks.chunks.size(); ++i) {
    const auto &[chunk, turn, turns] = chunks.chunks[i];
    ChunkCost own;
    own.lasts = turn + 1 < turns;
    own.run = runOf(wave, chunks, i, own, sums);
    if (turn > 0)
      own.run = routes.runCycles(machine, own.run, turn,
                                 elements * chunk.count * problem.elementBytes);
    else if (!problem.kept)
      addLoads(wave, chunk, turns, own);
    cost.steps += turn == 0;
    if (problem.biasInSums && cost.chunks.empty())
      own.bytes += (regions + 1) * kInitialSumBytes;
    own.stream = static_cast<int64_t>(machine::dramStreamCycles(
        machine, static_cast<uint64_t>(own.bytes * wave.count)));
    cost.stream += own.stream;
    cost.bytes += own.bytes;
    fits &=
        own.bytes <= room &&
        chunkBytes(problem, plan, plan.inputs(problem, wave), chunk,
                   elements) <= static_cast<int64_t>(machine.sparse.fmuBytes);
    cost.chunks.push_back(own);
  }
  for (int64_t d = 0; d < wave.drains; ++d) {
    const DrainColumn &column = problem.drains[wave.firstDrain + d];
    cost.drains.push_back(
        {tilesSideBySide(problem, plan, column, machine),
         drainCycles(problem, column, /*results=*/1, machine)});
  }
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

/// Cycles of the cluster's queue before the first run of a round: the sums are
/// set to zero or to the bias, and the table of tiles is written unless the
/// machine's cut did that.
int64_t PlanCost::startCycles(const WaveCost &wave) const {
  const int64_t regions = problem.columns[wave.wave.first].cols;
  const auto first =
      machine::tileInit(machine, regions, plan.images * plan.rows * plan.cols,
                        problem.biasInSums && !wave.chunks.empty())
          .issue;
  const uint64_t table = plan.cutAtRunTime ? 0 : machine::tileTable().issue;
  return static_cast<int64_t>(first + table);
}

/// Loads a chunk into the next set, on the queues by turns; returns when it is
/// there.
int64_t PlanCost::load(const ChunkCost &chunk) {
  int64_t end = 0;
  for (const int64_t cycles : chunk.loads) {
    int64_t &free = queueFree[queue];
    queue = (queue + 1) % queueFree.size();
    // A bank serves one load after the other, whatever partitions they read.
    const int64_t start =
        afterDrains(std::max({free, setFree[set], loadFrom, bankFree}));
    bankFree = start + chunk.ports;
    free = start + cycles;
    loadBusy += cycles;
    end = std::max(end, free + (waits ? chunk.arrival : 0));
  }
  return end;
}

void PlanCost::runWave(const WaveCost &wave, bool loads, bool streams,
                       int64_t round) {
  int64_t ready = 0;
  if (streams && resident)
    ready = fetch(wave.stream, wave.bytes);
  // What sums start from comes with the first stream.
  const bool early = problem.biasInSums && !wave.chunks.empty();
  if (early && streams && !resident)
    ready = fetch(wave.chunks.front().stream, wave.chunks.front().bytes);
  // Starting the sums and writing the table of tiles.
  runFree = std::max({runFree, sumsFree[sums], early ? ready : 0}) +
            startCycles(wave);
  for (const ChunkCost &chunk : wave.chunks) {
    if (loads && !chunk.loads.empty())
      loaded = load(chunk);
    if (streams && !resident && !(early && &chunk == &wave.chunks.front()))
      ready = fetch(chunk.stream, chunk.bytes);
    runFree = std::max({runFree, loaded, ready}) + chunk.run;
    runBusy += chunk.run;
    setFree[set] = runFree;
    if (!chunk.lasts)
      set = (set + 1) %
            static_cast<int64_t>(std::min<uint64_t>(machine.sparse.fmuSets, 2));
  }
  const int64_t drain = drainOf(wave, round);
  const int64_t drains = std::max(drainFree, runFree);
  if (waits)
    holdBanks(wave, round, drains, drain);
  drainFree = drains + drain;
  drainBusy += drain;
  sumsFree[sums] = drainFree + static_cast<int64_t>(machine.act.latency);
  end = std::max(end, sumsFree[sums]);
  if (plan.twoSums)
    sums = 1 - sums;
}

int64_t PlanCost::loadSteps() const {
  if (plan.tilesOutside)
    return rounds;
  int64_t steps = 0;
  for (const WaveCost &wave : waves)
    steps += wave.steps;
  return rounds * steps;
}

/// True if all columns can run on tiles that stay: their streams take half of
/// weight memory at most, and the channels one set.
bool PlanCost::mayKeepTiles() const {
  int64_t bytes = 0;
  for (const WaveCost &wave : waves) {
    bytes += wave.bytes;
    if (wave.steps > 1)
      return false;
    // What stays was loaded for one table, and a table has the tiles of all
    // groups; tiles that the machine cuts are known by the cut alone.
    if (wave.wave.count != waves.front().wave.count)
      return false;
    if (plan.cutAtRunTime &&
        2 * rounds > static_cast<int64_t>(machine.sparse.tileTables))
      return false;
  }
  // Of tiles that pass once, streams need not stay.
  const bool streamsFit =
      bytes <= room / kKeptShare || (problem.kept && rounds == 1);
  return streamsFit && problem.groups == 1;
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
    loadFrom = runFree;
}

/// Cycles of the busiest bank of SB for each drain of a round.
int64_t PlanCost::portsOf(int64_t round) const {
  const int64_t share = problem.pooled.share;
  return drainPorts(problem, shareOf(round) / share, plan.cols / share,
                    machine);
}

int64_t PlanCost::drainOf(const WaveCost &wave, int64_t round) {
  int64_t cycles = 0;
  for (const DrainCost &drain : wave.drains)
    cycles += drain.cycles * stepsOf(drain.tiles, round);
  const auto drains = static_cast<int64_t>(wave.drains.size());
  return std::max(cycles, drains * portsOf(round));
}

/// Each drain of a wave has the banks of its results from its start on.
void PlanCost::holdBanks(const WaveCost &wave, int64_t round, int64_t from,
                         int64_t drain) {
  const auto drains = static_cast<int64_t>(wave.drains.size());
  const int64_t ports = portsOf(round);
  for (int64_t d = 0; d < drains; ++d) {
    const int64_t start = from + d * drain / drains;
    held[nextHeld] = {start, start + ports};
    nextHeld = (nextHeld + 1) % held.size();
  }
}

/// When a load can begin that does not before `start`: it waits for a drain
/// that has the banks, from the oldest on.
int64_t PlanCost::afterDrains(int64_t start) const {
  for (size_t i = 0; i < held.size(); ++i) {
    const auto [from, to] = held[(nextHeld + i) % held.size()];
    if (start >= from && start < to)
      start = to;
  }
  return start;
}

bool PlanCost::simulate(bool alone, int64_t most) {
  waits = alone;
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
  const int64_t all = plan.disjoint
                          ? partialSums(problem, plan)
                          : llvm::divideCeilSigned(problem.positions(), rounds);
  lastShare = share = all;
  if (!plan.isCut() && rounds > 1) {
    const std::vector<uint64_t> last = tilesOf(rounds - 1);
    lastShare = std::accumulate(last.begin(), last.end(), int64_t(0));
    share = llvm::divideCeilSigned(problem.positions() - lastShare, rounds - 1);
  }
  if (plan.tilesOutside)
    return forEachRound([&](int64_t round) {
      for (size_t w = 0; w < waves.size() && end < most; ++w) {
        cutRound(waves[w].wave, round);
        runWave(waves[w], w == 0, round == 0, round);
      }
      // Nothing that follows ends earlier.
      return end < most;
    });
  return llvm::all_of(waves, [&](const WaveCost &wave) {
    return forEachRound([&](int64_t round) {
      cutRound(wave.wave, round);
      runWave(wave, true, round == 0 || !resident, round);
      return end < most;
    });
  });
}

} // namespace ashlar::analysis
