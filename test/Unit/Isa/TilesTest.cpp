// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What known tiles leave of the maps that instructions name.

#include "ashlar/Isa/Tiles.h"
#include <gtest/gtest.h>

using namespace ashlar::isa;

namespace {
using Box = std::array<int64_t, 6>;

Box values(const MapBox &box) {
  return {box.n, box.y, box.x, box.images, box.rows, box.cols};
}

TccTile tiles() {
  TccTile op{};
  op.copies = 2;
  op.gridN = 1, op.gridH = 2, op.gridW = 3;
  op.images = 2;
  op.n0 = 2, op.y0 = 8, op.x0 = 0;
  op.tileH = 4, op.tileW = 5;
  op.endN = 8, op.endH = 64, op.endW = 64;
  return op;
}
} // namespace

TEST(Tiles, ResultsOfAGrid) {
  EXPECT_EQ(values(resultsOf(tiles())), (Box{2, 8, 0, 2, 8, 15}));
}

TEST(Tiles, TheOutputEndsEarlier) {
  TccTile op = tiles();
  op.endN = 3, op.endH = 13, op.endW = 11;
  EXPECT_EQ(values(resultsOf(op)), (Box{2, 8, 0, 1, 5, 11}));
  op.endH = 8;
  EXPECT_TRUE(resultsOf(op).empty());
}

TEST(Tiles, BoxesGrow) {
  MapBox box;
  box.include({0, 4, 4, 1, 2, 2});
  EXPECT_EQ(values(box), (Box{0, 4, 4, 1, 2, 2}));
  box.include({0, 0, 0, 1, 0, 5});
  EXPECT_EQ(values(box), (Box{0, 4, 4, 1, 2, 2}));
  box.include({1, 0, 5, 1, 5, 4});
  EXPECT_EQ(values(box), (Box{0, 0, 4, 2, 6, 5}));
}

TEST(Tiles, DrainOfABox) {
  ActDrain op{};
  op.n0 = 8, op.n1 = 64, op.n2 = 64;
  op.dstOffset = 1000, op.resOffset = 5000;
  op.dstStride0 = 4096, op.dstStride1 = 64, op.dstStride2 = 1;
  op.resStride0 = -100, op.resStride1 = 10, op.resStride2 = 2;
  const ActDrain part = narrow(op, resultsOf(tiles()));
  EXPECT_EQ(part.n0, 2u);
  EXPECT_EQ(part.n1, 8u);
  EXPECT_EQ(part.n2, 15u);
  EXPECT_EQ(part.dstOffset, 1000u + 2 * 4096 + 8 * 64);
  EXPECT_EQ(part.resOffset, 5000u - 200 + 80);
}

TEST(Tiles, InputUnderTheKernel) {
  DmaTile op{};
  op.kH = 3, op.kW = 1;
  op.sH = 2, op.sW = 1;
  op.dH = 2, op.dW = 1;
  op.pH = 2, op.pW = 0;
  op.inN = 3, op.inH = 32, op.inW = 12;
  op.offset = 100;
  op.srcStrideN = 1000, op.srcStrideH = 12, op.srcStrideW = 1;
  // Rows 8 to 15 need 8*2-2 to 15*2-2+4; image 3 and columns from 12 on do not
  // exist.
  const MapBox input = inputOf(op, resultsOf(tiles()));
  EXPECT_EQ(values(input), (Box{2, 14, 0, 1, 18, 12}));
  const DmaTile part = narrow(op, input);
  EXPECT_EQ(part.offset, 100u + 2000 + 14 * 12);
  EXPECT_EQ(part.inN, 1u);
  EXPECT_EQ(part.inH, 18u);
  EXPECT_EQ(part.inW, 12u);
  // Only padding.
  op.pH = 100;
  EXPECT_TRUE(inputOf(op, resultsOf(tiles())).empty());
}
