// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants of the IR as host tensors and back (dialects/NN/NNElements.h knows
// the attributes).

#ifndef ASHLAR_REFERENCE_CONSTANTS_H
#define ASHLAR_REFERENCE_CONSTANTS_H

#include "ashlar/Support/Tensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/Error.h"

namespace ashlar::reference {

/// The elements of `attribute`, every bit as stored. Malformed if a resource is
/// missing or has the wrong size, unsupported for other element types.
llvm::Expected<support::HostTensor> readElements(mlir::ElementsAttr attribute);

/// An attribute that holds `data`; `data.type` is what `type` maps to.
mlir::ElementsAttr makeElements(mlir::RankedTensorType type,
                                const support::HostTensor &data);

} // namespace ashlar::reference

#endif // ASHLAR_REFERENCE_CONSTANTS_H
