// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decisions of a program, in the order of reports.

#ifndef ASHLAR_LIB_PIPELINES_DECISIONLIST_H
#define ASHLAR_LIB_PIPELINES_DECISIONLIST_H

#include "MeasureClusters.h"
#include "dialects/Ashlar/AshlarDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace ashlar::pipelines {

/// Decisions that passes left as attributes. They stay attributes until the
/// program is the one that is kept: hundreds are compiled to be compared, and
/// nobody reads the decisions of most.
class DecisionList {
public:
  /// Those of the operations of a module, with the placement of each.
  static DecisionList ofNodes(mlir::ModuleOp module);
  /// Those about the whole program that a module carries.
  static DecisionList ofProgram(mlir::ModuleOp module);

  void append(DecisionList other);
  /// Appends a decision about the whole program, if it is not null.
  void add(records::DecisionAttr ofProgram);
  /// Those about the whole program become those of `other`.
  void takeProgramOf(const DecisionList &other);
  /// Puts the outcome of a comparison in the place of a reason.
  void replaceReason(llvm::StringRef placeholder, llvm::StringRef reason);
  /// Adds what the network and its nodes take to the decisions that say how
  /// many cycles they save, as choose-cluster and describe-clusters do.
  void addMeasured(const MeasuredCycles &measured);

  /// A JSON array (docs/ReportSchema.md).
  std::string toJson() const;

private:
  struct Entry {
    std::string node;
    records::DecisionAttr decision;
  };
  std::vector<Entry> entries;
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_DECISIONLIST_H
