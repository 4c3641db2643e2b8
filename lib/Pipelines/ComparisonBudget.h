// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the comparison of whole programs may take: docs/decisions/frontend/
// 2026-11-24-comparison-budget.md has the alternatives.

#ifndef ASHLAR_LIB_PIPELINES_COMPARISONBUDGET_H
#define ASHLAR_LIB_PIPELINES_COMPARISONBUDGET_H

#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::pipelines {

/// Work of all programs that one compilation makes to choose between them,
/// counted in their instructions, so that the choice depends on no clock. A
/// program that has to be made is counted and never refused; others are made
/// while there is room for them.
class ComparisonBudget {
public:
  /// What takes as long as an instruction: bytes of constants that are encoded,
  /// multiplications of a run on samples.
  static constexpr uint64_t kBytes = 512;
  static constexpr uint64_t kMultiplications = uint64_t(1) << 15;

  /// \p work: CompileOptions::comparedWork.
  explicit ComparisonBudget(uint64_t work) : total(work) {}

  /// True if a program as large as the last one may still be made. Otherwise
  /// \p what is known not to be compared.
  bool allows(llvm::StringRef what);

  /// The same of a second form of the last program alone, whatever was made
  /// before: what a phase file continues with decides alike.
  bool allowsAgain(llvm::StringRef what);

  /// Instructions that a further program may have beside what else the last
  /// one took.
  uint64_t mostInstructions() const { return leftOf(spent); }
  uint64_t mostAgain() const { return leftOf(last + beside); }

  /// A program was made.
  void addProgram(uint64_t instructions, uint64_t constantBytes);
  /// The program that was made last was run on samples.
  void addRun(uint64_t multiplications);

  /// A program was given up beyond mostInstructions() or mostAgain().
  void giveUp() { gaveUp = true; }
  /// After a program that failed: true if it was given up, so that \p what is
  /// known not to be compared.
  bool wasGivenUp(llvm::StringRef what);

  /// \p what is not compared.
  void note(llvm::StringRef what);

  /// What was not compared and why, a decision for reports; null if nothing.
  records::DecisionAttr decision(mlir::MLIRContext &context) const;

private:
  uint64_t leftOf(uint64_t taken) const {
    return total - std::min(total, taken + beside);
  }

  uint64_t total, spent = 0;
  /// The last program: instructions, and what else it took in their measure.
  uint64_t last = 0, beside = 0;
  bool gaveUp = false;
  std::vector<std::string> omitted;
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_COMPARISONBUDGET_H
