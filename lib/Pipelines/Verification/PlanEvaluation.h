// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules of any phase up to plan in binary64, formats ignored: what the
// network means, whatever storage its tensors have and whichever engine makes
// them.

#ifndef ASHLAR_LIB_PIPELINES_PLANEVALUATION_H
#define ASHLAR_LIB_PIPELINES_PLANEVALUATION_H

#include "ashlar/Reference/Tensor.h"
#include "dialects/NN/NNOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace ashlar::pipelines {

using reference::Tensor;

/// Values of a module, by SSA value.
using ValueMap = llvm::DenseMap<mlir::Value, Tensor>;

/// True for a product with an epilogue: bfp.conv, bfp.matmul.
bool isBlockProduct(mlir::Operation *op);

/// Exact result of one operation of a module at any phase up to plan. Encodes
/// and decodes pass their operand on, products apply their epilogue.
llvm::Expected<Tensor> evaluateWide(mlir::Operation *op,
                                    llvm::ArrayRef<const Tensor *> operands);

/// The same of one operation of the `npu` dialect: the operation that the
/// engine was chosen for. Internal errors: one that no reference knows.
llvm::Expected<Tensor> evaluateEngine(mlir::Operation *op,
                                      llvm::ArrayRef<const Tensor *> operands);

/// The sums of a block product alone, of any two tensors of the factors'
/// shapes.
llvm::Expected<Tensor> evaluateSums(mlir::Operation *op, const Tensor &x,
                                    const Tensor &w);

/// Index of the output channel of element \p index of a block product.
int64_t outputChannel(mlir::Operation *op, int64_t index);

/// Called with each result before its readers are computed; may change it.
using ResultHook = llvm::function_ref<void(mlir::Operation *, Tensor &)>;

/// The result of an operation, given its operands.
using OpEvaluator = llvm::function_ref<llvm::Expected<Tensor>(
    mlir::Operation *, llvm::ArrayRef<const Tensor *>)>;

/// All values of `main`, operation by operation; those without a result are
/// skipped. \p inputs are in argument order and have the types of the
/// arguments.
llvm::Expected<ValueMap>
evaluateMain(mlir::ModuleOp module, llvm::ArrayRef<support::HostTensor> inputs,
             OpEvaluator evaluate);

/// The same with evaluateWide().
llvm::Expected<ValueMap>
evaluateModule(mlir::ModuleOp module,
               llvm::ArrayRef<support::HostTensor> inputs,
               ResultHook hook = {});

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_PLANEVALUATION_H
