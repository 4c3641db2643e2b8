// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler as a library: a model in memory or in a file, options by name, a
// program as bytes. The interface has no MLIR.

#ifndef ASHLAR_PIPELINES_INPROCESS_H
#define ASHLAR_PIPELINES_INPROCESS_H

#include "ashlar/Support/Npz.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::pipelines {

/// What is to be compiled, and how.
struct CompileRequest {
  /// File of the model, or with `image` what messages call it; external data
  /// lies next to it.
  std::string model;
  std::shared_ptr<const llvm::MemoryBuffer> image; ///< The model, if in memory.
  /// Options of ashlarc without dashes, and their values; switches are "true".
  std::vector<std::pair<std::string, std::string>> options;
  /// Samples by input name, as in the file of --calibrate.
  std::vector<support::NamedTensor> calibration;
  /// Graph inputs that become constants.
  std::vector<support::NamedTensor> constants;
};

struct CompiledModel {
  std::vector<uint8_t> program; ///< An image of the file that ashlarc writes.
  std::string report;           ///< JSON (docs/ReportSchema.md).
  std::string formats;          ///< JSON, as --dump-formats writes it.
};

/// Compiles in this process. Writes no file, prints nothing, and changes
/// nothing that other threads could see. Errors are those of ashlarc.
llvm::Expected<CompiledModel> compileInProcess(const CompileRequest &request);

} // namespace ashlar::pipelines

#endif // ASHLAR_PIPELINES_INPROCESS_H
