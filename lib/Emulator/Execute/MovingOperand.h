// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The moving operand of a matmul: which steps read memory, and their aligned
// rows.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_MOVINGOPERAND_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_MOVINGOPERAND_H

#include "OperandFetch.h"
#include <algorithm>
#include <utility>

namespace ashlar::emulator {

/// The part of a moving row that reads memory: steps [first, last) and, if the
/// window also omits steps inside, a mask.
struct Window {
  Pattern pattern; ///< Byte strides, merged where possible.
  uint64_t steps = 0;
  /// One contiguous run of memory covers [first, last).
  bool dense = false;
  uint64_t first = 0, last = 0;
  /// Steps inside [first, last) that read nothing.
  bool masked = false;
};

/// Indices [begin, end) of a dimension that read memory.
inline std::pair<uint64_t, uint64_t> clipSteps(int64_t lo, int64_t hi,
                                               uint64_t n) {
  int64_t limit = static_cast<int64_t>(n);
  int64_t begin = std::clamp<int64_t>(lo, 0, limit);
  int64_t end = std::clamp<int64_t>(hi, begin, limit);
  return {static_cast<uint64_t>(begin), static_cast<uint64_t>(end)};
}

/// Calls fn(first step, address offset of the row, first index, end index) for
/// the rows of dimension 2 that have valid steps.
template <typename Fn>
void forValidRows(const isa::PeMatmul &op, Fn fn) {
  auto [b0, e0] = clipSteps(op.lo0, op.hi0, op.n0);
  auto [b1, e1] = clipSteps(op.lo1, op.hi1, op.n1);
  auto [b2, e2] = clipSteps(op.lo2, op.hi2, op.n2);
  if (b2 == e2)
    return;
  for (uint64_t i0 = b0; i0 < e0; ++i0)
    for (uint64_t i1 = b1; i1 < e1; ++i1)
      fn((i0 * op.n1 + i1) * op.n2 + b2,
         static_cast<int64_t>(i0) * op.stride0 +
             static_cast<int64_t>(i1) * op.stride1,
         b2, e2);
}

/// Calls fn(step, address offset, count) for the runs of valid steps.
template <typename Fn>
void forValidRuns(const isa::PeMatmul &op, Fn fn) {
  forValidRows(op, [&](uint64_t step, int64_t offset, uint64_t b, uint64_t e) {
    fn(step, offset + static_cast<int64_t>(b) * op.stride2, e - b);
  });
}

/// Row groups compute Ws neighbours of a row at once; results are the same as
/// one at a time. The form with one step per result: dimension 2 counts results
/// and its bounds are those of results, not of pixels.
isa::PeMatmul perResult(const isa::PeMatmul &op);

/// The window of an operation in the form of perResult().
Window windowOf(const isa::PeMatmul &op, unsigned bytes);

/// Aligned rows of steps [begin, end), in scratch of this thread; steps that
/// read no memory are zero. `op` has the form of perResult().
numerics::IntegerMatrix buildMoving(Engine &engine, const isa::PeMatmul &op,
                                    const Fetch &fetch, const Window &window,
                                    uint64_t begin, uint64_t end,
                                    uint64_t &saturated);

/// Whether the rows of the whole operand may be packed in blocks: they are
/// unless elements saturate or exponents differ within a block.
bool packsBlocks(Engine &engine, const isa::PeMatmul &op, const Fetch &fetch);

/// Packs the same rows from row `row` of `packed` on.
void packMoving(Engine &engine, const isa::PeMatmul &op, const Fetch &fetch,
                const Window &window, uint64_t begin, uint64_t end,
                uint64_t row, numerics::PackedMoving &packed,
                uint64_t &saturated);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_MOVINGOPERAND_H
