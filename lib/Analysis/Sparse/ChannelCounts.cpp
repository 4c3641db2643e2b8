// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coefficients of kernels, counted by column and channel.

#include "ChannelCounts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace ashlar::analysis {

namespace {
/// Counts the coefficients of a column, lane by lane. Lists of each number
/// apart let compilers use vectors.
class ColumnCounter {
public:
  explicit ColumnCounter(size_t channels)
      : entries(channels), kernels(channels), most(channels),
        fullest(channels) {}

  /// A kernel with `counts` coefficients of the channels from `first` on.
  void addKernel(size_t first, llvm::ArrayRef<uint32_t> counts) {
    int32_t *all = entries.data() + first, *own = kernels.data() + first;
    int32_t *top = most.data() + first, *full = fullest.data() + first;
    for (size_t c = 0; c < counts.size(); ++c) {
      const auto count = static_cast<int32_t>(counts[c]);
      const int32_t before = count > top[c] ? 0 : full[c];
      all[c] += count;
      own[c] += count > 0 ? 1 : 0;
      top[c] = std::max(top[c], count);
      full[c] = before + (count > 0 && count == top[c] ? 1 : 0);
    }
  }

  std::vector<machine::ChannelCrowd> crowds() const {
    std::vector<machine::ChannelCrowd> crowds;
    crowds.reserve(entries.size());
    for (size_t c = 0; c < entries.size(); ++c)
      crowds.push_back(
          {static_cast<uint64_t>(entries[c]), static_cast<uint64_t>(kernels[c]),
           static_cast<uint64_t>(most[c]), static_cast<uint64_t>(fullest[c])});
    return crowds;
  }

private:
  std::vector<int32_t> entries, kernels, most, fullest;
};

/// The coefficients of the kernels of a problem.
class KernelCounts {
public:
  KernelCounts(const TileProblem &problem, const WeightPattern &weights)
      : problem(problem), weights(weights) {
    if (problem.issuesZeros)
      full.assign(problem.channels / problem.groups,
                  problem.kernel[0] * problem.kernel[1]);
  }

  /// Calls visit(lane, first channel of the column's range, coefficients by
  /// channel) for each kernel of a column.
  template <typename Visit>
  void forEachKernel(size_t column, Visit visit) const {
    const ColumnTile &tile = problem.columns[column];
    const int64_t begin = channelsOf(problem, column).first;
    const int64_t inPerGroup = problem.channels / problem.groups;
    const int64_t outPerGroup = problem.outputs / problem.groups;
    for (int64_t lane = 0; lane < tile.cols; ++lane) {
      const int64_t output = problem.outputAt(tile.firstOutput + lane);
      visit(static_cast<uint32_t>(lane),
            static_cast<size_t>(output / outPerGroup * inPerGroup - begin),
            full.empty() ? weights.nonZeros(output) : llvm::ArrayRef(full));
    }
  }

private:
  const TileProblem &problem;
  const WeightPattern &weights;
  std::vector<uint32_t> full; ///< where zeros are issued
};
} // namespace

/// The kernels of those channels of a column that have fewer than `most`
/// coefficients.
static ChannelShares sharesOf(const KernelCounts &kernels, size_t column,
                              llvm::ArrayRef<machine::ChannelCrowd> crowds,
                              uint64_t most) {
  ChannelShares shares;
  std::vector<uint32_t> next;
  uint32_t end = 0;
  for (const machine::ChannelCrowd &crowd : crowds) {
    next.push_back(end);
    end += static_cast<uint32_t>(crowd.entries < most ? crowd.kernels : 0);
  }
  shares.first = next;
  shares.first.push_back(end);
  if (end == 0)
    return shares;
  shares.all.resize(end);
  kernels.forEachKernel(column, [&](uint32_t lane, size_t first,
                                    llvm::ArrayRef<uint32_t> counts) {
    for (auto [c, count] : llvm::enumerate(counts))
      if (count > 0 && crowds[first + c].entries < most)
        shares.all[next[first + c]++] = {lane, count};
  });
  return shares;
}

void countEntries(TileProblem &problem, const WeightPattern &weights,
                  const machine::Description &machine) {
  const bool waits =
      machine.sparse.accumulateLatency > 1 && !problem.issuesZeros;
  // No period is shorter than the passes: no channel of more is followed.
  const uint64_t gap =
      llvm::divideCeil(machine.sparse.accumulateLatency,
                       std::max<uint64_t>(problem.passes(machine), 1));
  const KernelCounts kernels(problem, weights);
  for (size_t i = 0; i < problem.columns.size(); ++i) {
    ColumnCounter counter(channelsOf(problem, i).count);
    kernels.forEachKernel(
        i, [&](uint32_t, size_t first, llvm::ArrayRef<uint32_t> counts) {
          counter.addKernel(first, counts);
        });
    std::vector<machine::ChannelCrowd> crowds = counter.crowds();
    std::vector<uint32_t> counts;
    for (const machine::ChannelCrowd &crowd : crowds)
      counts.push_back(static_cast<uint32_t>(crowd.entries));
    problem.entries.push_back(std::move(counts));
    problem.shares.push_back(
        waits ? sharesOf(kernels, i, crowds, kLongChannel * gap)
              : ChannelShares());
    problem.crowds.push_back(std::move(crowds));
  }
}

} // namespace ashlar::analysis
