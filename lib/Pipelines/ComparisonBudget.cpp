// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ComparisonBudget.h"

#include "dialects/Ashlar/Decision.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ashlar::pipelines {

void ComparisonBudget::note(llvm::StringRef what) {
  if (!llvm::is_contained(omitted, what))
    omitted.push_back(what.str());
}

bool ComparisonBudget::allows(llvm::StringRef what) {
  if (spent < total && last <= mostInstructions())
    return true;
  note(what);
  return false;
}

bool ComparisonBudget::allowsAgain(llvm::StringRef what) {
  if (last <= mostAgain())
    return true;
  note(what);
  return false;
}

void ComparisonBudget::addProgram(uint64_t instructions,
                                  uint64_t constantBytes) {
  last = instructions;
  beside = constantBytes / kBytes;
  spent += last + beside;
}

void ComparisonBudget::addRun(uint64_t multiplications) {
  beside += multiplications / kMultiplications;
  spent += multiplications / kMultiplications;
}

bool ComparisonBudget::wasGivenUp(llvm::StringRef what) {
  if (!gaveUp)
    return false;
  gaveUp = false;
  note(what);
  return true;
}

records::DecisionAttr ComparisonBudget::decision(MLIRContext &context) const {
  if (omitted.empty() || total == 0)
    return {};
  const std::string reason =
      llvm::formatv("whole programs would decide, but the next is predicted to "
                    "exceed the work of {0} instructions that comparisons may "
                    "take in all; not compared: {1}",
                    total, llvm::join(omitted, ", "));
  return records::Decision(&context, "predicted", reason).get();
}

} // namespace ashlar::pipelines
