// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-run: loads, verifies, executes and times a compiled program. The work
// is in lib/Report; nothing here or below knows MLIR.

#include "ashlar/Report/Runner.h"

#include <csignal>
#include <string>
#include <vector>

int main(int argc, char **argv) {
  // A closed pipe or a file-size limit is a failed write with an exit code of
  // its own, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return ashlar::report::runTool(
      std::vector<std::string>(argv + (argc > 0), argv + argc));
}
