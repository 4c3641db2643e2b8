// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter against results worked out by hand, and its errors.

#include "ashlar/Reference/Interpreter.h"
#include "ashlar/Support/Error.h"
#include "dialects/NN/NNDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace ashlar;
using namespace ashlar::reference;

namespace {

class ReferenceInterpreter : public testing::Test {
protected:
  ReferenceInterpreter() {
    context.loadDialect<func::FuncDialect, nn::NNDialect>();
  }

  // A function of `arguments` whose body computes %r of type `result`.
  OwningOpRef<ModuleOp> parse(const std::string &arguments,
                              const std::string &body,
                              const std::string &result) {
    return parseSourceString<ModuleOp>("func.func @main(" + arguments +
                                           ") -> " + result + " {\n" + body +
                                           "\nreturn %r : " + result + "\n}",
                                       &context);
  }

  // f32 results as doubles.
  std::vector<double> run(const std::string &arguments, const std::string &body,
                          const std::string &result,
                          std::vector<HostTensor> inputs,
                          Precision precision = Precision::Binary32) {
    OwningOpRef<ModuleOp> module = parse(arguments, body, result);
    EXPECT_TRUE(module);
    if (!module)
      return {};
    Options options;
    options.precision = precision;
    auto results = evaluate(*module, inputs, options);
    EXPECT_TRUE(bool(results));
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {};
    }
    std::vector<double> values;
    for (uint64_t i = 0; i < (*results)[0].numElements(); ++i)
      values.push_back((*results)[0].asDouble(i));
    return values;
  }

