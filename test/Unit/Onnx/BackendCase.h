// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One ONNX backend case of Debian's libonnx-testdata: a model with inputs and
// the outputs that it has.

#ifndef ASHLAR_TEST_UNIT_ONNX_BACKENDCASE_H
#define ASHLAR_TEST_UNIT_ONNX_BACKENDCASE_H

#include "ashlar/Support/Tensor.h"
#include "lib/Frontend/Onnx/Proto.h"

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace ashlar::frontend {

struct BackendCase {
  std::string folder;
  onnx::ModelProto model;
  std::vector<std::string> inputNames; ///< Without initialisers.
  std::vector<HostTensor> inputs, outputs;
};

/// Fills a case from its folder. False for cases whose data are no plain
/// tensors.
bool loadCase(BackendCase &test, mlir::MLIRContext &context);

/// Empty if equal within the tolerance of the case's type, else what differs.
std::string compareOutputs(const HostTensor &found, const HostTensor &expected);

/// Cases whose recorded outputs are not what the operator's text says, or that
/// are random by nature.
bool isExcused(llvm::StringRef name);

/// The folders of a suite ("node", "simple"), sorted; empty where the package
/// is not installed.
std::vector<std::string> foldersOf(llvm::StringRef suite);

} // namespace ashlar::frontend

#endif // ASHLAR_TEST_UNIT_ONNX_BACKENDCASE_H
