// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule of a 2 x 3 by 3 x 3 product on an array of three rows and three
// columns: pair k of result (i, j) meets at time i + j + k + 1, all done after
// rows + columns + K - 2 steps, then the bias is added to every column.

#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Numerics/BlockArithmetic.h"
#include "ashlar/Numerics/Kernels.h"
#include "gtest/gtest.h"

#include <set>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

constexpr unsigned kRows = 2, kColumns = 3, kDepth = 3;

machine::Description smallArray() {
  machine::Description machine = llvm::cantFail(machine::load("fig3-4x4"));
  machine.pe.rows = kDepth;
  machine.pe.columns = kColumns;
  return machine;
}

TEST(SystolicSchedule, everyStepOfTheCheckList) {
  // The array's row k works on pair k one step before row k + 1; the last row
  // makes the entry readable.
  machine::Description machine = smallArray();
  std::vector<std::set<std::string>> busy(7);
  for (unsigned i = 0; i < kRows; ++i)
    for (unsigned j = 0; j < kColumns; ++j)
      for (unsigned k = 0; k < kDepth; ++k) {
        const uint64_t readable =
            machine::peMatmul(machine, i + 1, 1, j + 1).complete;
        const uint64_t time = readable - (kDepth - 1 - k);
        EXPECT_EQ(time, i + j + k + 1);
        ASSERT_LT(time, busy.size());
        busy[time].insert("c" + std::to_string(i) + std::to_string(j));
      }
  using Step = std::set<std::string>;
  EXPECT_EQ(busy[0], Step());
  EXPECT_EQ(busy[1], Step({"c00"}));
  EXPECT_EQ(busy[2], Step({"c00", "c01", "c10"}));
  EXPECT_EQ(busy[3], Step({"c00", "c01", "c02", "c10", "c11"}));
  EXPECT_EQ(busy[4], Step({"c01", "c02", "c10", "c11", "c12"}));
  EXPECT_EQ(busy[5], Step({"c02", "c11", "c12"}));
  EXPECT_EQ(busy[6], Step({"c12"}));
}

TEST(SystolicSchedule, stepsAreRowsPlusColumnsPlusDepthMinusTwo) {
  EXPECT_EQ(machine::peMatmul(smallArray(), kRows, 1, kColumns).complete,
            kRows + kColumns + kDepth - 2);
}

TEST(SystolicSchedule, biasIsAddedToEveryColumn) {
  const int16_t weights[kRows][kDepth] = {{3, -5, 7}, {11, 13, -17}};
  const int16_t inputs[kDepth][kColumns] = {{1, 2, -3}, {4, 5, 6}, {-7, 8, 9}};
  const int16_t bias[kRows] = {-100, 35};
  int16_t moving[kDepth][kRows];
  for (unsigned i = 0; i < kRows; ++i)
    for (unsigned k = 0; k < kDepth; ++k)
      moving[k][i] = weights[i][k];
  const numerics::KernelTable &kernels = *numerics::kernelsByName("scalar");
  numerics::PackedStationary packed;
  kernels.packStationary({numerics::OperandWidth::Int16, inputs, kColumns},
                         kDepth, kColumns, packed);
  int64_t acc[kColumns][kRows];
  kernels.gemm(packed, {numerics::OperandWidth::Int16, moving, kRows}, kRows,
               &acc[0][0], kRows, false);
  for (unsigned i = 0; i < kRows; ++i)
    for (unsigned j = 0; j < kColumns; ++j) {
      int64_t expected = int64_t(bias[i]) * 4;
      for (unsigned k = 0; k < kDepth; ++k)
        expected += weights[i][k] * inputs[k][j];
      EXPECT_EQ(numerics::alignedSum({acc[j][i], -5}, {{bias[i], -3}}).value,
                expected);
    }
}

} // namespace
