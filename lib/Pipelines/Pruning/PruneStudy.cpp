// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measurements are runs of the interpreter on a pruned import. Each has a
// context of its own: what it leaves there goes with it.

#include "PruneStudy.h"

#include "mlir/IR/MLIRContext.h"

#include <algorithm>
#include <numeric>

using namespace ashlar;
using namespace ashlar::pipelines;

llvm::Expected<PruneStudy>
PruneStudy::create(llvm::StringRef model, const frontend::PruneOptions &options,
                   const SampleArchive &samples, bool wanted,
                   mlir::MLIRContext &context) {
  PruneStudy study(model.str(), options, context);
  frontend::PruneOptions whole;
  auto module = frontend::importPruned(model, frontend::ImportOptions(), whole,
                                       &context, &study.pruned);
  if (!module)
    return module.takeError();
  auto read = readSamples(**module, samples);
  if (!read)
    return read.takeError();
  study.samples = std::move(*read);
  auto exact = evaluateExactly(**module, study.samples, 0);
  if (!exact)
    return exact.takeError();
  QualityTarget target;
  if (wanted)
    target.minAgreement = 100;
  const size_t count = exact->size();
  auto judge = QualityJudge::create(**module, target, std::move(*exact), count);
  if (!judge)
    return judge.takeError();
  study.judge.emplace(std::move(*judge));
  return study;
}

llvm::Expected<Quality>
PruneStudy::measure(llvm::ArrayRef<double> densities) const {
  frontend::PruneOptions own = options;
  own.densities = densities.vec();
  mlir::MLIRContext fresh(context->getDialectRegistry(),
                          mlir::MLIRContext::Threading::DISABLED);
  auto module =
      frontend::importPruned(model, frontend::ImportOptions(), own, &fresh);
  if (!module)
    return module.takeError();
  auto outputs = evaluateExactly(**module, samples, 0);
  if (!outputs)
    return outputs.takeError();
  return judge->judge(*outputs);
}

/// The lowest density of one tensor that keeps the target, found by halving the
/// list: what a lower density keeps, a higher one is taken to keep as well.
llvm::Expected<std::optional<std::pair<double, Quality>>>
PruneStudy::sparsest(std::vector<double> densities, size_t tensor,
                     double target) const {
  std::optional<std::pair<double, Quality>> best;
  size_t low = 1, high = std::size(kPruneDensities);
  while (low < high) {
    const size_t middle = (low + high) / 2;
    densities[tensor] = kPruneDensities[middle];
    auto quality = measure(densities);
    if (!quality)
      return quality.takeError();
    if (std::min(quality->agreement, quality->counted) < target) {
      high = middle;
      continue;
    }
    best.emplace(kPruneDensities[middle], *quality);
    low = middle + 1;
  }
  return best;
}

llvm::Expected<std::vector<double>> PruneStudy::search(
    double target,
    llvm::function_ref<void(size_t, double, const Quality &)> done) const {
  std::vector<size_t> order(pruned.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-pruned[a].weights, a) < std::pair(-pruned[b].weights, b);
  });
  double all = 0, seen = 0;
  for (const frontend::PrunedTensor &tensor : pruned)
    all += static_cast<double>(tensor.weights);
  std::vector<double> densities(pruned.size(), 1.0);
  Quality quality;
  for (size_t tensor : order) {
    seen += static_cast<double>(pruned[tensor].weights);
    const double allowed = (100 - target) * std::min(seen / all, 1.0);
    auto best = sparsest(densities, tensor, 100 - allowed);
    if (!best)
      return best.takeError();
    if (*best)
      std::tie(densities[tensor], quality) = **best;
    done(tensor, densities[tensor], quality);
  }
  return densities;
}
