// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One strided copy of npu.dma.move in index space: which elements of a source
// tensor go where in the result, before any layout is chosen.

#ifndef ASHLAR_DIALECTS_NPU_PIECE_H
#define ASHLAR_DIALECTS_NPU_PIECE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/LogicalResult.h"

namespace ashlar::npu {

/// One loop of a copy. Axis -1 on the source side repeats the same element.
struct PatternDim {
  int64_t extent;
  int64_t sourceAxis;
  int64_t sourceStep;
  int64_t resultAxis;
  int64_t resultStep;
};

/// A rectangular strided copy; several dims may address the same axis.
struct AccessPattern {
  int64_t operand = 0;
  llvm::SmallVector<PatternDim, 6> dims;
  llvm::SmallVector<int64_t, 6> sourceStart;
  llvm::SmallVector<int64_t, 6> resultStart;

  /// The attribute form documented on npu.dma.move.
  llvm::SmallVector<int64_t> toArray(int64_t sourceRank) const;
  /// Parses the attribute form; fails when lengths disagree. The number of
  /// source axes is stored in front, so that the split is unambiguous.
  static llvm::FailureOr<AccessPattern>
  fromArray(llvm::ArrayRef<int64_t> array);
};

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_PIECE_H
