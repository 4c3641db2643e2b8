// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-run: loads, verifies, executes and times a compiled program. The work
// is in lib/Report; nothing here or below knows MLIR.

#include "ashlar/Report/Runner.h"
#include "ashlar/Support/LargePages.h"
#include "ashlar/Support/ProcessGuard.h"

#include <string>
#include <vector>

int main(int argc, char **argv) {
  ashlar::support::guardProcess("ashlar-run");
  ashlar::support::allocateInLargePages(uint64_t(64) << 20);
  return ashlar::report::runTool(
      std::vector<std::string>(argv + (argc > 0), argv + argc));
}
