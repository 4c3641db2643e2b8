// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The project's version as the build was configured.

#ifndef ASHLAR_SUPPORT_VERSION_H
#define ASHLAR_SUPPORT_VERSION_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace ashlar::support {

/// "0.1.0"
llvm::StringRef versionString();

/// What a tool prints for --version: "ashlar-run (Ashlar) 0.1.0".
std::string versionLine(llvm::StringRef tool);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_VERSION_H
