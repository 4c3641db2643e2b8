// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that a drain takes from registers, against the way through memory:
// the scalar table's products and drains.

#include "KernelPair.h"

using namespace ashlar::numerics;

namespace {

/// Shape and size of one sum and its drain.
struct SumShape {
  std::vector<size_t> rows; ///< Of each product.
  size_t cols, steps, first;
  int limit; ///< Magnitudes of stationary values.
};

struct DrainSums : KernelPair {
  std::vector<int16_t> draw(size_t n, int limit) {
    std::vector<int16_t> out(n);
    for (int16_t &v : out)
      v = static_cast<int16_t>(between(-limit, limit));
    return out;
  }
  std::vector<EpilogueRow> drawRows(size_t cols, Function function,
                                    const std::vector<float> &residual,
                                    size_t steps) {
    std::vector<EpilogueRow> rows(cols);
    const bool far = random() % 5 == 0;
    for (size_t c = 0; c < cols; ++c) {
      rows[c].exponent = far ? between(-160, 10) : between(-30, -10);
      rows[c].hasScale = random() % 2;
      rows[c].hasBias = random() % 2;
      rows[c].scale = floats(1)[0];
      rows[c].bias = floats(1)[0];
      rows[c].residual = residual.empty() ? nullptr : &residual[c * steps];
      rows[c].function = function;
      rows[c].alpha = -0.25f;
      rows[c].beta = 6;
    }
    return rows;
  }
  void check(const SumShape &shape, Function function);
};

void DrainSums::check(const SumShape &shape, Function function) {
  const auto [heights, cols, steps, first, limit] = shape;
  const size_t width = first + steps;
  std::vector<PackedStationary> sets(heights.size());
  std::vector<PackedMoving> operands(heights.size());
  std::vector<PackedProduct> products;
  std::vector<int64_t> sums(cols * width);
  for (size_t i = 0; i < heights.size(); ++i) {
    const size_t rows = heights[i];
    const auto s = draw(rows * cols, limit), m = draw(rows * width, 16000);
    const IntegerMatrix left = {OperandWidth::Int16, s.data(), cols};
    const IntegerMatrix right = {OperandWidth::Int16, m.data(), width};
    PackedStationary packed;
    reference.packStationary(left, rows, cols, packed);
    reference.gemm(packed, right, width, sums.data(), width, i > 0);
    tested().packStationary(left, rows, cols, sets[i]);
    tested().startMoving(rows, width, right.width, operands[i]);
    tested().packMoving(right, {0, rows, 0, width}, operands[i]);
    products.push_back({&sets[i], &operands[i]});
  }
  const auto residual =
      random() % 2 ? floats(cols * steps, false) : std::vector<float>();
  const auto rows = drawRows(cols, function, residual, steps);
  PlannedSums planned;
  ASSERT_TRUE(tested().planSums(products.data(), products.size(), first, steps,
                                planned));
  for (size_t column = 0; column < cols; column += 16) {
    const size_t count = std::min<size_t>(16, cols - column);
    std::vector<int8_t> a(count * steps), b(count * steps), cellsA(steps),
        cellsB(steps);
    std::vector<int8_t *> rowsA, rowsB;
    std::vector<const int64_t *> from;
    for (size_t i = 0; i < count; ++i) {
      rowsA.push_back(a.data() + i * steps);
      rowsB.push_back(b.data() + i * steps);
      from.push_back(&sums[(column + i) * width + first]);
    }
    EncodeStats statsA, statsB;
    tested().drainSums(planned, column, &rows[column],
                       {count, 8, rowsA.data(), cellsA.data(), &statsA});
    reference.drain8(from.data(), &rows[column], steps,
                     {count, 8, rowsB.data(), cellsB.data(), &statsB});
    ASSERT_EQ(a, b) << "column " << column << " of " << cols << ", " << steps
                    << " steps";
    ASSERT_EQ(cellsA, cellsB);
    sameStats(statsA, statsB);
  }
}

TEST_P(DrainSums, matchesDrainOfStoredSums) {
  if (!tested().planSums)
    GTEST_SKIP() << "the table has no such kernel";
  const Function functions[] = {Function::Copy, Function::Relu, Function::Clip,
                                Function::LeakyRelu, Function::Gelu};
  const std::vector<size_t> heights[] = {{3}, {64},   {128, 128, 9},
                                         {0}, {0, 5}, {300}};
  // Sums that are exact in 32 bits together, in part, and hardly ever.
  for (int limit : {127, 3000, 32767})
    for (const std::vector<size_t> &rows : heights)
      for (size_t steps : {1, 7, 16, 17, 33, 100})
        for (Function function : functions)
          check({rows, random() % 2 ? size_t(16) : 37, steps,
                 16 * (random() % 2), limit},
                function);
}

TEST_P(DrainSums, wideOperandsTakeTheOtherWay) {
  if (!tested().planSums)
    GTEST_SKIP() << "the table has no such kernel";
  const std::vector<int32_t> values(16, 1 << 20);
  PackedStationary set;
  PackedMoving operand;
  tested().packStationary({OperandWidth::Int32, values.data(), 4}, 4, 4, set);
  tested().startMoving(4, 4, OperandWidth::Int32, operand);
  tested().packMoving({OperandWidth::Int32, values.data(), 4}, {0, 4, 0, 4},
                      operand);
  const PackedProduct product = {&set, &operand};
  PlannedSums planned;
  EXPECT_FALSE(tested().planSums(&product, 1, 0, 4, planned));
}

INSTANTIATE_TEST_SUITE_P(Tables, DrainSums,
                         testing::ValuesIn(availableKernels().begin(),
                                           availableKernels().end()),
                         [](const auto &info) {
                           return info.param->name.str();
                         });

} // namespace
