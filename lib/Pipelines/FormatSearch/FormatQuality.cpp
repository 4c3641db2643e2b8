// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ratios, margins and what they say about inputs that were not measured. Only
// IEEE operations and the project's own logarithm: the choice of formats is the
// same on every host.

#include "FormatQuality.h"

#include "ashlar/Numerics/Function.h"
#include "ashlar/Support/Error.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

/// Classes next to the best one that can plausibly overtake it.
constexpr size_t competitors = 5;
/// Probabilities below are no candidates; keeps logarithms finite.
constexpr double leastProbability = 1e-30;
/// Of the disagreement that a target allows, the share that the estimate may
/// use up while a safety margin is kept.
constexpr double shareWithMargin = 0.5;
/// Inputs that change because they are unlike all samples in margin and noise
/// at once, per power of noise over power of logits.
constexpr double unlikeShare = 0.5;
/// Margins that vary by less than this share of their mean are those of easy
/// samples and say nothing about small ones.
constexpr double leastSpread = 0.1;
/// Percent of changes that even a target of 100 allows: estimates are never 0.
constexpr double leastAllowed = 0.02;
/// Safety margin of a mean ratio: standard errors, and decibels. The best of
/// many measured candidates is subject to selection bias, and samples may
/// resemble each other more than unseen inputs do.
constexpr double ratioErrors = 1, ratioMargin = 1.5;
/// Share of inputs whose margins follow the exponential distribution whatever
/// the samples show: eight samples never show the least margins.
constexpr double exponentialShare = 0.1;

double naturalLog(double x) {
  return numerics::applyWide(numerics::Function::Log, x);
}

/// base^(halves / 2) for small non-negative exponents, from exact operations.
double powerOfHalves(double base, int halves) {
  double result = halves % 2 ? std::sqrt(base) : 1;
  for (int i = 0; i < halves / 2; ++i)
    result *= base;
  return result;
}

