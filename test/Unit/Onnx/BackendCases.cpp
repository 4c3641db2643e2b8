// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imports every ONNX backend case of Debian's libonnx-testdata and runs the
// result through the `nn` interpreter: what the frontend builds must mean what
// the operator means. Independent of formats, machine and emulator. A case is
// skipped only where the importer calls it unsupported; the number of cases
// that run may not fall.

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Reference/Interpreter.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Npy.h"
#include "lib/Frontend/Onnx/Proto.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "dialects/NN/NNElements.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::frontend;
using support::HostTensor;

namespace {

llvm::Expected<HostTensor> readTensorFile(llvm::StringRef path,
                                          mlir::MLIRContext &context) {
  auto buffer = support::readFile(path);
  if (!buffer)
    return buffer.takeError();
  onnx::TensorProto proto;
  if (!proto.ParseFromString((*buffer)->getBuffer().str()))
    return makeError(ErrorClass::Malformed, "not a tensor: {}", path.str());
  auto elements = convertTensor(proto, ".", "tensor", 1 << 28, &context);
  if (!elements)
    return elements.takeError();
  auto type = llvm::cast<mlir::RankedTensorType>(elements->getType());
  std::vector<char> storage;
  auto raw = nn::rawElements(*elements, storage);
  HostTensor tensor;
  tensor.type = *nn::toElementType(type.getElementType());
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  tensor.data.assign(raw->begin(), raw->end());
  return tensor;
}

struct Case {
  std::string folder;
  onnx::ModelProto model;
  std::vector<std::string> inputNames; ///< Without initialisers.
  std::vector<HostTensor> inputs, outputs;
};

/// False for cases whose data are no plain tensors.
bool loadCase(Case &test, mlir::MLIRContext &context) {
  auto buffer = support::readFile(test.folder + "/model.onnx");
  if (!buffer) {
    llvm::consumeError(buffer.takeError());
    return false;
  }
  if (!test.model.ParseFromString((*buffer)->getBuffer().str()))
    return false;
  for (const onnx::ValueInfoProto &input : test.model.graph().input())
    if (llvm::none_of(test.model.graph().initializer(),
                      [&](const onnx::TensorProto &tensor) {
                        return tensor.name() == input.name();
                      }))
      test.inputNames.push_back(input.name());
  auto load = [&](const char *kind, int count, std::vector<HostTensor> &out) {
    for (int i = 0; i < count; ++i) {
      auto tensor = readTensorFile(test.folder + "/test_data_set_0/" + kind +
                                       "_" + std::to_string(i) + ".pb",
                                   context);
      if (!tensor) {
        llvm::consumeError(tensor.takeError());
        return false;
      }
      out.push_back(std::move(*tensor));
    }
    return true;
  };
  return load("input", test.inputNames.size(), test.inputs) &&
         load("output", test.model.graph().output_size(), test.outputs);
}

/// Imports with the inputs from index `firstConstant` on made constant.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importCase(const Case &test, int firstConstant, mlir::MLIRContext &context) {
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
    if (llvm::Error error = support::writeNpy(file, test.inputs[i]))
      return error;
    options.constants[name] = file;
  }
  auto module = importOnnx(test.folder + "/model.onnx", options, &context);
  llvm::sys::fs::remove_directories(folder);
  return module;
}

/// Empty if equal within the tolerance, else what differs.
std::string compare(const HostTensor &found, const HostTensor &expected) {
  if (found.type != expected.type || found.shape != expected.shape)
    return "found " + describe(found) + ", expected " + describe(expected);
  double largest = 0;
  for (uint64_t i = 0; i < expected.numElements(); ++i)
    if (std::isfinite(expected.asDouble(i)))
      largest = std::max(largest, std::fabs(expected.asDouble(i)));
  bool isFloat = support::isFloat(expected.type);
  double relative = expected.type == support::ElementType::F16 ? 2e-3 : 1e-4;
  for (uint64_t i = 0; i < expected.numElements(); ++i) {
    double a = found.asDouble(i), b = expected.asDouble(i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double allowed =
        isFloat ? relative * std::fabs(b) + 1e-6 * largest + 1e-7 : 0;
    if (!(std::fabs(a - b) <= allowed))
      return fmt::format("element {} is {}, expected {}", i, a, b);
  }
  return {};
}

enum class Outcome { Passed, Unsupported, NotTensors };

Outcome runCase(const std::string &folder, std::string &failure) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Case test;
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
    for (auto [found, expected] : llvm::zip(*results, test.outputs))
      if (std::string difference = compare(found, expected);
          !difference.empty())
        failure = difference;
    return Outcome::Passed;
  }
  return Outcome::Unsupported;
}

/// Cases whose recorded outputs are not what the operator's text says, or that
/// are random by nature; each with the reason.
bool isExcused(llvm::StringRef name) {
  // Random masks: only the shape is defined.
  if (name.starts_with("test_training_dropout"))
    return true;
  // Recorded as uint16, with shapes that the model contradicts.
  return name.contains("BFLOAT16");
}

class BackendSuite
    : public testing::TestWithParam<std::pair<const char *, int>> {};

TEST_P(BackendSuite, MeansTheSame) {
  auto [suite, least] = GetParam();
  std::string root = std::string(ASHLAR_ONNX_TESTDATA) + "/" + suite;
  if (!llvm::sys::fs::is_directory(root))
    GTEST_SKIP() << "libonnx-testdata is not installed";
  int passed = 0;
  std::error_code code;
  std::vector<std::string> folders;
  for (llvm::sys::fs::directory_iterator it(root, code), end;
       it != end && !code; it.increment(code))
    folders.push_back(it->path());
  llvm::sort(folders);
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
