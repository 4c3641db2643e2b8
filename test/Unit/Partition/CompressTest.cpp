// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compressed planes: round trips, sizes against the closed forms, counts from
// the compressed form, hostile bytes.

#include "Maps.h"
#include "Results.h"

#include "ashlar/Partition/Compress.h"
#include "gtest/gtest.h"

using namespace ashlar::partition;

namespace {

Plane planeOf(const CountMap &map, unsigned bytes, int32_t zero,
              unsigned seed) {
  std::mt19937 random(seed);
  Plane plane{map.rows, map.cols, bytes, zero, {}};
  for (uint32_t count : map.counts) {
    int32_t value = int32_t(random() % 200) - 100;
    if (value == zero)
      value = zero + 1;
    plane.values.push_back(count ? value : zero);
  }
  return plane;
}

/// A plane of 32 x 32 bytes with the first `nonZeros` positions set.
Plane withNonZeros(unsigned nonZeros) {
  Plane plane{32, 32, 1, 0, std::vector<int32_t>(1024, 0)};
  // 7 and 1024 share no factor: positions spread over the plane.
  for (unsigned i = 0; i < nonZeros; ++i)
    plane.values[i * 7 % 1024] = 1;
  return plane;
}

size_t bodyBytes(const Plane &plane, Format format) {
  return llvm::cantFail(compress(plane, format)).size() - kHeaderBytes;
}

} // namespace

TEST(Compress, RoundTripsAtEveryDensity) {
  unsigned seed = 1;
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1},
                            {1, 17},
                            {13, 1},
                            {16, 16},
                            {31, 7},
                            {56, 56}})
    for (int tenth = 0; tenth <= 10; ++tenth)
      for (unsigned bytes : {1u, 2u, 4u}) {
        CountMap map = evenMap(rows, cols, tenth / 10.0, ++seed);
        Plane plane = planeOf(map, bytes, int32_t(seed % 3) - 1, seed);
        for (unsigned format = 0; format < 4; ++format)
          for (unsigned levels : {0u, 1u, 3u, 6u}) {
            std::vector<uint8_t> data =
                llvm::cantFail(compress(plane, Format(format), levels));
            EXPECT_EQ(llvm::cantFail(decompress(data)), plane);
            EXPECT_EQ(llvm::cantFail(countsOf(data)).counts, map.counts);
          }
      }
}

TEST(Compress, SwitchPointsOf32x32Bytes) {
  // COO (18 bits each) below a bitmap up to 101 non-zeros (9.9 %), below dense
  // up to 455 (44 %); a bitmap below dense up to 895 (87.5 %).
  for (unsigned n = 0; n <= 1024; ++n) {
    Plane plane = withNonZeros(n);
    size_t dense = bodyBytes(plane, Format::Dense);
    size_t bitmap = bodyBytes(plane, Format::Bitmap);
    size_t coo = bodyBytes(plane, Format::Coo);
    EXPECT_EQ(dense, 1024u);
    EXPECT_EQ(bitmap, 128u + n);
    EXPECT_EQ(coo, (18 * n + 7) / 8);
    EXPECT_EQ(coo < bitmap, n <= 101);
    EXPECT_EQ(coo < dense, n <= 454);
    EXPECT_EQ(bitmap < dense, n <= 895);
  }
}

TEST(Compress, TreeWithoutLevelsIsTheBitmap) {
  Plane plane = withNonZeros(300);
  std::vector<uint8_t> tree = llvm::cantFail(compress(plane, Format::Spt1, 0));
  std::vector<uint8_t> flat = llvm::cantFail(compress(plane, Format::Bitmap));
  tree[0] = flat[0];
  EXPECT_EQ(tree, flat);
}

TEST(Compress, TreeWinsWhereZerosCluster) {
  // 16 non-zeros in one corner of 64 x 64.
  Plane plane{64, 64, 1, 0, std::vector<int32_t>(4096, 0)};
  for (int i = 0; i < 16; ++i)
    plane.values[(i / 4) * 64 + i % 4] = i + 1;
  std::vector<uint8_t> best = llvm::cantFail(compressSmallest(plane));
  EXPECT_EQ(llvm::cantFail(formatOf(best)), (Format::Spt1));
  // Four levels of four bits, a leaf of 4 x 4 bits, 16 values.
  EXPECT_EQ(best.size(), kHeaderBytes + 4 + 16);
}

