// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lane fold of feature maps (docs/Machine.md, PE array, row groups): Ws
// neighbours of a row lie side by side in Ws groups of partitions. In memory a
// folded feature map [N, C, .., W] is a plain map [N, Ws * pitch, .., ceil(W /
// Ws)]: channel c of pixel w is channel (w mod Ws) * pitch + c of its pixel w
// div Ws. The last axis is W and axis 1 the channels. More channels than
// `pitch` lie in blocks of so many, each of which has all lanes: channel c is
// channel c mod pitch of block c div pitch, Ws * pitch channels after the block
// before.
//
// Any other axis may be spread so as well, next to any partition axis (`spread`
// of a layout): whole indices of it, and as many groups of C partitions as it
// takes, in several channel tiles if they are more than there are partitions.

#ifndef ASHLAR_ANALYSIS_LANES_H
#define ASHLAR_ANALYSIS_LANES_H

#include "ashlar/Analysis/View.h"
#include "mlir/IR/Operation.h"

namespace ashlar::analysis {

/// How a feature map is folded; one lane is the plain layout.
struct Lanes {
  int64_t count = 1; ///< Ws
  int64_t pitch = 0; ///< partitions of one lane (PCi)
  /// Axis whose neighbours lie side by side; kLast: the fold of W.
  int64_t axis = kLast;
  int64_t across = 1; ///< partition axis
  /// The feature map has one index along `axis`, which every lane holds.
  bool repeated = false;

  static constexpr int64_t kLast = -1;

  bool folded() const { return count > 1; }
  /// Blocks of at most `pitch` channels that hold `channels`; one without a
  /// fold.
  int64_t blocks(int64_t channels) const;
  /// Where channel `channel` of lane `lane` lies along the partition axis.
  int64_t position(int64_t channel, int64_t lane) const;
  /// True if it is `spread` of a layout.
  bool spread() const { return folded() && axis != kLast; }
  bool operator==(const Lanes &other) const = default;
};

/// The fold in which the result of `op`, or a value, lies.
Lanes lanesOf(mlir::Operation *op);
Lanes lanesOf(mlir::Value value);
/// The fold in which `op` makes the tiles of its result.
Lanes workLanesOf(mlir::Operation *op);
/// The fold of W in which a value lies, if it lies so.
Lanes widthLanesOf(mlir::Value value);

/// The original design's PCi among `pitches` (not empty): the largest whose
/// padding of the channels to whole blocks, PCi * ceil(channels / PCi) -
/// channels, exceeds the least one by at most `tolerance`.
int64_t sourcePitch(llvm::ArrayRef<int64_t> pitches, int64_t channels,
                    int64_t tolerance);

/// Block length that encodes a folded feature map as a plain one: the fold of
/// the axis pads each lane's channels with zeros to `pitch`, so that blocks of
/// a lane end with it. Plain formats keep theirs.
int64_t foldedBlock(const numerics::BlockFormat &format, const Lanes &lanes);

/// Shape in memory of a feature map of `shape`; the shape itself without a
/// fold.
Shape storedShape(llvm::ArrayRef<int64_t> shape, const Lanes &lanes);

/// The region in memory that holds `region` of a folded feature map. It starts
/// at a multiple of Ws along W and holds all channels.
Region storedRegion(const Region &region, const Lanes &lanes);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LANES_H
