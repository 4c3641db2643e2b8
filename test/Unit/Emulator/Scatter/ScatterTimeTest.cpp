// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time of a unit whose data all count: blocks that take the same time are
// followed once, and that changes nothing.

#include "lib/Emulator/Cost/ScatterTime.h"
#include "ashlar/Machine/Description.h"
#include "llvm/Support/Error.h"
#include "gtest/gtest.h"

#include <random>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

using Slices = std::vector<ScatterStream::Slice>;

class ScatterTimes : public ::testing::Test {
protected:
  uint32_t between(uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random);
  }

  void draw() {
    machine = *machine::load("a1");
    machine.sparse.accumulatorBanks = between(0, 1) << between(0, 8);
    op = {};
    op.variant = between(0, 1);
    op.kH = between(1, 4), op.kW = between(1, 4);
    op.sH = between(1, 2), op.sW = between(1, 2);
    op.dH = between(1, 2), op.dW = between(1, 2);
    op.images = between(1, 2), op.tileH = between(1, 20);
    op.tileW = between(1, 20);
    op.blockH = between(0, 5), op.blockW = between(0, 5);
    op.mantissa = 8;
    entry = {};
    entry.images = between(1, op.images);
    entry.rows = between(1, op.tileH), entry.cols = between(1, op.tileW);
  }

  /// Taps of one phase, some of them twice, as kernels name them.
  ScatterStream::Slice slice() {
    const machine::TileGeometry geometry = isa::geometryOf(op);
    const auto ky = between(0, op.kH - 1), kx = between(0, op.kW - 1);
    ScatterStream::Slice slice;
    slice.rowPhase = geometry.h.taps[ky].phase;
    slice.colPhase = geometry.w.taps[kx].phase;
    const bool oneTap = op.kH * op.kW == 1;
    for (uint32_t tap = 0; tap < op.kH * op.kW; ++tap)
      if (geometry.h.taps[tap / op.kW].phase == slice.rowPhase &&
          geometry.w.taps[tap % op.kW].phase == slice.colPhase)
        slice.weights += 1, slice.taps.push_back(tap);
    slice.times = between(1, 3);
    slice.most = slice.weights;
    if (machine.sparse.accumulatorBanks == 0 || (!oneTap && op.variant == 0))
      slice.taps.clear();
    if (oneTap && machine.sparse.accumulatorBanks > 0)
      slice.taps.clear(), slice.entries = {0, between(1, 500)};
    return slice;
  }

  ScatterTime time() { return {machine, op, entry, /*lanes=*/7, /*passes=*/2}; }

  std::mt19937 random{5};
  machine::Description machine;
  isa::TccRun op;
  TileEntry entry;
};

TEST_F(ScatterTimes, BlocksAlikeAreFollowedOnce) {
  for (unsigned i = 0; i < 400; ++i) {
    draw();
    const Slices slices = {slice(), slice()};
    ScatterTime all = time(), each = time();
    all.collectAll();
    each.collect([](uint64_t) { return false; });
    for (unsigned channel = 0; channel < 2; ++channel) {
      llvm::cantFail(all.channel(slices));
      llvm::cantFail(each.channel(slices));
    }
    ASSERT_EQ(all.cycles(), each.cycles()) << "case " << i;
    ASSERT_EQ(all.products(), each.products()) << "case " << i;
    ASSERT_EQ(all.searched(), each.searched()) << "case " << i;
  }
}

} // namespace
