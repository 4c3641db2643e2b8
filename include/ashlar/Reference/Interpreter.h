// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interpreter of `nn` modules: the meaning of the dialect in host arithmetic,
// for checking, calibration and constant folding. It is not a model of the
// machine: formats and engines are the emulator's subject.

#ifndef ASHLAR_REFERENCE_INTERPRETER_H
#define ASHLAR_REFERENCE_INTERPRETER_H

#include "ashlar/Reference/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <vector>

namespace ashlar::reference {

/// What happens to the result of each operation. Inside one operation floats
/// are always binary64 and sums run in index order.
enum class Precision {
  /// Each result is rounded once to its declared type.
  Binary32,
  /// Float results stay binary64 whatever type is declared; constants and
  /// inputs keep their exact values.
  Binary64,
};

struct Options {
  Precision precision = Precision::Binary32;
  /// Called for every value as it is computed (arguments and constants too).
  std::function<void(mlir::Value, const Tensor &)> observer;
};

/// Evaluates one operation of the `nn` dialect on host tensors and rounds the
/// result to its declared type. Unsupported for operations of other dialects
/// and types without a host form.
llvm::Expected<Tensor> evaluateOp(mlir::Operation *op,
                                  llvm::ArrayRef<const Tensor *> operands,
                                  Precision precision = Precision::Binary32);

/// Runs `main` of `module`. Inputs are in argument order and must have the
/// declared shapes and types (usage error otherwise). Results are in the
/// declared types; with Binary64, float results come back as f64.
llvm::Expected<std::vector<support::HostTensor>>
evaluate(mlir::ModuleOp module, llvm::ArrayRef<support::HostTensor> inputs,
         const Options &options = {});

} // namespace ashlar::reference

#endif // ASHLAR_REFERENCE_INTERPRETER_H
