// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simplify and fold phases. The comments give the reasons for the order.

#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace ashlar;

/// Constants that rewrites have moved: the first run has what may be added.
static nn::FoldConstantsOptions again() {
  nn::FoldConstantsOptions options;
  options.doubles = false;
  return options;
}

void nn::buildSimplifyPipeline(OpPassManager &module) {
  OpPassManager &manager = module.nest<func::FuncOp>();
  // Transposes of constants cancel here before anything computes them; then
  // everything known becomes a constant, which all later matches ask for.
  manager.addPass(createComposeMovement());
  // While the axes that exporters split off still have their names.
  manager.addPass(createSplitProducts());
  manager.addPass(createCanonicaliseTransposes());
  // Transposes that sink meet others, and constants that take them over.
  manager.addPass(createSinkTransposes());
  manager.addPass(createComposeMovement());
  manager.addPass(createCanonicaliseTransposes());
  manager.addPass(createFoldConstants());
  // Needs constants; leaves factors that products absorb.
  manager.addPass(createSimplifyArithmetic());
  // Takes variances as sums of squares; repeats constants of groups along
  // channels.
  manager.addPass(createUngroupMaps());
  // Before factors of the formulas merge with what is in front of them.
  manager.addPass(createRecogniseActivations());
  // A bias between a convolution and its batch_norm hides one from the other.
  manager.addPass(createMergeBias());
  manager.addPass(createFoldBatchNorm());
  // Expanded batch_norms, and factors that followed absorbed ones.
  manager.addPass(createMergeBias());
  // What no product has absorbed.
  manager.addPass(createComposeAffine());
  // Takes the scale and the shift that are left.
  manager.addPass(createComposeNormalisations());
  // Its reshapes are composed with those around them below.
  manager.addPass(createMergeBatchAxes());
  // Needs the scaled matmul weights and the per-column constants after them.
  manager.addPass(createFlattenToConv());
  // Moves reshapes after functions next to the following flatten ...
  manager.addPass(createComposeMovement());
  manager.addPass(createFoldPad());
  // ... so that dense layers after a feature map become 1x1 convolutions.
  // Each dense layer exposes the next one; three cover the usual classifiers.
  for (int layer = 0; layer < 3; ++layer) {
    manager.addPass(createFlattenToConv());
    manager.addPass(createComposeMovement());
  }
  // Weights moved by the rewrites above.
  manager.addPass(createFoldConstants(again()));
  manager.addPass(createMergeBias());
  // After pads have gone into the pools.
  manager.addPass(createSplitWindows());
  manager.addPass(createRemoveDead());
  manager.addPass(createVerifySimplified());
}

void nn::buildFoldPipeline(OpPassManager &module, const FoldOptions &options) {
  OpPassManager &manager = module.nest<func::FuncOp>();
  // After weights are scaled, since output channels are grouped differently.
  manager.addPass(createLowerConvTranspose({options.interleave}));
  // Functions of an interleaved map go to the products.
  manager.addPass(createComposeMovement());
  manager.addPass(createFoldPad());
  // After simplify, which has made constant what can be; both leave data
  // movement of constants.
  if (options.interleave)
    manager.addPass(
        createSplitShuffles({options.activationBits, options.weightBits}));
  manager.addPass(createFoldConstants(again()));
  manager.addPass(createLowerDynamicConv());
  // After simplify, which knows where; before the last constant folding.
  manager.addPass(createLowerComposites());
  // Which has taken apart what is better done one dimension at a time.
  manager.addPass(createSplitWindows({/*forPartition=*/true}));
  // Before bands, lanes and folds, which count channels.
  if (options.removeChannels) {
    RemoveChannelsOptions channels;
    channels.block = options.block;
    manager.addPass(createRemoveChannels(channels));
  }
  // What composites became may be part of a chain; constants are cut below.
  manager.addPass(createBandChains());
  // Before folds, which tie channels to columns.
  manager.addPass(createOrderChannels());
  SplitDilationsOptions dilations;
  dilations.activationBits = options.activationBits;
  dilations.weightBits = options.weightBits;
  dilations.useCluster = options.useCluster;
  manager.addPass(createSplitDilations(dilations));
  // Neighbours with the same dilation stay in phases.
  manager.addPass(createComposeMovement());
  FoldWidthOptions width;
  width.mode = options.foldWidth;
  width.only = options.foldOnly;
  width.activationBits = options.activationBits;
  width.weightBits = options.weightBits;
  width.useCluster = options.useCluster;
  manager.addPass(createFoldWidth(width));
  // Folds leave data movement of constants.
  manager.addPass(createComposeMovement());
  manager.addPass(createFoldConstants(again()));
  manager.addPass(createRemoveDead());
  manager.addPass(createVerifyFolded());
}

namespace {

struct FoldPipelineOptions : PassPipelineOptions<FoldPipelineOptions> {
  Option<std::string> only{
      *this, "only",
      llvm::cl::desc("width fold to take wherever it is an alternative")};
};

} // namespace

void nn::registerNNPipelines() {
  PassPipelineRegistration<>("ashlar-simplify", "the simplify phase",
                             buildSimplifyPipeline);
  PassPipelineRegistration<FoldPipelineOptions>(
      "ashlar-fold", "the fold phase",
      [](OpPassManager &manager, const FoldPipelineOptions &options) {
        FoldOptions fold;
        fold.foldOnly = options.only;
        buildFoldPipeline(manager, fold);
      });
}
