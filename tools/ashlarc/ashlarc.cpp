// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlarc: compiles an ONNX model. The work is in lib/Pipelines.

#include "ashlar/Pipelines/Compile.h"

#include <csignal>

int main(int argc, char **argv) {
  // A closed pipe or a file-size limit is a failed write with an exit code of
  // its own, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return ashlar::pipelines::compilerMain(
      std::vector<std::string>(argv + (argc > 0), argv + argc));
}
