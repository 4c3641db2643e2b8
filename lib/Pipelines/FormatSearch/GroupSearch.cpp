// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats per group of operands: proposed by a model of measured noises and
// costs (FormatModel.h) under a noise budget that bisection finds; then single
// steps from the best, or a walk to fewer passes where no safety margin is
// left.

#include "SearchSteps.h"

#include <fmt/format.h>

namespace ashlar::pipelines {

using numerics::BlockFormat;
using numerics::FormatTable;

static constexpr int bisections = 8;
static constexpr int refinements = 64;
/// A change that costs no cycles must leave at most this share of the noise.
static constexpr double minImprovement = 0.99;
/// Single steps that are expected to save less of the cost are not tried.
static constexpr double leastSaving = 5e-4;
/// Mantissa at which the noise of weights is measured: well above the
/// background, well below the signal.
static constexpr int probedWeights = 6;

/// Cycles of every node for one and two bytes of both operands. False if some
/// width does not compile: then there is nothing to model.
llvm::Expected<bool> FormatSearch::measureNodes() {
  std::vector<FormatTable> tables;
  for (bool wideA : {false, true})
    for (bool wideW : {false, true})
      tables.push_back(makeUniform(
          wideA ? makeFormat(wideActivations, narrow.block) : narrow,
          makeFormat(wideW ? wideWeights : 8)));
  if (llvm::Error error = measurer.countAhead(tables))
    return error;
  for (auto [i, table] : llvm::enumerate(tables)) {
    const llvm::StringMap<uint64_t> *cycles = measurer.nodeCycles(table);
    if (!cycles)
      return false;
    for (const auto &node : *cycles)
      model.nodes[node.first().str()][i / 2][i % 2] =
          static_cast<double>(node.second);
  }
  return true;
}

std::vector<FormatChoice> FormatSearch::choicesOf(const FormatGroup &group,
                                                  double noise) const {
  if (group.weights == 0)
    return {{narrow, noise, 0},
            {makeFormat(wideActivations, narrow.block), noise / 65536, 0}};
  std::vector<FormatChoice> choices;
  auto add = [&](BlockFormat format, double share) {
    choices.push_back(
        {format, noise * share * std::ldexp(1, 2 * (8 - format.mantissa)),
         static_cast<double>(group.weights) * storedBits(format) / 8});
  };
  for (int width = narrowestWeights(); width <= 8; ++width)
    add(makeFormat(width), 1);
  // Half the block: the largest of fewer values, about 2 dB.
  add(makeFormat(8, 8), 0.6);
  for (int width = 9; width <= wideWeights; ++width)
    add(makeFormat(width), 1);
  return choices;
}

/// The noise of each group alone: everything else is wide.
llvm::Error FormatSearch::measureGroups() {
  auto groups = findFormatGroups(evaluator);
  if (!groups)
    return groups.takeError();
  model.groups = std::move(*groups);
  const FormatTable background = makeUniform(
      makeFormat(wideActivations, narrow.block), makeFormat(wideWeights));
  std::vector<FormatTable> tables = {background};
  for (const FormatGroup &group : model.groups)
    tables.push_back(makeTable(
        background, group, group.weights ? makeFormat(probedWeights) : narrow));
  auto measured = measurer.noises(tables, [&](size_t done) {
    progress.at(SearchStage::Noise, done, tables.size());
  });
  if (!measured)
    return measured.takeError();
  const std::vector<double> &noises = *measured;
  const double floor = noises.front();
  for (auto [group, noise] :
       llvm::zip(model.groups, llvm::ArrayRef(noises).drop_front())) {
    double added = std::max(noise - floor, 1e-3 * floor);
    if (group.weights)
      added = std::ldexp(added, -2 * (8 - probedWeights));
    model.choices.push_back(choicesOf(group, added));
  }
  return llvm::Error::success();
}

/// The cheapest choices whose noises sum to at most `budget`, on top of `base`.
FormatTable FormatSearch::propose(const FormatTable &base,
                                  double budget) const {
  std::vector<BlockFormat> formats;
  for (auto [choices, choice] :
       llvm::zip(model.choices, chooseFormats(model, budget)))
    formats.push_back(choices[choice].format);
  return makeTable(base, model.groups, formats);
}

/// Proposals for noise budgets between what certainly passes and what certainly
/// fails; whether one passes is measured. That of the largest budget is the
/// cheapest.
llvm::Error FormatSearch::bisectBudget() {
  double passing = std::max(uniform().quality.noise, 1e-18);
  double low = passing / 16;
  double high = 4 * std::max(failingNoise, 4 * passing);
  if (!(high < HUGE_VAL))
    high = 64 * passing;
  std::optional<size_t> largest;
  for (int i = 0; i < bisections; ++i) {
    double budget = std::sqrt(low) * std::sqrt(high);
    auto index =
        judgeQuality(fmt::format("noise budget {:.2e}", budget),
                     propose(makeUniform(narrow, makeFormat(8)), budget));
    if (!index)
      return index.takeError();
    const bool passes =
        judge.reaches(result.candidates[*index].quality, margin);
    (passes ? low : high) = budget;
    if (passes)
      largest = *index;
    progress.at(SearchStage::Budgets, i + 1, bisections);
  }
  return largest ? count(*largest) : llvm::Error::success();
}

std::vector<BlockFormat>
FormatSearch::formatsOf(const FormatTable &table) const {
  std::vector<BlockFormat> formats;
  for (const FormatGroup &group : model.groups) {
    const Slot &slot = group.slots.front();
    BlockFormat format = slot.weights ? table.weights : table.activations;
    auto node = table.nodes.find(slot.node);
    if (node != table.nodes.end()) {
      const auto &own =
          slot.weights ? node->second.weights : node->second.activations;
      format = own.value_or(format);
    }
    formats.push_back(format);
  }
  return formats;
}

double FormatSearch::savingOf(size_t group, const FormatChoice &now,
                              const FormatChoice &next) const {
  double saved = (now.bytes - next.bytes) * model.perByte;
  if (now.format.mantissaBytes() != next.format.mantissaBytes())
    for (const Slot &slot : model.groups[group].slots)
      if (auto node = model.nodes.find(slot.node); node != model.nodes.end())
        saved += (node->second[1][1] - node->second[0][1]) * model.perCycle;
  return saved;
}

/// Steps of every group to the widest narrower format that is worth a
/// measurement, those that save most per noise first.
std::vector<FormatStep> FormatSearch::narrowings() const {
  std::vector<FormatStep> steps;
  std::vector<BlockFormat> formats = formatsOf(best().formats);
  for (size_t group = 0; group < model.groups.size(); ++group) {
    const auto &choices = model.choices[group];
    auto now = llvm::find_if(choices, [&](const FormatChoice &choice) {
      return choice.format == formats[group];
    });
    if (now == choices.end())
      continue;
    // A width that saves nothing on its own may stand between two that do.
    for (auto next = now; next != choices.begin();) {
      --next;
      const double saved = savingOf(group, *now, *next);
      if (saved < leastSaving)
        continue;
      steps.push_back({group, next->format,
                       saved / std::max(next->noise - now->noise, 1e-30)});
      break;
    }
  }
  sortByWorth(steps);
  return steps;
}

/// Steps from the best candidate, each of which keeps the target on top of
/// those before; the candidates that they lead to. No cycles are counted.
llvm::Expected<std::vector<FormatSearch::TakenStep>> FormatSearch::takeSteps() {
  const FormatTable base = best().formats;
  std::vector<BlockFormat> formats = formatsOf(base);
  std::vector<TakenStep> taken;
  for (const FormatStep &step : narrowings()) {
    if (stepsLeft == 0)
      break;
    const StepKey key(step.group, step.format.mantissa);
    if (refused.contains(key))
      continue;
    std::vector<BlockFormat> changed = formats;
    changed[step.group] = step.format;
    auto index = judgeQuality(fmt::format("{} steps from candidate {}",
                                          taken.size() + 1, result.chosen),
                              makeTable(base, model.groups, changed));
    if (!index)
      return index.takeError();
    if (judge.reaches(result.candidates[*index].quality, margin)) {
      formats = std::move(changed);
      taken.push_back({key, *index});
    } else {
      // Further steps only add noise.
      refused.insert(key);
    }
    --stepsLeft;
    progress.at(SearchStage::Steps, refinements - stepsLeft, refinements);
  }
  return taken;
}

/// Counts the candidate after the last step. If it is no better than the best,
/// some step costs more than it saves: bisection finds one, which is refused,
/// and takes the steps before.
llvm::Error FormatSearch::countSteps(llvm::ArrayRef<TakenStep> taken) {
  auto isBest = [&](size_t steps) -> llvm::Expected<bool> {
    const size_t index = taken[steps - 1].candidate;
    if (llvm::Error error = count(index))
      return error;
    return result.chosen == index;
  };
  size_t good = 0, bad = taken.size();
  for (size_t steps = bad; good < bad; steps = (good + bad) / 2) {
    auto better = isBest(steps);
    if (!better)
      return better.takeError();
    (*better ? good : bad) = steps;
    if (good + 1 == bad) {
      refused.insert(taken[bad - 1].key);
      break;
    }
  }
  return llvm::Error::success();
}

/// Steps add noise: none can keep a safety margin where the best so far has
/// none.
llvm::Error FormatSearch::refine() {
  stepsLeft =
      judge.reaches(best().quality, SafetyMargin::Kept) ? refinements : 0;
  while (stepsLeft > 0) {
    auto taken = takeSteps();
    if (!taken)
      return taken.takeError();
    if (taken->empty())
      break;
    if (llvm::Error error = countSteps(*taken))
      return error;
  }
  return llvm::Error::success();
}

/// Where the choice has more bytes than some uniform format needs: candidates
/// with weights as narrow as those of that format at most.
llvm::Error FormatSearch::saveBytes() {
  if (isLean(best()))
    return llvm::Error::success();
  const double bits = storedBits(smallest().formats.weights);
  for (auto [group, choices] : llvm::zip(model.groups, model.choices)) {
    const double bytes = static_cast<double>(group.weights) * bits / 8;
    auto wide = [&](const FormatChoice &c) { return c.bytes > bytes; };
    if (!llvm::all_of(choices, wide))
      llvm::erase_if(choices, wide);
  }
  return bisectBudget();
}

/// Candidates that use up all that the target allows.
llvm::Error FormatSearch::useReserve() {
  if (!result.target.minAgreement)
    return llvm::Error::success();
  margin = SafetyMargin::Used;
  cyclesWithMargin = static_cast<double>(best().cycles);
  if (llvm::Error error = bisectBudget())
    return error;
  if (judge.reaches(best().quality, SafetyMargin::Kept))
    return llvm::Error::success();
  return walk();
}

/// A walk from the best choice, each step of which is measured: first other
/// block lengths, which cost no cycles, where they leave less noise; then fewer
/// passes as long as the target is kept. Errors of groups cancel in part, so
/// that noises of single groups only say what to try first.
llvm::Error FormatSearch::walk() {
  const size_t from = result.chosen;
  const FormatTable base = best().formats;
  std::vector<BlockFormat> formats = formatsOf(base);
  double noise = best().quality.noise;
  auto attempt = [&](size_t group, BlockFormat format,
                     bool freely) -> llvm::Error {
    std::vector<BlockFormat> changed = formats;
    changed[group] = format;
    auto quality = measurer.qualityOf(makeTable(base, model.groups, changed));
    if (!quality)
      return quality.takeError();
    if (freely ? quality->noise <= minImprovement * noise
               : judge.reaches(*quality, margin)) {
      formats = std::move(changed);
      noise = quality->noise;
    }
    return llvm::Error::success();
  };
  for (size_t group = 0; group < formats.size(); ++group) {
    BlockFormat other = formats[group];
    if (other.mantissaBytes() == 2)
      continue;
    other.block = other.block == 8 ? 16 : 8;
    if (llvm::Error error = attempt(group, other, /*freely=*/true))
      return error;
  }
  for (const FormatStep &step : fewerPasses(model, formats, leastSaving))
    if (llvm::Error error = attempt(step.group, step.format, /*freely=*/false))
      return error;
  auto index = measure(fmt::format("walk from candidate {}", from),
                       makeTable(base, model.groups, formats));
  return index ? llvm::Error::success() : index.takeError();
}

} // namespace ashlar::pipelines
