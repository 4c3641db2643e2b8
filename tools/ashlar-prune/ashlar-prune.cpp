// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-prune: sets weights of an ONNX model to zero. The work is in
// lib/Frontend/Onnx.

#include "ashlar/Frontend/Onnx/Prune.h"

int main(int argc, char **argv) {
  return ashlar::frontend::pruneMain(argc, argv);
}
