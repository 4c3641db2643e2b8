// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a format search says on a terminal: its stage and the share of its time.

#ifndef ASHLAR_LIB_PIPELINES_SEARCHPROGRESS_H
#define ASHLAR_LIB_PIPELINES_SEARCHPROGRESS_H

#include "ashlar/Support/Progress.h"

#include <array>

namespace ashlar::pipelines {

/// Stages of a search, in the order in which they run.
enum class SearchStage { Uniform, Blocks, Cycles, Noise, Budgets, Steps };

class SearchProgress {
public:
  explicit SearchProgress(bool enabled)
      : progress("choosing formats", 100, enabled) {}

  /// Says that \p done of the \p count steps of a stage are finished.
  void at(SearchStage stage, size_t done = 0, size_t count = 1) {
    const auto i = static_cast<size_t>(stage);
    progress.update(begins[i] + (begins[i + 1] - begins[i]) * done / count,
                    names[i]);
  }

private:
  static constexpr std::array names = {"uniform formats", "block lengths",
                                       "cycles of nodes", "noise of nodes",
                                       "noise budgets",   "single steps"};
  /// Percent of the time that has passed when a stage begins: means of searches
  /// over the demo network and a keyword network, with and without classes.
  static constexpr std::array<uint64_t, names.size() + 1> begins = {
      0, 12, 34, 54, 66, 90, 100};

  support::Progress progress;
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_SEARCHPROGRESS_H
