// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of a search for formats, and its steps: FormatSearch.cpp has those
// on formats of the whole network, GroupSearch.cpp those on formats of groups
// of operands.

#ifndef ASHLAR_LIB_PIPELINES_FORMATSEARCH_SEARCHSTEPS_H
#define ASHLAR_LIB_PIPELINES_FORMATSEARCH_SEARCHSTEPS_H

#include "FormatMeasure.h"
#include "FormatModel.h"
#include "FormatSearch.h"
#include "SearchProgress.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ashlar::pipelines {

/// One search over one model.
class FormatSearch {
public:
  FormatSearch(const Evaluator &evaluator, const QualityJudge &judge,
               llvm::ArrayRef<Sample> samples, bool showProgress,
               SearchResult &result)
      : evaluator(evaluator), judge(judge), measurer(evaluator, judge, samples),
        result(result), progress(showProgress) {}

  llvm::Error run();

private:
  /// Mantissas of the background against which single groups are measured.
  static constexpr int wideActivations = 16, wideWeights = 16;
  /// How many bits weights of one node may be narrower than those of the
  /// uniform format if classes must agree. The errors of far narrower ones have
  /// few directions, which some unseen inputs meet and eight samples seldom do.
  static constexpr int maxNarrowing = 1;

  llvm::Expected<size_t> measure(std::string label,
                                 numerics::FormatTable formats);
  llvm::Expected<size_t> judgeQuality(std::string label,
                                      numerics::FormatTable formats);
  llvm::Error count(size_t index);
  /// A group and the mantissa that it was to have.
  using StepKey = std::pair<size_t, int>;
  /// A step that kept the target.
  struct TakenStep {
    StepKey key;
    size_t candidate;
  };
  llvm::Expected<std::vector<TakenStep>> takeSteps();
  llvm::Error countSteps(llvm::ArrayRef<TakenStep> taken);
  void compare(size_t index);
  llvm::Error sweepUniform();
  llvm::Error chooseBlocks();
  llvm::Error tryClasses();
  llvm::Expected<bool> measureNodes();
  llvm::Error measureGroups();
  numerics::FormatTable propose(const numerics::FormatTable &base,
                                double budget) const;
  llvm::Error bisectBudget();
  llvm::Error saveBytes();
  llvm::Error useReserve();
  llvm::Error walk();
  llvm::Error refine();
  llvm::Error tryUnsigned();

  /// Widths of weights are not tried below.
  int narrowestWeights() const {
    if (!result.target.minAgreement)
      return 3;
    const int width = smallest().formats.weights.mantissa - maxNarrowing;
    return std::clamp(width, 3, 8);
  }
  void setUniform(size_t index) {
    result.uniform = result.chosen = index;
    haveUniform = true;
  }
  /// The uniform format with the fewest bytes that keeps the target.
  const Candidate &smallest() const {
    return result.candidates[smallestUniform];
  }
  bool isLean(const Candidate &candidate) const {
    return candidate.weightBytes <= smallest().weightBytes;
  }
  std::vector<FormatChoice> choicesOf(const FormatGroup &group,
                                      double noise) const;
  double costOf(const Candidate &candidate) const;
  bool isBetter(const Candidate &a, const Candidate &b) const;
  std::vector<numerics::BlockFormat>
  formatsOf(const numerics::FormatTable &table) const;
  /// What a group saves, in the unit of its model, from one choice to another.
  double savingOf(size_t group, const FormatChoice &now,
                  const FormatChoice &next) const;
  std::vector<FormatStep> narrowings() const;

  const Candidate &best() const { return result.candidates[result.chosen]; }
  const Candidate &uniform() const { return result.candidates[result.uniform]; }

  const Evaluator &evaluator;
  const QualityJudge &judge;
  FormatMeasurer measurer;
  SearchResult &result;
  SearchProgress progress;
  std::map<std::string, size_t> known; ///< Candidate by text of its table.
  bool haveUniform = false;
  size_t smallestUniform = 0;
  double failingNoise = 0; ///< Least noise of a uniform format that fails.
  /// Whether candidates need a margin, and the cycles of the best that has one.
  SafetyMargin margin = SafetyMargin::Kept;
  double cyclesWithMargin = HUGE_VAL;
  /// One-byte formats that cost least among those that add little noise.
  numerics::BlockFormat narrow = makeFormat(8), narrowWeights = makeFormat(8);
  FormatModel model;
  /// Single steps that may still be tried, and those that missed the target or
  /// cost more than they saved.
  int stepsLeft = 0;
  std::set<StepKey> refused;
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_FORMATSEARCH_SEARCHSTEPS_H
