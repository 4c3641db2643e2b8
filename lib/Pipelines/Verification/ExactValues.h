// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a module computes without formats, and how far roundings that rewrites
// may change can move that.

#ifndef ASHLAR_LIB_PIPELINES_EXACTVALUES_H
#define ASHLAR_LIB_PIPELINES_EXACTVALUES_H

#include "PlanEvaluation.h"

namespace ashlar::pipelines {

/// Values of a module for one sample, by SSA value.
///
/// A rewrite that folds constants rounds them to binary32 once. Where a sum
/// cancels, that moves the result by much more than 2^-24 of itself, although
/// the rewrite is right. So does a product that reads a float16 before its
/// rounding, because its blocks round it anyway. The movement is measured: the
/// module is computed again with each constant and each number of a narrower
/// type one rounding away from itself, in directions that are drawn from a
/// fixed seed.
class ExactValues {
public:
  /// \p inputs are in argument order, fit, and outlive the object.
  static llvm::Expected<ExactValues>
  compute(mlir::ModuleOp module, llvm::ArrayRef<support::HostTensor> inputs);

  mlir::ModuleOp module() const { return owner; }
  const Tensor &operator[](mlir::Value value) const {
    return values.find(value)->second;
  }
  const ValueMap &all() const { return values; }

  /// Measures the movement of all values, once; takes several evaluations.
  llvm::Error measureMovement();
  /// Largest movement of an element of \p value; 0 before it is measured.
  double movementOf(mlir::Value value) const { return moved.lookup(value); }

private:
  ExactValues(mlir::ModuleOp module, llvm::ArrayRef<support::HostTensor> inputs,
              ValueMap values)
      : owner(module), inputs(inputs), values(std::move(values)) {}

  mlir::ModuleOp owner;
  llvm::ArrayRef<support::HostTensor> inputs;
  ValueMap values;
  llvm::DenseMap<mlir::Value, double> moved;
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_EXACTVALUES_H
