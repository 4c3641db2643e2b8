// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes in their shortest form: adjacent axes merged, axes of one element
// dropped, chains of reshapes and transposes composed. Free of MLIR; shapes
// have no empty axis.

#ifndef ASHLAR_ANALYSIS_LAYOUT_PERMUTATION_H
#define ASHLAR_ANALYSIS_LAYOUT_PERMUTATION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace ashlar::analysis {

using Axes = llvm::SmallVector<int64_t, 6>;

/// A transpose of a tensor that is seen as `shape`: axis i of the result is
/// axis perm[i] of the source. In canonical form no axis has one element and no
/// two axes that are neighbours in the source stay neighbours in order.
struct CanonicalTranspose {
  Axes shape;
  Axes perm;

  /// No element moves.
  bool isIdentity() const { return perm.size() < 2; }
  Axes resultShape() const;
  bool operator==(const CanonicalTranspose &) const = default;
};

Axes inversePermutation(llvm::ArrayRef<int64_t> perm);

/// The order in which a chain of reshapes and transposes leaves the elements of
/// a row-major tensor. Each axis is a list of digits of the source's index.
class ElementOrder {
public:
  explicit ElementOrder(llvm::ArrayRef<int64_t> shape);

  void transpose(llvm::ArrayRef<int64_t> perm);
  /// False, and nothing changes, if an axis of `shape` would hold a fraction
  /// of a digit.
  bool reshape(llvm::ArrayRef<int64_t> shape);
  CanonicalTranspose canonical() const;

  /// If the chain only permutes the indices along axis `axis` of a source of
  /// `shape` and leaves that shape: the source index of every result index.
  std::optional<Axes> alongAxis(llvm::ArrayRef<int64_t> shape,
                                int64_t axis) const;

private:
  /// `extent` steps of `stride` source elements.
  struct Digit {
    int64_t extent;
    int64_t stride;
  };
  using Digits = llvm::SmallVector<Digit, 6>;

  Digits flatten() const;

  llvm::SmallVector<Digits, 6> axes; ///< Outermost digit first.
};

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_PERMUTATION_H
