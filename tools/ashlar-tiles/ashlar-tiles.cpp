// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-tiles: zeros, cuts and unit times of the maps of a dumped run. The
// work is in lib/Report.

#include "ashlar/Report/Tiles.h"

#include <csignal>
#include <string>
#include <vector>

int main(int argc, char **argv) {
  // A closed pipe or a file-size limit is a failed write, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return ashlar::report::runTilesTool(
      std::vector<std::string>(argv + (argc > 0), argv + argc));
}
