// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narrow types by enumeration of their codes: each number of a type is known,
// and a rounding looks for the nearest.

#ifndef ASHLAR_LIB_FRONTEND_ONNXREFERENCE_NARROW_H
#define ASHLAR_LIB_FRONTEND_ONNXREFERENCE_NARROW_H

#include "ashlar/Reference/Tensor.h"
#include "lib/Frontend/Onnx/Types/NarrowType.h"
#include "llvm/ADT/StringRef.h"

namespace ashlar::onnxref {

using reference::Tensor;

/// The number of a float type nearest to x, of two the one with an even code;
/// beyond the largest that one or, without `saturate`, what the type has.
double nearestIn(const frontend::NarrowType &type, double x, bool saturate);

/// Every element converted as ONNX's Cast does it.
Tensor toNarrow(const Tensor &x, const frontend::NarrowType &type,
                bool saturate, llvm::StringRef roundMode);

/// The values of codes, and the codes of values.
Tensor valuesOf(const Tensor &codes, const frontend::NarrowType &type);
Tensor codesOf(const Tensor &values, const frontend::NarrowType &type);

} // namespace ashlar::onnxref

#endif // ASHLAR_LIB_FRONTEND_ONNXREFERENCE_NARROW_H
