// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scales and zero points of whole tensors in the formulas of quantised
// networks.

#ifndef ASHLAR_LIB_TRANSFORMS_BFP_SCALARCONSTANT_H
#define ASHLAR_LIB_TRANSFORMS_BFP_SCALARCONSTANT_H

#include "mlir/IR/Value.h"

#include <optional>

namespace ashlar::bfp {

/// The number that all elements of a constant of binary32 are, or nothing.
std::optional<float> scalarConstant(mlir::Value value);

} // namespace ashlar::bfp

#endif // ASHLAR_LIB_TRANSFORMS_BFP_SCALARCONSTANT_H
