// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --format=auto: the cheapest formats, chosen per layer, that keep an accuracy
// the user names. Every candidate is compiled, run on the calibration samples
// and counted as a whole; estimates only say what to try. The result takes
// never more cycles nor bytes than the uniform format with the fewest cycles
// that keeps the accuracy, nor more bytes than the one with the fewest bytes
// where such a choice was found. The same inputs give the same choice for any
// number of threads.

#ifndef ASHLAR_LIB_PIPELINES_FORMATSEARCH_H
#define ASHLAR_LIB_PIPELINES_FORMATSEARCH_H

#include "../Samples/SampleArchive.h"
#include "FormatQuality.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace ashlar::pipelines {

/// What --format=auto needs to know.
struct SearchOptions {
  QualityTarget target;
  SampleArchive calibration; ///< Samples by ONNX input name.
  bool showProgress = true;  ///< On a terminal, after a second.
};

/// One table of formats, measured end to end.
struct Candidate {
  std::string label; ///< How the search came to it: "uniform w=8,...", ...
  numerics::FormatTable formats;
  /// Of the program with all engines; known if `counted`.
  uint64_t cycles = 0, weightBytes = 0;
  bool counted = false;
  Quality quality;
  bool reaches = false; ///< Keeps the target.
  std::string failure;  ///< Why it does not compile; empty if it does.
};

/// Everything that was tried, in order, and what was chosen.
struct SearchResult {
  QualityTarget target;
  size_t samples = 0;
  std::vector<Candidate> candidates;
  size_t uniform = 0; ///< The cheapest uniform format that keeps the target.
  size_t chosen = 0;

  const numerics::FormatTable &formats() const {
    return candidates[chosen].formats;
  }
};

/// Searches formats for the model of `compile`. Usage errors: no target, no
/// calibration file; Malformed: a calibration file that does not fit;
/// Unsupported: a target that no format reaches, naming the best one found.
llvm::Expected<SearchResult> searchFormats(const CompileOptions &compile,
                                           const SearchOptions &options,
                                           mlir::MLIRContext &context);

/// The error of a target that no candidate reaches: names the best one found.
llvm::Error nothingReaches(const SearchResult &result);

/// The search as it stands in the compile report (docs/ReportSchema.md).
llvm::json::Value toJson(const SearchResult &result);

/// The candidates as a table for --explain.
std::string describe(const SearchResult &result);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_FORMATSEARCH_H
