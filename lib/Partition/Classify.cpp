// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both counting rules leave maps undecided (ties; between the middle and the
// threshold): there the predicted cycles decide, as they always do by default.

#include "ashlar/Partition/Classify.h"

#include "ashlar/Support/Error.h"

#include <optional>

namespace ashlar::partition {

static std::optional<Route> byCount(const Evidence &evidence, Rule rule,
                                    unsigned sharePerMille) {
  uint64_t zeros = evidence.zeros, all = zeros + evidence.nonZeros;
  if (rule == Rule::Majority && zeros != evidence.nonZeros)
    return zeros > evidence.nonZeros ? Route::Sparse : Route::Dense;
  if (rule == Rule::Threshold) {
    if (all && zeros * 1000 >= all * sharePerMille)
      return Route::Sparse;
    if (zeros < evidence.nonZeros)
      return Route::Dense;
  }
  return std::nullopt;
}

llvm::Expected<Route> classify(const Evidence &evidence, Rule rule,
                               unsigned sharePerMille) {
  if (!evidence.denseRuns && !evidence.sparseRuns) {
    if (evidence.vectorRuns)
      return Route::Vector;
    return makeError(ErrorClass::Unsupported,
                     "no engine of the machine runs this operation");
  }
  if (!evidence.denseRuns)
    return Route::Sparse;
  if (!evidence.sparseRuns)
    return Route::Dense;
  if (std::optional<Route> route = byCount(evidence, rule, sharePerMille))
    return *route;
  if (evidence.denseCycles == 0 || evidence.sparseCycles == 0)
    return Route::Sparse;
  return evidence.sparseCycles < evidence.denseCycles ? Route::Sparse
                                                      : Route::Dense;
}

llvm::StringRef name(Route route) {
  switch (route) {
  case Route::Dense:
    return "dense";
  case Route::Sparse:
    return "sparse";
  case Route::Vector:
    return "vector";
  }
  llvm_unreachable("unknown route");
}

llvm::Expected<Rule> parseRule(llvm::StringRef text) {
  if (text == "majority")
    return Rule::Majority;
  if (text == "threshold")
    return Rule::Threshold;
  if (text == "cost")
    return Rule::Cost;
  return makeError(ErrorClass::Usage,
                   "rule '{}', expected cost, majority or threshold",
                   text.str());
}

} // namespace ashlar::partition
