// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the coefficients of a channel where the sums of a kernel have to
// be some turns apart (docs/Machine.md 7, latency of sums): the kernel with
// most coefficients left goes next among those whose sums are ready. Code
// generation orders streams so, plans count the turns.

#ifndef ASHLAR_ANALYSIS_KERNELTURNS_H
#define ASHLAR_ANALYSIS_KERNELTURNS_H

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

  /// Two coefficients of a kernel are `gap` turns apart; `width` of a channel
  /// take one turn together.
  KernelTurns(uint64_t kernels, uint64_t gap, uint64_t width = 1)
      : gap(gap), width(width), ready(kernels, 0) {}

  /// Calls next(i) for each coefficient of a channel in order: one of share i.
  void take(llvm::SmallVectorImpl<Share> &shares,
            llvm::function_ref<void(size_t)> next) {
    for (;;) {
      // Where all have to wait, the one that waits least.
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

  /// Turns so far, those that passed in waiting included.
  uint64_t turns() const { return turn; }

private:
  uint64_t gap, width, turn = 0;
  uint64_t taken = 0;          ///< of the coefficients of a turn
  std::vector<uint64_t> ready; ///< turn from which a kernel may go again
};

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_KERNELTURNS_H
