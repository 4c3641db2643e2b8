// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movement ops as index maps: for every output element the linear index of its
// source element, or `fill`. One map serves values of any width, so constants
// are moved as raw bytes and no bit of any type changes (docs/Numerics.md 7).

#ifndef ASHLAR_REFERENCE_MOVEMENT_H
#define ASHLAR_REFERENCE_MOVEMENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace ashlar::reference {

/// Source linear index per output element in row-major order.
using IndexMap = std::vector<int64_t>;
/// Marks an output element that has no source (padding).
inline constexpr int64_t fill = -1;

enum class PadMode { Constant, Reflect, Edge, Wrap };

/// `inShape` is the shape of the source throughout; shapes are trusted.
IndexMap transposeMap(llvm::ArrayRef<int64_t> inShape,
                      llvm::ArrayRef<int64_t> perm);
IndexMap broadcastMap(llvm::ArrayRef<int64_t> inShape,
                      llvm::ArrayRef<int64_t> outShape);
/// Steps may be negative.
IndexMap sliceMap(llvm::ArrayRef<int64_t> inShape,
                  llvm::ArrayRef<int64_t> outShape,
                  llvm::ArrayRef<int64_t> starts,
                  llvm::ArrayRef<int64_t> steps);
/// Indices lie in [0, inShape[axis]).
IndexMap gatherMap(llvm::ArrayRef<int64_t> inShape, int64_t axis,
                   llvm::ArrayRef<int64_t> indices);
/// Low pads may be negative (cropping); interior fills sit between elements.
IndexMap padMap(llvm::ArrayRef<int64_t> inShape,
                llvm::ArrayRef<int64_t> outShape, PadMode mode,
                llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> interior);

/// Applies a map to elements of `width` bytes; filled elements take the bytes
/// of `fillBytes` (`width` of them).
std::vector<uint8_t> applyToBytes(const IndexMap &map,
                                  llvm::ArrayRef<uint8_t> source,
                                  unsigned width,
                                  llvm::ArrayRef<uint8_t> fillBytes);

} // namespace ashlar::reference

#endif // ASHLAR_REFERENCE_MOVEMENT_H
