// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What pruning costs in accuracy on given inputs: outputs of the pruned model
// against those of the model as it is, both in binary64.

#ifndef ASHLAR_LIB_PIPELINES_PRUNING_PRUNESTUDY_H
#define ASHLAR_LIB_PIPELINES_PRUNING_PRUNESTUDY_H

#include "../FormatSearch/FormatQuality.h"
#include "ashlar/Frontend/Onnx/Prune.h"

namespace ashlar::pipelines {

/// Densities that are tried, densest first. The first one keeps all weights.
inline constexpr double kPruneDensities[] = {1,    0.7,  0.5, 0.35,
                                             0.25, 0.15, 0.1, 0.05};

/// One model and its samples.
class PruneStudy {
public:
  /// Reads model and samples and computes the outputs to compare with.
  /// Unsupported for models without weights to prune and, if classes are
  /// \p wanted, for outputs without classes.
  static llvm::Expected<PruneStudy>
  create(llvm::StringRef model, const frontend::PruneOptions &options,
         const SampleArchive &samples, bool wanted, mlir::MLIRContext &context);

  /// Tensors that are pruned, in the order of the model.
  llvm::ArrayRef<frontend::PrunedTensor> tensors() const { return pruned; }

  /// With a density for each tensor.
  llvm::Expected<Quality> measure(llvm::ArrayRef<double> densities) const;

  /// Densities with which at least \p target percent of the best classes stay,
  /// both expected and counted. Tensors are taken from the one with most
  /// weights on; each may use the share of the allowed changes that its weights
  /// have of all, and what those before it have left. \p done is told of each
  /// tensor.
  llvm::Expected<std::vector<double>>
  search(double target,
         llvm::function_ref<void(size_t, double, const Quality &)> done) const;

private:
  PruneStudy(std::string model, frontend::PruneOptions options,
             mlir::MLIRContext &context)
      : model(std::move(model)), options(std::move(options)),
        context(&context) {}

  llvm::Expected<std::optional<std::pair<double, Quality>>>
  sparsest(std::vector<double> densities, size_t tensor, double target) const;

  std::string model;
  frontend::PruneOptions options;
  mlir::MLIRContext *context;
  std::vector<Sample> samples;
  std::vector<frontend::PrunedTensor> pruned;
  std::optional<QualityJudge> judge;
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_PRUNING_PRUNESTUDY_H
