// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of encoded tensors: lengths, counts, and which data movements keep
// them.

#include "dialects/BFP/BFPDialect.h"
#include "dialects/BFP/BFPTypes.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace ashlar::bfp;
using mlir::SmallVector;

namespace {

class Geometry : public ::testing::Test {
protected:
  Geometry() { context.loadDialect<BFPDialect>(); }

  BlockType make(int64_t block, int64_t axis, unsigned rows = 1) {
    return BlockType::get(&context, 8, block, 7, axis, /*isUnsigned=*/false,
                          rows);
  }

  mlir::MLIRContext context;
};

TEST_F(Geometry, Counts) {
  EXPECT_EQ(getNumBlocks(make(16, 1), {1, 33, 4}), 3);
  EXPECT_EQ(getNumBlocks(make(16, 1), {1, 32, 4}), 2);
  EXPECT_EQ(getNumBlocks(make(16, 1), {1, 1, 4}), 1);
  EXPECT_EQ(getNumBlocks(make(BlockType::kWholeAxis, 1), {1, 33, 4}), 1);
  EXPECT_EQ(getNumBlocks(make(BlockType::kWholeTensor, 1), {1, 33, 4}), 1);
  EXPECT_EQ(getBlockLength(make(16, 1), {1, 33, 4}), 16);
  EXPECT_EQ(getBlockLength(make(BlockType::kWholeAxis, 1), {1, 33, 4}), 33);
}

TEST_F(Geometry, ExponentShape) {
  EXPECT_EQ(getExponentShape(make(16, 1), {2, 33, 4}),
            (SmallVector<int64_t>{2, 3, 4}));
  EXPECT_EQ(getExponentShape(make(BlockType::kWholeAxis, 0), {2, 33, 4}),
            (SmallVector<int64_t>{1, 33, 4}));
  EXPECT_EQ(getExponentShape(make(BlockType::kWholeTensor, 0), {2, 33, 4}),
            (SmallVector<int64_t>{1, 1, 1}));
  EXPECT_EQ(getExponentShape(make(16, 1, 4), {10, 33, 3, 3}),
            (SmallVector<int64_t>{3, 3, 3, 3}));
  EXPECT_EQ(getExponentShape(make(16, 0, 4), {33, 8}),
            (SmallVector<int64_t>{3, 2}));
}

TEST_F(Geometry, RowsArePartOfTheFormat) {
  EXPECT_EQ(make(16, 1, 4).getRowAxis(), 0);
  EXPECT_EQ(make(16, 0, 4).getRowAxis(), 1);
  EXPECT_TRUE(make(16, 1, 4).sharesRows());
  EXPECT_FALSE(make(16, 1).sharesRows());
  EXPECT_FALSE(make(16, 1).sameFormat(make(16, 1, 4)));
  EXPECT_EQ(make(16, 1, 4).withAxis(0), make(16, 0, 4));
  EXPECT_FALSE(make(16, 1, 4).fitsShape({16}));
}

TEST_F(Geometry, Bytes) {
  EXPECT_EQ(make(16, 0).getMantissaBytes(), 1u);
  EXPECT_EQ(BlockType::get(&context, 9, 16, 7, 0, false, 1).getMantissaBytes(),
            2u);
  EXPECT_EQ(BlockType::get(&context, 9, 16, 7, 0, true, 1).getMantissaBytes(),
            1u);
  EXPECT_EQ(make(16, 0).getExponentOffset(), 6);
}

TEST_F(Geometry, ReshapeKeepsAxis) {
  EXPECT_EQ(mapAxisThroughReshape({1, 64, 1, 1}, 1, {1, 64}), 1);
  EXPECT_EQ(mapAxisThroughReshape({1, 64, 8, 8}, 1, {1, 64, 64}), 1);
  EXPECT_EQ(mapAxisThroughReshape({2, 3, 64}, 2, {6, 64}), 1);
  // Extents of 1 are ambiguous: the same number, else the first.
  EXPECT_EQ(mapAxisThroughReshape({1, 1, 1}, 2, {1, 1, 1}), 2);
  EXPECT_EQ(mapAxisThroughReshape({4, 1}, 1, {4, 1, 1, 1}), 1);
}

TEST_F(Geometry, ReshapeBreaksAxis) {
  // Split, merged, and equal extents that cover other elements.
  EXPECT_EQ(mapAxisThroughReshape({1, 64}, 1, {1, 8, 8}), std::nullopt);
  EXPECT_EQ(mapAxisThroughReshape({1, 64, 8, 8}, 1, {1, 4096}), std::nullopt);
  EXPECT_EQ(mapAxisThroughReshape({2, 4, 8}, 1, {4, 2, 8}), std::nullopt);
}

TEST_F(Geometry, ReshapeBetweenWholeBlocks) {
  // Heads of an attention, split and merged.
  EXPECT_EQ(mapBlocksThroughReshape({1, 7, 6, 64}, 3, {1, 7, 384}, 16), 2);
  EXPECT_EQ(mapBlocksThroughReshape({1, 7, 384}, 2, {1, 7, 6, 64}, 16), 3);
  // With elements between those of a block, and dimensions of one.
  EXPECT_EQ(mapBlocksThroughReshape({2, 64, 5}, 1, {2, 2, 32, 1, 5}, 16), 2);
  EXPECT_EQ(mapBlocksThroughReshape({2, 64, 5}, 1, {128, 5}, 64), 0);
  // Blocks that one side cuts, or that would have other elements.
  EXPECT_EQ(mapBlocksThroughReshape({1, 96}, 1, {4, 24}, 16), std::nullopt);
  EXPECT_EQ(mapBlocksThroughReshape({4, 24}, 1, {1, 96}, 16), std::nullopt);
  EXPECT_EQ(mapBlocksThroughReshape({64, 32}, 0, {2048}, 16), std::nullopt);
  EXPECT_EQ(mapBlocksThroughReshape({1, 64}, 1, {2, 32}, BlockType::kWholeAxis),
            std::nullopt);
  // One dimension remains one, however long its blocks are.
  EXPECT_EQ(mapBlocksThroughReshape({2, 3, 5}, 2, {6, 5}, 16), 1);
}

TEST_F(Geometry, Concat) {
  EXPECT_TRUE(concatKeepsBlocks(make(16, 1), 1, {32, 16, 5}));
  EXPECT_FALSE(concatKeepsBlocks(make(16, 1), 1, {32, 5, 16}));
  EXPECT_TRUE(concatKeepsBlocks(make(16, 1), 0, {3, 5}));
  EXPECT_FALSE(concatKeepsBlocks(make(BlockType::kWholeAxis, 1), 1, {16, 16}));
  EXPECT_TRUE(concatKeepsBlocks(make(BlockType::kWholeAxis, 1), 0, {1, 1}));
  EXPECT_FALSE(concatKeepsBlocks(make(BlockType::kWholeTensor, 1), 0, {1, 1}));
}

TEST_F(Geometry, Slice) {
  auto keeps = [&](int64_t block, int64_t start, int64_t step, int64_t size) {
    return sliceKeepsBlocks(make(block, 1), {4, 40}, {0, start}, {1, step},
                            {4, size});
  };
  EXPECT_TRUE(keeps(16, 16, 1, 16));
  EXPECT_TRUE(keeps(16, 16, 1, 24)); // Up to the short last block.
  EXPECT_FALSE(keeps(16, 16, 1, 20));
  EXPECT_FALSE(keeps(16, 8, 1, 16));
  EXPECT_FALSE(keeps(16, 0, 2, 16));
  EXPECT_TRUE(keeps(BlockType::kWholeAxis, 0, 1, 40));
  EXPECT_FALSE(keeps(BlockType::kWholeAxis, 0, 1, 16));
  // Other dimensions are free, reversed ones too, but not in one block.
  EXPECT_TRUE(sliceKeepsBlocks(make(16, 1), {4, 40}, {3, 0}, {-2, 1}, {2, 40}));
  EXPECT_FALSE(sliceKeepsBlocks(make(BlockType::kWholeTensor, 1), {4, 40},
                                {0, 0}, {1, 1}, {2, 40}));
}

} // namespace
