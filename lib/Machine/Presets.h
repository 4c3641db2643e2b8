// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of built-in machines.

#ifndef ASHLAR_LIB_MACHINE_PRESETS_H
#define ASHLAR_LIB_MACHINE_PRESETS_H

#include "ashlar/Machine/Description.h"

namespace ashlar::machine {

struct Preset {
  llvm::StringRef name;
  Description (*make)();
};

/// In display order; the first is the default.
llvm::ArrayRef<Preset> presets();

} // namespace ashlar::machine

#endif // ASHLAR_LIB_MACHINE_PRESETS_H
