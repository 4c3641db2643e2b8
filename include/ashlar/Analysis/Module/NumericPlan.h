// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numeric plan as text: what an independent reference needs to recompute
// every tensor (docs/NumericPlan.md). Input: a module after the quantise phase
// (`ashlar-bfp-verify-plan` has passed). Output depends on the module alone.

#ifndef ASHLAR_ANALYSIS_MODULE_NUMERICPLAN_H
#define ASHLAR_ANALYSIS_MODULE_NUMERICPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>

namespace ashlar::analysis {

/// Unique names of the planned tensors. Arguments and returned values keep
/// their ONNX names. Any other value is named after its node, with a suffix for
/// its form ('.bfp', '.f32') and, if a node has several values, a number in
/// program order.
class PlanNames {
public:
  explicit PlanNames(mlir::func::FuncOp function);

  /// The name of a planned value; empty for a value that is not a tensor of the
  /// plan: a constant that is only read encoded, and values of other functions.
  llvm::StringRef getName(mlir::Value value) const;

  /// A file name for the value's data, without extension: the name with
  /// characters outside [A-Za-z0-9._-] replaced, unique within the plan.
  llvm::StringRef getFileStem(mlir::Value value) const;

private:
  void assign(mlir::Value value, llvm::StringRef wanted);

  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseMap<mlir::Value, std::string> stems;
  llvm::StringMap<unsigned> usedNames; ///< to the next number to try
  llvm::StringMap<unsigned> usedStems;
};

/// True if `value` is a constant of the plan: a constant that an operation
/// reads unencoded, or the encoding of a constant.
bool isPlanConstant(mlir::Value value);

/// The plan of `module` as JSON text; empty if it has no function `main`.
std::string buildNumericPlanJson(mlir::ModuleOp module);

/// Writes plan.json and, for every constant of the plan, FILE.npy with its
/// values before any encode (binary16 and bfloat16 widened to binary32,
/// exactly) into `directory`, which is created. Fails if a file cannot be
/// written.
llvm::Error dumpPlan(mlir::ModuleOp module, llvm::StringRef directory);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_MODULE_NUMERICPLAN_H
