// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The block type and the geometry of encoded tensors: which elements form a
// block, and which data movements leave every block whole (docs/Numerics.md 1,
// 7).

#ifndef ASHLAR_DIALECTS_BFP_BFPTYPES_H
#define ASHLAR_DIALECTS_BFP_BFPTYPES_H

#include "dialects/NN/NNTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Types.h"

#include <optional>

#define GET_TYPEDEF_CLASSES
#include "dialects/BFP/BFPTypes.h.inc"

namespace ashlar::bfp {

/// The block type of an encoded tensor, or null for any other type.
BlockType getBlockType(mlir::Type type);

/// True for a ranked tensor whose element type is a block type.
inline bool isEncoded(mlir::Type type) { return bool(getBlockType(type)); }

/// Elements in a full block of a tensor of `shape`, along the block axis; a
/// whole-axis or whole-tensor block counts the axis.
int64_t getBlockLength(BlockType type, llvm::ArrayRef<int64_t> shape);

/// Blocks along the block axis (1 for whole-axis and whole-tensor blocks).
int64_t getNumBlocks(BlockType type, llvm::ArrayRef<int64_t> shape);

/// Shape of the tensor of block exponents: `shape` with the block axis replaced
/// by the number of blocks; all ones for a whole-tensor block.
llvm::SmallVector<int64_t> getExponentShape(BlockType type,
                                            llvm::ArrayRef<int64_t> shape);

/// The dimension of `to` that covers exactly the elements that dimension `axis`
/// of `from` covers when the row-major elements are regrouped, or nothing if
/// the reshape splits or merges that dimension.
std::optional<int64_t> mapAxisThroughReshape(llvm::ArrayRef<int64_t> from,
                                             int64_t axis,
                                             llvm::ArrayRef<int64_t> to);

/// The dimension of `to` along which the blocks of `block` elements along
/// `axis` of `from` lie after a reshape: the one above, or one that the reshape
/// splits from others or merges with them between whole blocks. A block of 0 or
/// less is the whole axis, which no reshape splits or merges.
std::optional<int64_t> mapBlocksThroughReshape(llvm::ArrayRef<int64_t> from,
                                               int64_t axis,
                                               llvm::ArrayRef<int64_t> to,
                                               int64_t block);

/// True if parts of these extents along the concatenation axis, each encoded
/// with `type`, form whole blocks of the result: always when the axes differ
/// (and the block is not the whole tensor), else if every part but the last is
/// a multiple of the block (docs/Numerics.md 5).
bool concatKeepsBlocks(BlockType type, int64_t concatAxis,
                       llvm::ArrayRef<int64_t> extents);

/// True if a slice keeps every block that it touches whole. `starts`, `steps`
/// and `sizes` are per dimension of the source of `shape`.
bool sliceKeepsBlocks(BlockType type, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int64_t> starts,
                      llvm::ArrayRef<int64_t> steps,
                      llvm::ArrayRef<int64_t> sizes);

} // namespace ashlar::bfp

#endif // ASHLAR_DIALECTS_BFP_BFPTYPES_H
