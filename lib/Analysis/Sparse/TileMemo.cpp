// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans that were found before. Both searches of TileCost.cpp are functions of
// a problem and a machine alone; the same problems come back for every choice
// of clusters, at code generation, and in a search over formats.

#include "ScatterPlan.h"

#include "ashlar/Support/Memo.h"

#include <mutex>
#include <optional>

namespace ashlar::analysis {
namespace {

/// A machine as one number. Searches ask for the same one thousands of times.
support::ArgumentDigest::Number digestOf(const machine::Description &machine) {
  static std::mutex mutex;
  static std::optional<machine::Description> latest;
  static support::ArgumentDigest::Number number;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!latest || *latest != machine) {
    latest = machine;
    number = support::ArgumentDigest().add(machine::toYaml(machine)).take();
  }
  return number;
}

/// Everything that a prediction depends on.
class PlanArguments {
public:
  PlanArguments(const TileProblem &problem,
                const machine::Description &machine) {
    digest.add(digestOf(machine));
    digest.add(problem.extent).add(problem.kernel);
    digest.add(problem.stride).add(problem.dilation);
    digest.add(problem.channels).add(problem.outputs).add(problem.groups);
    digest.add(problem.depth.taps).add(problem.depth.width);
    digest.add(problem.part).add(problem.elementBytes).add(problem.cellBlock);
    digest.add(problem.resultBytes).add(problem.residualBytes);
    digest.add(problem.weightBits);
    digest.add(problem.activationDigits).add(problem.weightDigits);
    digest.add(problem.unitsAdd).add(problem.function);
    digest.add(problem.issuesZeros).add(problem.biasInSums);
    digest.add(problem.handOver).add(problem.recordRoom);
    digest.add(problem.kept).add(problem.leaves);
    digest.add(problem.pooled.rows).add(problem.pooled.share);
    digest.add(uint64_t(problem.columns.size()));
    for (const ColumnTile &column : problem.columns)
      digest.add(column.firstOutput).add(column.cols);
    digest.add(uint64_t(problem.drains.size()));
    for (const DrainColumn &drain : problem.drains)
      digest.add(uint64_t(drain.first)).add(drain.columns).add(drain.cols);
    // They have the entries, too.
    for (const std::vector<machine::ChannelCrowd> &crowds : problem.crowds)
      digest.add(crowds);
    for (const ChannelShares &column : problem.shares)
      digest.add(column.first).add(column.all);
    digest.add(problem.scatter.has_value());
    if (problem.scatter)
      add(*problem.scatter);
  }

  support::ArgumentDigest::Number take() { return digest.take(); }

private:
  void add(const ScatterProblem &scatter) {
    const partition::CountMap &counts = scatter.data.counts;
    digest.add(scatter.data.source).add(scatter.data.density);
    digest.add(counts.rows).add(counts.cols).add(counts.capacity);
    digest.add(counts.counts);
    digest.add(scatter.cut.variant).add(scatter.cut.algorithm);
    digest.add(scatter.cut.block);
    digest.add(scatter.cut.metric).add(scatter.cut.threshold);
    digest.add(scatter.cut.time).add(scatter.cut.halo).add(scatter.geometry);
    digest.add(scatter.map).add(scatter.parts).add(scatter.drained);
    for (const auto &column : scatter.slices)
      for (const std::vector<SliceCount> &channel : column)
        digest.add(channel);
  }

  support::ArgumentDigest digest;
};

/// What a plan depends on besides.
support::ArgumentDigest digestOf(const TilePlan &plan) {
  support::ArgumentDigest digest;
  digest.add(plan.images).add(plan.rows).add(plan.cols).add(plan.groups);
  digest.add(plan.slots).add(plan.twoSums).add(plan.tilesOutside);
  digest.add(plan.wideOnly).add(plan.cellBlock).add(plan.turns);
  digest.add(plan.disjoint).add(plan.equal).add(plan.byWork);
  digest.add(plan.cutAtRunTime).add(plan.moveRounds).add(plan.probes);
  digest.add(uint64_t(plan.folds.size()));
  for (const TileFold &fold : plan.folds)
    digest.add(fold.region).add(fold.cuts);
  return digest;
}

/// Plans that are remembered; a network has some ten of them for each
/// convolution.
constexpr size_t kRememberedPlans = 8192;

} // namespace

TilePlans::TilePlans(const TileProblem &problem,
                     const machine::Description &machine)
    : problem(problem), machine(machine),
      arguments(PlanArguments(problem, machine).take()) {}

std::optional<TilePlan> TilePlans::best(int64_t limit) const {
  static support::Memo<std::optional<TilePlan>> memo(kRememberedPlans);
  return memo.get(support::ArgumentDigest().add(arguments).add(limit).take(),
                  [&] { return searchTiles(problem, machine, limit); });
}

int64_t TilePlans::unskippedCycles(const TilePlan &plan) const {
  static support::Memo<int64_t> memo(kRememberedPlans);
  return memo.get(digestOf(plan).add(arguments).take(),
                  [&] { return searchUnskipped(problem, plan, machine); });
}

} // namespace ashlar::analysis
