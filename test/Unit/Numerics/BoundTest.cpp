// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured error against guaranteed bound on random layers: encode, align,
// exact sum, epilogue and storage as the machine does them, the bound from
// exact values and formats alone.

#include "ashlar/Numerics/Bound.h"
#include "ashlar/Numerics/Encode.h"
#include "ashlar/Numerics/Format.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace ashlar::numerics;

namespace {

/// Random layers to draw; each has a format, a depth and a few outputs.
constexpr int layerCount = 100000;

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  int below(int n) { return static_cast<int>(engine() % uint64_t(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  double unit() { return static_cast<double>(engine() >> 11) * 0x1p-53; }
  /// Magnitudes over `octaves` octaves, now and then 0 or a power of two.
  float value(int octaves) {
    int kind = below(16);
    if (kind == 0)
      return 0;
    double magnitude = powerOfTwo(-below(octaves + 1));
    if (kind > 1)
      magnitude *= 1 + unit();
    return static_cast<float>(below(2) ? magnitude : -magnitude);
  }

private:
  std::mt19937_64 engine;
};

/// A vector encoded in blocks, as memory holds it, with its guarantee.
struct Operand {
  std::vector<float> values;  ///< What was encoded.
  std::vector<double> stored; ///< What the encoding says.
  std::vector<double> steps;  ///< Of the stored blocks.
  std::vector<int64_t> aligned;
  int scale = 0; ///< E

  Operand(Random &random, int count, const BlockFormat &f, int octaves) {
    for (int i = 0; i < count; ++i)
      values.push_back(random.value(octaves));
    std::vector<int16_t> mantissas(values.size());
    std::vector<int8_t> cells;
    EncodeCounters counters;
    int16_t maximum = kClearedScale;
    size_t length = f.block > 0 ? static_cast<size_t>(f.block) : values.size();
    for (size_t at = 0; at < values.size(); at += length) {
      size_t n = std::min(length, values.size() - at);
      int8_t cell =
          encodeBlock(llvm::ArrayRef(values).slice(at, n), f.mantissa,
                      llvm::MutableArrayRef(mantissas).slice(at, n), counters);
      if (cell != kZeroBlock)
        maximum = mergeScale(maximum, stepExponent(cell, f.mantissa));
      cells.insert(cells.end(), n, cell);
    }
    scale = scaleOrDefault(maximum, f.mantissa);
    uint64_t saturated = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      stored.push_back(decode(mantissas[i], cells[i], f.mantissa));
      steps.push_back(powerOfTwo(stepExponent(cells[i], f.mantissa)));
      aligned.push_back(
          align(mantissas[i], cells[i], scale, f.mantissa, f.range, saturated));
    }
    EXPECT_EQ(saturated, 0u);
  }

  /// Guaranteed distance of the aligned from the stored element.
  double alignError(size_t i, int range) const {
    return stored[i] == 0 ? 0 : alignBound(steps[i], scale, range);
  }
  /// The same from the element that was encoded.
  double totalError(size_t i, const BlockFormat &f) const {
    return encodeBound(std::abs(values[i]), steps[i], f.mantissa) +
           alignBound(steps[i], scale, f.range);
  }
};

BlockFormat anyFormat(Random &random) {
  constexpr int blocks[] = {8, 16, 32, 64, BlockFormat::kAxis};
  constexpr int ranges[] = {0, 1, 3, 7, 15};
  BlockFormat f;
  f.mantissa = random.between(3, 16);
  f.block = blocks[random.below(5)];
  f.range = ranges[random.below(5)];
  return f;
}

constexpr Function functions[] = {
    Function::Copy,     Function::Relu,        Function::LeakyRelu,
    Function::Clip,     Function::Sigmoid,     Function::Tanh,
    Function::Gelu,     Function::HardSwish,   Function::Elu,
    Function::Selu,     Function::HardSigmoid, Function::Softplus,
    Function::Softsign, Function::Erf,         Function::Abs,
    Function::Neg,      Function::Exp,         Function::Sqrt,
    Function::GeluTanh, Function::Swish,       Function::Sin,
    Function::Cos,      Function::Tan,         Function::Asin,
    Function::Acos,     Function::Atan,        Function::Sinh,
    Function::Cosh,     Function::Asinh,       Function::Acosh,
    Function::Atanh};

/// One output of a layer: what the machine holds in binary32, and the bound.
struct Output {
  float machine;
  Enclosure exact;
};

Output runOutput(Random &random, const Operand &a, const BlockFormat &fa,
                 const BlockFormat &fw, int octaves, Function function) {
  size_t depth = a.values.size();
  Operand w(random, static_cast<int>(depth), fw, octaves);
  int64_t acc = 0;
  double sum = 0, magnitude = 0, operandError = 0;
  for (size_t k = 0; k < depth; ++k) {
    acc += a.aligned[k] * w.aligned[k];
    double da = a.alignError(k, fa.range), dw = w.totalError(k, fw);
    double x = a.stored[k], y = w.values[k];
    sum += x * y;
    magnitude += std::abs(x * y);
    operandError += (std::abs(x) + da) * dw + da * std::abs(y);
  }
  float v = accToFloat(acc, a.scale + w.scale - fa.range - fw.range);
  Enclosure e = toBinary32({sum, productBound(operandError, magnitude, depth)});
  if (random.below(2)) {
    float scale = random.value(4);
    v = v * scale;
    e = scaled(e, scale);
  }
  if (random.below(2)) {
    float bias = random.value(6);
    v = v + bias;
    e = shifted(e, bias);
  }
  constexpr float alpha = 0.25f, beta = 0.5f;
  return {apply(function, v, alpha, beta), applied(e, function, alpha, beta)};
}

struct Worst {
  double ratio = 0;
  uint64_t checked = 0;
  void take(double error, double bound) {
    if (!(bound < HUGE_VAL))
      return;
    ++checked;
    // An error that is not a number is beyond every bound.
    if (error != 0)
      ratio = std::isnan(error) ? HUGE_VAL : std::max(ratio, error / bound);
  }
};

void runLayer(Random &random, Worst &worst) {
  BlockFormat fa = anyFormat(random), fw = anyFormat(random),
              fy = anyFormat(random);
  int depth = random.below(8) ? random.between(1, 40) : random.between(1, 300);
  if (!provesAccumulator(fa.mantissa, fa.range, fw.mantissa, fw.range,
                         static_cast<uint64_t>(depth)))
    fw.range = fa.range = 3;
  int octaves = random.between(0, 24);
  Function function = functions[random.below(std::size(functions))];
  Operand a(random, depth, fa, octaves);
  std::vector<Output> outputs;
  for (int o = random.between(1, 4); o > 0; --o)
    outputs.push_back(runOutput(random, a, fa, fw, octaves, function));
  std::vector<float> block;
  double top = 0;
  for (const Output &output : outputs) {
    worst.take(std::abs(output.machine - output.exact.value),
               output.exact.bound);
    block.push_back(output.machine);
    top = std::max(top, output.exact.top());
  }
  // Stored as one block of the next layer's format.
  std::vector<int16_t> mantissas(block.size());
  EncodeCounters counters;
  int8_t cell = encodeBlock(block, fy.mantissa, mantissas, counters);
  double step = blockStep(top, fy.mantissa);
  for (size_t i = 0; i < block.size(); ++i) {
    const Enclosure &e = outputs[i].exact;
    worst.take(std::abs(decode(mantissas[i], cell, fy.mantissa) - e.value),
               e.bound + encodeBound(e.top(), step, fy.mantissa));
  }
}

TEST(Bound, NeverExceededOnRandomLayers) {
  Worst worst;
  for (int i = 0; i < layerCount; ++i) {
    Random random(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u + 1);
    runLayer(random, worst);
  }
  RecordProperty("layers", layerCount);
  RecordProperty("worst_ratio", std::to_string(worst.ratio));
  printf("%d layers, %llu elements, worst error / bound %.6f\n", layerCount,
         static_cast<unsigned long long>(worst.checked), worst.ratio);
  EXPECT_GT(worst.checked, uint64_t(layerCount));
  EXPECT_LE(worst.ratio, 1.0);
  // A bound that nothing comes near would prove little.
  EXPECT_GE(worst.ratio, 0.9);
}

TEST(Bound, EncodeIsHalfAStepOrOneIfSaturated) {
  EXPECT_EQ(blockStep(0, 8), 0);
  EXPECT_EQ(blockStep(1.0, 8), 0x1p-6);
  EXPECT_EQ(blockStep(1.999, 8), 0x1p-6);
  EXPECT_EQ(blockStep(2.0, 8), 0x1p-5);
  EXPECT_NEAR(encodeBound(1.0, 0x1p-6, 8), 0x1p-7, 1e-12);
  // 127 * 2^-6 is the largest code; 2 - eps is nearly a step above it.
  EXPECT_NEAR(encodeBound(0x1.ffffp0, 0x1p-6, 8), 0x1p-6, 1e-4);
  // Far beyond what the step allows there is no more than one step.
  EXPECT_NEAR(encodeBound(100, 0x1p-6, 8), 0x1p-6, 1e-12);
}

TEST(Bound, AlignRoundsOnlyBelowTheKeptRange) {
  EXPECT_EQ(alignBound(0x1p-10, -3, 7), 0);
  EXPECT_EQ(alignBound(0x1p-11, -3, 7), 0x1p-11);
  EXPECT_FALSE(alignSaturates(1.0, 0x1p-6, -6, 8));
  EXPECT_FALSE(alignSaturates(0x1p-6, 0x1p-6, -8, 8));
  EXPECT_TRUE(alignSaturates(1.0, 0x1p-6, -8, 8));
}

TEST(Bound, FunctionsAtTheirEdges) {
  EXPECT_EQ(applied({0.0, 0.5}, Function::Reciprocal, 0, 0).bound, HUGE_VAL);
  EXPECT_EQ(applied({0.1, 0.5}, Function::Sqrt, 0, 0).bound, HUGE_VAL);
  EXPECT_EQ(applied({-3.0, 0.5}, Function::Relu, 0, 0).bound, 0);
  EXPECT_EQ(applied({0.4, 0.2}, Function::Round, 0, 0).bound, 1);
  EXPECT_EQ(toBinary32({1e39, 0}).bound, HUGE_VAL);
}

} // namespace
