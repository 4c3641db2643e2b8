// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reduces an ONNX model that shows a failure, for a report or a test. Only the
// caller knows what the failure is: it tries every candidate.

#ifndef ASHLAR_FRONTEND_ONNX_SHRINK_H
#define ASHLAR_FRONTEND_ONNX_SHRINK_H

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Support/ElementType.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ashlar::frontend {

/// A graph input that a trial has to feed.
struct ShrinkInput {
  std::string name;
  support::ElementType type = support::ElementType::F32;
  std::vector<int64_t> shape;
};

/// A model file on trial.
struct ShrinkCandidate {
  std::string path;
  /// Graph inputs of known type, those with a constant default omitted.
  std::vector<ShrinkInput> inputs;
};

/// Whether the candidate still shows the failure. An error ends the search.
using ShrinkTrial =
    std::function<llvm::Expected<bool>(const ShrinkCandidate &)>;

/// How much there is of a model.
struct ShrinkSize {
  int64_t nodes = 0, inputs = 0, outputs = 0;
  int64_t constants = 0; ///< Elements of all initialisers.
};

struct ShrinkOptions {
  ImportOptions import;   ///< Shapes of graph inputs that the file leaves open.
  std::string scratch;    ///< Folder for candidates; exists.
  uint64_t maxTrials = 0; ///< No further trials after so many; 0 for no limit.
  /// Called for every step that kept the failure.
  std::function<void(llvm::StringRef step, const ShrinkSize &)> onStep;
};

struct ShrinkResult {
  ShrinkSize before, after;
  uint64_t trials = 0;
  bool complete = true; ///< False if maxTrials ended the search.
};

/// Graph inputs of the model at `path` whose types are known.
llvm::Expected<std::vector<ShrinkInput>>
shrinkInputs(llvm::StringRef path, const ImportOptions &options);

/// Shrinks the model at `path` as far as `trial` keeps saying yes and writes
/// the last such model to `output`, whole or not at all. In turn: nodes are cut
/// away (what they fed becomes graph inputs), nodes are bypassed, outputs,
/// attributes, optional inputs and declarations dropped, extents made smaller,
/// constants made zero; again until nothing helps. Deterministic as far as
/// `trial` is. Usage error if the unchanged model, once rewritten, does not
/// show the failure.
llvm::Expected<ShrinkResult> shrink(llvm::StringRef path,
                                    llvm::StringRef output,
                                    const ShrinkOptions &options,
                                    const ShrinkTrial &trial);

} // namespace ashlar::frontend

#endif // ASHLAR_FRONTEND_ONNX_SHRINK_H
