// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions against the host's long double library (allowed in tests only),
// special values, integer forms and conversions.

#include "ashlar/Numerics/Function.h"
#include "ashlar/Numerics/Encode.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

using namespace ashlar::numerics;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t kCanonical = 0x7fc00000u;

/// Distance of a float from an exact value, in units of its last place.
double ulps(float got, long double exact) {
  if (std::fabs(exact) < 0x1p-160L) // below half the least denormal
    return std::fabs(got) / 0x1p-149L;
  int exponent = std::max(std::ilogb(exact), -126);
  return static_cast<double>(std::fabs(got - exact) /
                             std::ldexp(1.0L, exponent - 23));
}

using Exact = std::function<long double(long double)>;

void checkUnary(Function function, Exact exact, float low, float high,
                float alpha = 0, float beta = 0, double bound = 0.501) {
  std::mt19937 random(static_cast<unsigned>(function));
  double worst = 0;
  float at = 0;
  for (int trial = 0; trial < 400000; ++trial) {
    // Random bits cover all magnitudes; a uniform draw the middle.
    float x = floatFromBits(random());
    if (trial % 2)
      x = low + (high - low) * (random() * 0x1p-32f);
    if (!(x >= low && x <= high))
      continue;
    float got = apply(function, x, alpha, beta);
    long double value = exact(x);
    if (std::fabs(value) >= 0x1.fffffep127L)
      continue;
    double distance = ulps(got, value);
    if (distance > worst) {
      worst = distance;
      at = x;
    }
  }
  EXPECT_LT(worst, bound) << name(function).str() << " at " << at;
}

TEST(Function, elementaryFunctionsStayWithinTheirBound) {
  checkUnary(
      Function::Exp, [](long double x) { return std::exp(x); }, -110, 89);
  checkUnary(
      Function::Log, [](long double x) { return std::log(x); }, 0x1p-149f,
      3e38f);
  checkUnary(Function::Log, [](long double x) { return std::log(x); }, 0.5f, 2);
  checkUnary(
      Function::Sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); },
      -110, 30);
  checkUnary(
      Function::Tanh, [](long double x) { return std::tanh(x); }, -10, 10);
  checkUnary(
      Function::Elu,
      [](long double x) { return x > 0 ? x : 1.5L * std::expm1(x); }, -100, 10,
      1.5f);
  checkUnary(
      Function::Softplus,
      [](long double x) {
        return std::max(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
      },
      -100, 100);
  checkUnary(
      Function::Softsign, [](long double x) { return x / (1 + std::fabs(x)); },
      -1e30f, 1e30f);
  checkUnary(Function::Erf, [](long double x) { return std::erf(x); }, -6, 6);
  checkUnary(
      Function::Gelu,
      [](long double x) { return 0.5L * x * std::erfc(-x / std::sqrt(2.0L)); },
      -15, 15);
  for (float alpha : {1.0f, 1.702f, -0.5f})
    checkUnary(
        Function::Swish,
        [=](long double x) { return x / (1 + std::exp(-alpha * x)); }, -80, 80,
        alpha);
  checkUnary(
      Function::GeluTanh,
      [](long double x) {
        long double u = 2 * std::sqrt(2 / std::numbers::pi_v<long double>) *
                        (x + 0.044715L * x * x * x);
        return x / (1 + std::exp(-u));
      },
      -15, 15);
  checkUnary(
      Function::Sqrt, [](long double x) { return std::sqrt(x); }, 0, 3e38f, 0,
      0, 0.5000001);
  checkUnary(
      Function::Reciprocal, [](long double x) { return 1 / x; }, 1e-30f, 1e30f,
      0, 0, 0.5000001);
}

