// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants of the IR as host bytes and back. Both storage forms, `dense` and
// `dense_resource`, are read; writing follows the `nn` dialect's rule for which
// one to use.

#ifndef ASHLAR_REFERENCE_CONSTANTS_H
#define ASHLAR_REFERENCE_CONSTANTS_H

#include "ashlar/Support/Tensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace ashlar::reference {

/// The host element type of an IR element type: signless integers are signed,
/// i1 is boolean. Nothing for types without a plain memory form (`!bfp.block`).
std::optional<support::ElementType> elementTypeOf(mlir::Type type);

/// The IR element type of a host type.
mlir::Type toIrType(mlir::MLIRContext *context, support::ElementType type);

/// The elements of `attribute`, every bit as stored. Malformed if a resource is
/// missing or has the wrong size, unsupported for other element types.
llvm::Expected<support::HostTensor> readElements(mlir::ElementsAttr attribute);

/// An attribute that holds `data`; `data.type` is what `type` maps to.
mlir::ElementsAttr makeElements(mlir::RankedTensorType type,
                                const support::HostTensor &data);

} // namespace ashlar::reference

#endif // ASHLAR_REFERENCE_CONSTANTS_H
