// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparisons of whole programs end where their work ends, and say so.

#include "lib/Pipelines/ComparisonBudget.h"

#include "ashlar/Pipelines/Compile.h"
#include "ashlar/Pipelines/Registration.h"
#include "llvm/Support/Error.h"

#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::pipelines;

namespace {

/// What a compilation of the demo network says of comparisons that it leaves
/// out.
std::pair<std::string, std::string> compiledWith(uint64_t work) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  CompileOptions options;
  options.model = ASHLAR_DEMO_NETWORK "/glyphs.onnx";
  options.comparedWork = work;
  auto result = compile(options, context);
  EXPECT_TRUE(bool(result));
  if (!result) {
    llvm::consumeError(result.takeError());
    return {};
  }
  EXPECT_TRUE(result->program.has_value());
  return {result->decisionsJson, result->program->decisionsJson};
}

TEST(ComparisonBudgetTest, EndsWithItsWork) {
  ComparisonBudget budget(1000);
  EXPECT_TRUE(budget.allows("first"));
  budget.addProgram(300, 100 * ComparisonBudget::kBytes);
  EXPECT_EQ(budget.mostInstructions(), 500u);
  EXPECT_TRUE(budget.allows("second"));
  budget.addProgram(300, 100 * ComparisonBudget::kBytes);
  EXPECT_FALSE(budget.allows("third"));
  EXPECT_EQ(budget.mostInstructions(), 100u);
}

TEST(ComparisonBudgetTest, RunsOnSamplesCount) {
  ComparisonBudget budget(1000);
  budget.addProgram(300, 0);
  budget.addRun(200 * ComparisonBudget::kMultiplications);
  EXPECT_EQ(budget.mostInstructions(), 300u);
  budget.addRun(100 * ComparisonBudget::kMultiplications);
  EXPECT_FALSE(budget.allows("second"));
}

TEST(ComparisonBudgetTest, SecondFormDependsOnItsProgramAlone) {
  ComparisonBudget budget(1000);
  budget.addProgram(900, 0);
  EXPECT_FALSE(budget.allowsAgain("again"));
  budget.addProgram(400, 0);
  EXPECT_TRUE(budget.allowsAgain("again"));
  EXPECT_EQ(budget.mostAgain(), 600u);
}

TEST(ComparisonBudgetTest, DecisionNamesWhatWasLeftOut) {
  mlir::MLIRContext context;
  context.loadDialect<npu::NPUDialect>();
  ComparisonBudget budget(10);
  EXPECT_FALSE(budget.decision(context));
  budget.addProgram(10, 0);
  EXPECT_FALSE(budget.allows("this"));
  EXPECT_FALSE(budget.allows("this"));
  budget.giveUp();
  EXPECT_TRUE(budget.wasGivenUp("that"));
  EXPECT_FALSE(budget.wasGivenUp("other"));
  const records::DecisionAttr decision = budget.decision(context);
  ASSERT_TRUE(decision);
  EXPECT_TRUE(
      decision.getReason().getValue().ends_with("not compared: this, that"));
}

TEST(ComparisonBudgetTest, CompilationSaysWhatItLeavesOut) {
  const std::string text = "not compared: ";
  const auto [all, ofAll] = compiledWith(CompileOptions().comparedWork);
  EXPECT_EQ(all.find(text), std::string::npos);
  const auto [few, ofFew] = compiledWith(1);
  EXPECT_NE(few.find(text), std::string::npos);
  EXPECT_EQ(few, ofFew);
  const auto [none, ofNone] = compiledWith(0);
  EXPECT_EQ(none.find(text), std::string::npos);
}

} // namespace
