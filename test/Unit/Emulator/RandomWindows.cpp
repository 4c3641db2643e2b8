// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of PSUM that the array fills while the drains of the window before
// are still to come, as schedules of compiled networks have them.

#include "RandomProgram.h"

using namespace ashlar;
using namespace ashlar::test;

/// What all streams and drains of a sequence of windows agree on.
static constexpr uint32_t mantissaBits = 8, alignmentRange = 7;

isa::PeLoad Generator::windowLoad(uint32_t cols) {
  isa::PeLoad load;
  load.type = ElemType::Bfp;
  load.mantissa = mantissaBits;
  load.range = alignmentRange;
  // Sets of few rows are merged.
  load.rows =
      static_cast<uint32_t>(chance(50) ? between(1, 32) : between(33, 128));
  load.cols = cols;
  load.offset = static_cast<uint32_t>(between(0, 2000));
  load.colStride = 1;
  return load;
}

isa::PeMatmul Generator::windowStream(const isa::PeLoad &load, uint32_t entry,
                                      uint32_t steps) {
  isa::PeMatmul op;
  op.type = ElemType::Bfp;
  op.mantissa = mantissaBits;
  op.range = alignmentRange;
  op.xr = 1;
  op.rows = load.rows;
  op.cols = load.cols;
  op.offset = static_cast<int32_t>(between(0, 2000));
  op.n2 = steps;
  op.stride2 = 1;
  op.psum = entry;
  op.psumStride2 = 1;
  op.hi0 = op.hi1 = 1;
  op.hi2 = static_cast<int32_t>(steps);
  return op;
}

std::vector<Instruction> Generator::windowDrains(uint32_t entry, uint32_t steps,
                                                 uint32_t cols) {
  isa::ActDrain drain;
  drain.cols = cols;
  drain.xrA = 1;
  drain.shift = -int32_t(2 * alignmentRange);
  drain.psumStride2 = 1;
  drain.dstStride2 = 1;
  drain.dstMantissa = mantissaBits;
  drain.dstBlock = 8u << between(0, 3);
  drain.dstType = chance(80) ? ElemType::Bfp : ElemType::I8;
  if (chance(50))
    drain.function = isa::Function::Relu;
  // The whole window, or parts that begin where threads may or may not split.
  const uint32_t parts[] = {steps, 112, 48, steps / 2 + 1};
  const uint32_t part = parts[between(0, 3)];
  const auto offset = static_cast<uint32_t>(between(4096, 7000));
  drain.dstXr = static_cast<uint32_t>(between(2, 7));
  drain.dstXrClear = true;
  std::vector<Instruction> drains;
  for (uint32_t k = 0; k < steps; k += part) {
    drain.n2 = std::min(part, steps - k);
    drain.psum = entry + k;
    drain.dstOffset = offset + k;
    drains.push_back(drain);
    drain.dstXrClear = false;
  }
  return drains;
}

std::vector<Instruction> Generator::windows() {
  static constexpr uint32_t sizes[] = {7, 49, 112, 196, 448};
  const auto cols = static_cast<uint32_t>(chance(70) ? 64 : between(1, 63));
  std::vector<Instruction> code, drains;
  auto drainNext = [&] {
    code.push_back(drains.front());
    drains.erase(drains.begin());
  };
  uint32_t entry = 0;
  for (int64_t window = between(2, 4); window > 0; --window) {
    const uint32_t steps = sizes[between(0, 4)];
    auto stream = [&](bool accumulate) {
      const isa::PeLoad load = windowLoad(cols);
      isa::PeMatmul op = windowStream(load, entry, steps);
      op.accumulate = accumulate;
      code.insert(code.end(), {load, isa::PeSwap(), op});
    };
    stream(false);
    for (int64_t more = between(0, 3); more > 0; --more) {
      if (!drains.empty() && chance(60))
        drainNext();
      stream(true);
    }
    while (!drains.empty())
      drainNext();
    drains = windowDrains(entry, steps, cols);
    // More for a window that has been drained in part, and all of it again.
    if (chance(25)) {
      drainNext();
      stream(true);
      drains = windowDrains(entry, steps, cols);
    }
    entry += steps;
  }
  code.insert(code.end(), drains.begin(), drains.end());
  return code;
}
