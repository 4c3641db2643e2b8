// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stationary tiles hold every weight exactly once, within the limits of the
// array, and never two blocks of one column in one exponent cell.

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "TestSupport.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace ashlar;
using namespace ashlar::analysis;
using namespace ashlar::test;

namespace {

class StationaryPlanTest : public ::testing::Test {
protected:
  StationaryPlanTest() : machine(smallMachine(16384)) {}

  static int64_t perGroup(const ProductShape &p) {
    return p.channels / p.groups;
  }

  /// Whether the tile gives a non-zero weight to (output, channel).
  static bool holds(const ProductShape &p, const StationaryTile &tile,
                    int64_t output, int64_t channel) {
    int64_t first = output / (p.outputs / p.groups) * perGroup(p);
    int64_t inGroup = channel - first;
    if (inGroup < 0 || inGroup >= perGroup(p))
      return false;
    return tile.layer < 0 || inGroup / p.weightFormat.block % 2 == tile.layer;
  }

  void checkTile(const ProductShape &p, const ColumnTile &column,
                 const StationaryTile &tile) {
    int64_t partitions = machine.sb.partitions;
    int64_t row = (p.part + tile.channel) % partitions;
    EXPECT_LE(tile.rows, static_cast<int64_t>(machine.pe.rows));
    EXPECT_LE(row + tile.rows, partitions) << "rows wrap";
    for (int64_t col = 0; col < column.cols; ++col) {
      std::map<int64_t, std::set<int64_t>> blocksOfCell;
      int64_t output = column.firstOutput + col;
      for (int64_t i = 0; i < tile.rows; ++i) {
        int64_t channel = tile.channel + i;
        if (!holds(p, tile, output, channel))
          continue;
        ++seen[{output, tile.tap, channel}];
        int64_t block = p.weightFormat.block > 0
                            ? channel % perGroup(p) / p.weightFormat.block
                            : 0;
        blocksOfCell[(row + i) / machine.xmGroup].insert(block);
      }
      for (const auto &[cell, blocks] : blocksOfCell)
        EXPECT_EQ(blocks.size(), 1u) << "blocks share cell " << cell;
    }
  }

  void check(const ProductShape &p) {
    seen.clear();
    int64_t output = 0;
    for (const ColumnTile &column : planStationary(p, machine)) {
      EXPECT_EQ(column.firstOutput, output);
      EXPECT_LE(column.cols, static_cast<int64_t>(machine.pe.columns));
      for (int64_t part : p.resultParts) {
        int64_t row = (part + output) % machine.sb.partitions;
        EXPECT_LE(row + column.cols, machine.sb.partitions);
      }
      for (const StationaryTile &tile : column.tiles)
        checkTile(p, column, tile);
      output += column.cols;
    }
    EXPECT_EQ(output, p.outputs);
    EXPECT_EQ(static_cast<int64_t>(seen.size()),
              p.outputs * p.taps * perGroup(p));
    for (const auto &[weight, count] : seen)
      EXPECT_EQ(count, 1);
  }

  machine::Description machine;
  std::map<std::tuple<int64_t, int64_t, int64_t>, int> seen;
};

ProductShape product(int64_t outputs, int64_t channels, int64_t groups,
                     int64_t taps) {
  ProductShape p;
  p.outputs = outputs, p.channels = channels, p.groups = groups, p.taps = taps;
  p.weightFormat.block = 8;
  return p;
}

} // namespace

TEST_F(StationaryPlanTest, RandomProducts) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    int64_t groups = random.pick<int64_t>({1, 1, 2, 3, 5});
    ProductShape p =
        product(groups * random.between(1, 20), groups * random.between(1, 40),
                groups, random.pick<int64_t>({1, 3, 9}));
    p.weightFormat.block = random.pick({8, 16, 32, 0});
    p.part = random.pick<int64_t>({0, 8});
    p.resultParts = {random.pick<int64_t>({0, 8}), random.between(0, 15)};
    check(p);
    if (HasFailure()) {
      FAIL() << "seed " << seed;
    }
  }
}

TEST_F(StationaryPlanTest, TilesBeginOrStayInsideExponentCells) {
  // Cells of 8 partitions under arrays of 3, 6 and 12 rows.
  machine.xmGroup = 8;
  machine.sb.partitions = 48;
  for (uint64_t rows : {3, 6, 12}) {
    machine.pe.rows = rows;
    ProductShape p = product(4, 40, 1, 2);
    check(p);
    for (const ColumnTile &column : planStationary(p, machine))
      for (const StationaryTile &tile : column.tiles) {
        int64_t within = tile.channel % 8;
        EXPECT_TRUE(within == 0 || within + tile.rows <= 8)
            << tile.rows << " rows from channel " << tile.channel;
      }
  }
}

