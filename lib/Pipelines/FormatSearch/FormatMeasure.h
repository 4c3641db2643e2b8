// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Candidates of a search for formats, measured end to end. Outputs are computed
// for the array alone and share what they have in common with those of earlier
// candidates; cycles are only counted where they can matter, and are remembered
// by table.

#ifndef ASHLAR_LIB_PIPELINES_FORMATMEASURE_H
#define ASHLAR_LIB_PIPELINES_FORMATMEASURE_H

#include "../Samples/SharedOutputs.h"
#include "FormatSearch.h"

#include <map>

namespace ashlar::pipelines {

/// Text that tells tables apart.
std::string keyOf(const numerics::FormatTable &formats);

/// True for an error that makes a candidate fail instead of the search: the
/// network does not compile under its formats.
bool isRefusal(const llvm::Error &error);

/// Measures one model. References outlive it.
class FormatMeasurer {
public:
  FormatMeasurer(const Evaluator &evaluator, const QualityJudge &judge,
                 llvm::ArrayRef<Sample> samples)
      : evaluator(evaluator), judge(judge), samples(samples),
        outputs(evaluator, samples) {}

  /// Quality of \p formats; cycles and bytes if they were counted before.
  llvm::Expected<Candidate> measure(std::string label,
                                    numerics::FormatTable formats);

  /// Cycles and bytes of a candidate that keeps the target. One that does not
  /// compile with all engines does not keep it.
  llvm::Error count(Candidate &candidate);

  /// Quality alone; of formats that do not compile it is the worst.
  llvm::Expected<Quality> qualityOf(const numerics::FormatTable &formats);

  /// Counts with all engines, some tables at a time.
  llvm::Error countAhead(llvm::ArrayRef<numerics::FormatTable> tables);

  /// Cycles by node of a table that `countAhead` was asked for; null if it does
  /// not compile.
  const llvm::StringMap<uint64_t> *
  nodeCycles(const numerics::FormatTable &formats) const;

  /// Quality::noise of several tables, measured on few samples: enough to
  /// compare groups, whose noises are means over all classes. `done` as in
  /// SharedOutputs::ofAll.
  llvm::Expected<std::vector<double>>
  noises(llvm::ArrayRef<numerics::FormatTable> tables,
         llvm::function_ref<void(size_t)> done) const;

private:
  void addCount(Candidate &candidate) const;

  /// A program with all engines; `failure` if it does not compile.
  struct Count {
    uint64_t cycles = 0, weightBytes = 0;
    llvm::StringMap<uint64_t> nodeCycles;
    std::string failure;
  };

  const Evaluator &evaluator;
  const QualityJudge &judge;
  llvm::ArrayRef<Sample> samples;
  SharedOutputs outputs;
  std::map<std::string, Count> counts; ///< By text of the table.
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_FORMATMEASURE_H
