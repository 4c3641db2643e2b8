// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worked examples of the source design and the signal-to-noise table.

#include "ashlar/Numerics/Encode.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <vector>

using namespace ashlar::numerics;

namespace {

TEST(Golden, oneValueOneMantissa) {
  struct Row {
    float x;
    int lop, mantissa;
    double value;
  };
  const Row rows[] = {{1, 0, 0x4000, 1},
                      {0.5f, -1, 0x4000, 0.5},
                      {256, 8, 0x4000, 256},
                      {1.0f / 3, -2, 0x5555, 0.3333282470703125},
                      {3.14159265f, 1, 0x6488, 3.1416015625},
                      {100.01f, 6, 0x6403, 100.01171875},
                      {0.1f, -4, 0x6666, 0.09999847412109375},
                      {0.001f, -10, 0x4189, 0.00099998712539672852},
                      {32767, 14, 0x7fff, 32767},
                      {65535, 15, 0x7fff, 65534},
                      {-2, 1, -0x4000, -2},
                      {255, 7, 0x7f80, 255},
                      {11.5f, 3, 0x5c00, 11.5}};
  for (const Row &row : rows) {
    int16_t m;
    EncodeCounters counters;
    int8_t cell = encodeBlock(llvm::ArrayRef<float>(row.x), 16, m, counters);
    EXPECT_EQ(cell, row.lop) << row.x;
    EXPECT_EQ(m, row.mantissa) << row.x;
    EXPECT_FLOAT_EQ(decode(m, cell, 16), row.value) << row.x;
    EXPECT_EQ(counters.saturated, row.x == 65535 ? 1u : 0u);
  }
}

TEST(Golden, wideGroupUnderflows) {
  const float values[] = {131072, 256, 1, 0.5f, 0.125f};
  int16_t m[5];
  EncodeCounters counters;
  int8_t cell = encodeBlock(llvm::ArrayRef<float>(values), 16, m, counters);
  EXPECT_EQ(stepExponent(cell, 16), 3);
  const int16_t expected[] = {0x4000, 0x20, 0, 0, 0};
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(m[i], expected[i]);
  EXPECT_EQ(counters.underflow, 3u);
}

/// M v + b with one exponent per operand, as in the source's example.
void matrixVector(int w, std::vector<int64_t> rawExpected, int shiftExpected,
                  std::vector<int> outExpected, int exponentExpected) {
  const float matrix[] = {.5f, -.25f, .125f, 1, .75f, -.5f};
  const float vector[] = {1, 2, -3}, bias[] = {.1f, -.2f};
  int16_t m[6], v[3], b[2];
  EncodeCounters counters;
  int e1 = stepExponent(
      encodeBlock(llvm::ArrayRef<float>(matrix), w, m, counters), w);
  int e2 = stepExponent(
      encodeBlock(llvm::ArrayRef<float>(vector), w, v, counters), w);
  int e5 =
      stepExponent(encodeBlock(llvm::ArrayRef<float>(bias), w, b, counters), w);
  EXPECT_EQ(e5 - (e1 + e2), shiftExpected);
  float result[2];
  for (int i = 0; i < 2; ++i) {
    int64_t acc = 0;
    for (int j = 0; j < 3; ++j)
      acc += int64_t(m[3 * i + j]) * v[j];
    acc += int64_t(b[i]) * (int64_t(1) << shiftExpected);
    EXPECT_EQ(acc, rawExpected[i]);
    result[i] = accToFloat(acc, e1 + e2);
  }
  int16_t out[2];
  int8_t cell = encodeBlock(llvm::ArrayRef<float>(result), w, out, counters);
  EXPECT_EQ(stepExponent(cell, w), exponentExpected);
  EXPECT_EQ(out[0], outExpected[0]);
  EXPECT_EQ(out[1], outExpected[1]);
}

TEST(Golden, matrixVectorSixteenBits) {
  matrixVector(16, {-36910080, 510027776}, 10, {-2253, 31130}, -13);
}

TEST(Golden, matrixVectorEightBits) {
  matrixVector(8, {-564, 7784}, 2, {-9, 122}, -5);
}

/// Signal-to-noise ratio in dB of blocks of 16.
template <typename Draw>
double sqnr(int w, Draw draw) {
  double signal = 0, noise = 0;
  for (int block = 0; block < (1 << 14); ++block) {
    float values[16];
    int16_t m[16];
    EncodeCounters counters;
    for (float &v : values)
      v = static_cast<float>(draw());
    int8_t cell = encodeBlock(llvm::ArrayRef<float>(values), w, m, counters);
    for (int i = 0; i < 16; ++i) {
      double error = values[i] - decode(m[i], cell, w);
      signal += double(values[i]) * values[i];
      noise += error * error;
    }
  }
  return 10 * std::log10(signal / noise);
}

TEST(Golden, signalToNoiseTable) {
  struct Row {
    int w;
    double gauss, uniform, laplace;
  };
  const Row rows[] = {{4, 18.6, 22.7, 17.4},  {5, 24.7, 29.4, 23.4},
                      {6, 30.7, 35.7, 29.4},  {8, 42.8, 48.1, 41.4},
                      {10, 54.8, 60.2, 53.5}, {12, 66.8, 72.3, 65.5},
                      {16, 90.9, 96.3, 89.6}};
  std::mt19937 random(11);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const Row &row : rows) {
    EXPECT_NEAR(sqnr(row.w, [&] { return gauss(random); }), row.gauss, 0.5);
    EXPECT_NEAR(sqnr(row.w, [&] { return uniform(random); }), row.uniform, 0.5);
    auto laplace = [&] {
      double u = uniform(random);
      return (u < 0 ? 1 : -1) * std::log(1 - std::fabs(u));
    };
    EXPECT_NEAR(sqnr(row.w, laplace), row.laplace, 0.5);
  }
}

} // namespace
