// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which scale exponent each encoded value reads (docs/Numerics.md 5).

#include "dialects/BFP/EncodeEvents.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/NN/NNDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace ashlar::bfp;

namespace {

/// Values of @main by position: operations in order, one result each.
class Events : public ::testing::Test {
protected:
  void parse(llvm::StringRef body) {
    context.loadDialect<mlir::func::FuncDialect, ashlar::nn::NNDialect,
                        BFPDialect>();
    std::string text =
        "!t = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>\n"
        "func.func @main(%x: tensor<1x32xf32>, %y: tensor<1x16xf32>) {\n" +
        body.str() + "\n  return\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    auto function = module->lookupSymbol<mlir::func::FuncOp>("main");
    for (mlir::Operation &op : function.getBody().front())
      values.append(op.result_begin(), op.result_end());
    events.emplace(function);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<mlir::Value> values;
  std::optional<EncodeEvents> events;
};

TEST_F(Events, ViewsInheritAndOpsDoNot) {
  parse(R"(
    %0 = bfp.encode %x : tensor<1x32xf32> -> tensor<1x32x!t>
    %1 = nn.slice %0 {starts = array<i64: 0, 16>, steps = array<i64: 1, 1>} : (tensor<1x32x!t>) -> tensor<1x16x!t>
    %2 = nn.reshape %1 : (tensor<1x16x!t>) -> tensor<1x16x1x!t>
    %3 = nn.unary relu %0 : (tensor<1x32x!t>) -> tensor<1x32x!t>
    %4 = bfp.decode %3 : tensor<1x32x!t> -> tensor<1x32xf32>
  )");
  EXPECT_EQ(events->getEvents().size(), 2u);
  EXPECT_EQ(events->getEvent(values[0]), 0u);
  EXPECT_EQ(events->getEvent(values[1]), 0u);
  EXPECT_EQ(events->getEvent(values[2]), 0u);
  EXPECT_EQ(events->getEvent(values[3]), 1u);
  EXPECT_EQ(events->getEvent(values[4]), std::nullopt);
  EXPECT_EQ(events->getEvents()[0].root, values[0]);
}

TEST_F(Events, ConcatTakesTheMaximum) {
  parse(R"(
    %0 = bfp.encode %x : tensor<1x32xf32> -> tensor<1x32x!t>
    %1 = bfp.encode %y : tensor<1x16xf32> -> tensor<1x16x!t>
    %2 = nn.concat %0, %1 {axis = 1 : i64} : (tensor<1x32x!t>, tensor<1x16x!t>) -> tensor<1x48x!t>
    %3 = nn.concat %1, %2 {axis = 1 : i64} : (tensor<1x16x!t>, tensor<1x48x!t>) -> tensor<1x64x!t>
    %4 = nn.concat %1, %1 {axis = 1 : i64} : (tensor<1x16x!t>, tensor<1x16x!t>) -> tensor<1x32x!t>
  )");
  EXPECT_EQ(events->getEvents().size(), 4u);
  EXPECT_EQ(events->getEvents()[2].parts, (llvm::SmallVector<unsigned>{0, 1}));
  EXPECT_EQ(events->getEvents()[3].parts, (llvm::SmallVector<unsigned>{1, 2}));
  EXPECT_EQ(events->getLeaves(3), (llvm::SmallVector<unsigned>{0, 1}));
  EXPECT_EQ(events->getLeaves(0), (llvm::SmallVector<unsigned>{0}));
  // Parts of one event make no other.
  EXPECT_EQ(events->getEvent(values[4]), 1u);
}

TEST_F(Events, WeightsHaveNone) {
  parse(R"(
    %w = nn.constant dense<1.0> : tensor<4x16xf32>
    %0 = bfp.encode %w weights : tensor<4x16xf32> -> tensor<4x16x!t>
    %1 = bfp.encode %w : tensor<4x16xf32> -> tensor<4x16x!t>
  )");
  EXPECT_EQ(events->getEvent(values[1]), std::nullopt);
  EXPECT_EQ(events->getEvent(values[2]), 0u);
}

} // namespace
