// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Language server for the project's dialects: editors get diagnostics,
// definitions and hover texts in .mlir files.

#include "ashlar/Pipelines/Registration.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/LogicalResult.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ashlar::pipelines::registerDialects(registry);
  return llvm::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
