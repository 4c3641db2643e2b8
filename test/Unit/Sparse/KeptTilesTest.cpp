// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles that drains fill: which elements a part of the operand reaches, what
// goes through the ports, and when the loader believes that all is there.

#include "ashlar/Machine/Cycles.h"
#include "lib/Emulator/Prove/Cluster/KeptPixels.h"
#include "gtest/gtest.h"
#include <random>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::MapBox;

namespace {

/// An operand of 16 channels in two groups of units with 2 x 2 tiles each.
struct Opened {
  isa::DmaTile op{};
  TileTable tiles;

  Opened(int64_t height, int64_t width, uint32_t kernel, uint32_t stride,
         uint32_t dilation, int32_t pad) {
    op.drained = true;
    op.channels = 8;
    op.groups = 2;
    op.groupStep = 8;
    op.type = isa::ElemType::I8;
    op.kH = op.kW = kernel;
    op.sH = op.sW = stride;
    op.dH = op.dW = dilation;
    op.pH = op.pW = pad;
    op.inN = op.images = 1;
    op.inH = static_cast<uint32_t>(height);
    op.inW = static_cast<uint32_t>(width);
    const int64_t reach = (int64_t(kernel) - 1) * dilation + 1;
    const auto rows =
        static_cast<uint32_t>((height + 2 * pad - reach) / stride + 1);
    const auto cols =
        static_cast<uint32_t>((width + 2 * pad - reach) / stride + 1);
    op.tileH = (rows + 1) / 2;
    op.tileW = (cols + 1) / 2;
    for (uint32_t group = 0; group < 2; ++group)
      for (uint32_t y = 0; y < rows; y += op.tileH)
        for (uint32_t x = 0; x < cols; x += op.tileW) {
          TileEntry entry;
          entry.group = group;
          entry.y = y, entry.x = x, entry.images = 1;
          entry.rows = std::min(op.tileH, rows - y);
          entry.cols = std::min(op.tileW, cols - x);
          tiles.push_back(entry);
        }
  }

  isa::ActDrain drain(uint32_t slot, uint32_t cols) const {
    isa::ActDrain drain{};
    drain.fromTcu = drain.kept = true;
    drain.slot = slot;
    drain.cols = cols;
    drain.n0 = op.inN, drain.n1 = op.inH, drain.n2 = op.inW;
    drain.dstType = op.type;
    return drain;
  }
};

/// Elements whose pixel lies in a box, one by one.
uint64_t countElements(const isa::DmaTile &op, const TileEntry &entry,
                       const MapBox &box) {
  const machine::TileGeometry geometry = isa::geometryOf(op);
  auto along = [](const machine::AxisPhases &axis, uint64_t results,
                  uint64_t first, int64_t pad, int64_t begin, int64_t count) {
    uint64_t found = 0;
    for (size_t p = 0; p < axis.phases.size(); ++p)
      for (uint64_t i = 0; i < results + axis.phases[p].halo; ++i) {
        const int64_t at = axis.source(p, i, first, pad);
        found += at >= begin && at < begin + count;
      }
    return found;
  };
  return along(geometry.h, entry.rows, entry.y, op.pH, box.y, box.rows) *
         along(geometry.w, entry.cols, entry.x, op.pW, box.x, box.cols);
}

} // namespace

