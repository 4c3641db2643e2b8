// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants of the `nn` dialect as bytes: one way in, one way out, whatever
// attribute holds them. Bytes are little endian and row major without gaps;
// booleans are one byte each.

#ifndef ASHLAR_DIALECTS_NN_NNELEMENTS_H
#define ASHLAR_DIALECTS_NN_NNELEMENTS_H

#include "ashlar/Support/ElementType.h"
#include "ashlar/Support/RawVector.h"
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

/// Bytes of a constant that are made when they are read.
using ElementStorage = support::RawVector<char>;

/// The bytes of `elements`. Points into the attribute where it can and into
/// `storage` otherwise (splats, booleans, constants that are deferred). Nothing
/// for attributes that are neither `dense` nor an available `dense_resource` of
/// plain elements.
std::optional<llvm::ArrayRef<char>> rawElements(mlir::ElementsAttr elements,
                                                ElementStorage &storage);

/// Fills `to` with the bytes of an element again and again, from byte `first`
/// of that sequence on.
void repeatBytes(llvm::ArrayRef<char> element, size_t first,
                 llvm::MutableArrayRef<char> to);

/// Whether rawElements has something, without making the bytes of constants
/// that are deferred.
bool hasElements(mlir::ElementsAttr elements);

/// Writes the bytes of `elements`, as many as there are, to `to`; false where
/// rawElements has nothing.
bool copyElements(mlir::ElementsAttr elements, llvm::MutableArrayRef<char> to);

/// Writes the bytes from `first` on, as many as `to` has, which has to end
/// before those of `elements` do.
bool copyPart(mlir::ElementsAttr elements, size_t first,
              llvm::MutableArrayRef<char> to);

/// The elements as binary32, rounded where their type is wider; empty where
/// rawElements has nothing.
std::vector<float> floatElements(mlir::ElementsAttr elements);

/// The elements of a constant as binary32: the bytes of the attribute where
/// they are that, a copy otherwise.
class FloatElements {
public:
  explicit FloatElements(mlir::ElementsAttr elements);
  FloatElements(const FloatElements &) = delete;
  FloatElements &operator=(const FloatElements &) = delete;

  /// Empty where rawElements has nothing.
  llvm::ArrayRef<float> get() const { return values; }

private:
  ElementStorage storage;
  std::vector<float> copy;
  llvm::ArrayRef<float> values;
};

/// What is asked of constants again and again.
struct ElementFacts {
  bool hasZeros = true;  ///< of either sign
  bool isFinite = false; ///< no infinity, no NaN
};

/// The facts of a constant of binary32, which is read the first time only;
/// nothing for other types and where rawElements has nothing.
std::optional<ElementFacts> factsOf(mlir::ElementsAttr elements);

} // namespace ashlar::nn

#endif // ASHLAR_DIALECTS_NN_NNELEMENTS_H
