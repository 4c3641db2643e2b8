// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants of the `nn` dialect as bytes: one way in, one way out, whatever
// attribute holds them. Bytes are little endian and row major without gaps;
// booleans are one byte each.

#ifndef ASHLAR_DIALECTS_NN_NNELEMENTS_H
#define ASHLAR_DIALECTS_NN_NNELEMENTS_H

#include "ashlar/Support/ElementType.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <optional>
#include <string>
#include <vector>

namespace ashlar::nn {

/// The `nn` form of an element type: signed integers are signless, unsigned
/// ones `ui`, booleans i1.
mlir::Type toMlirType(mlir::MLIRContext *context, support::ElementType type);

/// The reverse; nothing for types without a plain memory form (`!bfp.block`).
std::optional<support::ElementType> toElementType(mlir::Type type);

/// An attribute of `type` with these bytes: `dense` up to maxInlineElements,
/// else a resource named after `hint`, which takes the bytes without a copy.
/// The element type must be plain and the byte count match.
mlir::ElementsAttr makeElements(mlir::RankedTensorType type, std::string bytes,
                                llvm::StringRef hint);

/// A resource without bytes yet, named after `hint`.
mlir::DenseResourceElementsHandle reserveResource(mlir::MLIRContext *context,
                                                  llvm::StringRef hint);

/// The bytes of `elements`. Points into the attribute where it can and into
/// `storage` otherwise (splats, booleans, constants that are deferred). Nothing
/// for attributes that are neither `dense` nor an available `dense_resource` of
/// plain elements.
std::optional<llvm::ArrayRef<char>> rawElements(mlir::ElementsAttr elements,
                                                std::vector<char> &storage);

/// Whether rawElements has something, without making the bytes of constants
/// that are deferred.
bool hasElements(mlir::ElementsAttr elements);

/// Writes the bytes of `elements`, as many as there are, to `to`; false where
/// rawElements has nothing.
bool copyElements(mlir::ElementsAttr elements, llvm::MutableArrayRef<char> to);

/// The elements as binary32, rounded where their type is wider; empty where
/// rawElements has nothing.
std::vector<float> floatElements(mlir::ElementsAttr elements);

} // namespace ashlar::nn

#endif // ASHLAR_DIALECTS_NN_NNELEMENTS_H
