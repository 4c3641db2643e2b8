// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of several positions: N:M weights, narrow operands.

#include "Streams.h"

#include "ashlar/Machine/Cycles.h"

namespace ashlar::codegen {

/// Steps of a loop that a stream counts.
static constexpr int64_t kMostSteps = (int64_t(1) << 19) - 1;

void joinLoops(isa::PeMatmul &op) {
  auto isWhole = [](int64_t low, int64_t high, int64_t count) {
    return low <= 0 && high >= count;
  };
  auto join = [&](auto &n, auto &stride, auto &psumStride, auto &lo, auto &hi) {
    const int64_t count = op.n2, joined = count * n;
    if (n == 1 || !isWhole(op.lo2, op.hi2, count) || !isWhole(lo, hi, n) ||
        stride != count * op.stride2 || psumStride != count * op.psumStride2 ||
        joined > kMostSteps)
      return false;
    op.n2 = static_cast<uint32_t>(joined);
    op.lo2 = 0, op.hi2 = static_cast<int32_t>(joined);
    n = 1, stride = 0, psumStride = 0, lo = 0, hi = 1;
    return true;
  };
  if (op.n1 == 1 || join(op.n1, op.stride1, op.psumStride1, op.lo1, op.hi1))
    join(op.n0, op.stride0, op.psumStride0, op.lo0, op.hi0);
}

void setNarrow(isa::PeMatmul &op, const machine::Description &machine) {
  isa::PeMatmul joined = op;
  if (op.groups == 1)
    joinLoops(joined);
  auto shapeOf = [&](const isa::PeMatmul &stream) {
    machine::PeStreamShape shape;
    shape.rows = uint64_t(stream.n0) * stream.n1;
    shape.positions = stream.n2;
    shape.groups = stream.groups;
    shape.advance = 1 + uint64_t(stream.skip);
    shape.pattern = stream.pattern;
    return shape;
  };
  machine::PeStreamShape shape = shapeOf(joined);
  shape.narrow = true;
  const machine::PeSteps steps = machine::peSteps(machine, shape);
  if (!steps.narrow ||
      steps.cycles >= machine::peSteps(machine, shapeOf(op)).cycles)
    return;
  op = joined;
  op.narrow = true;
}

} // namespace ashlar::codegen
