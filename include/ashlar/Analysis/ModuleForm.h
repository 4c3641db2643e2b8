// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame that passes take for granted (nn_c1): one function `main` of one
// block whose arguments and results have names and a storage. A module from a
// file may be anything that parses.

#ifndef ASHLAR_ANALYSIS_MODULEFORM_H
#define ASHLAR_ANALYSIS_MODULEFORM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace ashlar::analysis {

/// The function `main` if it has a body of one block, else null.
mlir::func::FuncOp mainOf(mlir::ModuleOp module);

/// Emits an error unless `main` is the only function and has a body of one
/// block, and every argument and result of it a storage and a `nn.name`.
mlir::LogicalResult verifyForm(mlir::ModuleOp module);

/// The results of `main` that are nothing but the extent of another one
/// (nn::extentAttr) or the position of kept rows.
llvm::DenseSet<unsigned> extentsOf(mlir::func::FuncOp main);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_MODULEFORM_H
