// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows cover the tile once and fit a PSUM bank; moving patterns read the
// element that a convolution reads, and nothing where padding is.

#include "lib/Conversion/NPUToISA/ProductGeometry.h"
#include "TestSupport.h"
#include "gtest/gtest.h"
#include <set>

using namespace ashlar;
using namespace ashlar::codegen;
using namespace ashlar::test;

namespace {

ProductGeometry randomGeometry(Random &random) {
  ProductGeometry geometry;
  bool deep = random.chance(30);
  geometry.extent = {deep ? 1 : random.between(1, 3),
                     deep ? random.between(1, 4) : 1, random.between(1, 12),
                     random.between(1, 70)};
  for (int d = deep ? 0 : 1; d < 3; ++d) {
    geometry.kernel[d] = random.between(1, 3);
    geometry.stride[d] = random.between(1, 3);
    geometry.dilation[d] = random.between(1, 2);
    geometry.origin[d] = random.between(-5, 4);
    geometry.input[d] = random.between(1, 60);
    geometry.held[d] = std::max<int64_t>(geometry.origin[d], 0);
  }
  geometry.x.base = 1000;
  geometry.xStrides = {90000, 9000, 100, 1};
  return geometry;
}

} // namespace

TEST(ProductGeometryTest, WindowsCoverTheTileOnce) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    ProductGeometry geometry = randomGeometry(random);
    int64_t entries = random.pick<int64_t>({1, 7, 64, 512});
    std::set<std::array<int64_t, 4>> seen;
    for (const Window &window : geometry.windows(entries)) {
      int64_t size = 1;
      for (int64_t extent : window.size)
        size *= extent;
      ASSERT_LE(size, entries) << "seed " << seed;
      ASSERT_TRUE(window.size[0] == 1 || window.size[1] == 1);
      forEachIndex(Shape(window.size.begin(), window.size.end()),
                   [&](const Shape &at) {
                     std::array<int64_t, 4> position;
                     for (int d = 0; d < 4; ++d)
                       position[d] = window.start[d] + at[d];
                     EXPECT_TRUE(seen.insert(position).second);
                   });
    }
    int64_t total = 1;
    for (int64_t extent : geometry.extent)
      total *= extent;
    ASSERT_EQ(static_cast<int64_t>(seen.size()), total) << "seed " << seed;
  }
}

TEST(ProductGeometryTest, MovingPatternsReadWhatConvolutionsRead) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    ProductGeometry geometry = randomGeometry(random);
    int64_t taps = geometry.kernel[0] * geometry.kernel[1] * geometry.kernel[2];
    for (const Window &window : geometry.windows(64))
      for (int64_t tap = 0; tap < taps; ++tap) {
        MovingPattern pattern = geometry.moving(window, tap);
        int64_t kw = geometry.kernel[2], kh = geometry.kernel[1];
        int64_t at[3] = {tap / kw / kh, tap / kw % kh, tap % kw};
        bool batched = window.leadingDim() == 0;
        Shape counts{pattern.count[0], pattern.count[1], pattern.count[2]};
        forEachIndex(counts, [&](const Shape &k) {
          int64_t address = pattern.offset;
          bool reads = true;
          for (int d = 0; d < 3; ++d) {
            address += k[d] * pattern.stride[d];
            reads &= k[d] >= pattern.low[d] && k[d] < pattern.high[d];
          }
          int64_t batch = window.start[0] + (batched ? k[0] : 0);
          int64_t wanted = 1000 + batch * geometry.xStrides[0];
          bool inside = true;
          for (int d = 0; d < 3; ++d) {
            int64_t out = window.start[1 + d] + (d == 0 && batched ? 0 : k[d]);
            int64_t in = geometry.origin[d] + out * geometry.stride[d] +
                         at[d] * geometry.dilation[d];
            inside &= in >= 0 && in < geometry.input[d];
            wanted += (in - geometry.held[d]) * geometry.xStrides[1 + d];
          }
          ASSERT_EQ(reads, inside) << "seed " << seed;
          if (inside)
            ASSERT_EQ(address, wanted) << "seed " << seed;
        });
        if (testing::Test::HasFatalFailure())
          return;
      }
  }
}