TEST(Compress, ChosenByBytes) {
  auto chosen = [](unsigned n) {
    return llvm::cantFail(
        formatOf(llvm::cantFail(compressSmallest(withNonZeros(n)))));
  };
  EXPECT_EQ(chosen(1024), Format::Dense);
  EXPECT_EQ(chosen(500), Format::Bitmap);
  EXPECT_EQ(chosen(8), Format::Coo);
  for (unsigned n : {0u, 10u, 100u, 400u, 900u, 1024u}) {
    Plane plane = withNonZeros(n);
    size_t best = llvm::cantFail(compressSmallest(plane)).size();
    for (unsigned format = 0; format < 4; ++format)
      for (unsigned levels = 0; levels < 7; ++levels)
        EXPECT_LE(
            best,
            llvm::cantFail(compress(plane, Format(format), levels)).size());
  }
}

TEST(Compress, HostileBytesAreErrorsNeverCrashes) {
  std::mt19937 random(3);
  for (unsigned format = 0; format < 4; ++format) {
    Plane plane = planeOf(evenMap(9, 11, 0.3, format), 1, 0, format);
    std::vector<uint8_t> good =
        llvm::cantFail(compress(plane, Format(format), format == 3 ? 2 : 0));
    for (size_t cut = 0; cut < good.size(); ++cut)
      EXPECT_TRUE(
          fails(decompress(llvm::ArrayRef<uint8_t>(good).take_front(cut))));
    std::vector<uint8_t> longer = good;
    longer.push_back(0);
    EXPECT_TRUE(fails(decompress(longer)));
    for (int trial = 0; trial < 3000; ++trial) {
      std::vector<uint8_t> bad = good;
      for (unsigned flips = 1 + random() % 3; flips; --flips)
        bad[random() % bad.size()] ^= uint8_t(1 << random() % 8);
      llvm::Expected<Plane> read = decompress(bad, 1 << 16);
      if (!read) {
        llvm::consumeError(read.takeError());
        continue;
      }
      // Accepted bytes are exactly those of their plane.
      EXPECT_EQ(llvm::cantFail(compress(*read, Format(bad[0]), bad[2])), bad);
    }
  }
}

TEST(Compress, TheHeaderSaysCountAndBytes) {
  for (unsigned format = 0; format < 4; ++format) {
    auto bytes = llvm::cantFail(compress(withNonZeros(300), Format(format), 3));
    // What stands after the plane does not matter to the header.
    bytes.resize(bytes.size() + 7);
    PlaneHeader head = llvm::cantFail(readHeader(bytes));
    EXPECT_EQ(head.nonZeros, 300u);
    EXPECT_EQ(head.bytes + 7, bytes.size());
    EXPECT_EQ(bytes[PlaneHeader::kNonZerosAt], 300 % 256);
    EXPECT_TRUE(fails(decompress(bytes)));
    bytes[PlaneHeader::kBytesAt] = 23;
    bytes[PlaneHeader::kBytesAt + 1] = 0;
    EXPECT_TRUE(fails(readHeader(bytes)));
  }
}

TEST(Compress, LargestIsAPlaneWithoutZeros) {
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1},
                            {1, 17},
                            {100, 3},
                            {31, 7},
                            {64, 64}})
    for (unsigned bytes : {1u, 2u, 4u})
      for (unsigned format = 0; format < 4; ++format)
        for (unsigned levels : {0u, 1u, 2u, 5u, 9u}) {
          Plane full = planeOf(evenMap(rows, cols, 1, 1), bytes, 0, 7);
          auto stored = llvm::cantFail(compress(full, Format(format), levels));
          EXPECT_EQ(largestBytes(Format(format), levels, rows, cols, bytes),
                    stored.size());
        }
}

TEST(Compress, ExpectedBytesAreTheMean) {
  std::mt19937 random(9);
  std::vector<double> density(40);
  for (size_t y = 0; y < density.size(); ++y)
    density[y] = y < 16 ? 0 : double(y) / 100;
  for (unsigned format = 0; format < 4; ++format)
    for (unsigned levels : {0u, 2u, 4u}) {
      double sum = 0;
      constexpr int planes = 200;
      for (int i = 0; i < planes; ++i) {
        Plane plane{40, 50, 1, 0, {}};
        for (double share : density) {
          std::bernoulli_distribution set(share);
          for (int x = 0; x < 50; ++x)
            plane.values.push_back(set(random));
        }
        sum += double(
            llvm::cantFail(compress(plane, Format(format), levels)).size());
      }
      EXPECT_NEAR(double(expectedBytes(Format(format), levels, density, 50, 1)),
                  sum / planes, 0.01 * sum / planes + 2);
    }
}

TEST(Compress, HugeClaimsAreCapacityErrors) {
  Plane plane{1, 1, 1, 0, {0}};
  std::vector<uint8_t> bytes = llvm::cantFail(compress(plane, Format::Coo));
  bytes[6] = bytes[10] = 0x40; // 4 194 305 x 4 194 305
  EXPECT_TRUE(fails(decompress(bytes)));
  plane.values = {300};
  EXPECT_TRUE(fails(compress(plane, Format::Dense)));
}