TEST(Function, trigonometryStaysWithinItsBound) {
  using L = long double;
  // Random bits reach the largest magnitudes, which need hundreds of bits of
  // pi; the host's long double has them.
  for (float reach : {4.0f, 3e38f}) {
    checkUnary(Function::Sin, [](L x) { return std::sin(x); }, -reach, reach);
    checkUnary(Function::Cos, [](L x) { return std::cos(x); }, -reach, reach);
    checkUnary(Function::Tan, [](L x) { return std::tan(x); }, -reach, reach);
    checkUnary(Function::Atan, [](L x) { return std::atan(x); }, -reach, reach);
    checkUnary(
        Function::Asinh, [](L x) { return std::asinh(x); }, -reach, reach);
    checkUnary(Function::Acosh, [](L x) { return std::acosh(x); }, 1, reach);
  }
  checkUnary(Function::Asin, [](L x) { return std::asin(x); }, -1, 1);
  checkUnary(Function::Acos, [](L x) { return std::acos(x); }, -1, 1);
  checkUnary(Function::Atanh, [](L x) { return std::atanh(x); }, -1, 1);
  checkUnary(Function::Sinh, [](L x) { return std::sinh(x); }, -89, 89);
  checkUnary(Function::Cosh, [](L x) { return std::cosh(x); }, -89, 89);
}

TEST(Function, trigonometrySpecialValues) {
  auto bits = [](Function f, float x) { return floatBits(apply(f, x)); };
  for (Function f :
       {Function::Sin, Function::Tan, Function::Asin, Function::Atan,
        Function::Sinh, Function::Asinh, Function::Atanh}) {
    EXPECT_EQ(bits(f, 0.0f), 0u) << name(f).str();
    EXPECT_EQ(bits(f, -0.0f), 0x80000000u) << name(f).str();
    EXPECT_EQ(bits(f, 0x1p-149f), 1u) << name(f).str();
  }
  for (Function f : {Function::Sin, Function::Cos, Function::Tan,
                     Function::Asin, Function::Acos, Function::Atanh})
    for (float x : {kInfinity, -kInfinity})
      EXPECT_EQ(bits(f, x), kCanonical) << name(f).str();
  for (Function f : {Function::Asin, Function::Acos, Function::Atanh})
    for (float x : {1.0000001f, -1.0000001f, 3.0f, -1e30f})
      EXPECT_EQ(bits(f, x), kCanonical) << name(f).str();
  for (float x : {0.9999999f, 0.0f, -1.0f, -3.0f, -kInfinity})
    EXPECT_EQ(bits(Function::Acosh, x), kCanonical) << x;
  EXPECT_EQ(bits(Function::Cos, -0.0f), floatBits(1));
  EXPECT_EQ(bits(Function::Atanh, 1), floatBits(kInfinity));
  EXPECT_EQ(bits(Function::Atanh, -1), floatBits(-kInfinity));
  EXPECT_EQ(bits(Function::Acosh, 1), 0u);
  EXPECT_EQ(bits(Function::Acosh, kInfinity), floatBits(kInfinity));
  EXPECT_EQ(bits(Function::Asinh, -kInfinity), floatBits(-kInfinity));
  EXPECT_EQ(bits(Function::Sinh, -kInfinity), floatBits(-kInfinity));
  EXPECT_EQ(bits(Function::Cosh, -kInfinity), floatBits(kInfinity));
  EXPECT_EQ(bits(Function::Atan, kInfinity), 0x3fc90fdbu);
  EXPECT_EQ(bits(Function::Acos, -1), 0x40490fdbu);
}

TEST(Function, wideAnglesOfAnySizeAreReduced) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 20000; ++trial) {
    const double x = std::ldexp(1 + (random() >> 12) * 0x1p-52,
                                static_cast<int>(random() % 60));
    const auto exact = static_cast<long double>(x);
    EXPECT_NEAR(applyWide(Function::Sin, x), double(std::sin(exact)), 0x1p-50)
        << x;
    EXPECT_NEAR(applyWide(Function::Cos, x), double(std::cos(exact)), 0x1p-50)
        << x;
  }
}

TEST(Function, selu) {
  float alpha = 1.6732632f, gamma = 1.050701f;
  checkUnary(
      Function::Selu,
      [=](long double x) {
        return gamma * (x > 0 ? x : alpha * std::expm1(x));
      },
      -100, 10, alpha, gamma);
}

TEST(Function, powerStaysWithinItsBound) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300000; ++trial) {
    float x = std::exp((random() * 0x1p-32f - 0.5f) * 40);
    float y = (random() * 0x1p-32f - 0.5f) * (trial % 3 ? 4 : 60);
    long double exact =
        std::pow(static_cast<long double>(x), static_cast<long double>(y));
    if (exact > 3e38L)
      continue;
    ASSERT_LT(ulps(apply(BinaryFunction::Pow, x, y), exact), 0.501)
        << x << " " << y;
  }
}

