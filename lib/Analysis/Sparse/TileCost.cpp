// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search for the tile plan with the fewest predicted cycles.

#include "PlanCost.h"

#include "ashlar/Machine/Cycles.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::analysis {
namespace {

/// The part of its cycles by which a plan has to be better than one that was
/// tried before it: a policy, not a price.
constexpr int64_t kClearPlan = 192;

/// The same for tiles that are handed on: they take more instructions, whose
/// order in the whole program no plan knows.
constexpr int64_t kClearHandOver = 16;

/// Results of a tile at most: its rows and columns are fields.
constexpr int64_t kMostTileResults = 16383;

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
      : problem(problem), machine(machine), sums(problem, skip, machine),
        scatters(skip && problem.scatter), limit(limit),
        times(machine, problem.scatter ? problem.scatter->cut.variant
                                       : machine::ScatterVariant::D) {
    for (const ColumnTile &column : problem.columns)
      regions = std::max(regions, column.cols);
    for (size_t i = 0; i < problem.columns.size(); ++i)
      aligned &= channelsOf(problem, i).first %
                     std::max<int64_t>(problem.cellBlock, 1) ==
                 0;
  }

  std::optional<TilePlan> run() {
    const bool asked = problem.handOver == HandOver::Always;
    if (!asked)
      searchGrids();
    if (problem.handOver != HandOver::Off)
      searchHandOvers();
    if (!best && asked)
      searchGrids();
    if (best && scatters)
      cut();
    if (best)
      shareLoads();
    return best;
  }

