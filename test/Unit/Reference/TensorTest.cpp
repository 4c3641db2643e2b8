// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Widening, rounding and wrapping of interpreter values.

#include "ashlar/Reference/Tensor.h"
#include "ashlar/Support/Error.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace ashlar;
using namespace ashlar::reference;

namespace {

Tensor floats(std::initializer_list<double> values) {
  Tensor result(ElementType::F64, {static_cast<int64_t>(values.size())});
  result.floats.assign(values);
  return result;
}

TEST(ReferenceTensor, RoundsOnceToSixteenBits) {
  // 1 + 2^-11 + 2^-40 lies above the tie between two halves; through binary32
  // it would become the tie and round down.
  Tensor value = floats(
      {1 + std::ldexp(1, -11) + std::ldexp(1, -40), 1 + std::ldexp(1, -11)});
  roundToType(value, ElementType::F16);
  EXPECT_EQ(value.floats[0], 1 + std::ldexp(1, -10));
  EXPECT_EQ(value.floats[1], 1);
  Tensor negative = floats({-(1 + std::ldexp(1, -8) + std::ldexp(1, -40))});
  roundToType(negative, ElementType::BF16);
  EXPECT_EQ(negative.floats[0], -(1 + std::ldexp(1, -7)));
}

TEST(ReferenceTensor, RoundsToBinary32) {
  Tensor value = floats({16777217.0, 1e300, -0.0});
  roundToType(value, ElementType::F32);
  EXPECT_EQ(value.floats[0], 16777216.0);
  EXPECT_TRUE(std::isinf(value.floats[1]));
  EXPECT_TRUE(std::signbit(value.floats[2]));
}

TEST(ReferenceTensor, IntegersWrap) {
  Tensor value(ElementType::I64, {3});
  value.ints = {128, -129, 256};
  Tensor bytes = value;
  roundToType(bytes, ElementType::I8);
  EXPECT_EQ(bytes.ints, (std::vector<int64_t>{-128, 127, 0}));
  roundToType(value, ElementType::U8);
  EXPECT_EQ(value.ints, (std::vector<int64_t>{128, 127, 0}));
}

TEST(ReferenceTensor, HostRoundTripOfEveryType) {
  for (unsigned i = 0; i < support::numElementTypes; ++i) {
    auto type = static_cast<ElementType>(i);
    Tensor value(type, {2, 1});
    if (value.isFloat())
      value.floats = {-1.5, 0.25};
    else
      value.ints = {1, type == ElementType::U8 ? 200 : 0};
    HostTensor host = toHost(value, type);
    EXPECT_EQ(host.data.size(), 2 * support::byteSize(type));
    auto back = fromHost(host);
    ASSERT_TRUE(bool(back));
    EXPECT_EQ(back->floats, value.floats);
    EXPECT_EQ(back->ints, value.ints);
  }
}

TEST(ReferenceTensor, WrongByteCountIsMalformed) {
  HostTensor host = HostTensor::zeros(ElementType::F32, {2});
  host.data.pop_back();
  auto result = fromHost(host);
  ASSERT_FALSE(bool(result));
  llvm::Error error = result.takeError();
  EXPECT_EQ(support::classify(error), ErrorClass::Malformed);
  llvm::consumeError(std::move(error));
}

} // namespace
