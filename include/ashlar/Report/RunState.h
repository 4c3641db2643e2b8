// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state that a run leaves for the next one, and its files.

#ifndef ASHLAR_REPORT_RUNSTATE_H
#define ASHLAR_REPORT_RUNSTATE_H

#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace ashlar::container {
struct Program;
} // namespace ashlar::container

namespace ashlar::report {

/// The state of a program between two runs.
struct RunState {
  std::vector<int16_t> words; ///< Of scale policies (Program::state).
  /// The kept tensors (Program::cache), in its order; empty: as before the
  /// first run.
  std::vector<support::HostTensor> kept;
  int64_t filled = 0; ///< Rows of them that are filled.

  /// True if no run depends on another.
  bool empty() const { return words.empty() && kept.empty(); }
  /// Before the first run of \p program.
  static RunState initialOf(const container::Program &program);
};

/// The state that a run left at \p path. Scale policies continue in programs of
/// the same numeric plan, kept tensors in those of the same model with the same
/// room for them. Malformed: other arrays, sizes or types, another plan or
/// model.
llvm::Expected<RunState> readState(const container::Program &program,
                                   llvm::StringRef path);

/// Writes \p state for readState().
llvm::Error writeState(const container::Program &program, const RunState &state,
                       llvm::StringRef path);

} // namespace ashlar::report

#endif // ASHLAR_REPORT_RUNSTATE_H
