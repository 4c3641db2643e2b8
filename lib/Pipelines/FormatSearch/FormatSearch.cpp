// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search: the cheapest uniform format that keeps the target; block lengths
// and ranges that cost nothing; formats by class of operand; then formats per
// group, proposed by a model of measured noises and costs (FormatModel.h) under
// a noise budget that bisection finds; at last single steps from the best, or a
// walk to fewer passes where no safety margin is left.

#include "FormatSearch.h"

#include "BlendSamples.h"
#include "FormatMeasure.h"
#include "FormatModel.h"
#include "SearchProgress.h"
#include "ashlar/Support/Error.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

namespace ashlar::pipelines {
namespace {

using numerics::BlockFormat;
using numerics::FormatTable;

constexpr int bisections = 8;
constexpr int refinements = 64;
/// A change that costs no cycles must leave at most this share of the noise.
constexpr double minImprovement = 0.99;
/// Single steps that are expected to save less of the cost are not tried.
constexpr double leastSaving = 5e-4;
/// Mantissas of the background against which single groups are measured.
constexpr int wideActivations = 16, wideWeights = 16;
/// Mantissa at which the noise of weights is measured: well above the
/// background, well below the signal.
constexpr int probedWeights = 6;
/// Formats whose noise differs by less are taken for equally good.
constexpr double noiseTolerance = 2;
/// A candidate without a safety margin may have this share of the cycles of the
/// best one with a margin: risks are taken for cycles only.
constexpr double worthTheMargin = 0.95;
/// How many bits weights of one node may be narrower than those of the uniform
/// format if classes must agree. The errors of far narrower ones have few
/// directions, which some unseen inputs meet and eight samples seldom do.
constexpr int maxNarrowing = 1;
/// All bytes of weights cost as much as this share of all cycles.
constexpr double bytesToCycles = 0.25;

/// One search over one model.
class Search {
public:
  Search(const Evaluator &evaluator, const QualityJudge &judge,
         std::vector<Sample> samples, bool showProgress, SearchResult &result)
      : evaluator(evaluator), judge(judge),
        measurer(evaluator, judge, std::move(samples)), result(result),
        progress(showProgress) {}

