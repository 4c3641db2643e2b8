// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler in process: an ONNX model to a Program. The library is
// libashlar-compiler, which uses libashlar-runtime.

#ifndef ASHLAR_API_COMPILER_H
#define ASHLAR_API_COMPILER_H

#include "ashlar/Api/Program.h"

#include <utility>

namespace ashlar::api {

/// How to compile. Everything may stay empty.
struct CompileOptions {
  /// Options of ashlarc (docs/UserGuide.md) without their dashes, and their
  /// values: {{"machine", "a1-tiny"}, {"format", "bfp16"}, {"batch", "4"}};
  /// switches have the value "true". Those that print or write files do not
  /// exist here.
  std::vector<std::pair<std::string, std::string>> options;
  /// Samples by input name, which --calibrate has in a file.
  std::vector<ArrayView> calibration;
  /// Graph inputs that become constants, which --constant has in files.
  std::vector<ArrayView> constants;
  /// How the program is loaded. It is proven before it gets here, so that by
  /// default its memory waits for the first run.
  LoadOptions load = {.machine = "", .maxMemory = 0, .prepare = false};
};

/// A compiled model.
struct Compiled {
  Program program;
  std::string report;  ///< JSON, as --report of ashlarc (docs/ReportSchema.md).
  std::string formats; ///< JSON, as --dump-formats of ashlarc.
};

/// Compiles the ONNX file at \p path. Errors have the codes and texts of
/// ashlarc.
Result<Compiled> compile(const std::string &path,
                         const CompileOptions &options = {});

/// Compiles an ONNX model in memory. \p name is for messages; external data is
/// looked for in its folder.
Result<Compiled> compile(std::span<const uint8_t> model,
                         const std::string &name,
                         const CompileOptions &options = {});

} // namespace ashlar::api

#endif // ASHLAR_API_COMPILER_H