TEST_F(StationaryPlanTest, DepthwiseTilesAreOneCellGroupWide) {
  ProductShape p = product(32, 32, 32, 9);
  check(p);
  // 4 columns see 4 channels: each of the 9 taps is one small tile.
  auto columns = planStationary(p, machine);
  ASSERT_EQ(columns.size(), 8u);
  ASSERT_EQ(columns[1].tiles.size(), 9u);
  EXPECT_EQ(columns[1].tiles[0].rows, 4);
  EXPECT_EQ(columns[1].tiles[0].channel, 4);
  EXPECT_EQ(columns[1].tiles[0].layer, -1);
}

TEST_F(StationaryPlanTest, BlocksThatShareCellsComeInTwoLayers) {
  // Groups of 10 channels: a block of 8 and one of 2, and the second group
  // begins in the middle of an exponent cell.
  ProductShape p = product(4, 20, 2, 1);
  check(p);
  auto columns = planStationary(p, machine);
  ASSERT_FALSE(columns.front().tiles.empty());
  EXPECT_EQ(columns.front().tiles[0].layer, 0);
  EXPECT_EQ(columns.front().tiles[1].layer, 1);
  EXPECT_EQ(columns.front().tiles[0].channel, columns.front().tiles[1].channel);
}

TEST_F(StationaryPlanTest, OneLayerWhereGroupsFillWholeCells) {
  for (const ColumnTile &column : planStationary(product(4, 24, 2, 1), machine))
    for (const StationaryTile &tile : column.tiles)
      EXPECT_EQ(tile.layer, -1);
}

TEST_F(StationaryPlanTest, ChunkBytesCountTilesAndParameters) {
  ColumnTile column;
  column.cols = 3;
  column.tiles.resize(5);
  // 5 tiles of 8 bytes and one record of 16, rounded up to 64.
  EXPECT_EQ(chunkBytes(column, 1), 64);
  EXPECT_EQ(chunkBytes(column, 4), 128);
}

TEST_F(StationaryPlanTest, PartsOfColumnsHaveEveryTileOnceAndFitTheLimit) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    ProductShape p = product(random.between(1, 40), random.between(1, 200), 1,
                             random.pick<int64_t>({1, 9}));
    p.weightsMove = random.between(0, 3) == 0;
    p.chunkLimit = 64 * random.between(1, 6);
    const std::vector<ColumnTile> columns = planStationary(p, machine);
    const std::vector<ColumnTile> chunks = cutChunks(columns, p, true);
    size_t at = 0;
    for (const ColumnTile &column : columns) {
      std::vector<std::tuple<int64_t, int64_t, int64_t>> tiles, expected;
      for (const StationaryTile &tile : column.tiles)
        expected.emplace_back(tile.tap, tile.channel, tile.rows);
      bool begins = true;
      for (bool ends = false; !ends; ++at, begins = false) {
        ASSERT_LT(at, chunks.size()) << "seed " << seed;
        const ColumnTile &chunk = chunks[at];
        ends = chunk.ends;
        EXPECT_EQ(chunk.begins, begins);
        EXPECT_EQ(chunk.firstOutput, column.firstOutput);
        EXPECT_EQ(chunk.cols, column.cols);
        EXPECT_EQ(chunk.parameterBytes, ends ? column.parameterBytes : 0);
        EXPECT_FALSE(chunk.tiles.empty());
        for (const StationaryTile &tile : chunk.tiles)
          tiles.emplace_back(tile.tap, tile.channel, tile.rows);
        // A single tile cannot be cut.
        if (chunk.tiles.size() > 1)
          EXPECT_LE(ringBytes(p, chunk, true, 1), p.chunkLimit);
      }
      EXPECT_EQ(tiles, expected) << "seed " << seed;
    }
    EXPECT_EQ(at, chunks.size());
    // Without a limit, and without tiles in the ring, columns stay whole.
    EXPECT_EQ(cutChunks(columns, p, false).size(), columns.size());
    if (HasFailure())
      return;
  }
}

TEST_F(StationaryPlanTest, ColumnsAreNarrowerWhereATileDoesNotFitAChunk) {
  machine.pe.columns = machine.sb.partitions = 256;
  ProductShape p = product(256, 64, 1, 1);
  p.chunkLimit = 128;
  p.outputUnit = 16;
  for (const ColumnTile &column : planStationary(p, machine)) {
    EXPECT_EQ(column.cols % 16, 0);
    EXPECT_LE(chunkBytes({0, column.cols, 16, {StationaryTile()}, {}}, 1), 128);
  }
}
