// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns of weights against the encoded weights themselves, element by
// element, for shapes whose rows begin at any bit.

#include "ashlar/Analysis/Array/WeightPattern.h"
#include "TestSupport.h"
#include "ashlar/Analysis/Array/EncodedWeights.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "dialects/NPU/NPUPatterns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::analysis;
using namespace ashlar::test;

namespace {

struct Case {
  int64_t outputs, channels, rows, columns;
};

/// Numbers so far apart that some of them round to zero.
std::string randomConstant(Random &random, int64_t count) {
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    const float value = std::ldexp(static_cast<float>(random.between(-3, 3)),
                                   static_cast<int>(random.between(-12, 0)));
    char word[sizeof(value)];
    std::memcpy(word, &value, sizeof(value));
    bytes.append(word, sizeof(word));
  }
  return llvm::toHex(bytes);
}

std::string moduleText(const Case &c, Random &random) {
  const std::string type =
      "!bfp.block<mantissa = 6, block = 16, range = 3, axis = 1>";
  const std::string shape =
      fmt::format("{}x{}x{}x{}", c.outputs, c.channels, c.rows, c.columns);
  const std::string x =
      fmt::format("tensor<1x{}x{}x{}x{}>", c.channels, c.rows, c.columns, type);
  return fmt::format(
      "func.func @f(%x: {0}) {{\n"
      "  %c = nn.constant dense<\"0x{1}\"> : tensor<{2}xf32>\n"
      "  %w = bfp.encode %c weights : tensor<{2}xf32> -> tensor<{2}x{3}>\n"
      "  %y = npu.pe.conv(%x, %w) {{strides = array<i64: 1, 1>, pads = "
      "array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : "
      "i64, function = \"copy\", alpha = 0.0 : f32, beta = 0.0 : f32}} : "
      "({0}, tensor<{2}x{3}>) -> tensor<1x{4}x1x1xf32>\n"
      "  return\n}}\n",
      x, randomConstant(random, c.outputs * c.channels * c.rows * c.columns),
      shape, type, c.outputs);
}

class WeightPatternTest : public ::testing::Test {
protected:
  WeightPatternTest() {
    mlir::DialectRegistry registry;
    registry.insert<nn::NNDialect, bfp::BFPDialect, npu::NPUDialect,
                    mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  mlir::Operation *parse(const Case &c, uint64_t seed) {
    Random random(seed);
    module = mlir::parseSourceString<mlir::ModuleOp>(moduleText(c, random),
                                                     &context);
    mlir::Operation *product = nullptr;
    module->walk([&](npu::PeConvOp op) { product = op; });
    return product;
  }

  static void check(const WeightPattern &pattern, const EncodedWeights &weights,
                    const Case &c) {
    int64_t zeros = 0;
    for (int64_t o = 0; o < c.outputs; ++o) {
      std::vector<uint32_t> counts(c.channels);
      for (int64_t tap = 0; tap < c.rows * c.columns; ++tap)
        for (int64_t i = 0; i < c.channels; ++i) {
          const bool isZero = weights.mantissa(o, tap, i) == 0;
          ASSERT_EQ(pattern.isZero(o, tap, i), isZero)
              << o << " " << tap << " " << i;
          counts[i] += isZero ? 0 : 1;
          zeros += isZero;
        }
      ASSERT_EQ(pattern.nonZeros(o).vec(), counts) << o;
    }
    EXPECT_GT(zeros, 0);
    EXPECT_EQ(pattern.blockSize(), weights.blockSize());
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(WeightPatternTest, hasTheZerosOfTheEncodedWeights) {
  // One channel, rows shorter and longer than a word, more taps than a byte
  // counts.
  for (const Case &c :
       {Case{9, 1, 3, 3}, Case{5, 7, 1, 1}, Case{3, 16, 3, 3},
        Case{4, 67, 1, 3}, Case{2, 130, 5, 5}, Case{2, 3, 20, 30}}) {
    mlir::Operation *op = parse(c, c.channels);
    ASSERT_TRUE(op);
    const EncodedWeights weights(op);
    check(WeightPattern(op), weights, c);
    check(WeightPattern(weights), weights, c);
  }
}

/// What is kept is found for the same constant alone.
TEST_F(WeightPatternTest, isRememberedByItsContext) {
  const Case c{4, 67, 1, 3};
  mlir::Operation *op = parse(c, 1);
  WeightPattern::keep(op, EncodedWeights(op));
  check(WeightPattern(op), EncodedWeights(op), c);
  mlir::OwningOpRef<mlir::ModuleOp> first = std::move(module);
  mlir::Operation *other = parse(c, 2);
  check(WeightPattern(other), EncodedWeights(other), c);
  check(WeightPattern(op), EncodedWeights(op), c);
}

/// Beyond the limit patterns are found each time.
TEST_F(WeightPatternTest, keepsNoMoreThanTheLimit) {
  auto &patterns = npu::WeightPatterns::of(&context);
  const auto half = std::make_shared<const std::vector<uint64_t>>(
      npu::WeightPatterns::kMostBytes / 2 / sizeof(uint64_t));
  int marks[3];
  auto keyOf = [&](int i) {
    return npu::WeightPatterns::Key{{&marks[i], nullptr}, {}};
  };
  for (int i = 0; i < 3; ++i)
    patterns.keep(keyOf(i), half);
  EXPECT_EQ(patterns.find(keyOf(0)), half);
  EXPECT_EQ(patterns.find(keyOf(1)), half);
  EXPECT_EQ(patterns.find(keyOf(2)), nullptr);
}

} // namespace