TEST(Function, powerSpecialValuesAgreeWithIEEE) {
  const float xs[] = {0.0f,  -0.0f, 1,  -1,        2,          -2,   0.5f,
                      -0.5f, 3,     -3, kInfinity, -kInfinity, kNaN, 0x1p-149f};
  const float ys[] = {0.0f,      -0.0f,      1,    -1,    2,    -2,
                      3,         -3,         0.5f, -0.5f, 2.5f, 1e10f,
                      kInfinity, -kInfinity, kNaN, 301,   -301, 16777217.0f};
  for (float x : xs)
    for (float y : ys) {
      float got = apply(BinaryFunction::Pow, x, y);
      float expected = static_cast<float>(
          std::pow(static_cast<double>(x), static_cast<double>(y)));
      if (std::isnan(expected))
        EXPECT_EQ(floatBits(got), kCanonical) << x << " " << y;
      else
        EXPECT_EQ(floatBits(got), floatBits(expected)) << x << " " << y;
    }
}

TEST(Function, remainderAgreesWithFmod) {
  std::mt19937 random(9);
  for (int trial = 0; trial < 20000; ++trial) {
    float x = floatFromBits(random()), y = floatFromBits(random());
    if (trial % 2) { // Close exponents, the usual case.
      x = (random() * 0x1p-32f - 0.5f) * 100;
      y = (random() * 0x1p-32f - 0.5f) * 7;
    }
    float expected = std::fmod(x, y), got = apply(BinaryFunction::Mod, x, y);
    if (std::isnan(expected))
      ASSERT_EQ(floatBits(got), kCanonical) << x << " " << y;
    else
      ASSERT_EQ(floatBits(got), floatBits(expected)) << x << " " << y;
  }
}

TEST(Function, roundingFunctionsAreExact) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300000; ++trial) {
    float x = floatFromBits(random());
    if (trial % 2)
      x = (static_cast<int>(random() % 4001) - 2000) * 0.5f;
    if (std::isnan(x))
      continue;
    ASSERT_EQ(floatBits(apply(Function::Floor, x)), floatBits(std::floor(x)));
    ASSERT_EQ(floatBits(apply(Function::Ceil, x)), floatBits(std::ceil(x)));
    ASSERT_EQ(floatBits(apply(Function::Round, x)),
              floatBits(std::nearbyint(x)));
  }
}

