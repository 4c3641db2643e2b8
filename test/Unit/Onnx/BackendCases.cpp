// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imports every ONNX backend case of Debian's libonnx-testdata and runs the
// result through the `nn` interpreter: what the frontend builds must mean what
// the operator means. Independent of formats, machine and emulator. A case is
// skipped only where the importer calls it unsupported; the number of cases
// that run may not fall.

#include "BackendCase.h"

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Reference/Interpreter.h"
#include "ashlar/Support/Npy.h"
#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <cstdio>

using namespace ashlar;
using namespace ashlar::frontend;
using support::HostTensor;

namespace {

/// Imports with the inputs from index `firstConstant` on made constant.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importCase(const BackendCase &test, int firstConstant,
           mlir::MLIRContext &context) {
  ImportOptions options;
  llvm::SmallString<128> folder;
  llvm::sys::fs::createUniqueDirectory("ashlar-onnx", folder);
  for (int i = 0; i < static_cast<int>(test.inputNames.size()); ++i) {
    const std::string &name = test.inputNames[i];
    if (i < firstConstant) {
      options.inputShapes[name] = test.inputs[i].shape;
      continue;
    }
    std::string file = (folder + "/" + std::to_string(i) + ".npy").str();
    if (llvm::Error error = support::writeFileAtomically(
            file, support::formatNpy(test.inputs[i])))
      return error;
    options.constants[name] = {file, nullptr};
  }
  auto module = importOnnx(test.folder + "/model.onnx", options, &context);
  llvm::sys::fs::remove_directories(folder);
  return module;
}

/// Outputs with data-dependent extents, cut to those.
void cutToExtents(mlir::ModuleOp module, std::vector<HostTensor> &results) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  for (unsigned i = 0; i < results.size(); ++i)
    if (auto extent = main.getResultAttrOfType<mlir::DenseI64ArrayAttr>(
            i, nn::extentAttr))
      results[i] = support::firstIndices(
          results[i], static_cast<size_t>(extent[0]),
          static_cast<int64_t>(results[extent[1]].asDouble(0)));
}

enum class Outcome { Passed, Unsupported, NotTensors };

Outcome runCase(const std::string &folder, std::string &failure) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  BackendCase test;
  test.folder = folder;
  if (!loadCase(test, context))
    return Outcome::NotTensors;
  int count = test.inputNames.size();
  // All dynamic, then all but the first constant, then all constant.
  for (int dynamic : {count, 1, 0}) {
    if (dynamic > count)
      continue;
    auto module = importCase(test, dynamic, context);
    if (!module) {
      llvm::Error error = module.takeError();
      bool isRefusal = support::classify(error) == ErrorClass::Unsupported;
      std::string text = llvm::toString(std::move(error));
      if (isRefusal)
        continue;
      failure = text;
      return Outcome::Passed;
    }
    std::vector<HostTensor> inputs(
        test.inputs.begin(),
        test.inputs.begin() + std::min<size_t>(dynamic, test.inputs.size()));
    auto results = reference::evaluate(**module, inputs);
    if (!results) {
      failure = llvm::toString(results.takeError());
      return Outcome::Passed;
    }
    cutToExtents(**module, *results);
    for (auto [found, expected] : llvm::zip(*results, test.outputs))
      if (std::string difference = compareOutputs(found, expected);
          !difference.empty())
        failure = difference;
    return Outcome::Passed;
  }
  return Outcome::Unsupported;
}

class BackendSuite
    : public testing::TestWithParam<std::pair<const char *, int>> {};

TEST_P(BackendSuite, MeansTheSame) {
  auto [suite, least] = GetParam();
  const std::vector<std::string> folders = foldersOf(suite);
  if (folders.empty())
    GTEST_SKIP() << "libonnx-testdata is not installed";
  int passed = 0;
  for (const std::string &folder : folders) {
    llvm::StringRef name = llvm::sys::path::filename(folder);
    if (isExcused(name))
      continue;
    std::string failure;
    Outcome outcome = runCase(folder, failure);
    EXPECT_EQ(failure, "") << name.str();
    passed += outcome == Outcome::Passed && failure.empty();
  }
  EXPECT_GE(passed, least);
  std::printf("%s: %d of %zu cases run and agree\n", suite, passed,
              folders.size());
}

INSTANTIATE_TEST_SUITE_P(Debian, BackendSuite,
                         testing::Values(std::pair("pytorch-converted", 82),
                                         std::pair("pytorch-operator", 35),
                                         std::pair("simple", 6),
                                         std::pair("node", 570)));

} // namespace
