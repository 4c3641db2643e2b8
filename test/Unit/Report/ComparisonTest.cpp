// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Error measures and tolerances.

#include "ashlar/Report/Comparison.h"
#include "ashlar/Support/Error.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace ashlar;
using namespace ashlar::report;
using support::ElementType;
using support::HostTensor;

namespace {

template <typename T>
HostTensor array(ElementType type, const std::vector<T> &values) {
  HostTensor tensor =
      HostTensor::zeros(type, {static_cast<int64_t>(values.size())});
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

HostTensor floats(const std::vector<float> &values) {
  return array(ElementType::F32, values);
}

Comparison compared(const HostTensor &a, const HostTensor &b, double atol = 0,
                    double rtol = 0) {
  return llvm::cantFail(compare(a, b, atol, rtol));
}

} // namespace

TEST(Comparison, Identical) {
  const Comparison c =
      compared(floats({1, NAN, -INFINITY}), floats({1, NAN, -INFINITY}));
  EXPECT_TRUE(c.passed());
  EXPECT_EQ(c.maxError, 0);
  EXPECT_EQ(c.snrDb, HUGE_VAL);
}

TEST(Comparison, SnrAndTolerance) {
  const HostTensor expected = floats({10, 0, 0, 0});
  const HostTensor found = floats({10, 0.125f, 0, 0});
  const Comparison c = compared(found, expected);
  EXPECT_EQ(c.wrong, 1u);
  EXPECT_EQ(c.firstWrong, 1u);
  EXPECT_EQ(c.maxError, 0.125);
  EXPECT_NEAR(c.snrDb, 10 * std::log10(100 / (0.125 * 0.125)), 1e-9);
  EXPECT_TRUE(compared(found, expected, 0.125).passed());
  EXPECT_FALSE(compared(found, expected, 0.12, 0.01).passed());
  EXPECT_TRUE(compared(floats({101}), floats({100}), 0, 0.01).passed());
  EXPECT_FALSE(compared(floats({102}), floats({100}), 0, 0.01).passed());
}

TEST(Comparison, NonFiniteMismatchFails) {
  EXPECT_FALSE(compared(floats({NAN}), floats({1}), 1e30).passed());
  EXPECT_FALSE(compared(floats({1}), floats({NAN}), 1e30).passed());
  EXPECT_FALSE(compared(floats({1}), floats({INFINITY}), 1e30, 1).passed());
}

TEST(Comparison, WideIntegersExactly) {
  const int64_t big = int64_t(1) << 60;
  EXPECT_FALSE(compared(array<int64_t>(ElementType::I64, {big + 1}),
                        array<int64_t>(ElementType::I64, {big}))
                   .passed());
}

TEST(Comparison, TypesAndShapes) {
  for (const HostTensor &other : {HostTensor::zeros(ElementType::F32, {1, 2}),
                                  HostTensor::zeros(ElementType::I32, {2})}) {
    auto result = compare(floats({1, 2}), other, 0, 0);
    ASSERT_FALSE(static_cast<bool>(result));
    llvm::Error error = result.takeError();
    EXPECT_EQ(support::classify(error), ErrorClass::Malformed);
    llvm::consumeError(std::move(error));
  }
  EXPECT_TRUE(compared(floats({1, 2}), array<double>(ElementType::F64, {1, 2}))
                  .passed());
}

TEST(Comparison, IndexText) {
  EXPECT_EQ(indexText(7, {2, 3, 2}), "[1,0,1]");
  EXPECT_EQ(indexText(0, {}), "[]");
}