  static HostTensor f32(llvm::ArrayRef<int64_t> shape,
                        std::vector<double> values) {
    Tensor tensor(ElementType::F32, shape);
    tensor.floats = std::move(values);
    return toHost(tensor, ElementType::F32);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

using Values = std::vector<double>;

TEST_F(ReferenceInterpreter, ConvolutionWithPadsStridesDilation) {
  // x = 1..5, w = [1, 10], dilation 2, stride 2, pads (1, 1): windows
  // (_, 2), (2, 4), (4, _) of the padded input.
  EXPECT_EQ(run("%x: tensor<1x1x5xf32>, %w: tensor<1x1x2xf32>, "
                "%b: tensor<1xf32>",
                "%r = nn.conv %x, %w, %b {strides = array<i64: 2>, pads = "
                "array<i64: 1, 1>, dilations = array<i64: 2>} : "
                "(tensor<1x1x5xf32>, tensor<1x1x2xf32>, tensor<1xf32>) -> "
                "tensor<1x1x3xf32>",
                "tensor<1x1x3xf32>",
                {f32({1, 1, 5}, {1, 2, 3, 4, 5}), f32({1, 1, 2}, {1, 10}),
                 f32({1}, {0.5})}),
            (Values{20.5, 42.5, 4.5}));
}

TEST_F(ReferenceInterpreter, GroupedConvolutionInTwoDimensions) {
  // Two groups of one channel; kernel 2x1 sums rows.
  EXPECT_EQ(run("%x: tensor<1x2x2x2xf32>, %w: tensor<2x1x2x1xf32>",
                "%r = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = "
                "array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group "
                "= 2 : i64} : (tensor<1x2x2x2xf32>, tensor<2x1x2x1xf32>) -> "
                "tensor<1x2x1x2xf32>",
                "tensor<1x2x1x2xf32>",
                {f32({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                 f32({2, 1, 2, 1}, {1, 1, 1, -1})}),
            (Values{4, 6, -2, -2}));
}

TEST_F(ReferenceInterpreter, TransposedConvolution) {
  EXPECT_EQ(run("%x: tensor<1x1x2xf32>, %w: tensor<1x1x3xf32>",
                "%r = nn.conv_transpose %x, %w {strides = array<i64: 2>, pads "
                "= array<i64: 1, 0>, dilations = array<i64: 1>} : "
                "(tensor<1x1x2xf32>, tensor<1x1x3xf32>) -> tensor<1x1x4xf32>",
                "tensor<1x1x4xf32>",
                {f32({1, 1, 2}, {1, 10}), f32({1, 1, 3}, {1, 2, 3})}),
            (Values{2, 13, 20, 30}));
}

TEST_F(ReferenceInterpreter, MatMulBroadcastsBatches) {
  EXPECT_EQ(run("%a: tensor<2x1x2xf32>, %b: tensor<2x1xf32>",
                "%r = nn.matmul %a, %b : (tensor<2x1x2xf32>, tensor<2x1xf32>) "
                "-> tensor<2x1x1xf32>",
                "tensor<2x1x1xf32>",
                {f32({2, 1, 2}, {1, 2, 3, 4}), f32({2, 1}, {10, 1})}),
            (Values{12, 34}));
}

TEST_F(ReferenceInterpreter, SumsInIndexOrder) {
  // 1e16 + 1 - 1e16 in index order is 0 in binary64: the one is lost.
  EXPECT_EQ(run("%a: tensor<1x3xf32>, %b: tensor<3x1xf32>",
                "%r = nn.matmul %a, %b : (tensor<1x3xf32>, tensor<3x1xf32>) -> "
                "tensor<1x1xf32>",
                "tensor<1x1xf32>",
                {f32({1, 3}, {1e8, 1, -1e8}), f32({3, 1}, {1e9, 1, 1e9})}),
            (Values{0}));
}

TEST_F(ReferenceInterpreter, AveragePoolCountsWhatItShould) {
  std::string attributes =
      "kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 1, "
      "0>, dilations = array<i64: 1>";
  auto pool = [&](const std::string &extra) {
    return run("%x: tensor<1x1x4xf32>",
               "%r = nn.avg_pool %x {" + attributes + extra +
                   "} : (tensor<1x1x4xf32>) -> tensor<1x1x3xf32>",
               "tensor<1x1x3xf32>", {f32({1, 1, 4}, {2, 4, 6, 8})});
  };
  // The last window hangs over (ceil mode): it never counts the overhang.
  EXPECT_EQ(pool(""), (Values{2, 5, 8}));
  EXPECT_EQ(pool(", count_include_pad = true"), (Values{1, 5, 8}));
}

TEST_F(ReferenceInterpreter, BatchNormalisation) {
  EXPECT_EQ(run("%x: tensor<1x2xf32>, %p: tensor<2xf32>, %v: tensor<2xf32>",
                "%r = nn.batch_norm %x, %p, %p, %p, %v {epsilon = 0.25 : f32} "
                ": (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, "
                "tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>",
                "tensor<1x2xf32>",
                {f32({1, 2}, {3, 4}), f32({2}, {1, 2}), f32({2}, {0, 3.75})}),
            (Values{5, 4}));
}

TEST_F(ReferenceInterpreter, PrecisionDecidesAboutRounding) {
  std::string body = "%0 = nn.add %x, %y : (tensor<1xf32>, tensor<1xf32>) -> "
                     "tensor<1xf32>\n"
                     "%r = nn.sub %0, %x : (tensor<1xf32>, tensor<1xf32>) -> "
                     "tensor<1xf32>";
  std::vector<HostTensor> inputs{f32({1}, {16777216}), f32({1}, {1})};
  EXPECT_EQ(run("%x: tensor<1xf32>, %y: tensor<1xf32>", body, "tensor<1xf32>",
                inputs),
            (Values{0}));
  EXPECT_EQ(run("%x: tensor<1xf32>, %y: tensor<1xf32>", body, "tensor<1xf32>",
                inputs, Precision::Binary64),
            (Values{1}));
}

TEST_F(ReferenceInterpreter, SoftmaxSumsToOne) {
  Values values =
      run("%x: tensor<1x3xf32>",
          "%r = nn.softmax %x {axis = 1 : i64} : "
          "(tensor<1x3xf32>) -> tensor<1x3xf32>",
          "tensor<1x3xf32>", {f32({1, 3}, {0, 1, 1000})}, Precision::Binary64);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_DOUBLE_EQ(values[2], 1);
  EXPECT_LT(values[0], 1e-300);
}

TEST_F(ReferenceInterpreter, ArgReduceSelectsFirstOrLast) {
  auto arg = [&](const std::string &extra) {
    return run("%x: tensor<4xf32>",
               "%r = nn.arg_reduce max %x {axis = 0 : i64, keepdims = true" +
                   extra + "} : (tensor<4xf32>) -> tensor<1xi64>",
               "tensor<1xi64>", {f32({4}, {1, 3, 3, 2})});
  };
  EXPECT_EQ(arg(""), (Values{1}));
  EXPECT_EQ(arg(", select_last = true"), (Values{2}));
}

TEST_F(ReferenceInterpreter, ObserverSeesEveryValue) {
  OwningOpRef<ModuleOp> module =
      parse("%x: tensor<1xf32>",
            "%0 = nn.unary relu %x : (tensor<1xf32>) -> tensor<1xf32>\n"
            "%r = nn.unary neg %0 : (tensor<1xf32>) -> tensor<1xf32>",
            "tensor<1xf32>");
  std::vector<double> seen;
  Options options;
  options.observer = [&](Value, const Tensor &tensor) {
    seen.push_back(tensor.floats[0]);
  };
  auto results = evaluate(*module, {f32({1}, {2})}, options);
  ASSERT_TRUE(bool(results));
  EXPECT_EQ(seen, (Values{2, 2, -2}));
}

TEST_F(ReferenceInterpreter, WrongInputsAreUsageErrors) {
  OwningOpRef<ModuleOp> module =
      parse("%x: tensor<2xf32> {nn.name = \"x\"}",
            "%r = nn.unary relu %x : (tensor<2xf32>) -> tensor<2xf32>",
            "tensor<2xf32>");
  ASSERT_TRUE(module);
  auto message = [&](std::vector<HostTensor> inputs) {
    auto results = evaluate(*module, inputs);
    if (results)
      return std::string("no error");
    llvm::Error error = results.takeError();
    EXPECT_EQ(support::classify(error), ErrorClass::Usage);
    return llvm::toString(std::move(error));
  };
  EXPECT_EQ(message({}), "0 inputs given, expected 1");
  EXPECT_EQ(message({f32({3}, {1, 2, 3})}),
            "input 'x' is f32[3], expected f32[2]");
  EXPECT_EQ(message({HostTensor::zeros(ElementType::F64, {2})}),
            "input 'x' is f64[2], expected f32[2]");
}

TEST_F(ReferenceInterpreter, MixedTypesAreUnsupported) {
  OwningOpRef<ModuleOp> module =
      parse("%x: tensor<1xf32>, %y: tensor<1xi32>",
            "%r = nn.add %x, %y : (tensor<1xf32>, tensor<1xi32>) -> "
            "tensor<1xf32>",
            "tensor<1xf32>");
  ASSERT_TRUE(module);
  auto results = evaluate(
      *module, {f32({1}, {1}), HostTensor::zeros(ElementType::I32, {1})});
  ASSERT_FALSE(bool(results));
  llvm::Error error = results.takeError();
  EXPECT_EQ(support::classify(error), ErrorClass::Unsupported);
  llvm::consumeError(std::move(error));
}

} // namespace
