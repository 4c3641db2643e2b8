// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only implementation of the host functions (docs/Numerics.md 14), shared
// by the emulator and the interpreter of `nn`. Elements are compared by keys,
// integers in the order of the values.

#ifndef ASHLAR_NUMERICS_HOSTFUNCTIONS_H
#define ASHLAR_NUMERICS_HOSTFUNCTIONS_H

#include "ashlar/Support/ElementType.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace ashlar::numerics {

/// The place of a result that holds no index.
inline constexpr int64_t kNoIndex = -1;

/// The key of a float: ascending with the value, 0 of both zeros, the largest
/// of every NaN.
int64_t orderKey(double value);
/// The key of a u64 whose bits are \p bits.
inline int64_t unsignedKey(int64_t bits) {
  return static_cast<int64_t>(static_cast<uint64_t>(bits) ^ uint64_t(1) << 63);
}
/// The key of 0 of a type.
inline int64_t zeroKey(support::ElementType type) {
  return type == support::ElementType::U64 ? unsignedKey(0) : 0;
}
/// Keys of \p count elements of \p type in memory.
std::vector<int64_t> orderKeys(support::ElementType type, const uint8_t *data,
                               uint64_t count);

/// Row r of \p result, [rank][elements], has index r of every element whose key
/// is not \p zero, in row-major order of \p shape; then kNoIndex.
void nonzeroIndices(llvm::ArrayRef<int64_t> keys, int64_t zero,
                    llvm::ArrayRef<uint64_t> shape,
                    llvm::MutableArrayRef<int64_t> result);

/// A tensor [outer, extent, inner] and what is kept of its middle axis.
struct SortShape {
  uint64_t outer = 1, extent = 1, inner = 1, keep = 1;
};

/// \p result, [outer, keep, inner], has the indices of the first elements in
/// ascending or descending order; equal ones keep the order of their indices.
void sortIndices(llvm::ArrayRef<int64_t> keys, const SortShape &shape,
                 bool descending, llvm::MutableArrayRef<int64_t> result);

/// \p result, [3, rows]: where each distinct row comes first, then kNoIndex;
/// the number of its distinct row for every row; occurrences, then 0. Distinct
/// rows are numbered as they come, or in lexicographic order.
void uniqueRows(llvm::ArrayRef<int64_t> keys, uint64_t rows, bool sorted,
                llvm::MutableArrayRef<int64_t> result);

/// Parameters of non-maximum suppression.
struct Suppression {
  uint64_t batches = 1, classes = 1, boxes = 1;
  uint64_t keep = 1;     ///< Room for the boxes of a class.
  int64_t most = 0;      ///< Boxes of a class that are wanted; below 0: none.
  float iou = 0;         ///< An overlap above it suppresses.
  float least = 0;       ///< With `filtered`, scores have to exceed it.
  bool filtered = false; ///< Scores are compared with `least`.
  bool center = false;   ///< Boxes are x, y, width, height; else y, x, y, x.
};

/// \p result, [batches * classes * keep, 3]: batch, class and box of all that
/// are kept, then kNoIndex. Gives the steps that it took (Machine/Host.h).
uint64_t suppressBoxes(const Suppression &asked, llvm::ArrayRef<float> boxes,
                       llvm::ArrayRef<float> scores,
                       llvm::MutableArrayRef<int64_t> result);

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_HOSTFUNCTIONS_H
