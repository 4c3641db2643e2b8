// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value type of the `nn` interpreter: a dense host tensor whose floats are
// all held as binary64 and whose integers are all held as int64, so that each
// evaluator exists once. Rounding to the declared element type is a separate,
// explicit step (`roundToType`).

#ifndef ASHLAR_REFERENCE_TENSOR_H
#define ASHLAR_REFERENCE_TENSOR_H

#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace ashlar::reference {

/// A dense row-major tensor. Exactly one of `floats` and `ints` is used,
/// according to `type`; booleans are 0 or 1, u64 values are kept modulo 2^64.
struct Tensor {
  support::ElementType type = support::ElementType::F32;
  llvm::SmallVector<int64_t> shape;
  std::vector<double> floats;
  std::vector<int64_t> ints;

  Tensor() = default;
  /// A tensor of zeros.
  Tensor(support::ElementType type, llvm::ArrayRef<int64_t> shape);

  bool isFloat() const;
  /// Number of elements; 1 for rank 0.
  int64_t size() const;
};

/// True for f16, bf16, f32 and f64.
bool isFloatType(support::ElementType type);

/// Number of elements of `shape`; the caller guarantees that it fits 63 bits
/// (the verifiers of `nn` and the importer refuse larger ones).
int64_t elementCount(llvm::ArrayRef<int64_t> shape);

/// The first \p extent indices of \p tensor along \p axis, as many as there are
/// at most.
Tensor firstIndices(const Tensor &tensor, int64_t axis, int64_t extent);

/// Row-major strides in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Rounds every element to `type`: floats to nearest even, integers wrap to
/// their width. f64 and i64 are left alone.
void roundToType(Tensor &tensor, support::ElementType type);

/// Exact widening of host data; malformed when the byte count does not match.
llvm::Expected<Tensor> fromHost(const support::HostTensor &host);

/// Narrows to `type` (rounding once).
support::HostTensor toHost(const Tensor &tensor, support::ElementType type);

} // namespace ashlar::reference

#endif // ASHLAR_REFERENCE_TENSOR_H
