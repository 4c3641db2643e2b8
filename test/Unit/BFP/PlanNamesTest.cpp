// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of planned tensors: unique, stable, usable as files.

#include "ashlar/Analysis/Module/NumericPlan.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/NN/NNDialect.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace ashlar;

namespace {

class Names : public ::testing::Test {
protected:
  Names() {
    context
        .loadDialect<mlir::func::FuncDialect, nn::NNDialect, bfp::BFPDialect>();
  }

  /// Names, or file stems, of all results of @main's operations, in order.
  std::vector<std::string> get(llvm::StringRef text, bool stems = false) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return {"parse error"};
    auto function = module->lookupSymbol<mlir::func::FuncOp>("main");
    analysis::PlanNames names(function);
    std::vector<std::string> result;
    for (mlir::Operation &op : function.getBody().front())
      for (mlir::Value value : op.getResults())
        result.push_back(
            (stems ? names.getFileStem(value) : names.getName(value)).str());
    return result;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(Names, OutputsFirstThenNumbers) {
  // The output's name is taken before the node that is called the same.
  EXPECT_EQ(get(R"(
    func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "Relu_0"}) {
      %0 = nn.unary relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("Relu_0")
      %1 = nn.unary relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("x")
      %2 = nn.unary relu %1 : (tensor<4xf32>) -> tensor<4xf32> loc("x")
      %3 = nn.unary relu %2 : (tensor<4xf32>) -> tensor<4xf32>
      return %3 : tensor<4xf32>
    })"),
            (std::vector<std::string>{"Relu_0.2", "x.2", "x.3", "Relu_0"}));
}

TEST_F(Names, FilesStayApart) {
  EXPECT_EQ(get(R"(
    func.func @main(%x: tensor<4xf32> {nn.name = "../x"}) -> (tensor<4xf32> {nn.name = "y"}) {
      %0 = nn.unary relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("a/b")
      %1 = nn.unary relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("a:b")
      %2 = nn.unary relu %1 : (tensor<4xf32>) -> tensor<4xf32> loc("..")
      %3 = nn.unary relu %2 : (tensor<4xf32>) -> tensor<4xf32>
      return %3 : tensor<4xf32>
    })",
                /*stems=*/true),
            (std::vector<std::string>{"a_b", "a_b.2", "_..", "y"}));
}

TEST_F(Names, EncodedConstantIsTheConstant) {
  EXPECT_EQ(get(R"(
    !t = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>
    func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
      %0 = nn.constant dense<1.0> : tensor<4xf32> loc("w")
      %1 = bfp.encode %0 weights : tensor<4xf32> -> tensor<4x!t> loc("w")
      %2 = bfp.encode %x : tensor<4xf32> -> tensor<4x!t>
      %3 = bfp.decode %2 : tensor<4x!t> -> tensor<4xf32>
      %4 = nn.add %3, %1 : (tensor<4xf32>, tensor<4x!t>) -> tensor<4xf32>
      return %4 : tensor<4xf32>
    })"),
            (std::vector<std::string>{"", "w", "x.bfp", "x.bfp.f32", "y"}));
}

TEST_F(Names, PlanOfNothing) {
  module = mlir::parseSourceString<mlir::ModuleOp>("module {}", &context);
  EXPECT_EQ(analysis::buildNumericPlanJson(*module), "");
}

} // namespace
