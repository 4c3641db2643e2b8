// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs passes on textual IR: the developer's tool behind the IR tests.

#include "ashlar/Pipelines/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ashlar::pipelines::registerDialects(registry);
  ashlar::pipelines::registerPasses();
  return mlir::failed(
      mlir::MlirOptMain(argc, argv, "ashlar optimizer driver\n", registry));
}
