// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the models of ai.onnx.ml have in common: rows of features, and scores
// that become classes.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_RULES_ML_SCORES_H
#define ASHLAR_LIB_FRONTEND_ONNX_RULES_ML_SCORES_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

constexpr const char *mlDomain = "ai.onnx.ml";

/// The features [N, C] as floats; a vector is one row. Float64 stays.
Value featuresOf(Node &n, bool keepDouble = false);

/// The scores [N, E] after `post_transform`; records an error for those that
/// ONNX does not define for so many scores.
Value transformScores(Node &n, Value scores);

/// Numbers of the classes of a classifier.
struct ClassLabels {
  SmallVector<int64_t> numbers;
  size_t count = 0;
  bool strings = false; ///< Only the scores can be computed then.
};

/// Reads `integers` and classlabels_strings; records an error unless there is
/// one list.
ClassLabels readClassLabels(Node &n, StringRef integers);

/// Output 0: the label of the largest score of each row [N, E].
void setLargestLabel(Node &n, const ClassLabels &labels, Value scores);

/// Output 0: the second label where `positive` [N, 1], else the first.
void setBinaryLabel(Node &n, const ClassLabels &labels, Value positive);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_RULES_ML_SCORES_H