  llvm::Error run();

private:
  llvm::Expected<size_t> measure(std::string label, FormatTable formats);
  void compare(size_t index);
  llvm::Error sweepUniform();
  llvm::Error chooseBlocks();
  llvm::Error tryClasses();
  llvm::Expected<bool> measureNodes();
  llvm::Error measureGroups();
  FormatTable propose(const FormatTable &base, double budget) const;
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
  std::vector<BlockFormat> formatsOf(const FormatTable &table) const;
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
  BlockFormat narrow = makeFormat(8), narrowWeights = makeFormat(8);
  FormatModel model;
};

llvm::Expected<size_t> Search::measure(std::string label, FormatTable formats) {
  auto [entry, isNew] =
      known.try_emplace(keyOf(formats), result.candidates.size());
  if (!isNew)
    return entry->second;
  auto candidate = measurer.measure(std::move(label), std::move(formats));
  if (!candidate)
    return candidate.takeError();
  size_t index = result.candidates.size();
  result.candidates.push_back(std::move(*candidate));
  compare(index);
  return index;
}

/// Takes a candidate as the choice if it is the best so far.
void Search::compare(size_t index) {
  const Candidate &now = result.candidates[index];
  if (!haveUniform || !judge.reaches(now.quality, margin) ||
      now.cycles > uniform().cycles ||
      now.weightBytes > uniform().weightBytes ||
      (isLean(now) == isLean(best()) ? !isBetter(now, best()) : !isLean(now)))
    return;
  const double limit = margin == SafetyMargin::Used ? worthTheMargin : 1;
  if (static_cast<double>(now.cycles) <= limit * cyclesWithMargin)
    result.chosen = index;
}

/// Cheaper, or as cheap with less noise.
bool Search::isBetter(const Candidate &a, const Candidate &b) const {
  double costA = costOf(a), costB = costOf(b);
  return costA != costB ? costA < costB : a.quality.noise < b.quality.noise;
}

/// Relative to the cheapest uniform format.
double Search::costOf(const Candidate &candidate) const {
  return static_cast<double>(candidate.cycles) * model.perCycle +
         static_cast<double>(candidate.weightBytes) * model.perByte;
}

llvm::Error Search::sweepUniform() {
  auto tryWidth = [&](int width, int block) -> llvm::Expected<bool> {
    BlockFormat format = makeFormat(width, block);
    auto index = measure("uniform " + numerics::toString(format),
                         makeUniform(format, format));
    if (!index)
      return index.takeError();
    const Candidate &candidate = result.candidates[*index];
    if (!candidate.reaches) {
      failingNoise = candidate.quality.noise;
      return false;
    }
    if (!haveUniform || candidate.weightBytes < smallest().weightBytes)
      smallestUniform = *index;
    if (!haveUniform || std::pair(candidate.cycles, candidate.weightBytes) <
                            std::pair(uniform().cycles, uniform().weightBytes))
      setUniform(*index);
    return true;
  };
  llvm::Expected<bool> reached = tryWidth(8, 16);
  const bool narrowing = reached && *reached;
  for (int width = narrowing ? 7 : 9; width >= 3 && width <= 16;
       width += narrowing ? -1 : 1) {
    if (!reached)
      return reached.takeError();
    if (*reached != narrowing)
      break;
    reached = tryWidth(width, 16);
  }
  if (!reached)
    return reached.takeError();
  if (!narrowing && !*reached) {
    reached = tryWidth(16, 8);
    if (!reached)
      return reached.takeError();
    if (!*reached)
      return nothingReaches(result);
  }
  model.perCycle =
      1 / static_cast<double>(std::max<uint64_t>(uniform().cycles, 1));
  model.perByte =
      bytesToCycles /
      static_cast<double>(std::max<uint64_t>(uniform().weightBytes, 1));
  return llvm::Error::success();
}

/// Shorter blocks and other ranges of activations cost no bytes, and seldom
/// cycles. Of those that add little more than the least noise, the one with the
/// fewest cycles serves from here on.
llvm::Error Search::chooseBlocks() {
  llvm::SmallVector<size_t> tried;
  double least = HUGE_VAL;
  std::vector<FormatTable> tables;
  for (BlockFormat format : {makeFormat(8, 16, 7), makeFormat(8, 8, 7),
                             makeFormat(8, 8, 3), makeFormat(8, 16, 3)})
    tables.push_back(makeUniform(format, narrowWeights));
  if (llvm::Error error = measurer.countAhead(tables))
    return error;
  for (const FormatTable &table : tables) {
    auto index = measure(operandsText(table.activations, table.weights), table);
    if (!index)
      return index.takeError();
    const Candidate &candidate = result.candidates[*index];
    if (!candidate.failure.empty())
      continue;
    tried.push_back(*index);
    least = std::min(least, candidate.quality.noise);
  }
  const Candidate *found = nullptr;
  for (size_t index : tried) {
    const Candidate &candidate = result.candidates[index];
    if (candidate.quality.noise > noiseTolerance * least)
      continue;
    if (!found || std::pair(candidate.cycles, candidate.quality.noise) <
                      std::pair(found->cycles, found->quality.noise))
      found = &candidate;
  }
  if (found)
    narrow = found->formats.activations;
  return llvm::Error::success();
}

/// One format for all activations, one for all weights. Activations of one byte
/// cost the same at any width.
llvm::Error Search::tryClasses() {
  auto attempt = [&](BlockFormat activations,
                     BlockFormat weights) -> llvm::Expected<bool> {
    auto index = measure(operandsText(activations, weights),
                         makeUniform(activations, weights));
    if (!index)
      return index.takeError();
    return result.candidates[*index].reaches;
  };
  const int width = uniform().formats.weights.mantissa;
  for (int w = std::min(width, 8); w >= narrowestWeights(); --w) {
    auto reached = attempt(narrow, makeFormat(w));
    if (!reached)
      return reached.takeError();
    if (!*reached)
      break;
  }
  if (width <= 8)
    return llvm::Error::success();
  for (auto [activations, weights] :
       {std::pair(narrow, makeFormat(8, 8)),
        std::pair(makeFormat(wideActivations, narrow.block), makeFormat(8)),
        std::pair(narrow, makeFormat(width))}) {
    auto reached = attempt(activations, weights);
    if (!reached)
      return reached.takeError();
  }
  return llvm::Error::success();
}

/// Cycles of every node for one and two bytes of both operands. False if some
/// width does not compile: then there is nothing to model.
llvm::Expected<bool> Search::measureNodes() {
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

std::vector<FormatChoice> Search::choicesOf(const FormatGroup &group,
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
llvm::Error Search::measureGroups() {
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
FormatTable Search::propose(const FormatTable &base, double budget) const {
  std::vector<BlockFormat> formats;
  for (auto [choices, choice] :
       llvm::zip(model.choices, chooseFormats(model, budget)))
    formats.push_back(choices[choice].format);
  return makeTable(base, model.groups, formats);
}

/// Proposals for noise budgets between what certainly passes and what certainly
/// fails; whether one passes is measured.
llvm::Error Search::bisectBudget() {
  double passing = std::max(uniform().quality.noise, 1e-18);
  double low = passing / 16;
  double high = 4 * std::max(failingNoise, 4 * passing);
  if (!(high < HUGE_VAL))
    high = 64 * passing;
  for (int i = 0; i < bisections; ++i) {
    double budget = std::sqrt(low) * std::sqrt(high);
    auto index = measure(fmt::format("noise budget {:.2e}", budget),
                         propose(makeUniform(narrow, makeFormat(8)), budget));
    if (!index)
      return index.takeError();
    (judge.reaches(result.candidates[*index].quality, margin) ? low : high) =
        budget;
    progress.at(SearchStage::Budgets, i + 1, bisections);
  }
  return llvm::Error::success();
}

std::vector<BlockFormat> Search::formatsOf(const FormatTable &table) const {
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

double Search::savingOf(size_t group, const FormatChoice &now,
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
std::vector<FormatStep> Search::narrowings() const {
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

/// Steps add noise: none can keep a safety margin where the best so far has
/// none.
llvm::Error Search::refine() {
  int left =
      judge.reaches(best().quality, SafetyMargin::Kept) ? refinements : 0;
  for (bool improved = true; improved && left > 0;) {
    improved = false;
    for (const FormatStep &step : narrowings()) {
      if (left == 0)
        break;
      std::vector<BlockFormat> formats = formatsOf(best().formats);
      formats[step.group] = step.format;
      size_t before = result.chosen;
      auto index =
          measure("one step from candidate " + std::to_string(result.chosen),
                  makeTable(best().formats, model.groups, formats));
      if (!index)
        return index.takeError();
      improved |= result.chosen != before;
      --left;
      progress.at(SearchStage::Steps, refinements - left, refinements);
    }
  }
  return llvm::Error::success();
}

/// Where the choice has more bytes than some uniform format needs: candidates
/// with weights as narrow as those of that format at most.
llvm::Error Search::saveBytes() {
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
llvm::Error Search::useReserve() {
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
llvm::Error Search::walk() {
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

/// The choice with activations that do not store the signs of tensors without
/// negative values, and what their smaller noise lets weights give up.
llvm::Error Search::tryUnsigned() {
  const FormatTable signless = withoutSigns(best().formats);
  auto index = measure("unsigned activations", signless);
  if (index)
    index = measure("unsigned activations, narrower weights",
                    withNarrowerWeights(signless, narrowestWeights()));
  return index.takeError();
}

llvm::Error Search::run() {
  progress.at(SearchStage::Uniform);
  if (llvm::Error error = sweepUniform())
    return error;
  progress.at(SearchStage::Blocks);
  if (llvm::Error error = chooseBlocks())
    return error;
  if (llvm::Error error = tryClasses())
    return error;
  progress.at(SearchStage::Cycles);
  auto modelled = measureNodes();
  if (!modelled)
    return modelled.takeError();
  if (!*modelled)
    return llvm::Error::success();
  if (llvm::Error error = measureGroups())
    return error;
  if (llvm::Error error = bisectBudget())
    return error;
  if (llvm::Error error = refine())
    return error;
  if (llvm::Error error = saveBytes())
    return error;
  if (llvm::Error error = useReserve())
    return error;
  return tryUnsigned();
}

} // namespace

llvm::Expected<SearchResult> searchFormats(const CompileOptions &compile,
                                           const SearchOptions &options,
                                           mlir::MLIRContext &context) {
  auto evaluator = Evaluator::create(compile, context);
  if (!evaluator)
    return evaluator.takeError();
  auto samples = readSamples(evaluator->folded(), options.calibration);
  if (!samples)
    return samples.takeError();
  const size_t given = samples->size();
  // Blends only matter for margins between classes.
  if (options.target.minAgreement)
    for (Sample &blend : blendSamples(*samples))
      samples->push_back(std::move(blend));
  auto exact = evaluator->reference(*samples);
  if (!exact)
    return exact.takeError();
  auto judge = QualityJudge::create(evaluator->folded(), options.target,
                                    std::move(*exact), given);
  if (!judge)
    return judge.takeError();
  SearchResult result;
  result.target = options.target;
  result.samples = given;
  Search search(*evaluator, *judge, std::move(*samples), options.showProgress,
                result);
  if (llvm::Error error = search.run())
    return error;
  return result;
}

} // namespace ashlar::pipelines