TEST(Function, specialValues) {
  auto bits = [](Function f, float x, float a = 0, float b = 0) {
    return floatBits(apply(f, x, a, b));
  };
  for (unsigned f = 0; f < kFunctionCount; ++f) {
    Function function = static_cast<Function>(f);
    uint32_t payload = 0xffa12345u;
    uint32_t got = bits(function, floatFromBits(payload), 0.5f, 0.5f);
    uint32_t expected = function == Function::Copy  ? payload
                        : function == Function::Not ? 0u
                                                    : kCanonical;
    EXPECT_EQ(got, expected) << name(function).str();
  }
  EXPECT_EQ(bits(Function::Relu, -0.0f), 0u);
  EXPECT_EQ(bits(Function::Neg, 0.0f), 0x80000000u);
  EXPECT_EQ(bits(Function::Exp, -kInfinity), 0u);
  EXPECT_EQ(bits(Function::Exp, kInfinity), floatBits(kInfinity));
  EXPECT_EQ(bits(Function::Log, -0.0f), floatBits(-kInfinity));
  EXPECT_EQ(bits(Function::Log, -1), kCanonical);
  EXPECT_EQ(bits(Function::Log, kInfinity), floatBits(kInfinity));
  EXPECT_EQ(bits(Function::Sqrt, -1), kCanonical);
  EXPECT_EQ(bits(Function::Sqrt, -0.0f), 0x80000000u);
  EXPECT_EQ(bits(Function::Tanh, -kInfinity), floatBits(-1));
  EXPECT_EQ(bits(Function::Tanh, -0.0f), 0x80000000u);
  EXPECT_EQ(bits(Function::Sigmoid, -kInfinity), 0u);
  EXPECT_EQ(bits(Function::Sigmoid, kInfinity), floatBits(1));
  EXPECT_EQ(bits(Function::Softplus, kInfinity), floatBits(kInfinity));
  EXPECT_EQ(bits(Function::Softplus, -kInfinity), 0u);
  EXPECT_EQ(bits(Function::Softsign, kInfinity), kCanonical);
  EXPECT_EQ(bits(Function::Erf, -kInfinity), floatBits(-1));
  EXPECT_EQ(bits(Function::Gelu, -kInfinity), 0x80000000u);
  EXPECT_EQ(bits(Function::Gelu, kInfinity), floatBits(kInfinity));
  EXPECT_EQ(bits(Function::GeluTanh, -kInfinity), 0x80000000u);
  EXPECT_EQ(bits(Function::GeluTanh, kInfinity), floatBits(kInfinity));
  EXPECT_EQ(bits(Function::GeluTanh, -0.0f), 0x80000000u);
  EXPECT_EQ(bits(Function::Swish, kInfinity, 1), floatBits(kInfinity));
  EXPECT_EQ(bits(Function::Swish, -1e6f, 1), 0x80000000u);
  EXPECT_EQ(bits(Function::Swish, 3, 0), floatBits(1.5f));
  EXPECT_EQ(bits(Function::Elu, -kInfinity, 2), floatBits(-2));
  EXPECT_EQ(bits(Function::HardSwish, -4), 0x80000000u);
  EXPECT_EQ(bits(Function::HardSwish, 4), floatBits(4));
  EXPECT_EQ(bits(Function::Clip, 7, 0, 6), floatBits(6));
  EXPECT_EQ(bits(Function::Clip, -7, 0, 6), 0u);
  EXPECT_EQ(bits(Function::LeakyRelu, -8, 0.25f), floatBits(-2));
  EXPECT_EQ(bits(Function::Sign, -3), floatBits(-1));
  EXPECT_EQ(bits(Function::Sign, -0.0f), 0u);
  EXPECT_EQ(bits(Function::Not, -0.0f), floatBits(1));
}

TEST(Function, binarySpecialValues) {
  auto bits = [](BinaryFunction f, float x, float y) {
    return floatBits(apply(f, x, y));
  };
  for (BinaryFunction f :
       {BinaryFunction::Add, BinaryFunction::Sub, BinaryFunction::Mul,
        BinaryFunction::Div, BinaryFunction::Max, BinaryFunction::Min}) {
    EXPECT_EQ(bits(f, kNaN, 1), kCanonical);
    EXPECT_EQ(bits(f, 1, -kNaN), kCanonical);
  }
  EXPECT_EQ(bits(BinaryFunction::Sub, kInfinity, kInfinity), kCanonical);
  EXPECT_EQ(bits(BinaryFunction::Mul, 0, kInfinity), kCanonical);
  EXPECT_EQ(bits(BinaryFunction::Div, 0, 0), kCanonical);
  EXPECT_EQ(bits(BinaryFunction::Div, -1, 0), floatBits(-kInfinity));
  EXPECT_EQ(bits(BinaryFunction::Max, 0.0f, -0.0f), 0x80000000u);
  EXPECT_EQ(bits(BinaryFunction::Min, -0.0f, 0.0f), 0u);
  EXPECT_EQ(bits(BinaryFunction::PRelu, -2, 0.5f), floatBits(-1));
  EXPECT_EQ(bits(BinaryFunction::Equal, kNaN, kNaN), 0u);
  EXPECT_EQ(bits(BinaryFunction::LessOrEqual, 1, 1), floatBits(1));
  EXPECT_EQ(bits(BinaryFunction::And, kNaN, 2), floatBits(1));
  EXPECT_EQ(bits(BinaryFunction::Xor, 3, 2), 0u);
}

