// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of equal work in tile plans (docs/SparseTiles.md 6): cut by the
// compiler from the places of a profile, or by the machine (tcc.part) from
// counts. The largest tile of a cut of the machine is proven here: the same
// code cuts the same regions with the same limits, and whether it can depends
// on sizes alone.

#include "ScatterPlan.h"

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Support/Memo.h"
#include "dialects/Ashlar/Decision.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

using namespace mlir;

namespace ashlar::analysis {

using partition::Algorithm;
using partition::Box;
using partition::CutTime;

//===----------------------------------------------------------------------===//
// What the machine can cut
//===----------------------------------------------------------------------===//

/// Fields of the instructions that count and cut.
static constexpr int64_t kMostChannels = 4095, kMostPitch = 16383;

/// True if counters and fields have room for a feature map.
static bool machineCuts(const TileProblem &problem,
                        const machine::Description &machine) {
  const partition::Geometry &geometry = problem.scatter->map;
  return problem.channels <= kMostChannels && geometry.x.in <= kMostPitch &&
         geometry.y.in * geometry.x.in <=
             static_cast<int64_t>(machine.sparse.countEntries);
}

/// A way to cut: by the compiler, or by the machine in so many rounds of p1.
struct CutWay {
  bool runTime = false;
  int64_t rounds = 0;
  bool equal = false; ///< in size, without looking at counts
};

/// Rounds of p1 after running sums that make up for most of the halo, and of
/// p1 on its own (docs/SparseTiles.md 1.4).
static constexpr int64_t kRoundsBehindSums = 8, kRoundsAlone = 64;

/// The ways that a problem's options leave open.
static std::vector<CutWay> waysOf(const TileProblem &problem,
                                  const machine::Description &machine) {
  const ScatterProblem &scatter = *problem.scatter;
  CutTime time = scatter.cut.time;
  if (time == CutTime::Auto)
    time = scatter.sums ? CutTime::Profile : CutTime::RunTime;
  if (scatter.cut.algorithm == Algorithm::Uniform)
    return {};
  if (time == CutTime::Profile || time == CutTime::AlwaysProfile)
    return scatter.sums ? std::vector<CutWay>{{}} : std::vector<CutWay>();
  if (!machineCuts(problem, machine))
    return {};
  switch (scatter.cut.algorithm) {
  case Algorithm::P1:
    return {{true, kRoundsAlone}};
  case Algorithm::P2:
    return {{true, 0}, {true, kRoundsBehindSums}};
  default:
    return {{true, 0}};
  }
}

/// Boxes that a cut of `units` tiles looks up where places are not known: what
/// the feature maps of docs/SparseTiles.md 1.4 took.
static int64_t expectedProbes(Algorithm algorithm, int64_t units,
                              int64_t rounds) {
  if (algorithm == Algorithm::P1)
    return 35 * units;
  return (rounds > 0 ? 30 : 8) * units;
}

/// Cycles that a pass over some rows takes at least. Rows are on their way for
/// the latencies of what drains and of what encodes them: shorter passes would
/// wait for the next rows. Nor should a pass end before its instructions, with
/// a wait and a signal, have been fetched.
static int64_t passCycles(const machine::Description &machine) {
  uint64_t cycles = machine.act.latency + machine.vec.latency;
  const uint64_t bytes = isa::encodedBytes(isa::TccNnz{}) +
                         isa::encodedBytes(isa::SemWait{}) +
                         isa::encodedBytes(isa::SemSignal{});
  if (machine.fetch.bytesPerCycle > 0)
    cycles =
        std::max(cycles, llvm::divideCeil(bytes, machine.fetch.bytesPerCycle));
  return static_cast<int64_t>(std::max<uint64_t>(cycles, 1));
}

int64_t countedRows(int64_t rowBytes, const machine::Description &machine) {
  auto row = static_cast<int64_t>(
      machine::countPass(machine, static_cast<uint64_t>(rowBytes)).issue);
  return llvm::divideCeilSigned(passCycles(machine), std::max<int64_t>(row, 1));
}

CutCycles cutCycles(const TileProblem &problem, const TilePlan &plan,
                    const machine::Description &machine) {
  CutCycles cycles;
  if (!plan.cutAtRunTime)
    return cycles;
  const partition::Geometry &geometry = problem.scatter->geometry;
  if (!problem.scatter->drained) {
    // All passes but the last follow what stores the feature map.
    int64_t rowBytes = problem.extent[0] * problem.channels * geometry.x.in *
                       problem.elementBytes;
    int64_t rows = std::min(countedRows(rowBytes, machine), geometry.y.in);
    cycles.count = static_cast<int64_t>(
        machine::countPass(machine, rows * rowBytes).issue);
  }
  // Each cut passes over the counters that its region reads.
  int64_t rows = 0;
  for (const TileFold &fold : plan.folds)
    rows += std::max<int64_t>(geometry.inputOf(fold.region).rows, 1);
  cycles.cut = static_cast<int64_t>(
      machine::cutTiles(machine,
                        llvm::divideCeilSigned(
                            rows, static_cast<int64_t>(plan.folds.size())) *
                            geometry.x.in,
                        plan.probes)
          .issue);
  return cycles;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// What a plan keeps of a cut.
struct FoldCut {
  std::vector<Box> cores;
  double spread = 0;
  bool met = false;
  uint64_t probes = 0;
};

/// Cuts a feature map; nothing if it cannot be cut so. Remembered: the same
/// maps are cut for every number of groups, every choice of clusters and all
/// formats of a search.
static std::optional<FoldCut> cutMap(const partition::CountMap &map,
                                     const partition::Geometry &geometry,
                                     const partition::Options &options) {
  static support::Memo<std::optional<FoldCut>> memo(8192);
  support::ArgumentDigest arguments;
  arguments.add(map.rows).add(map.cols).add(map.capacity).add(map.counts);
  arguments.add(geometry).add(options.units).add(options.algorithm);
  arguments.add(options.metric).add(options.threshold);
  arguments.add(options.maxIterations).add(options.maxRows);
  arguments.add(options.maxCols).add(options.moveRounds).add(options.refine);
  arguments.add(options.capacity);
  arguments.add(options.halo);
  return memo.get(arguments.take(), [&]() -> std::optional<FoldCut> {
    auto cut = partition::partition(map, geometry, options);
    if (!cut) {
      llvm::consumeError(cut.takeError());
      return std::nullopt;
    }
    FoldCut found{{}, cut->spread, cut->met, cut->probes};
    for (const partition::Tile &tile : cut->tiles)
      found.cores.push_back(tile.core);
    return found;
  });
}

/// How the tiles of a plan of at most rows x cols results are cut.
static partition::Options optionsOf(const ScatterProblem &scatter,
                                    const CutWay &way, const TilePlan &plan,
                                    const partition::Geometry &geometry,
                                    int64_t rows, int64_t cols) {
  partition::Options options;
  options.algorithm = way.equal ? Algorithm::Uniform : scatter.cut.algorithm;
  options.metric = scatter.cut.metric;
  options.threshold = static_cast<double>(scatter.cut.threshold) / 10000;
  options.maxRows = rows;
  options.maxCols = cols;
  if (plan.disjoint) {
    options.halo = partition::Halo::None;
    options.maxRows = partition::operandLimit(geometry.y, rows);
    options.maxCols = partition::operandLimit(geometry.x, cols);
  }
  if (way.runTime) {
    options.refine = false;
    options.moveRounds = static_cast<unsigned>(way.rounds);
    if (way.rounds > 0)
      options.maxIterations = options.moveRounds;
  }
  return options;
}

/// Multipliers of the units that tiles go to, if they differ.
static std::vector<int64_t> capacitiesOf(const TilePlan &plan, int64_t units,
                                         const machine::Description &machine) {
  if (machine.sparse.narrowTcus == 0)
    return {};
  return tileLanes(machine, units, plan.groups, plan.cutAtRunTime);
}

/// Cuts the region of one round, of the results of `part`, into `units` tiles
/// of at most rows x cols results; false if that cannot be.
static bool cutFold(const ScatterProblem &scatter,
                    const partition::Geometry &part, const CutWay &way,
                    TileFold &fold, int64_t units, int64_t rows, int64_t cols,
                    TilePlan &plan, const machine::Description &machine) {
  const partition::Geometry geometry = part.narrowedTo(fold.region);
  partition::Options options =
      optionsOf(scatter, way, plan, geometry, rows, cols);
  options.units = units;
  options.capacity = capacitiesOf(plan, units, machine);
  auto cut = cutMap(
      scatter.sums ? scatter.data.counts
                   : partition::CountMap::zeros(geometry.y.in, geometry.x.in),
      geometry, options);
  if (!cut)
    return false;
  for (Box box : cut->cores) {
    Box results = plan.disjoint ? geometry.outputOf(box) : box;
    // A part of the operand that no result reads leaves its unit idle.
    if (results.empty())
      box = Box();
    if (!plan.disjoint)
      box.y0 += fold.region.y0, box.x0 += fold.region.x0;
    fold.cuts.push_back(box);
    plan.rows = std::max(plan.rows, results.rows);
    plan.cols = std::max(plan.cols, results.cols);
  }
  plan.spread = std::max(plan.spread, cut->spread);
  plan.met &= cut->met;
  plan.probes =
      std::max(plan.probes, scatter.sums ? static_cast<int64_t>(cut->probes)
                                         : expectedProbes(options.algorithm,
                                                          units, way.rounds));
  return true;
}

/// `plan` with its regions of the results of `part` cut; nothing if they cannot
/// be.
static std::optional<TilePlan>
cutRegions(const ScatterProblem &scatter, const partition::Geometry &part,
           const CutWay &way, TilePlan plan, llvm::ArrayRef<Box> regions,
           int64_t units, int64_t rows, int64_t cols,
           const machine::Description &machine) {
  // The tiles of the machine, and those of other parts, may be as large as the
  // limits.
  const bool known = !way.runTime && scatter.whole();
  plan.rows = known ? 1 : rows;
  plan.cols = known ? 1 : cols;
  plan.cutAtRunTime = way.runTime;
  plan.moveRounds = way.rounds;
  plan.equal = way.equal;
  plan.byWork = !way.equal;
  plan.folds.clear();
  plan.spread = 0, plan.met = true, plan.probes = 0;
  for (const Box &region : regions) {
    plan.folds.push_back({region, {}});
    if (!cutFold(scatter, part, way, plan.folds.back(), units, rows, cols, plan,
                 machine))
      return std::nullopt;
  }
  return plan;
}

/// Bands of rows that a part of the results is computed in.
static std::vector<Box> bandsOf(int64_t rows, int64_t cols, int64_t count) {
  return partition::timeFolds(rows, cols, llvm::divideCeilSigned(rows, count),
                              cols);
}

std::optional<std::vector<TileFold>>
foldsOf(const TileProblem &problem, const TilePlan &plan,
        const partition::Box &part, const machine::Description &machine) {
  const ScatterProblem *scatter = problem.scatter ? &*problem.scatter : nullptr;
  if (!plan.byWork || scatter->whole())
    return plan.folds;
  auto cut = cutRegions(
      *scatter, scatter->map.narrowedTo(part),
      {plan.cutAtRunTime, plan.moveRounds, false}, plan,
      bandsOf(part.rows, part.cols, static_cast<int64_t>(plan.folds.size())),
      unitsOf(plan, machine), plan.rows, plan.cols, machine);
  if (!cut)
    return std::nullopt;
  return std::move(cut->folds);
}

std::vector<TileFold> allFolds(const TileProblem &problem, const TilePlan &plan,
                               const machine::Description &machine) {
  if (!plan.byWork)
    return plan.folds;
  std::vector<TileFold> all;
  for (const Box &part : problem.scatter->parts) {
    auto folds = foldsOf(problem, plan, part, machine);
    if (!folds)
      continue;
    for (TileFold &fold : *folds) {
      auto move = [&](Box &box) {
        if (!box.empty())
          box.y0 += part.y0, box.x0 += part.x0;
      };
      move(fold.region);
      llvm::for_each(fold.cuts, move);
      all.push_back(std::move(fold));
    }
  }
  return all;
}

/// True if the parts of every size can be cut as a plan says. Whether they can
/// depends on sizes alone.
static bool cutsAllParts(const TileProblem &problem, const TilePlan &plan,
                         const machine::Description &machine) {
  std::vector<std::pair<int64_t, int64_t>> seen;
  for (const Box &part : problem.scatter->parts) {
    const std::pair size(part.rows, part.cols);
    if (llvm::is_contained(seen, size))
      continue;
    seen.push_back(size);
    if (!foldsOf(problem, plan, part, machine))
      return false;
  }
  return true;
}

std::vector<TilePlan> cutPlans(const TileProblem &problem, const TilePlan &plan,
                               int64_t units, int64_t tileLimit,
                               const machine::Description &machine) {
  std::vector<TilePlan> plans;
  std::vector<CutWay> ways = waysOf(problem, machine);
  if (ways.empty() || units < 2 || problem.extent[1] * problem.extent[2] < 2)
    return plans; // nothing to cut, or one unit has all of it
  int64_t height = problem.extent[1], width = problem.extent[2];
  int64_t least = std::max<int64_t>(
      llvm::divideCeilSigned(height * width, units * tileLimit), 1);
  for (int64_t count = least; count <= std::min(least + 1, height); ++count) {
    std::vector<Box> regions = bandsOf(height, width, count);
    int64_t high = regions.front().rows, before = 0;
    for (int64_t k = 1; k <= std::min(high, units); ++k) {
      // A quarter more rows than equal bands would have.
      int64_t rows = llvm::divideCeilSigned(high, k);
      rows = std::min(high, rows + llvm::divideCeilSigned(rows, 4));
      int64_t cols = std::min(width, tileLimit / rows);
      if (rows == before || cols < 1 || rows * cols * units < high * width)
        continue;
      before = rows;
      for (const CutWay &way : ways)
        if (auto own =
                cutRegions(*problem.scatter, problem.scatter->geometry, way,
                           plan, regions, units, rows, cols, machine);
            own && cutsAllParts(problem, *own, machine))
          plans.push_back(std::move(*own));
    }
  }
  return plans;
}

std::vector<TilePlan> disjointPlans(const TileProblem &problem,
                                    const TilePlan &plan, int64_t units,
                                    int64_t tileLimit,
                                    const machine::Description &machine) {
  std::vector<TilePlan> plans;
  const ScatterProblem &scatter = *problem.scatter;
  const partition::Geometry &geometry = scatter.geometry;
  if (units < 2 || geometry.y.in * geometry.x.in < 2 || !scatter.whole() ||
      !problem.unitsAdd)
    return plans;
  std::vector<CutWay> ways = waysOf(problem, machine);
  if (ways.empty() || !partition::isForced(scatter.cut.time))
    ways.push_back({false, 0, true});
  TilePlan disjoint = plan;
  disjoint.disjoint = true;
  // A drain adds what the units have at a time: all of the feature map.
  int64_t height = problem.extent[1], width = problem.extent[2];
  const Box whole{0, 0, height, width};
  const partition::Axis &axis = geometry.y;
  int64_t before = 0;
  for (int64_t k = 1; k <= std::min(axis.in, units); ++k) {
    // A quarter more lines than equal bands would have.
    int64_t lines = llvm::divideCeilSigned(axis.in, k);
    lines = std::min(axis.in, lines + llvm::divideCeilSigned(lines, 4));
    int64_t reached = lines + (axis.kernel - 1) * axis.dilation;
    int64_t rows =
        std::min(height, llvm::divideCeilSigned(reached, axis.stride));
    int64_t cols = std::min(width, tileLimit / rows);
    if (rows == before || cols < 1)
      continue;
    before = rows;
    for (const CutWay &way : ways)
      if (auto own = cutRegions(scatter, geometry, way, disjoint, whole, units,
                                rows, cols, machine))
        plans.push_back(std::move(*own));
  }
  return plans;
}

/// The boxes of a region of rows x cols results at (y, 0) in proportion to the
/// capacities; nothing if it cannot be cut so.
static std::optional<std::vector<Box>> shareOut(const Box &region,
                                                Algorithm algorithm,
                                                llvm::ArrayRef<int64_t> lanes) {
  partition::Options options;
  options.algorithm = algorithm;
  options.units = static_cast<int64_t>(lanes.size());
  options.capacity = lanes.vec();
  auto cut =
      cutMap(partition::CountMap::zeros(region.rows, region.cols),
             partition::Geometry::identity(region.rows, region.cols), options);
  if (!cut)
    return std::nullopt;
  for (Box &box : cut->cores)
    if (!box.empty())
      box.y0 += region.y0, box.x0 += region.x0;
  return cut->cores;
}

std::vector<TilePlan> proportionalPlans(const TileProblem &problem,
                                        const TilePlan &plan, int64_t units,
                                        int64_t tileLimit,
                                        const machine::Description &machine) {
  std::vector<TilePlan> plans;
  int64_t height = problem.extent[1], width = problem.extent[2];
  std::vector<int64_t> lanes = tileLanes(machine, units, plan.groups, false);
  if (units < 2 || height * width < 2 || lanes.front() == lanes.back())
    return plans;
  int64_t least = std::max<int64_t>(
      llvm::divideCeilSigned(height * width, units * tileLimit), 1);
  for (int64_t count = least; count <= std::min(2 * least, height); ++count)
    for (Algorithm algorithm : {Algorithm::Uniform, Algorithm::Rows}) {
      TilePlan own = plan;
      own.rows = own.cols = 1;
      bool cut = true;
      for (const Box &region : partition::timeFolds(
               height, width, llvm::divideCeilSigned(height, count), width)) {
        auto tiles = shareOut(region, algorithm, lanes);
        if (!tiles) {
          cut = false;
          break;
        }
        for (const Box &tile : *tiles) {
          own.rows = std::max(own.rows, tile.rows);
          own.cols = std::max(own.cols, tile.cols);
        }
        own.folds.push_back({region, std::move(*tiles)});
      }
      if (cut && own.rows * own.cols <= tileLimit)
        plans.push_back(std::move(own));
    }
  return plans;
}

int64_t partialSums(const TileProblem &problem, const TilePlan &plan) {
  const partition::Geometry &geometry = problem.scatter->geometry;
  // A drain starts the results that no part of the operand reaches.
  int64_t results =
      problem.extent[1] * problem.extent[2] -
      geometry.outputOf({0, 0, geometry.y.in, geometry.x.in}).area();
  for (const TileFold &fold : plan.folds)
    for (const Box &tile : fold.cuts)
      results += geometry.outputOf(tile).area();
  return plan.images * results;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// Tiles "y,x,rows,columns" of the units, of the results or the operand, rounds
/// separated by "|"; of a grid and of cuts at run time the largest,
/// "rows,columns".
static std::string tilesOf(const TilePlan &plan,
                           llvm::ArrayRef<TileFold> folds) {
  if (folds.empty() || plan.cutAtRunTime)
    return fmt::format("{},{}", plan.rows, plan.cols);
  std::string text;
  for (const TileFold &fold : folds)
    text += (text.empty() ? "" : " | ") + partition::toText(fold.cuts);
  return text;
}

DictionaryAttr cutsAttr(const TilePlan &plan, const CutFacts &facts,
                        MLIRContext *context) {
  records::Facts cuts(context);
  cuts.set("data", name(facts.data.source));
  bool unequal = !plan.folds.empty();
  cuts.set("algorithm",
           partition::name(unequal && !plan.equal ? facts.cut.algorithm
                                                  : Algorithm::Uniform));
  cuts.set("halo",
           partition::name(plan.disjoint ? partition::HaloMode::Disjoint
                                         : partition::HaloMode::Overlap));
  if (facts.cut.order == WeightOrder::Snake)
    cuts.set("order", "snake");
  cuts.set("time", plan.cutAtRunTime ? "run" : "compilation");
  if (plan.cutAtRunTime) {
    cuts.set("counts", facts.drained ? "drain" : "pass");
    cuts.set("probes", int64_t(plan.probes));
  }
  // Without places nothing is known of balance, or about cuts to come.
  if (facts.data.hasPlaces()) {
    cuts.set("balance", fmt::format("{:.3f}", plan.balance));
    cuts.set("balance_uniform", fmt::format("{:.3f}", plan.gridBalance));
  }
  if (unequal && facts.data.hasPlaces()) {
    cuts.set("flag", plan.met ? "MET" : "BEST_EFFORT");
    cuts.set("spread", fmt::format("{:.4f}", plan.spread));
  }
  cuts.set("tiles", tilesOf(plan, facts.folds));
  if (!facts.parts.empty())
    cuts.set("parts", partition::toText(facts.parts));
  return cuts.get();
}

} // namespace ashlar::analysis
