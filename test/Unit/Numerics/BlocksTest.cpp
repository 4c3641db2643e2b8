// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of operands that stay stored bytes with the shifts of their blocks,
// against the scalar table's products of aligned integers.

#include "KernelPair.h"

#include <algorithm>

using namespace ashlar::numerics;

namespace {

constexpr size_t kCellRows = 8; ///< Rows that share cells in memory.
constexpr int kScale = 1;

/// How exponents and mantissas are drawn.
struct Draw {
  int mantissa = 8;
  int octaves = 4;      ///< Exponents are at most so far below the scale.
  bool extreme = false; ///< Largest magnitudes, most of them at the scale.
  bool differs = false; ///< Some rows of a block have other exponents.
  bool above = false;   ///< Some elements may saturate.
  bool masked = false;  ///< Some steps read nothing.
};

/// Rows of stored bytes and what alignment makes of them.
struct Stored {
  size_t rows, cols;
  int mantissa;
  std::vector<int8_t> mant, cells; ///< A row of cells for kCellRows rows.
  std::vector<uint32_t> valid;
  std::vector<int16_t> aligned;
};

struct Blocks : KernelPair {
  Stored draw(size_t rows, size_t cols, const Draw &how);
  PackedStationary packSet(const Stored &values);
  PackedMoving packOperand(const Stored &values, bool inBlocks);
  void check(const std::vector<size_t> &heights, size_t cols, size_t steps,
             const Draw &left, const Draw &right);
  void checkDrain(const PlannedSums &planned, const std::vector<int64_t> &sums,
                  size_t cols, size_t steps);

