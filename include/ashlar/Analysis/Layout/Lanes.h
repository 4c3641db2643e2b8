// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lane fold of feature maps (docs/Machine.md, PE array, row groups): Ws
// neighbours of a row lie side by side in Ws groups of partitions. In memory a
// folded feature map [N, C, .., W] is a plain map [N, Ws * pitch, .., ceil(W /
// Ws)]: channel c of pixel w is channel (w mod Ws) * pitch + c of its pixel w
// div Ws. The last axis is W, axis 1 the channels. More than `pitch` channels
// are divided into blocks of `pitch`, each with all lanes: channel c is channel
// c mod pitch of block c div pitch, and blocks are Ws * pitch channels apart.
//
// Any other axis can be spread across partitions in the same way, next to any
// partition axis (`spread` of a layout). Each of its indices takes a group of C
// partitions; groups that exceed the number of partitions go to further channel
// tiles.

#ifndef ASHLAR_ANALYSIS_LAYOUT_LANES_H
#define ASHLAR_ANALYSIS_LAYOUT_LANES_H

#include "ashlar/Analysis/Layout/View.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Operation.h"

namespace ashlar::analysis {

/// How a feature map is folded; one lane is the plain layout.
struct Lanes {
  int64_t count = 1; ///< Ws
  int64_t pitch = 0; ///< partitions of one lane (PCi)
  /// The folded axis, whose neighbours are side by side; kLast: the fold of W.
  int64_t axis = kLast;
  int64_t across = 1; ///< partition axis
  /// The feature map has extent 1 along `axis`, and every lane holds a copy.
  bool repeated = false;

  static constexpr int64_t kLast = -1;

  bool folded() const { return count > 1; }
  /// Number of blocks of `pitch` channels that `channels` channels need; 1
  /// without a fold.
  int64_t blocks(int64_t channels) const;
  /// Index of channel `channel` of lane `lane` along the partition axis.
  int64_t position(int64_t channel, int64_t lane) const;
  /// True if this is the `spread` of a layout.
  bool spread() const { return folded() && axis != kLast; }
  bool operator==(const Lanes &other) const = default;
};

/// The lane fold of the result of `op`, or of a value.
Lanes lanesOf(mlir::Operation *op);
Lanes lanesOf(mlir::Value value);
/// The lane fold in which `op` computes the tiles of its result.
Lanes workLanesOf(mlir::Operation *op);
/// The fold of W of a value; no fold if it is folded along another axis.
Lanes widthLanesOf(mlir::Value value);

/// `rows` rows of the operand of `conv`, which has a height, side by side
/// across partitions (`rows_apart`).
Lanes lanesApart(npu::PeConvOp conv, int64_t rows);
/// The fold in which a convolution reads its feature map: that of W in which
/// it lies, or rows apart.
Lanes readLanesOf(mlir::Operation *conv);

/// The original design's PCi among `pitches` (not empty): the largest whose
/// padding of the channels to whole blocks, PCi * ceil(channels / PCi) -
/// channels, exceeds the least one by at most `tolerance`.
int64_t sourcePitch(llvm::ArrayRef<int64_t> pitches, int64_t channels,
                    int64_t tolerance);

/// The block length with which a folded feature map is encoded to the same bits
/// as an unfolded one. A fold pads the channels of each lane with zeros to
/// `pitch`, so that blocks end with their lane. Without a fold, the block
/// length of the format.
int64_t foldedBlock(const numerics::BlockFormat &format, const Lanes &lanes);

/// The shape that a feature map of `shape` has in memory; `shape` itself
/// without a fold.
Shape storedShape(llvm::ArrayRef<int64_t> shape, const Lanes &lanes);

/// The region in memory that contains `region` of a folded feature map. It
/// starts at a multiple of Ws along W and has all channels.
Region storedRegion(const Region &region, const Lanes &lanes);

/// `region` with whole groups of neighbours of an axis that `lanes` spread, and
/// that the map has whole groups of.
Region wholeGroups(Region region, const Lanes &lanes);

/// True if the movement can write its result in lanes: bytes are moved as they
/// are, floats converted after the movement. Blocks that products have encoded
/// keep the positions of their cells.
bool mayWriteLanes(npu::DmaMoveOp move);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_LANES_H
