// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights whose output channels share exponents, against tiles that are encoded
// one by one.

#include "TestSupport.h"
#include "ashlar/Analysis/Array/EncodedWeights.h"
#include "ashlar/Numerics/Encode.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cstring>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::test;

namespace {

struct Case {
  int mantissa = 8, range = 7, rows = 2, block = 8; ///< block 0: the axis
  bool isConv = true;
  int64_t outputs = 1, channels = 1, taps = 1;
};

class EncodedRowsTest : public ::testing::Test {
protected:
  EncodedRowsTest() {
    mlir::DialectRegistry registry;
    registry.insert<nn::NNDialect, bfp::BFPDialect, npu::NPUDialect,
                    mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Weights [outputs, channels, taps, 1], or [channels, outputs].
  std::string moduleText(const Case &c, llvm::StringRef hex) const {
    const std::string format =
        fmt::format("mantissa = {}, block = {}, range = {}", c.mantissa,
                    c.block ? std::to_string(c.block) : "axis", c.range);
    const std::string x = fmt::format("!bfp.block<{}, axis = 1>", format);
    const std::string w = fmt::format("!bfp.block<{}, axis = {}, rows = {}>",
                                      format, c.isConv ? 1 : 0, c.rows);
    const std::string shape =
        c.isConv ? fmt::format("{}x{}x{}x1", c.outputs, c.channels, c.taps)
                 : fmt::format("{}x{}", c.channels, c.outputs);
    const std::string encode = fmt::format(
        "  %c = nn.constant dense<\"0x{0}\"> : tensor<{1}xf32>\n"
        "  %w = bfp.encode %c weights : tensor<{1}xf32> -> tensor<{1}x{2}>\n",
        hex.str(), shape, w);
    if (!c.isConv)
      return fmt::format(
          "func.func @f(%x: tensor<1x{0}x{2}>) {{\n{4}"
          "  %y = npu.pe.matmul(%x, %w) {{function = \"copy\", alpha = 0.0 : "
          "f32, beta = 0.0 : f32}} : (tensor<1x{0}x{2}>, tensor<{5}x{3}>) -> "
          "tensor<1x{1}xf32>\n  return\n}}\n",
          c.channels, c.outputs, x, w, encode, shape);
    return fmt::format(
        "func.func @f(%x: tensor<1x{0}x{1}x1x{3}>) {{\n{5}"
        "  %y = npu.pe.conv(%x, %w) {{strides = array<i64: 1, 1>, pads = "
        "array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : "
        "i64, function = \"copy\", alpha = 0.0 : f32, beta = 0.0 : f32}} : "
        "(tensor<1x{0}x{1}x1x{3}>, tensor<{6}x{4}>) -> "
        "tensor<1x{2}x1x1xf32>\n  return\n}}\n",
        c.channels, c.taps, c.outputs, x, w, encode, shape);
  }

  void check(const Case &c, uint64_t seed) {
    Random random(seed);
    std::vector<float> values(c.outputs * c.channels * c.taps);
    for (float &value : values)
      value = random.chance(20)
                  ? 0.0f
                  : std::ldexp(static_cast<float>(random.between(-99, 99)),
                               static_cast<int>(random.between(-14, 0)));
    std::string bytes(values.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        moduleText(c, llvm::toHex(bytes)), &context);
    ASSERT_TRUE(module);
    mlir::Operation *product = nullptr;
    module->walk([&](mlir::Operation *op) {
      if (llvm::isa<npu::PeConvOp, npu::PeMatmulOp>(op))
        product = op;
    });
    const analysis::EncodedWeights weights(product);
    for (int64_t first = 0; first < c.outputs; first += c.rows)
      checkRows(c, values, weights, first,
                std::min<int64_t>(first + c.rows, c.outputs));
  }

  /// Channels [first, last) share exponents, and so have one scale exponent.
  void checkRows(const Case &c, const std::vector<float> &values,
                 const analysis::EncodedWeights &weights, int64_t first,
                 int64_t last) {
    const int64_t length = c.block ? c.block : c.channels;
    struct Tile {
      int64_t tap, channel;
      int cell;
      std::vector<int16_t> mantissas;
    };
    std::vector<Tile> tiles;
    int scale = numerics::kClearedScale;
    for (int64_t tap = 0; tap < c.taps; ++tap)
      for (int64_t channel = 0; channel < c.channels; channel += length) {
        std::vector<float> tile;
        for (int64_t o = first; o < last; ++o)
          for (int64_t i = channel; i < std::min(channel + length, c.channels);
               ++i)
            tile.push_back(values[c.isConv ? (o * c.channels + i) * c.taps + tap
                                           : i * c.outputs + o]);
        numerics::EncodeCounters counters;
        std::vector<int16_t> mantissas(tile.size());
        const int cell = numerics::encodeBlock(llvm::ArrayRef(tile), c.mantissa,
                                               mantissas, counters);
        if (cell != numerics::kZeroBlock)
          scale = std::max(scale, numerics::stepExponent(cell, c.mantissa));
        tiles.push_back({tap, channel, cell, std::move(mantissas)});
      }
    scale = numerics::scaleOrDefault(scale, c.mantissa);
    for (const Tile &tile : tiles) {
      const int shift =
          tile.cell == numerics::kZeroBlock
              ? 0
              : scale - numerics::stepExponent(tile.cell, c.mantissa);
      size_t at = 0;
      for (int64_t o = first; o < last; ++o) {
        EXPECT_EQ(weights.scaleExponent(o), scale);
        for (int64_t i = tile.channel;
             i < std::min(tile.channel + length, c.channels); ++i, ++at) {
          const int m = numerics::shiftRightEven(tile.mantissas[at],
                                                 std::max(shift - c.range, 0));
          ASSERT_EQ(weights.mantissa(o, tile.tap, i), m);
          ASSERT_EQ(weights.cell(o, tile.tap, i),
                    tile.cell == numerics::kZeroBlock
                        ? tile.cell
                        : c.mantissa - 2 - std::min(shift, c.range));
        }
      }
    }
  }

  mlir::MLIRContext context;
};

} // namespace

TEST_F(EncodedRowsTest, EveryTileHasTheExponentOfItsLargest) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    Case c;
    c.mantissa = static_cast<int>(random.between(3, 16));
    c.range = static_cast<int>(random.pick<int64_t>({0, 1, 3, 7, 15}));
    c.rows = static_cast<int>(random.pick<int64_t>({2, 3, 4, 16, 100}));
    c.block = static_cast<int>(random.pick<int64_t>({0, 8, 16, 32, 64}));
    c.isConv = random.chance(60);
    c.outputs = random.between(1, 40);
    c.channels = random.between(1, 70);
    c.taps = c.isConv ? random.between(1, 4) : 1;
    SCOPED_TRACE(fmt::format(
        "seed {}: {} bits, block {}, rows {}, {} x {} x {}", seed, c.mantissa,
        c.block, c.rows, c.outputs, c.channels, c.taps));
    ASSERT_NO_FATAL_FAILURE(check(c, seed));
  }
}
