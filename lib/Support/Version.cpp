// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Version text; ASHLAR_VERSION comes from CMake's project version.

#include "ashlar/Support/Version.h"

using namespace ashlar;

llvm::StringRef support::versionString() { return ASHLAR_VERSION; }

std::string support::versionLine(llvm::StringRef tool) {
  return tool.str() + " (Ashlar) " + ASHLAR_VERSION;
}
