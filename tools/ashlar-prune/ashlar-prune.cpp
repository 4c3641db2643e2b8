// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-prune: sets weights of an ONNX model to zero. The work is in
// lib/Frontend/Onnx.

#include "ashlar/Frontend/Onnx/Prune.h"

#include <csignal>

int main(int argc, char **argv) {
  // A closed pipe or a file-size limit is a failed write, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return ashlar::frontend::pruneMain(
      std::vector<std::string>(argv + (argc > 0), argv + argc));
}
