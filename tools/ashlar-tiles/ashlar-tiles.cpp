// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-tiles: zeros, cuts and unit times of the feature maps of a dumped run.
// The work is in lib/Report.

#include "ashlar/Report/Tiles.h"
#include "ashlar/Support/ProcessGuard.h"

#include <string>
#include <vector>

int main(int argc, char **argv) {
  ashlar::support::guardProcess("ashlar-tiles");
  return ashlar::report::runTilesTool(
      std::vector<std::string>(argv + (argc > 0), argv + argc));
}
