// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Magnitude pruning of an ONNX model: sets weights of convolutions and matrix
// products to zero, so that what sparsity gains can be tried without training.
// The graph stays as it is; only values of constant weights change.

#ifndef ASHLAR_FRONTEND_ONNX_PRUNE_H
#define ASHLAR_FRONTEND_ONNX_PRUNE_H

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::frontend {

/// What is kept or zeroed as one.
enum class PrunePattern {
  Unstructured, ///< Single weights.
  NofM,         ///< The n largest of m in a row, input channels innermost.
  Block,        ///< `block` input channels of one output channel and tap.
  Channel,      ///< Whole output channels.
};

struct PruneOptions {
  PrunePattern pattern = PrunePattern::Unstructured;
  double density = 1.0; ///< Share of units kept, 0 to 1; not used by NofM.
  int64_t n = 0, m = 0; ///< Of NofM.
  int64_t block = 8;    ///< Input channels of a block.
  bool global = false;  ///< One ranking for all tensors instead of one each.
  /// Of each tensor, instead of `density`; or empty. Not with `global`.
  std::vector<double> densities;
};

/// The weights of one tensor as pruning sees them.
struct PruneTensor {
  std::string name;
  std::vector<int64_t> shape;
  int64_t outputAxis = 0, inputAxis = 1;
  std::vector<double> values; ///< Row major.
  std::vector<bool> keep;     ///< Result: what keeps its value.
};

/// Decides what stays. Units rank by their mean magnitude; of equal ones the
/// earlier stays. Within a ranking of u units round(density * u) are kept.
void choosePruned(std::vector<PruneTensor> &tensors,
                  const PruneOptions &options);

/// "unstructured", "2:4", "block" or "channel" into `options`; an empty text,
/// or what was expected.
std::string parsePrunePattern(PruneOptions &options, llvm::StringRef text);

/// How many weights a tensor had and has that are not zero.
struct PrunedTensor {
  std::string name;
  int64_t weights = 0, before = 0, after = 0;
};

/// Prunes the model at `path` into the file `output`, which appears whole or
/// not at all. The recipe is added to the JSON array that the metadata
/// property "ashlar.prune" holds. Weights are the constant second inputs of
/// Conv, ConvTranspose, Gemm and MatMul in the main graph. Unsupported if
/// there are none.
llvm::Expected<std::vector<PrunedTensor>> prune(llvm::StringRef path,
                                                llvm::StringRef output,
                                                const PruneOptions &options);

/// The model at `path` as importOnnx() gives it, with its weights pruned;
/// `tensors`, if given, receives how many are left. No file changes.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importPruned(llvm::StringRef path, const ImportOptions &import,
             const PruneOptions &options, mlir::MLIRContext *context,
             std::vector<PrunedTensor> *tensors = nullptr);

} // namespace ashlar::frontend

#endif // ASHLAR_FRONTEND_ONNX_PRUNE_H
