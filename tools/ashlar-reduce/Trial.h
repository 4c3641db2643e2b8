// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a user's commands on a candidate model and tells whether they fail as
// they did at first.

#ifndef ASHLAR_TOOLS_REDUCE_TRIAL_H
#define ASHLAR_TOOLS_REDUCE_TRIAL_H

#include "Scratch.h"
#include "ashlar/Frontend/Onnx/Shrink.h"
#include "ashlar/Support/Subprocess.h"

#include <optional>
#include <string>

namespace ashlar::reduce {

/// What counts as the failure.
struct TrialOptions {
  std::string test;      ///< Command under test.
  std::string reference; ///< Command whose outputs are right; may be empty.
  std::string message;   ///< Text that standard error has to hold.
  std::optional<int> exit;
  double atol = 0, rtol = 0;
  double timeout = 60; ///< Seconds of one command.
  uint64_t seed = 1;   ///< Of the arrays in {inputs}.
};

/// Trials in one scratch folder.
class Trial {
public:
  /// The folder stays empty of other things.
  Trial(const TrialOptions &options, Scratch &scratch);

  /// Runs the commands on the model as the user gave it and fixes what the
  /// failure is. Usage error if there is none.
  llvm::Error establish(const std::string &path,
                        const std::vector<frontend::ShrinkInput> &inputs);

  /// Whether a candidate shows that failure.
  llvm::Expected<bool> shows(const frontend::ShrinkCandidate &candidate);

  /// The failure in words.
  std::string failure() const;

private:
  struct Outcome {
    support::ProcessEnd end;
    bool message = true;    ///< Standard error holds the text.
    bool differs = false;   ///< Outputs and reference do.
    std::string difference; ///< How.
    std::string firstLine;  ///< Of standard error.
  };

  llvm::Expected<Outcome>
  tryCommands(const std::string &path,
              const std::vector<frontend::ShrinkInput> &inputs);
  llvm::Expected<support::ProcessEnd> runOne(const std::string &command,
                                             const std::string &path,
                                             const std::string &part);
  std::string difference() const;

  const TrialOptions &options;
  Scratch &scratch;
  const std::string &folder;
  support::ProcessEnd expected;
};

} // namespace ashlar::reduce

#endif // ASHLAR_TOOLS_REDUCE_TRIAL_H
