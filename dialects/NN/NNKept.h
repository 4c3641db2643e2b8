// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of a function that replace arguments for the next run.

#ifndef ASHLAR_DIALECTS_NN_NNKEPT_H
#define ASHLAR_DIALECTS_NN_NNKEPT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include <cstdint>
#include <optional>

namespace ashlar::nn {

/// Attribute on a function result that replaces an argument for the next run:
/// the three numbers of Kept. analysis::verifyForm checks them.
inline constexpr llvm::StringLiteral keptAttr = "nn.kept";
/// Attribute on a module with kept arguments: the checksum of the model's file.
inline constexpr llvm::StringLiteral modelChecksumAttr = "nn.model_checksum";

/// What a result replaces. The argument is read before: what is replaced is of
/// the next run.
struct Kept {
  int64_t input = 0; ///< Number of the argument.
  /// Its indices of `axis` from a position on, which result number `position`
  /// tells as an i64, become those of the result; both -1: all of it.
  int64_t axis = -1, position = -1;

  /// Nothing for an attribute of another form.
  static std::optional<Kept> of(mlir::Attribute attribute) {
    auto numbers = mlir::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(attribute);
    if (!numbers || numbers.size() != 3)
      return std::nullopt;
    return Kept{numbers[0], numbers[1], numbers[2]};
  }
  mlir::DenseI64ArrayAttr toAttribute(mlir::MLIRContext *context) const {
    return mlir::DenseI64ArrayAttr::get(context, {input, axis, position});
  }
};

} // namespace ashlar::nn

#endif // ASHLAR_DIALECTS_NN_NNKEPT_H
