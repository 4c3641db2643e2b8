// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and comparing of backend cases.

#include "BackendCase.h"

#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "lib/Frontend/Onnx/Files/TensorFiles.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "dialects/NN/NNElements.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <fmt/format.h>

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
  TensorFiles files;
  auto elements = convertTensor(proto, files, "tensor", 1 << 28, &context);
  if (!elements)
    return elements.takeError();
  auto type = llvm::cast<mlir::RankedTensorType>(elements->getType());
  nn::ElementStorage storage;
  auto raw = nn::rawElements(*elements, storage);
  HostTensor tensor;
  tensor.type = *nn::toElementType(type.getElementType());
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  tensor.data.assign(raw->begin(), raw->end());
  return tensor;
}

} // namespace

bool ashlar::frontend::loadCase(BackendCase &test, mlir::MLIRContext &context) {
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

std::string ashlar::frontend::compareOutputs(const HostTensor &found,
                                             const HostTensor &expected) {
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

bool ashlar::frontend::isExcused(llvm::StringRef name) {
  // Draws of a generator that the case does not name.
  if (name.starts_with("test_bernoulli"))
    return true;
  // Recorded with pi as 3.1415, or written with four digits.
  if (name.contains("window") || name == "test_gridsample_bicubic" ||
      name.starts_with("test_roialign"))
    return true;
  // Recorded as uint16, with shapes that the model contradicts.
  return name.contains("BFLOAT16");
}

std::vector<std::string> ashlar::frontend::foldersOf(llvm::StringRef suite) {
  std::vector<std::string> folders;
  std::error_code code;
  const std::string root =
      (llvm::StringRef(ASHLAR_ONNX_TESTDATA) + "/" + suite).str();
  for (llvm::sys::fs::directory_iterator it(root, code), end;
       it != end && !code; it.increment(code))
    folders.push_back(it->path());
  llvm::sort(folders);
  return folders;
}