TEST(KeptTiles, ElementsOfAPartAreThoseWhosePixelsItHas) {
  std::mt19937_64 random(7);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 300; ++i) {
    const auto kernel = static_cast<uint32_t>(draw(1, 5));
    const auto dilation = static_cast<uint32_t>(draw(1, 3));
    const auto pad = static_cast<int32_t>(draw(0, 4));
    const int64_t least = (int64_t(kernel) - 1) * dilation + 1;
    const Opened opened(least + draw(0, 9), least + draw(0, 9), kernel,
                        static_cast<uint32_t>(draw(1, 4)), dilation, pad);
    const machine::TileGeometry geometry = isa::geometryOf(opened.op);
    const MapBox box{0, draw(-2, 6), draw(-2, 6), 1, draw(1, 9), draw(1, 9)};
    for (const TileEntry &entry : opened.tiles)
      EXPECT_EQ(keptElements(opened.op, geometry, entry, box),
                countElements(opened.op, entry, box));
    // Pixels and zeros together are the slots.
    KeptTiles kept{opened.op, opened.tiles};
    const KeptTraffic pixels =
        keptTraffic(kept, opened.drain(0, 16), operandBox(opened.op));
    EXPECT_EQ(openedTraffic(kept).written + pixels.written,
              opened.tiles.size() * geometry.slotElements() * 8);
  }
}

TEST(KeptTiles, RunsWaitForEveryPixelOfEveryChannel) {
  const Opened opened(8, 8, 3, 1, 1, 1);
  ProofWork work(1000);
  const MapBox top{0, 0, 0, 1, 5, 8}, bottom{0, 5, 0, 1, 3, 8};
  KeptPixels pixels(opened.op, opened.tiles);
  EXPECT_TRUE(pixels.complete(work));
  EXPECT_FALSE(pixels.add(opened.drain(0, 16), top, work));
  auto missing = pixels.complete(work);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->kind, FaultKind::UndefinedRead);
  EXPECT_FALSE(pixels.add(opened.drain(0, 12), bottom, work));
  missing = pixels.complete(work);
  ASSERT_TRUE(missing);
  EXPECT_NE(missing->message.find("of channel 12"), std::string::npos);
  EXPECT_FALSE(pixels.add(opened.drain(12, 4), bottom, work));
  EXPECT_FALSE(pixels.complete(work));
  // A second drain of a result.
  EXPECT_TRUE(pixels.add(opened.drain(15, 1), MapBox{0, 4, 7, 1, 1, 1}, work));
  EXPECT_FALSE(work.exhausted());
}

TEST(KeptTiles, DrainsFitTheTilesThatAreOpen) {
  Opened opened(8, 8, 3, 1, 1, 1);
  opened.op.type = isa::ElemType::Bfp;
  opened.op.mantissa = 8;
  opened.op.block = 8;
  ProofWork work(1000);
  const MapBox all = operandBox(opened.op);
  auto refused = [&](auto change) {
    KeptPixels pixels(opened.op, opened.tiles);
    isa::ActDrain drain = opened.drain(0, 16);
    drain.dstMantissa = 8;
    drain.dstBlock = 16;
    change(drain);
    return pixels.add(drain, all, work).has_value();
  };
  EXPECT_FALSE(refused([](auto &) {}));
  EXPECT_TRUE(refused([](auto &drain) { drain.n1 = 9; }));
  EXPECT_TRUE(refused([](auto &drain) { drain.dstMantissa = 7; }));
  EXPECT_TRUE(refused([](auto &drain) { drain.slot = 8; }));
  EXPECT_TRUE(refused([](auto &drain) { drain.slot = 4, drain.cols = 8; }));
  EXPECT_TRUE(refused([](auto &drain) { drain.dstBlock = 4; }));
}

/// The port of the unit that gets most limits both.
TEST(KeptTiles, PortsArePaidFor) {
  machine::Description machine = llvm::cantFail(machine::load("a1"));
  const machine::Timing drain{100, 140, 0, 0};
  EXPECT_EQ(machine::tileKeep(machine, drain, 6400).issue, 100u);
  EXPECT_EQ(machine::tileKeep(machine, drain, 6401).issue, 101u);
  EXPECT_EQ(machine::tileKeep(machine, drain, 6401).complete, 141u);
  EXPECT_EQ(machine::tileOpen(machine, 640).complete,
            machine.dma.setupCycles + 10);
  machine.sparse.fmuWriteBytes = 0;
  EXPECT_EQ(machine::tileKeep(machine, drain, 1 << 20).issue, 100u);
}
