// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One operation of the numeric plan as JSON pieces. Private to the plan writer.

#ifndef ASHLAR_LIB_ANALYSIS_MODULE_PLANOPS_H
#define ASHLAR_LIB_ANALYSIS_MODULE_PLANOPS_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace ashlar::analysis {

/// Kind, operand names and parameters of an op as docs/NumericPlan.md lists
/// them.
struct PlanOp {
  std::string kind;
  /// Role of each operand, in operand order.
  llvm::SmallVector<std::string> roles;
  llvm::json::Object attrs;
  /// Name, alpha and beta, for kinds that apply a function.
  std::optional<llvm::json::Object> function;
};

/// `value` as a JSON number, or as "inf", "-inf" or "nan", which JSON's numbers
/// cannot say.
llvm::json::Value numberToJson(double value);

/// The plan's view of `op`; a kind equal to the op's full name and no
/// parameters for an op that the plan does not know.
PlanOp describeOperation(mlir::Operation *op);

} // namespace ashlar::analysis

#endif // ASHLAR_LIB_ANALYSIS_MODULE_PLANOPS_H
