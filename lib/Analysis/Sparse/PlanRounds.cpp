// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rounds of a plan: what tiles each of them has, and which of very many are
// followed.

#include "PlanCost.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace ashlar::analysis {

/// Results of each tile of a round.
std::vector<uint64_t> PlanCost::tilesOf(int64_t round) const {
  auto extent = [](int64_t whole, int64_t size, int64_t index) {
    return std::min(size, whole - index * size);
  };
  std::vector<uint64_t> results;
  if (plan.isCut()) {
    const auto folds = static_cast<int64_t>(plan.folds.size());
    const int64_t images =
        extent(problem.extent[0], plan.images, round / folds);
    for (const partition::Box &tile : plan.folds[round % folds].cuts)
      if (!tile.empty())
        results.push_back(images * tile.rows * tile.cols);
    return results;
  }
  const auto [n, h, w] = plan.grid(problem);
  const int64_t own = plan.tilesOfRound(problem, units);
  const int64_t end = std::min((round + 1) * own, n * h * w);
  for (int64_t tile = round * own; tile < end; ++tile)
    results.push_back(extent(problem.extent[0], plan.images, tile / (h * w)) *
                      extent(problem.extent[1], plan.rows, tile / w % h) *
                      extent(problem.extent[2], plan.cols, tile % w));
  return results;
}

/// Results that a drain with `tiles` tiles side by side takes in a round.
int64_t PlanCost::stepsOf(int64_t tiles, int64_t round) {
  if (tiles == 1)
    return shareOf(round);
  std::vector<int64_t> &steps = sideBySide[tiles];
  const auto known = static_cast<int64_t>(steps.size());
  if (round < known)
    return steps[round];
  const auto own =
      static_cast<int64_t>(machine::resultsSideBySide(tilesOf(round), tiles));
  if (round == known)
    steps.push_back(own);
  return own;
}

/// All that grows with the rounds: ends and work of the engines.
llvm::SmallVector<int64_t *, 16> PlanCost::counters() {
  llvm::SmallVector<int64_t *, 16> all = {
      &loaded,     &bankFree,   &runFree,     &drainFree,  &streamFree,
      &end,        &loadBusy,   &runBusy,     &drainBusy,  &streamBusy,
      &setFree[0], &setFree[1], &sumsFree[0], &sumsFree[1]};
  for (int64_t &free : queueFree)
    all.push_back(&free);
  return all;
}

/// Calls `run` for every round until it is false, and returns what it was last.
/// Of very many rounds, which are alike, those in the middle are not followed:
/// every counter goes on as it did in the second half of those that were.
bool PlanCost::forEachRound(llvm::function_ref<bool(int64_t)> run) {
  constexpr int64_t kFollowed = 512;
  llvm::SmallVector<int64_t, 16> half;
  for (int64_t round = 0; round < rounds; ++round) {
    if (!run(round))
      return false;
    if (rounds <= 2 * kFollowed)
      continue;
    if (round == kFollowed / 2)
      for (const int64_t *counter : counters())
        half.push_back(*counter);
    if (round != kFollowed)
      continue;
    // The last round has fewer tiles.
    const int64_t skipped = rounds - 2 - round, seen = round / 2;
    for (auto [counter, before] : llvm::zip(counters(), half)) {
      const int64_t grown = *counter - before;
      *counter += grown / seen * skipped + grown % seen * skipped / seen;
    }
    round += skipped;
  }
  return true;
}

} // namespace ashlar::analysis
