// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Means of neighbouring samples.

#include "lib/Pipelines/FormatSearch/BlendSamples.h"

#include "gtest/gtest.h"
#include <cstring>
#include <limits>

using namespace ashlar;
using namespace ashlar::pipelines;

namespace {

Sample sampleOf(std::vector<float> values) {
  auto tensor = HostTensor::zeros(ElementType::F32,
                                  {static_cast<int64_t>(values.size())});
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return {tensor};
}

TEST(BlendSamples, EverySampleWithTheNext) {
  constexpr float largest = std::numeric_limits<float>::max();
  auto blends = blendSamples(
      {sampleOf({1, largest}), sampleOf({3, largest}), sampleOf({5, 0})});
  ASSERT_EQ(blends.size(), 3u);
  EXPECT_EQ(blends[0], sampleOf({2, largest}));
  EXPECT_EQ(blends[1], sampleOf({4, largest / 2}));
  EXPECT_EQ(blends[2], sampleOf({3, largest / 2}));
}

TEST(BlendSamples, NoneOfOneSampleOrOfIntegers) {
  EXPECT_TRUE(blendSamples({}).empty());
  EXPECT_TRUE(blendSamples({sampleOf({1})}).empty());
  Sample numbers = {HostTensor::zeros(ElementType::I64, {2})};
  EXPECT_TRUE(blendSamples({numbers, numbers}).empty());
}

} // namespace
