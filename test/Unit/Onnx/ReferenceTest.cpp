// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference of ONNX against the recorded outputs of ONNX's own cases, and
// its table against the importer's.

#include "BackendCase.h"

#include "ashlar/Frontend/OnnxReference/Reference.h"
#include "lib/Frontend/Onnx/Flow/Flow.h"
#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/OnnxReference/Judge.h"
#include "lib/Frontend/OnnxReference/Registry.h"

#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstdio>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// What the importer takes, the reference evaluates: every version that has a
/// meaning of its own.
TEST(OnnxReference, HasEveryOperatorOfTheImporter) {
  for (const frontend::OperatorRow &row : frontend::operatorTable())
    for (int version : row.versions) {
      const EvaluatorRow *found = findEvaluator(row.domain, row.op, version);
      ASSERT_TRUE(found) << row.op << " " << version;
      EXPECT_TRUE(llvm::is_contained(found->versions, version))
          << row.op << " " << version;
    }
}

/// And nothing else, so that no evaluator outlives its operator.
TEST(OnnxReference, HasNoOtherOperator) {
  for (const EvaluatorRow &row : evaluatorTable())
    for (int version : row.versions) {
      std::string why;
      const frontend::OperatorRow *found =
          frontend::findOperator(row.domain, row.op, version, why);
      ASSERT_TRUE(found) << row.op << " " << version << ": " << why;
      EXPECT_TRUE(llvm::is_contained(found->versions, version))
          << row.op << " " << version;
    }
}

/// Operators that both walk through by Flow have neither a rule nor an
/// evaluator.
TEST(OnnxReference, SharesOnlyTheFlow) {
  for (const frontend::FlowRow &row : frontend::flowTable())
    for (int version : row.versions) {
      std::string why;
      EXPECT_FALSE(frontend::findOperator("", row.op, version, why)) << row.op;
      EXPECT_FALSE(findEvaluator("", row.op, version)) << row.op;
    }
}

enum class Outcome { Agrees, Differs, Unsupported, NotTensors };

Outcome runCase(const std::string &folder, std::string &failure) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::BackendCase test;
  test.folder = folder;
  if (!frontend::loadCase(test, context))
    return Outcome::NotTensors;
  auto model = ModelReference::load(folder + "/model.onnx", {});
  auto results = model ? model->evaluate(test.inputs)
                       : llvm::Expected<std::vector<Tensor>>(model.takeError());
  if (!results) {
    llvm::Error error = results.takeError();
    const bool refused = support::classify(error) == ErrorClass::Unsupported;
    failure = llvm::toString(std::move(error));
    return refused ? Outcome::Unsupported : Outcome::Differs;
  }
  for (auto [found, expected] : llvm::zip(*results, test.outputs))
    if (std::string difference = frontend::compareOutputs(
            reference::toHost(found, found.type), expected);
        !difference.empty())
      failure = difference;
  return failure.empty() ? Outcome::Agrees : Outcome::Differs;
}

/// True if an evaluator refused a node of its own operator.
bool isGap(llvm::StringRef why) {
  return why.contains("by ONNX's definition") &&
         !why.contains("has no evaluator");
}

/// Cases with an x / scale halfway between two integers in binary32 and not in
/// binary64.
bool isTieInBinary32(llvm::StringRef name) {
  return name.starts_with("test_dynamicquantizelinear") &&
         !name.contains("_max_adjusted") && !name.contains("_min_adjusted");
}

class ReferenceSuite
    : public testing::TestWithParam<std::pair<const char *, int>> {};

TEST_P(ReferenceSuite, GivesTheRecordedOutputs) {
  auto [suite, least] = GetParam();
  const std::vector<std::string> folders = frontend::foldersOf(suite);
  if (folders.empty())
    GTEST_SKIP() << "libonnx-testdata is not installed";
  int agree = 0;
  for (const std::string &folder : folders) {
    const llvm::StringRef name = llvm::sys::path::filename(folder);
    if (frontend::isExcused(name) || isTieInBinary32(name))
      continue;
    std::string failure;
    const Outcome outcome = runCase(folder, failure);
    EXPECT_NE(outcome, Outcome::Differs) << name.str() << ": " << failure;
    EXPECT_FALSE(outcome == Outcome::Unsupported && isGap(failure))
        << name.str() << ": " << failure;
    agree += outcome == Outcome::Agrees;
  }
  EXPECT_GE(agree, least);
  std::printf("%s: %d of %zu cases agree\n", suite, agree, folders.size());
}

INSTANTIATE_TEST_SUITE_P(Debian, ReferenceSuite,
                         testing::Values(std::pair("pytorch-converted", 82),
                                         std::pair("pytorch-operator", 35),
                                         std::pair("simple", 6),
                                         std::pair("node", 820)));

} // namespace
