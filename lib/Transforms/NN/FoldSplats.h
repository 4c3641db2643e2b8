// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants that are one number repeated: they take no memory, whatever their
// shape, and operations on them need one evaluation.

#ifndef ASHLAR_LIB_TRANSFORMS_NN_FOLDSPLATS_H
#define ASHLAR_LIB_TRANSFORMS_NN_FOLDSPLATS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace ashlar::nn {

/// The attribute of a constant that is stored as one element; null for others.
mlir::SplatElementsAttr splatOf(mlir::Value value);

/// The result of an operation whose operands are all such constants, as such a
/// constant; nothing if it is none or the operation is of another kind.
std::optional<mlir::ElementsAttr> foldSplat(mlir::Operation *op);

} // namespace ashlar::nn

#endif // ASHLAR_LIB_TRANSFORMS_NN_FOLDSPLATS_H
