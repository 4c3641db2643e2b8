// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Language server for the project's dialects: editors get diagnostics,
// definitions and hover texts in .mlir files.

#include "ashlar/Pipelines/Registration.h"
#include "ashlar/Support/ProcessGuard.h"
#include "ashlar/Support/Version.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"

static constexpr const char *tool = "ashlar-lsp-server";

int main(int argc, char **argv) {
  ashlar::support::guardProcess(tool);
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &stream) {
    stream << ashlar::support::versionLine(tool) << "\n";
  });
  mlir::DialectRegistry registry;
  ashlar::pipelines::registerDialects(registry);
  return llvm::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
