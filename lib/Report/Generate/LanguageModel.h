// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that is a language model: which inputs take tokens, masks and
// positions, and what a run of some tokens gives.

#ifndef ASHLAR_LIB_REPORT_GENERATE_LANGUAGEMODEL_H
#define ASHLAR_LIB_REPORT_GENERATE_LANGUAGEMODEL_H

#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Report/RunState.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace ashlar::report {

/// What one run of a program took. Time does not depend on data but in
/// compressed feature maps and rows that are not aligned: it is that of the
/// first run.
struct StepCost {
  uint64_t cycles = 0, dramRead = 0, dramWrite = 0; ///< Bytes, whole bursts.
};

class LanguageModel {
public:
  /// Loads a program of file \p path. Usage: a program without a cache that
  /// grows, without logits, or with an input that is none of tokens, mask and
  /// positions.
  static llvm::Expected<LanguageModel> load(container::Program program,
                                            const std::string &path,
                                            const emulator::Options &how);

  /// Tokens that a run takes at most, and rows that the cache has room for.
  int64_t length() const { return tokensPerRun; }
  int64_t room() const { return rows; }
  const container::Program &program() const { return loaded.program(); }

  /// Runs \p tokens after what \p state holds, which continues. Gives the
  /// logits of the last one.
  llvm::Expected<std::vector<double>>
  run(llvm::ArrayRef<int64_t> tokens, RunState &state, emulator::Options how);
  /// Of the first timed run.
  const std::optional<StepCost> &cost() const { return measured; }

private:
  explicit LanguageModel(emulator::LoadedProgram loaded)
      : loaded(std::move(loaded)) {}
  llvm::Error findPorts();
  llvm::Error findInput(size_t index);
  llvm::Error findLogits();
  std::vector<support::HostTensor> inputsFor(llvm::ArrayRef<int64_t> tokens,
                                             int64_t filled) const;

  emulator::LoadedProgram loaded;
  std::optional<size_t> tokenInput, maskInput, filledInput;
  /// Positions of the tokens of a run.
  std::vector<size_t> positionsInputs;
  /// Of TensorScatter: where the rows of a run begin.
  std::optional<size_t> writeInput;
  /// Of GroupQueryAttention: the position of the last token, and rows in all.
  std::optional<size_t> lastInput, totalInput;
  size_t logits = 0;
  int64_t tokensPerRun = 0, rows = 0;
  std::optional<StepCost> measured;
};

} // namespace ashlar::report

#endif // ASHLAR_LIB_REPORT_GENERATE_LANGUAGEMODEL_H
