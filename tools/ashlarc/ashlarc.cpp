// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlarc: compiles an ONNX model. The work is in lib/Pipelines.

#include "ashlar/Pipelines/Compile.h"
#include "ashlar/Support/LargePages.h"
#include "ashlar/Support/ProcessGuard.h"

int main(int argc, char **argv) {
  ashlar::support::guardProcess("ashlarc");
  ashlar::support::allocateInLargePages(uint64_t(1) << 30);
  ashlar::support::endProcess(ashlar::pipelines::compilerMain(
      std::vector<std::string>(argv + (argc > 0), argv + argc)));
}
