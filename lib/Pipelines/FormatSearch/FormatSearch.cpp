// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search: the cheapest uniform format that keeps the target; block lengths
// and ranges that cost nothing; formats by class of operand; then formats per
// group (GroupSearch.cpp).

#include "FormatSearch.h"

#include "BlendSamples.h"
#include "SearchSteps.h"
#include "ashlar/Support/Error.h"

#include <algorithm>
#include <cmath>

namespace ashlar::pipelines {

using numerics::BlockFormat;
using numerics::FormatTable;

namespace {

/// Formats whose noise differs by less are taken for equally good.
constexpr double noiseTolerance = 2;
/// A candidate without a safety margin may have this share of the cycles of the
/// best one with a margin: risks are taken for cycles only.
constexpr double worthTheMargin = 0.95;
/// All bytes of weights cost as much as this share of all cycles.
constexpr double bytesToCycles = 0.25;

} // namespace

/// A candidate whose cycles are counted, and which may become the choice, only
/// once `count` is asked for.
llvm::Expected<size_t> FormatSearch::judgeQuality(std::string label,
                                                  FormatTable formats) {
  auto [entry, isNew] =
      known.try_emplace(keyOf(formats), result.candidates.size());
  if (!isNew)
    return entry->second;
  auto candidate = measurer.measure(std::move(label), std::move(formats));
  if (!candidate)
    return candidate.takeError();
  size_t index = result.candidates.size();
  result.candidates.push_back(std::move(*candidate));
  return index;
}

/// Counts a candidate if it keeps the target, and takes it if it is the best.
llvm::Error FormatSearch::count(size_t index) {
  Candidate &candidate = result.candidates[index];
  if (!candidate.reaches)
    return llvm::Error::success();
  if (!candidate.counted)
    if (llvm::Error error = measurer.count(candidate))
      return error;
  compare(index);
  return llvm::Error::success();
}

llvm::Expected<size_t> FormatSearch::measure(std::string label,
                                             FormatTable formats) {
  auto index = judgeQuality(std::move(label), std::move(formats));
  if (!index)
    return index.takeError();
  if (llvm::Error error = count(*index))
    return error;
  return *index;
}

/// Takes a candidate as the choice if it is the best so far.
void FormatSearch::compare(size_t index) {
  const Candidate &now = result.candidates[index];
  if (!haveUniform || !now.reaches || !judge.reaches(now.quality, margin) ||
      now.cycles > uniform().cycles ||
      now.weightBytes > uniform().weightBytes ||
      (isLean(now) == isLean(best()) ? !isBetter(now, best()) : !isLean(now)))
    return;
  const double limit = margin == SafetyMargin::Used ? worthTheMargin : 1;
  if (static_cast<double>(now.cycles) <= limit * cyclesWithMargin)
    result.chosen = index;
}

/// Cheaper, or as cheap with less noise.
bool FormatSearch::isBetter(const Candidate &a, const Candidate &b) const {
  double costA = costOf(a), costB = costOf(b);
  return costA != costB ? costA < costB : a.quality.noise < b.quality.noise;
}

/// Relative to the cheapest uniform format.
double FormatSearch::costOf(const Candidate &candidate) const {
  return static_cast<double>(candidate.cycles) * model.perCycle +
         static_cast<double>(candidate.weightBytes) * model.perByte;
}

llvm::Error FormatSearch::sweepUniform() {
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
llvm::Error FormatSearch::chooseBlocks() {
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
llvm::Error FormatSearch::tryClasses() {
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

/// The choice with activations that do not store the signs of tensors without
/// negative values, and what their smaller noise lets weights give up.
llvm::Error FormatSearch::tryUnsigned() {
  const FormatTable signless = withoutSigns(best().formats);
  auto index = measure("unsigned activations", signless);
  if (index)
    index = measure("unsigned activations, narrower weights",
                    withNarrowerWeights(signless, narrowestWeights()));
  return index.takeError();
}

llvm::Error FormatSearch::run() {
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
  FormatSearch search(*evaluator, *judge, *samples, options.showProgress,
                      result);
  if (llvm::Error error = search.run())
    return error;
  return result;
}

} // namespace ashlar::pipelines
