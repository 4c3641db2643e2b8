// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time of a unit whose data all count: blocks that take the same time are
// followed once, units of one kind are timed once, and that changes nothing.

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

/// A stream of two channels with every tap of two kernels.
std::vector<uint8_t> streamOf(const isa::TccRun &op) {
  isa::StreamShape shape;
  shape.channels = shape.channelsPerGroup = shape.kernels = 2;
  shape.kH = op.kH, shape.kW = op.kW;
  std::vector<isa::Coefficient> taps;
  for (uint32_t z = 0; z < shape.kernels; ++z)
    for (uint32_t ky = 0; ky < op.kH; ++ky)
      for (uint32_t kx = 0; kx < op.kW; ++kx)
        taps.push_back({z, ky, kx, int32_t(1 + z + ky + kx), 0});
  return llvm::cantFail(
      isa::encodeStream(shape, {taps, taps}, isa::StreamEncoding::List));
}

Cost costOf(const machine::Description &machine, const isa::TccRun &op,
            const TileTable &table, ScatterStreams &known,
            llvm::ArrayRef<uint8_t> stream) {
  return scatterCost(
      machine, op, table, known, [&](uint32_t) { return stream; },
      /*isZero=*/{}, [](uint64_t, uint64_t, uint64_t) {});
}

TEST_F(ScatterTimes, UnitsTimedBeforeChangeNothing) {
  draw();
  // One stream in one form for all: what differs is the plan of the tiles.
  const isa::TccRun form = op;
  const std::vector<uint8_t> stream = streamOf(form);
  ScatterStreams shared;
  for (unsigned i = 0; i < 200; ++i) {
    op = form;
    op.images = between(1, 2);
    op.tileH = between(1, 12), op.tileW = between(1, 12);
    op.blockH = between(0, 3), op.blockW = between(0, 3);
    TileTable table(2);
    for (TileEntry &own : table) {
      own.images = between(1, op.images);
      own.rows = between(1, op.tileH), own.cols = between(1, op.tileW);
    }
    ScatterStreams fresh;
    auto streamOfGroup = [&](uint32_t) -> const ScatterStream & {
      return *findStream(machine, op, stream, shared);
    };
    const Cost found = costOf(machine, op, table, shared, stream);
    const Cost expected = costOf(machine, op, table, fresh, stream);
    ASSERT_EQ(found.timing.complete, expected.timing.complete) << "case " << i;
    ASSERT_EQ(found.macs, expected.macs) << "case " << i;
    ASSERT_EQ(found.fmuBytes, expected.fmuBytes) << "case " << i;
    // Nothing is left to be done for an equal instruction.
    ASSERT_EQ(scatterSteps(machine, op, table, streamOfGroup), 0u);
  }
}

} // namespace
