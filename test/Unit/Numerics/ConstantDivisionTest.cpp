// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The division by a constant that vec.map is charged as multiplications
// (docs/Machine.md): whether it gives the integers of a true division.

#include "gtest/gtest.h"

#include <cmath>
#include <random>

namespace {

/// v / s by the reciprocal `r` of s, which is rounded once.
float divided(float v, float s, float r) {
  float quotient = v * r;
  float remainder = std::fma(-quotient, s, v);
  return std::fma(remainder, r, quotient);
}

/// rne(v / s), limited to what 8 bits and a zero point can make visible.
float rounded(float quotient) {
  return std::fmin(std::fmax(std::nearbyint(quotient), -512.0f), 512.0f);
}

void compare(float v, float s) {
  float exact = v / s;
  float found = divided(v, s, 1 / s);
  ASSERT_EQ(rounded(found), rounded(exact)) << v << " / " << s;
  // Where neither ends of the range are near, not only the integer is equal.
  if (std::fabs(exact) > 1e-3f && std::fabs(exact) < 512)
    ASSERT_EQ(found, exact) << v << " / " << s;
}

TEST(ConstantDivision, GivesTheQuotientsOfADivider) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> mantissa(1, 2), place(-300, 300);
  for (int i = 0; i < 2000; ++i) {
    float s =
        std::ldexp(mantissa(random), static_cast<int>(random() % 60) - 40);
    for (int j = 0; j < 500; ++j)
      compare(place(random) * s, s);
    // Next to where a quotient changes its integer.
    for (int k = -130; k < 256; k += 7) {
      float edge = (static_cast<float>(k) + 0.5f) * s;
      compare(edge, s);
      compare(std::nextafter(edge, HUGE_VALF), s);
      compare(std::nextafter(edge, -HUGE_VALF), s);
    }
  }
}

TEST(ConstantDivision, HoldsForMantissasAtTheEnds) {
  for (float s : {1.0f, std::nextafter(1.0f, 2.0f), std::nextafter(2.0f, 1.0f),
                  std::nextafter(0.5f, 1.0f)})
    for (int k = -512; k <= 512; ++k)
      for (float part : {0.0f, 0.5f, 0.25f})
        compare((static_cast<float>(k) + part) * s, s);
}

} // namespace
