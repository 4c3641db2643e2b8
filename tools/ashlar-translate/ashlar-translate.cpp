// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Developer tool: the ONNX importer on its own.

#include "ashlar/Frontend/Onnx/Translate.h"

int main(int argc, char **argv) {
  return ashlar::frontend::translateMain(argc, argv);
}
