// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which the coefficients of a channel are issued if two additions
// to the sum of one kernel must be some turns apart (docs/Machine.md 7, latency
// of sums): of the kernels whose sums are ready, the one with the most
// remaining coefficients is next. Code generation orders coefficient streams
// like this, and plans count the turns.

#ifndef ASHLAR_ANALYSIS_SPARSE_KERNELTURNS_H
#define ASHLAR_ANALYSIS_SPARSE_KERNELTURNS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ashlar::analysis {

class KernelTurns {
public:
  /// Coefficients of one kernel in a channel.
  struct Share {
    uint32_t kernel = 0;
    uint32_t left = 0;
  };

  /// Two coefficients of a kernel are at least `gap` turns apart; `width`
  /// coefficients of a channel are issued in one turn.
  KernelTurns(uint64_t kernels, uint64_t gap, uint64_t width = 1)
      : gap(gap), width(width), ready(kernels, 0) {}

  /// Issues the coefficients of a channel: calls next(i) for each in turn,
  /// where i is the index of its share.
  void take(llvm::SmallVectorImpl<Share> &shares,
            llvm::function_ref<void(size_t)> next) {
    for (;;) {
      // If no sum is ready, take the kernel that waits least.
      size_t best = shares.size();
      uint64_t bestAt = 0;
      for (size_t i = 0; i < shares.size(); ++i) {
        if (shares[i].left == 0)
          continue;
        uint64_t at = std::max(ready[shares[i].kernel], turn);
        if (best == shares.size() || at < bestAt ||
            (at == bestAt && shares[i].left > shares[best].left))
          best = i, bestAt = at;
      }
      if (best == shares.size())
        break;
      --shares[best].left;
      ready[shares[best].kernel] = bestAt + gap;
      taken = bestAt == turn ? taken + 1 : 1;
      turn = bestAt;
      if (taken == width)
        ++turn, taken = 0;
      next(best);
    }
    if (taken > 0)
      ++turn, taken = 0;
  }

  /// Turns so far, including those spent waiting.
  uint64_t turns() const { return turn; }

private:
  uint64_t gap, width, turn = 0;
  uint64_t taken = 0;          ///< coefficients issued in the current turn
  std::vector<uint64_t> ready; ///< first turn in which a kernel may be issued
};

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_SPARSE_KERNELTURNS_H