  size_t blocksOfBlocks = 0; ///< Products whose operands both were in blocks.
};

Stored Blocks::draw(size_t rows, size_t cols, const Draw &how) {
  Stored out{rows, cols, how.mantissa, integers<int8_t>(rows * cols), {},
             {},   {}};
  const int limit = (1 << (how.mantissa - 1)) - 1;
  const int top = kScale + how.mantissa - 2;
  for (int8_t &m : out.mant)
    if (how.extreme)
      m = static_cast<int8_t>(limit);
    else if (random() % 50 == 0)
      m = static_cast<int8_t>(-limit - 1); // as good as -limit
  const size_t groups = (rows + kCellRows - 1) / kCellRows;
  out.cells.resize(groups * cols);
  for (size_t g = 0; g < groups; ++g)
    for (size_t c = 0; c < cols; ++c) {
      int8_t &cell = out.cells[g * cols + c];
      const int below = between(0, how.octaves);
      cell = static_cast<int8_t>(
          top - (how.extreme && random() % 8 != 0 ? 0 : below));
      if (random() % 20 == 0)
        cell = -128; // what encodes zeros
      if (g % 2 != 0 && !(how.differs && random() % 9 == 0))
        cell = out.cells[(g - 1) * cols + c];
      if (how.above && random() % 99 == 0)
        cell = static_cast<int8_t>(top + 3);
    }
  out.valid.assign(cols / 32 + 1, ~uint32_t(0));
  for (uint32_t &word : out.valid)
    if (how.masked)
      word = static_cast<uint32_t>(random() | random());
  out.aligned.resize(rows * cols);
  uint64_t saturated = 0;
  for (size_t i = 0; i < rows; ++i)
    for (size_t c = 0; c < cols; ++c)
      if (out.valid[c / 32] >> (c % 32) & 1)
        out.aligned[i * cols + c] = static_cast<int16_t>(
            align(fetchMantissa(out.mant[i * cols + c], how.mantissa),
                  out.cells[i / kCellRows * cols + c], kScale, how.mantissa,
                  kBlockRange, saturated));
  return out;
}

PackedStationary Blocks::packSet(const Stored &values) {
  PackedStationary packed;
  const auto pitch = static_cast<ptrdiff_t>(values.cols);
  const StoredMatrix stored = {values.mant.data(),
                               pitch,
                               values.cells.data(),
                               pitch,
                               std::min(values.rows, kCellRows),
                               kCellRows,
                               {kScale, values.mantissa, kBlockRange}};
  if (!tested().packStoredStationary ||
      !tested().packStoredStationary(stored, values.rows, values.cols, packed))
    tested().packStationary(
        {OperandWidth::Int16, values.aligned.data(), values.cols}, values.rows,
        values.cols, packed);
  return packed;
}

/// In blocks if that is wanted and possible.
PackedMoving Blocks::packOperand(const Stored &values, bool inBlocks) {
  PackedMoving packed;
  const auto pack = [&] {
    uint64_t saturated = 0;
    for (size_t row = 0; row < values.rows; row += kCellRows) {
      const StoredRows rows = {values.mant.data() + row * values.cols,
                               static_cast<ptrdiff_t>(values.cols),
                               values.cells.data() +
                                   row / kCellRows * values.cols,
                               values.valid.data(),
                               {kScale, values.mantissa, kBlockRange}};
      tested().packStored(
          rows, {row, std::min(kCellRows, values.rows - row), 0, values.cols},
          packed, &saturated);
    }
    return saturated == 0;
  };
  if (inBlocks && tested().startBlocks) {
    tested().startBlocks(values.rows, values.cols, packed);
    if (pack())
      return packed;
  }
  tested().startMoving(values.rows, values.cols, OperandWidth::Int16, packed);
  pack();
  return packed;
}

void Blocks::check(const std::vector<size_t> &heights, size_t cols,
                   size_t steps, const Draw &left, const Draw &right) {
  std::vector<PackedStationary> sets;
  std::vector<PackedMoving> operands;
  std::vector<int64_t> expected(cols * steps), sums(cols * steps);
  bool mixed = false;
  for (size_t i = 0; i < heights.size(); ++i) {
    const Stored s = draw(heights[i], cols, left);
    const Stored m = draw(heights[i], steps, right);
    PackedStationary packed;
    reference.packStationary({OperandWidth::Int16, s.aligned.data(), cols},
                             heights[i], cols, packed);
    const IntegerMatrix moving = {OperandWidth::Int16, m.aligned.data(), steps};
    reference.gemm(packed, moving, steps, expected.data(), steps, i > 0);
    sets.push_back(packSet(s));
    operands.push_back(packOperand(m, random() % 6 != 0));
    mixed |= sets.back().inBlocks != operands.back().inBlocks;
    blocksOfBlocks += sets.back().inBlocks && operands.back().inBlocks;
    // A set in blocks multiplies aligned integers too.
    tested().gemm(sets.back(), moving, steps, sums.data(), steps, i > 0);
  }
  ASSERT_EQ(sums, expected);
  std::vector<PackedProduct> products;
  for (size_t i = 0; i < heights.size(); ++i)
    products.push_back({&sets[i], &operands[i]});
  tested().gemmPacked(products.data(), products.size(), 0, steps, sums.data(),
                      steps, false);
  ASSERT_EQ(sums, expected) << cols << " columns, " << steps << " steps";
  if (steps > kMovingUnit) {
    const size_t first = kMovingUnit;
    tested().gemmPacked(products.data(), products.size(), first, steps - first,
                        sums.data() + first, steps, true);
    for (size_t c = 0; c < cols; ++c)
      for (size_t t = first; t < steps; ++t)
        ASSERT_EQ(sums[c * steps + t], 2 * expected[c * steps + t]);
  }
  if (tested().planSums) {
    PlannedSums planned;
    ASSERT_EQ(
        tested().planSums(products.data(), products.size(), 0, steps, planned),
        !mixed);
    if (!mixed)
      checkDrain(planned, expected, cols, steps);
  }
  for (PackedStationary &set : sets)
    if (tested().leaveBlocks)
      tested().leaveBlocks(set);
  tested().gemmPacked(products.data(), products.size(), 0, steps, sums.data(),
                      steps, false);
  ASSERT_EQ(sums, expected) << "after leaving blocks";
}

/// A drain of the planned sums is that of the sums.
void Blocks::checkDrain(const PlannedSums &planned,
                        const std::vector<int64_t> &sums, size_t cols,
                        size_t steps) {
  EpilogueRow row;
  row.exponent = -20;
  row.function = Function::Relu;
  for (size_t column = 0; column < cols; column += 16) {
    const size_t count = std::min<size_t>(16, cols - column);
    const std::vector<EpilogueRow> rows(count, row);
    std::vector<int8_t> a(count * steps), b = a, cellsA(steps), cellsB(steps);
    std::vector<int8_t *> toA, toB;
    std::vector<const int64_t *> from;
    for (size_t i = 0; i < count; ++i) {
      toA.push_back(a.data() + i * steps);
      toB.push_back(b.data() + i * steps);
      from.push_back(&sums[(column + i) * steps]);
    }
    EncodeStats statsA, statsB;
    tested().drainSums(planned, column, rows.data(),
                       {count, 8, toA.data(), cellsA.data(), &statsA});
    reference.drain8(from.data(), rows.data(), steps,
                     {count, 8, toB.data(), cellsB.data(), &statsB});
    ASSERT_EQ(a, b) << "column " << column;
    ASSERT_EQ(cellsA, cellsB);
    sameStats(statsA, statsB);
  }
}

const std::vector<size_t> kHeights[] = {{1},   {8},   {16},         {24, 40},
                                        {128}, {129}, {128, 100, 3}};

TEST_P(Blocks, productsAreThoseOfAlignedIntegers) {
  for (const std::vector<size_t> &heights : kHeights)
    for (size_t cols : {1, 8, 23, 64, 72})
      for (size_t steps : {1, 16, 33, 49, 64, 130})
        for (int octaves : {0, 4, 9}) {
          const Draw left = {octaves == 4 ? between(4, 8) : 8, octaves},
                     right = {octaves == 4 ? between(4, 8) : 8,
                              13 - octaves,
                              false,
                              false,
                              false,
                              steps == 49};
          ASSERT_NO_FATAL_FAILURE(check(heights, cols, steps, left, right));
        }
  EXPECT_EQ(blocksOfBlocks != 0, tested().startBlocks != nullptr);
}

/// Nothing of this fits blocks: what cannot be said in one shift a block is
/// packed as before, whichever of the operands it is.
TEST_P(Blocks, othersAreAlignedIntegers) {
  for (const std::vector<size_t> &heights : kHeights)
    for (int k = 0; k < 4; ++k) {
      const Draw odd = {8, 5, false, k % 2 == 0, k % 2 == 1};
      const Draw even = {8, 5};
      ASSERT_NO_FATAL_FAILURE(
          check(heights, 40, 70, k < 2 ? odd : even, k < 2 ? even : odd));
    }
}

/// Sums of the largest magnitudes: beyond 32 bits unless shifts are taken in
/// two digits, and together even then.
TEST_P(Blocks, largestSums) {
  for (int octaves : {0, 1, 7})
    for (size_t rows : {128, 256, 300}) {
      const Draw left = {8, 7, true};
      const Draw right = {8, octaves, true};
      ASSERT_NO_FATAL_FAILURE(
          check(std::vector<size_t>(5, rows), 9, 37, left, right));
    }
}

INSTANTIATE_TEST_SUITE_P(Tables, Blocks,
                         testing::ValuesIn(availableKernels().begin(),
                                           availableKernels().end()),
                         [](const auto &info) {
                           return info.param->name.str();
                         });

} // namespace
