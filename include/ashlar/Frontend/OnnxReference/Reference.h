// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an ONNX model means, node by node on the host, from the definitions of
// the operators: floats in binary64, integers exactly, quantised operators with
// the rounding that they prescribe. Shares with the importer how files are read
// and functions inlined, and nothing of how it takes operators apart
// (docs/decisions/frontend/2026-11-22-onnx-reference.md).

#ifndef ASHLAR_FRONTEND_ONNXREFERENCE_REFERENCE_H
#define ASHLAR_FRONTEND_ONNXREFERENCE_REFERENCE_H

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Reference/Tensor.h"
#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <optional>

namespace ashlar::onnxref {

/// A node whose imported result is not what ONNX defines.
struct Difference {
  std::string node, op;
  /// The first element that differs with what was found and what ONNX defines.
  std::string text;
};

/// A model's values against those of something that was made from it.
struct Comparison {
  uint64_t values = 0; ///< That both have.
  /// Largest difference of floats relative to the largest element of the value,
  /// and its node.
  double worst = 0;
  std::string worstNode;
  std::optional<Difference> first; ///< In execution order.
};

/// The imported value of that name in the model; null if there is none. It
/// lives as long as the comparison.
using ImportedValue =
    llvm::function_ref<const reference::Tensor *(llvm::StringRef)>;

/// One model. Not for use by several threads at a time.
class ModelReference {
public:
  /// Reads the model at `path`; errors are those of importOnnx about files and
  /// graphs. What the options make constant is constant here too.
  static llvm::Expected<ModelReference>
  load(llvm::StringRef path, const frontend::ImportOptions &options);
  ModelReference(ModelReference &&) noexcept;
  ~ModelReference();

  /// Evaluates every node that an output depends on, with the imported values
  /// of its operands where they exist, so that each node is judged by itself.
  /// `inputs` are the non-constant inputs of the graph, in order, with matching
  /// types and shapes. A value differs if a float is off by more than
  /// `tolerance` times the largest element, unless rounding of operands
  /// explains it, or an integer at all.
  llvm::Expected<Comparison> compare(llvm::ArrayRef<HostTensor> inputs,
                                     ImportedValue imported, double tolerance);

  /// The outputs of the graph. Unsupported errors name the node.
  llvm::Expected<std::vector<reference::Tensor>>
  evaluate(llvm::ArrayRef<HostTensor> inputs);

private:
  struct State;
  explicit ModelReference(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace ashlar::onnxref

#endif // ASHLAR_FRONTEND_ONNXREFERENCE_REFERENCE_H
