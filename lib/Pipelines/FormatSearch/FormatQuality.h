// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How good formats are, from outputs on few samples: signal-to-noise ratio, and
// an estimate of how often the best class stays the same on inputs that nothing
// has seen. Counting agreement on eight samples tells nothing about 98 %; the
// noise that formats add to logits, against the margins between the best
// classes, does.

#ifndef ASHLAR_LIB_PIPELINES_FORMATQUALITY_H
#define ASHLAR_LIB_PIPELINES_FORMATQUALITY_H

#include "../Samples/Evaluate.h"

#include <optional>

namespace ashlar::pipelines {

/// What the user wants kept.
struct QualityTarget {
  std::optional<double> minSnr;       ///< dB, mean over samples.
  std::optional<double> minAgreement; ///< Percent of equal best classes.
};

/// Largest signal-to-noise ratio that is told apart from no noise, in dB.
inline constexpr double kMaxSnr = 200;

/// What formats keep.
struct Quality {
  /// Mean over the samples of the graph outputs' signal-to-noise ratio in dB,
  /// least over the outputs; and its standard error.
  double snr = 0, snrError = 0;
  /// Percent of equal best classes: expected on unseen inputs, counted on the
  /// samples. 100 for graphs without classes. Least over the outputs.
  double agreement = 100, counted = 100;
  /// Noise that the target judges, as a power ratio; for comparing formats.
  double noise = 0;
};

/// Ratio in decibels of powers, [-kMaxSnr, kMaxSnr]; no host math library.
double decibels(double signal, double noise);

/// Expected share (0..1) of inputs whose best class changes. \p margins are
/// distances from the best to the second best logit, \p noise deviations of
/// that distance, both per sample. Margins of unseen inputs are taken to follow
/// a gamma distribution whose shape is fitted and shrunk towards the
/// exponential one, with a tenth exponential; noise is Laplacian. Every margin
/// meets the noise of every sample.
double expectedChanges(llvm::ArrayRef<double> margins,
                       llvm::ArrayRef<double> noise);

/// Whether a safety margin of the disagreement that a target allows is kept.
/// Samples are few, and choosing the best of many measured candidates has a
/// selection bias.
enum class SafetyMargin { Kept, Used };

/// Judges outputs against exact ones.
class QualityJudge {
public:
  /// \p module says which outputs are probabilities: their classes are judged
  /// as logits. Of \p exact the first \p samples are outputs of samples, the
  /// rest those of blends (BlendSamples.h), which only show what noise inputs
  /// between classes meet. Unsupported if \p target wants agreement and no
  /// output has classes.
  static llvm::Expected<QualityJudge> create(mlir::ModuleOp module,
                                             QualityTarget target,
                                             std::vector<Sample> exact,
                                             size_t samples);

  /// The same judge for some of its samples: \p numbers of exact outputs, of
  /// which the first \p samples are those of samples.
  QualityJudge ofSome(llvm::ArrayRef<size_t> numbers, size_t samples) const;

  size_t numSamples() const { return samples; }
  size_t numExact() const { return exact.size(); }

  /// \p outputs are in the order of the exact ones.
  Quality judge(llvm::ArrayRef<Sample> outputs) const;

  /// True if \p quality is expected to keep the target on unseen inputs.
  bool reaches(const Quality &quality, SafetyMargin safetyMargin) const;

private:
  /// One graph output.
  struct Output {
    bool classes = false;   ///< At least two elements per row.
    bool logarithm = false; ///< Probabilities.
    int64_t rows = 1;       ///< Axis 0 of a batch.
  };
  void judgeRatio(llvm::ArrayRef<Sample> outputs, size_t index,
                  Quality &quality) const;
  void judgeClasses(llvm::ArrayRef<Sample> outputs, size_t index,
                    Quality &quality) const;

  QualityTarget target;
  std::vector<Sample> exact;
  size_t samples = 0;
  std::vector<Output> kinds;
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_FORMATQUALITY_H
