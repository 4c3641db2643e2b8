// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tensors the dialects `nn`, `bfp` and `npu` have: of known shape, of
// elements that a memory can hold, and so small that no product of their
// extents leaves 64 bits. Every pass relies on it, every verifier requires it.

#ifndef ASHLAR_DIALECTS_NN_NNTYPES_H
#define ASHLAR_DIALECTS_NN_NNTYPES_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"

#include "dialects/NN/NNInterfaces.h.inc"

namespace ashlar::nn {

/// Dimensions of a tensor at most.
inline constexpr int64_t kMostDims = 64;
/// Elements of a tensor at most, extents of 0 omitted.
inline constexpr int64_t kMostElements = int64_t(1) << 40;
/// Most elements of a constant that is one number repeated: the code that reads
/// it makes them.
inline constexpr int64_t kMostOfSplat = int64_t(1) << 24;
/// Largest stride, dilation, pad and kernel extent of a window.
inline constexpr int64_t kMostWindow = (int64_t(1) << 31) - 1;

/// True for shapes within these limits.
bool isBoundedShape(llvm::ArrayRef<int64_t> shape);

/// True for a ranked, statically shaped tensor within the limits whose elements
/// are floats of 16 to 64 bits, integers of 1 to 64 bits or a StoredElement
/// that fits the shape.
bool isStoredTensor(mlir::Type type);

} // namespace ashlar::nn

#endif // ASHLAR_DIALECTS_NN_NNTYPES_H
