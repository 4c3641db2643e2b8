// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX import: any bytes are refused with an error, or give a module that
// verifies (the importer checks that itself). The file only exists in memory.

#include "ashlar/Frontend/Onnx/Import.h"
#include "dialects/NN/NNDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace ashlar;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int file = memfd_create("model.onnx", 0);
  if (file < 0)
    return 0;
  bool written =
      size == 0 || write(file, data, size) == static_cast<ssize_t>(size);
  if (written) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
    context.getDiagEngine().registerHandler(
        [](mlir::Diagnostic &) { return mlir::success(); });
    frontend::ImportOptions options;
    // Small, so that the time goes into structure and not into big tensors.
    options.maxElements = 1 << 16;
    auto module = frontend::importOnnx("/proc/self/fd/" + std::to_string(file),
                                       options, &context);
    if (!module)
      llvm::consumeError(module.takeError());
  }
  close(file);
  return 0;
}
