// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes within the `nn` dialect and the pipelines of the simplify and fold
// phases; docs/Passes.md describes each pass.

#ifndef ASHLAR_TRANSFORMS_NN_PASSES_H
#define ASHLAR_TRANSFORMS_NN_PASSES_H

#include "dialects/NN/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace ashlar::nn {

#define GEN_PASS_DECL
#include "lib/Transforms/NN/Passes.h.inc"

/// The decision of remove-channels on a product.
inline constexpr llvm::StringLiteral kChannelDecisionAttr =
    "ashlar.decision.channels";

/// What the fold phase is told of the user's choices and of the formats that
/// most products of the network have. The machine is that of the module.
struct FoldOptions {
  /// auto, off, stride, lane or both.
  std::string foldWidth = "auto";
  /// The alternative to take wherever it exists; empty: by cost.
  std::string foldOnly;
  /// Maps may consist of phases that products interleave. Not under scale
  /// policies with state, which every phase would carry for itself.
  bool interleave = true;
  /// Channels that no result needs are left out.
  bool removeChannels = true;
  /// The sparse cluster, if there is one, may run convolutions.
  bool useCluster = true;
  /// Bits of mantissas, sign included.
  int64_t activationBits = 8, weightBits = 8;
  /// Channels that share an exponent.
  int64_t block = 1;
};

/// The simplify phase: on exit everything computable at compile time is a
/// constant, batch_norm and conv_transpose are gone, data movement is minimal.
/// Added to a manager of builtin.module.
void buildSimplifyPipeline(mlir::OpPassManager &manager);

/// The fold phase: cost-driven changes of shape. Expects simplified IR in a
/// module with a machine (`ashlar.target`).
void buildFoldPipeline(mlir::OpPassManager &manager,
                       const FoldOptions &options = {});

/// Makes the pipelines available by name: ashlar-simplify, ashlar-fold.
void registerNNPipelines();

#define GEN_PASS_REGISTRATION
#include "lib/Transforms/NN/Passes.h.inc"

} // namespace ashlar::nn

#endif // ASHLAR_TRANSFORMS_NN_PASSES_H