  /// Cycles of a plan that another search found; nothing if it does not fit.
  std::optional<int64_t> cyclesOf(const TilePlan &plan) {
    groupBy(plan.groups);
    PlanCost cost(problem, plan, grouping, sums, scatter, machine);
    if (!cost.simulate(/*alone=*/true))
      return std::nullopt;
    return cost.cycles();
  }

private:
  /// Equal tiles, and tiles in proportion to the units.
  void searchGrids() {
    int64_t most = mostGroups(machine);
    int64_t limit = std::min<int64_t>(accumulatorEntries(machine) /
                                          std::max<int64_t>(regions, 1),
                                      kMostTileResults);
    for (int64_t groups = mostParts(problem); groups <= most; groups *= 2) {
      groupBy(groups);
      considerUneven(groups);
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
  }

  /// Equal tiles that groups of units hand on, if they are clearly better.
  void searchHandOvers() {
    const int64_t before = limit;
    // Of fewer cycles than asked for, too: without the limit there is a plan.
    if (problem.handOver == HandOver::Auto)
      limit -= limit / kClearHandOver;
    handsOn = true;
    searchGrids();
    handsOn = false;
    if (!best || best->turns == 1)
      limit = before;
  }

  int64_t unitsOf(const TilePlan &plan) const {
    return analysis::unitsOf(plan, machine);
  }

  /// Where some units are narrow: tiles in proportion to what the units can do,
  /// in as many rounds as the accumulators need or one more.
  void considerUneven(int64_t groups) {
    int64_t most = accumulatorEntries(machine) / std::max<int64_t>(regions, 1);
    if (machine.sparse.narrowTcus == 0 || most < 1)
      return;
    TilePlan plan;
    plan.groups = groups;
    for (const TilePlan &own :
         proportionalPlans(problem, plan, unitsOf(plan),
                           std::min<int64_t>(most, kMostTileResults), machine))
      consider(own);
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
    // Tiles that are handed on are equal ones.
    if (best->turns > 1 && !forced && problem.handOver == HandOver::Always) {
      best->balance = best->gridBalance = even;
      return;
    }
    forget(forced || options.halo == HaloMode::Disjoint);
    if (options.halo != HaloMode::Overlap)
      cutOperand(grid);
    if (options.halo != HaloMode::Disjoint || !best) {
      if (!best && !forced)
        best = grid, limit = grid.inNetwork();
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
    for (int64_t groups = mostParts(problem); groups <= mostGroups(machine);
         groups *= 2)
      cutInto(grid, groups, disjointPlans);
  }

  /// Considers the plans of `cut` for `groups` groups of units.
  void cutInto(const TilePlan &grid, int64_t groups, decltype(cutPlans) *cut) {
    if (groups > mostGroups(machine))
      return;
    groupBy(groups);
    TilePlan plan = grid;
    plan.groups = groups;
    plan.turns = 1;
    for (int64_t copies : {1, 2}) {
      int64_t most =
          accumulatorEntries(machine) / (regions * copies * plan.images);
      for (const TilePlan &own :
           cut(problem, plan, unitsOf(plan),
               std::clamp<int64_t>(most, 1, kMostTileResults), machine))
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

  /// Channels that a set holds next to `spare` planes of cells; whole blocks
  /// where that is possible.
  int64_t slotsOf(const TilePlan &plan, int64_t spare) const {
    auto elements = static_cast<int64_t>(plan.geometry(problem).slotElements());
    int64_t block = std::max<int64_t>(problem.cellBlock, 1);
    int64_t planes = problem.cellBlock > 0 ? elements : 0;
    int64_t bytes = elements * problem.elementBytes;
    int64_t capacity = machine.sparse.fmuBytes;
    int64_t blocks = std::max<int64_t>(capacity - spare * planes, 0) /
                     (block * bytes + planes);
    if (blocks > 0)
      return std::min<int64_t>(blocks * block, 4095 / block * block);
    // Less than a block: at most one plane more than whole blocks touch.
    return (capacity - 2 * planes) / bytes;
  }

  /// Sums and drains alone, without what they wait for.
  int64_t leastCycles(const TilePlan &plan) {
    machine::TileStep step =
        machine::tileStep(machine, machine.sparse.lanes,
                          plan.images * plan.rows, plan.cols, plan.cols);
    int64_t period = static_cast<int64_t>(step.steps) * problem.passes(machine);
    auto perStep = static_cast<int64_t>(step.coefficients);
    int64_t rounds = plan.rounds(problem, unitsOf(plan));
    int64_t steps = 0, drain = 0;
    for (const ColumnWave &wave : grouping.waves) {
      int64_t longest = 0;
      for (int64_t g = 0; g < wave.count; ++g)
        longest = std::max(longest, sums.steps(wave.first + g, perStep));
      steps += longest;
    }
    for (const DrainColumn &column : problem.drains)
      drain += drainCycles(problem, column,
                           llvm::divideCeilSigned(
                               problem.positions(),
                               tilesSideBySide(problem, plan, column, machine)),
                           machine);
    // Unequal tiles differ in what they take.
    return scatters || plan.isCut() ? drain
                                    : std::max(rounds * steps * period, drain);
  }

  /// What the runs of a plan take at least: no cut into chunks makes those of a
  /// column shorter, and every round has all of them.
  int64_t leastRuns(const TilePlan &plan) {
    if (scatters || plan.isCut())
      return 0;
    const int64_t passes = problem.passes(machine);
    int64_t runs = 0;
    for (const UnitClass &own : unitClasses(plan, machine)) {
      const machine::TileStep step = machine::tileStep(
          machine, own.lanes, plan.images * own.rows, own.cols, plan.cols);
      int64_t all = 0;
      for (const ColumnWave &wave : grouping.waves) {
        int64_t longest = 0;
        for (int64_t g = 0; g < wave.count; ++g)
          longest =
              std::max(longest, sums.cycles(wave.first + g, step, passes));
        all += longest;
      }
      runs = std::max(runs, all);
    }
    return plan.rounds(problem, unitsOf(plan)) * runs;
  }

  /// Plans are tried from whole rows to narrow tiles, and only the first rows
  /// of a feature map have to be there for the former to start: what is no
  /// clear gain is none.
  bool isClear(int64_t cycles) const {
    return cycles + cycles / kClearPlan < limit;
  }

  void consider(int64_t groups, int64_t images, int64_t rows, int64_t cols) {
    TilePlan plan;
    plan.groups = groups;
    plan.images = images;
    plan.rows = rows;
    plan.cols = cols;
    consider(plan);
    // Equal tiles wait for the narrow units, if these have any.
    if (machine.sparse.narrowTcus > 0 &&
        groups <= static_cast<int64_t>(machine.sparse.wideTcus())) {
      plan.wideOnly = true;
      consider(std::move(plan));
    }
  }

  void consider(TilePlan plan) {
    plan.cellBlock = problem.cellBlock;
    // The tiles of a band are there at once.
    if (problem.pooled.exist() &&
        (plan.images > 1 || plan.isCut() ||
         plan.tilesOfRound(problem, unitsOf(plan)) > unitsOf(plan)))
      return;
    // The second bound is closer but has to follow the coefficients.
    if (slotsOf(plan, 0) < 1 || !isClear(leastCycles(plan)) ||
        !isClear(leastRuns(plan)))
      return;
    plan.scatter = scatters;
    if (scatters)
      scatter = scatterSums(problem, plan, unitsOf(plan), times, machine);
    plan.twoSums = 2 * regions * plan.images * plan.rows * plan.cols <=
                   accumulatorEntries(machine);
    int64_t slots = slotsFor(plan);
    if (handsOn)
      return considerHandedOn(plan, slots);
    for (int64_t parts : {1, 2, 4, 8}) {
      int64_t block = std::max<int64_t>(problem.cellBlock, 1);
      plan.slots = parts == 1 ? slots : slots / parts / block * block;
      if (plan.slots < 1)
        break;
      for (bool outside : {false, true}) {
        plan.tilesOutside = outside;
        tryPlan(plan);
      }
    }
  }

  /// Groups of units that hand tiles on, in a few numbers of channels.
  void considerHandedOn(TilePlan plan, int64_t slots) {
    if (plan.isCut() || slots < 1)
      return;
    const int64_t count = grouping.waves.front().count;
    const auto partitions = static_cast<int64_t>(machine.sb.partitions);
    for (plan.turns = 2; plan.turns <= count; plan.turns *= 2) {
      int64_t last = 0;
      // As many as fit, then those of a channel tile or of a part of it.
      for (int64_t own :
           {slots, partitions / plan.turns, partitions / plan.turns / 2,
            partitions / plan.turns / 4}) {
        plan.slots = std::min(own, slots);
        plan.slots = handedChannels(problem, plan, count, machine);
        if (plan.slots < 1 || plan.slots == last)
          continue;
        last = plan.slots;
        for (bool outside : {false, true}) {
          plan.tilesOutside = outside;
          tryPlan(plan);
        }
      }
    }
  }

  /// Channels that the largest chunks of a plan have; none if some channels
  /// have to be loaded at once and do not fit.
  int64_t slotsFor(TilePlan plan) const {
    int64_t channels = 1;
    for (const ColumnWave &wave : grouping.waves)
      channels = std::max(channels, channelsOf(problem, wave.first).count);
    // Smaller chunks start earlier and need less weight memory at a time.
    int64_t block = std::max<int64_t>(problem.cellBlock, 1);
    int64_t most = static_cast<int64_t>(llvm::alignTo(channels, block));
    // Ranges that begin inside a block touch one plane of cells more.
    for (int64_t spare : {0, 1}) {
      plan.slots = std::min(slotsOf(plan, spare), most);
      if (plan.slots >= 1 && holds(plan))
        return plan.slots;
    }
    return 0;
  }

  /// True if a buffer set holds every chunk of a plan, and all channels that
  /// have to be loaded at once.
  bool holds(const TilePlan &plan) const {
    auto elements = static_cast<int64_t>(plan.geometry(problem).slotElements());
    for (auto [wave, live] : llvm::zip(grouping.waves, grouping.live)) {
      if (wave.crosses && channelsOf(problem, wave.first).count > plan.slots)
        return false;
      for (const Chunk &chunk : aligned
                                    ? std::vector<Chunk>()
                                    : chunksOf(problem, wave, live, plan.slots))
        if (chunkBytes(problem, plan, wave, chunk, elements) >
            static_cast<int64_t>(machine.sparse.fmuBytes))
          return false;
    }
    return true;
  }

  /// Planes of cells for fewer channels, so that several queues share a load:
  /// they bring more cells, but the first runs start earlier. Where more
  /// follows than the buffer sets hold, the load of one step is hidden by the
  /// run of another, and fewer cells are better.
  void shareLoads() {
    TilePlan plan = *best;
    groupBy(plan.groups);
    if (plan.scatter)
      scatter = scatterSums(problem, plan, unitsOf(plan), times, machine);
    for (plan.cellBlock /= 2; isCellPlane(plan.cellBlock, machine);
         plan.cellBlock /= 2) {
      PlanCost cost(problem, plan, grouping, sums, scatter, machine);
      if (problem.kept ||
          cost.loadSteps() > static_cast<int64_t>(machine.sparse.fmuSets) ||
          !cost.simulate(/*alone=*/false, limit))
        continue;
      keep(plan, cost.cycles());
    }
  }

  /// Keeps a plan as the best one, with its cycles in a network and alone.
  void keep(const TilePlan &plan, int64_t inNetwork) {
    PlanCost alone(problem, plan, grouping, sums, scatter, machine);
    alone.simulate(/*alone=*/true);
    best = plan;
    alone.store(*best);
    best->overlapped = best->cycles - inNetwork;
    limit = inNetwork;
  }

  /// True if the records of a wave have room while it runs.
  bool holdsRecords(const ColumnWave &wave) const {
    return problem.recordRoom == 0 ||
           wave.drains * chunkBytes(ColumnTile(), problem.elementBytes) <=
               problem.recordRoom;
  }

  /// True if a plan leaves the buffer sets alone in which results stay: those
  /// of the layer before come whole, its own go where it loads nothing.
  bool keepsSets(const TilePlan &plan, const PlanCost &cost) const {
    if (!problem.kept && !problem.leaves)
      return true;
    if (plan.disjoint || plan.cutAtRunTime)
      return false;
    if (problem.kept)
      return plan.turns == 1 && cost.loadSteps() == 1 &&
             plan.rounds(problem, unitsOf(plan)) == 1 &&
             // Without coefficients nothing reads the tiles.
             llvm::is_contained(plan.tilesOutside ? grouping.liveAnywhere
                                                  : grouping.live.front(),
                                true);
    return cost.loadSteps() < static_cast<int64_t>(machine.sparse.fmuSets);
  }

  void tryPlan(const TilePlan &plan) {
    // Tiles that stay are all in one buffer set; taps along a depth load theirs
    // one after the other.
    if (plan.tilesOutside && (problem.groups != 1 || problem.depth.width > 0))
      return;
    if (problem.recordRoom > 0 && plan.tilesOutside)
      return;
    for (const ColumnWave &wave : grouping.waves)
      if ((wave.crosses &&
           channelsOf(problem, wave.first).count > plan.slots) ||
          !holdsRecords(wave))
        return;
    PlanCost cost(problem, plan, grouping, sums, scatter, machine);
    if (!keepsSets(plan, cost))
      return;
    if (!cost.simulate(/*alone=*/false, limit) || !isClear(cost.cycles()))
      return;
    keep(plan, cost.cycles());
  }

  const TileProblem &problem;
  const machine::Description &machine;
  EntrySums sums;
  const bool scatters;
  bool handsOn = false; ///< the plans under consideration hand tiles on
  int64_t limit;        ///< plans have to take fewer cycles
  ScatterTimes times;
  ScatterSums scatter; ///< of the plan under consideration
  Grouping grouping;
  int64_t regions = 1;
  bool aligned = true; ///< the channels of all columns begin at a block
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
