// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-prune: sets weights of an ONNX model to zero. The work is in
// lib/Pipelines/Pruning.

#include "ashlar/Pipelines/Prune.h"

int main(int argc, char **argv) {
  return ashlar::pipelines::pruneMain(argc, argv);
}
