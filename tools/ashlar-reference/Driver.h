// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `ashlar-reference` does with its flags.

#ifndef ASHLAR_TOOLS_REFERENCE_DRIVER_H
#define ASHLAR_TOOLS_REFERENCE_DRIVER_H

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Support/ToolMain.h"
#include <cstdint>
#include <string>

namespace ashlar::reference {

/// One member per flag.
struct DriverOptions : support::ToolOptions {
  std::string model, inputs, outputs, phase = "import";
  bool wide = false;
  bool check = false;
  uint64_t seed = 1;
  frontend::ImportOptions import; ///< Shapes and constants of an ONNX model.
};

/// Loads, transforms, evaluates, writes or compares.
llvm::Error runDriver(const DriverOptions &options);

} // namespace ashlar::reference

#endif // ASHLAR_TOOLS_REFERENCE_DRIVER_H
