// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inside of tile plans: the searches behind the public functions, and what
// scatter mode changes in their costs: cycles of coefficients follow from how
// many data of a tile are not zero, and tiles may be cut unequal.

#ifndef ASHLAR_LIB_ANALYSIS_SPARSE_SCATTERPLAN_H
#define ASHLAR_LIB_ANALYSIS_SPARSE_SCATTERPLAN_H

#include "ashlar/Analysis/Sparse/TilePlan.h"
#include "ashlar/Machine/Description.h"

#include <map>

namespace ashlar::analysis {

/// Cycles of the units in scatter mode, remembered by their arguments.
class ScatterTimes {
public:
  ScatterTimes(const machine::Description &machine,
               machine::ScatterVariant variant)
      : machine(machine), variant(variant) {}

  /// Of one block of `data` under `taps` coefficients of a kernel on `lanes`
  /// multipliers, without what the accumulators cost.
  int64_t of(uint64_t lanes, uint32_t taps, uint64_t data);

private:
  const machine::Description &machine;
  const machine::ScatterVariant variant;
  /// By multipliers, taps and data; -1: not yet.
  std::map<uint64_t, std::vector<std::vector<int64_t>>> known;
};

/// Plans like `plan` with tiles in proportion to the multipliers of the units,
/// at most `tileLimit` results each.
std::vector<TilePlan> proportionalPlans(const TileProblem &problem,
                                        const TilePlan &plan, int64_t units,
                                        int64_t tileLimit,
                                        const machine::Description &machine);

/// By column: sums of cycles over its first channels.
using ScatterSums = std::vector<std::vector<int64_t>>;

/// Expected cycles of the coefficients of each channel on the unit that has
/// most to do, summed up: entry c of a column has those of its channels
/// [0, c).
ScatterSums scatterSums(const TileProblem &problem, const TilePlan &plan,
                        int64_t units, ScatterTimes &times,
                        const machine::Description &machine);

/// Plans like `plan` with tiles of equal work instead of equal size, at most
/// `tileLimit` results each; cut by the compiler where places are known, or by
/// the machine, as CutOptions::time says.
std::vector<TilePlan> cutPlans(const TileProblem &problem, const TilePlan &plan,
                               int64_t units, int64_t tileLimit,
                               const machine::Description &machine);

/// The same with tiles of the operand, all of them at a time; equal ones too.
/// `tileLimit` counts the results that take part of a tile.
std::vector<TilePlan> disjointPlans(const TileProblem &problem,
                                    const TilePlan &plan, int64_t units,
                                    int64_t tileLimit,
                                    const machine::Description &machine);

/// Sums that a round of a disjoint plan drains: several for a result that
/// several units have a part of, one for a result that none has.
int64_t partialSums(const TileProblem &problem, const TilePlan &plan);

/// Cycles before the first tcc.part of a plan that counts on its own, and of
/// each of its tcc.part; 0 for other plans.
struct CutCycles {
  int64_t count = 0, cut = 0;
};
CutCycles cutCycles(const TileProblem &problem, const TilePlan &plan,
                    const machine::Description &machine);

/// Largest over mean non-zeros of the units, mean over the rounds; 1 if places
/// are not known.
double balanceOf(const TileProblem &problem, const TilePlan &plan,
                 int64_t units);

/// TilePlans::best() without a memory of earlier ones.
std::optional<TilePlan> searchTiles(const TileProblem &problem,
                                    const machine::Description &machine,
                                    int64_t limit);

/// TilePlans::unskippedCycles() without a memory of earlier ones.
int64_t searchUnskipped(const TileProblem &problem, const TilePlan &plan,
                        const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_LIB_ANALYSIS_SPARSE_SCATTERPLAN_H
