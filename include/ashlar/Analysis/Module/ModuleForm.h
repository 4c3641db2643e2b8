// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The module structure that all passes assume (nn_c1): one function `main` with
// one block, whose arguments and results have names and storage types. Modules
// read from files are checked for it first.

#ifndef ASHLAR_ANALYSIS_MODULE_MODULEFORM_H
#define ASHLAR_ANALYSIS_MODULE_MODULEFORM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace ashlar::analysis {

/// The function `main` if it has a body of one block, else null.
mlir::func::FuncOp mainOf(mlir::ModuleOp module);

/// Emits an error unless `main` is the only function, its body is one block,
/// and each of its arguments and results has a storage type and an `nn.name`.
mlir::LogicalResult verifyForm(mlir::ModuleOp module);

/// The results of `main` that only state the extent of another result
/// (nn::extentAttr) or the position of kept rows.
llvm::DenseSet<unsigned> extentsOf(mlir::func::FuncOp main);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_MODULE_MODULEFORM_H