TEST(Function, integerForms) {
  EXPECT_EQ(apply(BinaryFunction::Add, INT64_MAX, int64_t(1)), INT64_MIN);
  EXPECT_EQ(apply(BinaryFunction::Div, int64_t(-7), int64_t(2)), -3);
  EXPECT_EQ(apply(BinaryFunction::Div, INT64_MIN, int64_t(-1)), INT64_MIN);
  EXPECT_EQ(apply(BinaryFunction::Div, int64_t(5), int64_t(0)), 0);
  EXPECT_EQ(apply(BinaryFunction::Mod, int64_t(-7), int64_t(3)), 2);
  EXPECT_EQ(apply(BinaryFunction::Mod, int64_t(7), int64_t(-3)), -2);
  EXPECT_EQ(apply(BinaryFunction::Pow, int64_t(3), int64_t(4)), 81);
  EXPECT_EQ(apply(BinaryFunction::Pow, int64_t(-1), int64_t(-3)), -1);
  EXPECT_EQ(apply(Function::Abs, INT64_MIN), INT64_MIN);
  EXPECT_EQ(apply(Function::Clip, int64_t(9), int64_t(0), int64_t(6)), 6);
}

TEST(Function, conversions) {
  EXPECT_EQ(toSigned(-1.9, 32), -1);
  EXPECT_EQ(toSigned(1e30, 32), INT32_MAX);
  EXPECT_EQ(toSigned(-1e30, 64), INT64_MIN);
  EXPECT_EQ(toSigned(128.5, 8), 127);
  EXPECT_EQ(toSigned(kNaN, 16), 0);
  EXPECT_EQ(toUnsigned(-3.5, 8), 0u);
  EXPECT_EQ(toUnsigned(300, 8), 255u);
  EXPECT_EQ(toUnsigned(1e30, 64), UINT64_MAX);
  EXPECT_EQ(toUnsigned(0x1p63, 64), uint64_t(1) << 63);
  EXPECT_EQ(fromSigned((int64_t(1) << 24) + 1), 0x1p24f);
  EXPECT_EQ(fromUnsigned(UINT64_MAX), 0x1p64f);
  EXPECT_EQ(saturateTo(-5, 8, false), 0);
  EXPECT_EQ(saturateTo(1000, 8, true), 127);
  EXPECT_EQ(saturateTo(INT64_MIN, 64, true), INT64_MIN);
}

TEST(Function, reductions) {
  auto run = [](Reduction r, std::initializer_list<float> values) {
    float acc = reduceInit(r);
    for (float v : values)
      acc = reduceStep(r, acc, v);
    return reduceFinish(r, acc, values.size());
  };
  EXPECT_EQ(run(Reduction::Sum, {1e8f, 1, -1e8f}), 0);
  EXPECT_EQ(run(Reduction::Mean, {1, 2, 4}), 7.0f / 3);
  EXPECT_EQ(run(Reduction::Max, {-3, -1, -2}), -1);
  EXPECT_EQ(floatBits(run(Reduction::Max, {1, kNaN, 2})), kCanonical);
  EXPECT_EQ(run(Reduction::Prod, {2, 3, 4}), 24);
  EXPECT_EQ(run(Reduction::SumSquare, {1, -2, 3}), 14);
  EXPECT_EQ(run(Reduction::L1, {1, -2, 3}), 6);
  EXPECT_TRUE(argBetter(Reduction::ArgMax, 1, 1, true));
  EXPECT_FALSE(argBetter(Reduction::ArgMax, 1, 1, false));
  EXPECT_TRUE(argBetter(Reduction::ArgMin, 1, 0, false));
}

TEST(Function, namesGoBothWays) {
  for (unsigned i = 0; i < kFunctionCount; ++i)
    EXPECT_EQ(parseFunction(name(static_cast<Function>(i))),
              static_cast<Function>(i));
  for (unsigned i = 0; i < kBinaryFunctionCount; ++i)
    EXPECT_EQ(parseBinaryFunction(name(static_cast<BinaryFunction>(i))),
              static_cast<BinaryFunction>(i));
  for (unsigned i = 0; i < kReductionCount; ++i)
    EXPECT_EQ(parseReduction(name(static_cast<Reduction>(i))),
              static_cast<Reduction>(i));
  EXPECT_FALSE(parseFunction("Relu").has_value());
  EXPECT_EQ(static_cast<int>(Function::Not), 24);
  EXPECT_EQ(static_cast<int>(BinaryFunction::Mod), 16);
}

} // namespace
