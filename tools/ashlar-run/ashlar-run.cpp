// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-run: loads, verifies, executes and times a compiled program. The work
// is in lib/Report; nothing here or below knows MLIR.

#include "ashlar/Report/Runner.h"
#include "ashlar/Support/ProcessGuard.h"

#include <string>
#include <vector>

int main(int argc, char **argv) {
  ashlar::support::guardProcess("ashlar-run");
  return ashlar::report::runTool(
      std::vector<std::string>(argv + (argc > 0), argv + argc));
}