double mean(llvm::ArrayRef<double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

/// Shape of the gamma distribution of margins, in halves, at least 2.
int shapeInHalves(llvm::ArrayRef<double> margins, double average) {
  if (margins.size() < 2)
    return 2;
  double squares = 0;
  for (double margin : margins)
    squares += (margin - average) * (margin - average);
  double variance = squares / static_cast<double>(margins.size() - 1);
  // Margins that are all zero, or not finite, have no shape.
  if (!(variance > leastSpread * leastSpread * average * average))
    return 2;
  // Half way between the fitted shape and 1, at most 2.
  double shape = 1 + 0.5 * (average * average / variance - 1);
  return static_cast<int>(std::clamp(std::floor(2 * shape), 2.0, 4.0));
}

/// Margin of the best class, deviation of its distance to another one, and
/// whether it stays the best.
struct Row {
  double margin = 0, noise = 0;
  /// Power of the errors of all classes over that of the logits, both without
  /// their means.
  double power = 0;
  bool same = false;
};

/// Variance of the difference of two logits whose errors are like those of all
/// classes. The few that matter say too little on their own: of many
/// candidates one is sure to have small errors just there.
double differenceNoise(llvm::ArrayRef<double> exact,
                       llvm::ArrayRef<double> found) {
  double sum = 0, squares = 0;
  for (auto [right, value] : llvm::zip(exact, found)) {
    double error = value - right;
    sum += error;
    squares += error * error;
  }
  auto count = static_cast<double>(exact.size());
  return 2 * std::max(squares - sum * sum / count, 0.0) / (count - 1);
}

Row judgeRow(llvm::ArrayRef<double> exact, llvm::ArrayRef<double> found) {
  std::vector<size_t> order(exact.size());
  std::iota(order.begin(), order.end(), size_t(0));
  size_t kept = std::min(exact.size(), competitors + 1);
  auto better = [&](size_t a, size_t b) {
    return exact[a] != exact[b] ? exact[a] > exact[b] : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<long>(kept),
                    order.end(), better);
  size_t best = order[0];
  Row row;
  row.margin = exact[best] - exact[order[1]];
  double squares = 0;
  for (size_t i = 1; i < kept; ++i) {
    double change =
        (found[order[i]] - exact[order[i]]) - (found[best] - exact[best]);
    squares += change * change;
  }
  double competing = squares / static_cast<double>(kept - 1);
  const double all = differenceNoise(exact, found);
  row.noise = std::sqrt(0.5 * (competing + all));
  const std::vector<double> origin(exact.size(), 0);
  row.power = all / std::max(differenceNoise(origin, exact), 1e-30);
  row.same = true;
  for (size_t i = 0; i < found.size() && row.same; ++i)
    row.same = i == best ||
               (found[best] != found[i] ? found[best] > found[i] : best < i);
  return row;
}

/// Row \p index of \p rows, as logits.
std::vector<double> rowOf(const HostTensor &tensor, int64_t rows, int64_t index,
                          bool logarithm) {
  uint64_t each = tensor.numElements() / static_cast<uint64_t>(rows);
  std::vector<double> values(each);
  for (uint64_t i = 0; i < each; ++i) {
    double value = tensor.asDouble(static_cast<uint64_t>(index) * each + i);
    values[i] =
        logarithm ? naturalLog(std::max(value, leastProbability)) : value;
  }
  return values;
}

/// True if `value` holds probabilities: a softmax, moved at most.
bool isProbability(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<nn::SoftmaxOp>(op))
      return true;
    if (!isa<nn::ReshapeOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

} // namespace

double decibels(double signal, double noise) {
  if (!(noise < HUGE_VAL))
    return -kMaxSnr;
  if (noise == 0)
    return kMaxSnr;
  if (signal == 0)
    return -kMaxSnr;
  constexpr double perNeper = 4.3429448190325182765; // 10 / ln 10
  double value = perNeper * (naturalLog(signal) - naturalLog(noise));
  return std::clamp(value, -kMaxSnr, kMaxSnr);
}

double expectedChanges(llvm::ArrayRef<double> margins,
                       llvm::ArrayRef<double> noise) {
  double average = mean(margins);
  int halves = shapeInHalves(margins, average);
  double sum = 0;
  for (double deviation : noise) {
    if (!(deviation < HUGE_VAL))
      return 1;
    if (deviation == 0)
      continue;
    if (!(average > 0))
      return 1;
    // Noise n of density exp(-|n| / b) / 2b overcomes a margin m with
    // probability exp(-m / b) / 2; over margins of a gamma distribution of mean
    // a and shape k that is (1 + a / (k b))^-k / 2.
    double ratio = average * std::sqrt(2.0) / deviation;
    double fitted = 0.5 / powerOfHalves(1 + ratio * 2 / halves, halves);
    double exponential = 0.5 / (1 + ratio);
    sum += exponentialShare * exponential + (1 - exponentialShare) * fitted;
  }
  return sum / static_cast<double>(noise.size());
}

llvm::Expected<QualityJudge> QualityJudge::create(ModuleOp module,
                                                  QualityTarget target,
                                                  std::vector<Sample> exact,
                                                  size_t samples) {
  QualityJudge judge;
  judge.target = target;
  judge.samples = samples;
  judge.exact = std::move(exact);
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto results = main.getBody().front().getTerminator()->getOperands();
  bool anyClasses = false;
  for (Value result : results) {
    auto shape = cast<RankedTensorType>(result.getType()).getShape();
    Output output;
    output.rows = shape.size() >= 2 ? std::max<int64_t>(shape[0], 1) : 1;
    int64_t elements =
        cast<RankedTensorType>(result.getType()).getNumElements();
    output.classes = elements / output.rows >= 2;
    output.logarithm = isProbability(result);
    anyClasses |= output.classes;
    judge.kinds.push_back(output);
  }
  if (target.minAgreement && !anyClasses)
    return makeError(ErrorClass::Unsupported, "{}",
                     "--min-agreement: no graph output has two or more "
                     "classes per sample, expected a classifier");
  return judge;
}

QualityJudge QualityJudge::ofSome(llvm::ArrayRef<size_t> numbers,
                                  size_t samples) const {
  QualityJudge judge;
  judge.target = target;
  judge.samples = samples;
  judge.kinds = kinds;
  for (size_t number : numbers)
    judge.exact.push_back(exact[number]);
  return judge;
}

void QualityJudge::judgeRatio(llvm::ArrayRef<Sample> outputs, size_t index,
                              Quality &quality) const {
  std::vector<double> ratios;
  double power = 0;
  for (auto [found, right] :
       llvm::zip(outputs, llvm::ArrayRef(exact).take_front(samples))) {
    double signal = 0, noise = 0;
    for (uint64_t i = 0, n = right[index].numElements(); i < n; ++i) {
      double value = right[index].asDouble(i);
      double error = found[index].asDouble(i) - value;
      signal += value * value;
      noise += error * error;
    }
    // A NaN is the worst noise.
    noise = noise >= 0 ? noise : HUGE_VAL;
    ratios.push_back(decibels(signal, noise));
    power += signal > 0 ? noise / signal : 0;
  }
  double average = mean(ratios), squares = 0;
  for (double ratio : ratios)
    squares += (ratio - average) * (ratio - average);
  if (index == 0 || average < quality.snr) {
    double n = static_cast<double>(ratios.size());
    quality.snr = average;
    quality.snrError = n > 1 ? std::sqrt(squares / (n * (n - 1))) : 0;
  }
  if (target.minSnr && !target.minAgreement)
    quality.noise =
        std::max(quality.noise, power / static_cast<double>(ratios.size()));
}

void QualityJudge::judgeClasses(llvm::ArrayRef<Sample> outputs, size_t index,
                                Quality &quality) const {
  const Output &kind = kinds[index];
  std::vector<double> margins, noise;
  double same = 0, power = 0, unlike = 0;
  for (auto [i, found, right] : llvm::enumerate(outputs, exact))
    for (int64_t r = 0; r < kind.rows; ++r) {
      Row row = judgeRow(rowOf(right[index], kind.rows, r, kind.logarithm),
                         rowOf(found[index], kind.rows, r, kind.logarithm));
      noise.push_back(row.noise >= 0 ? row.noise : HUGE_VAL);
      power += noise.back() * noise.back();
      if (i >= samples)
        continue;
      margins.push_back(row.margin);
      same += row.same;
      unlike += row.power >= 0 ? unlikeShare * row.power : 1;
    }
  const double count = static_cast<double>(margins.size());
  quality.counted = std::min(quality.counted, 100 * same / count);
  const double changes = expectedChanges(margins, noise) + unlike / count;
  quality.agreement =
      std::min(quality.agreement, 100 * (1 - std::min(changes, 1.0)));
  double average = mean(margins);
  if (target.minAgreement)
    quality.noise =
        std::max(quality.noise, power / static_cast<double>(noise.size()) /
                                    std::max(average * average, 1e-30));
}

Quality QualityJudge::judge(llvm::ArrayRef<Sample> outputs) const {
  Quality quality;
  for (size_t index = 0; index < kinds.size(); ++index) {
    judgeRatio(outputs, index, quality);
    if (kinds[index].classes)
      judgeClasses(outputs, index, quality);
  }
  return quality;
}

bool QualityJudge::reaches(const Quality &quality,
                           SafetyMargin safetyMargin) const {
  if (target.minSnr &&
      !(quality.snr - ratioErrors * quality.snrError - ratioMargin >=
        *target.minSnr))
    return false;
  if (!target.minAgreement)
    return true;
  const double share = safetyMargin == SafetyMargin::Kept ? shareWithMargin : 1;
  const double allowed =
      std::max(share * (100 - *target.minAgreement), leastAllowed);
  return 100 - quality.agreement <= allowed;
}

} // namespace ashlar::pipelines
