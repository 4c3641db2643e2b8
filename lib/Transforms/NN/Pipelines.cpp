// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simplify and fold phases. The comments give the reasons for the order.

#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace ashlar;

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
  manager.addPass(createFoldConstants());
  manager.addPass(createMergeBias());
  // After pads have gone into the pools.
  manager.addPass(createSplitWindows());
  manager.addPass(createRemoveDead());
  manager.addPass(createVerifySimplified());
}

static BandChainsOptions bandOptions(const FoldOptions &options) {
  BandChainsOptions bands;
  bands.partitions = options.partitions;
  bands.partitionBytes = options.partitionBytes;
  bands.copyBytes = options.copyBytes;
  bands.copyQueues = options.copyQueues;
  bands.copyRuns = options.copyRuns;
  bands.dramBytes = options.dramBytes;
  bands.dramPercent = options.dramPercent;
  bands.handOver = options.handOver;
  bands.vectorLatency = options.vectorLatency;
  return bands;
}

static FoldWidthOptions widthOptions(const FoldOptions &options) {
  FoldWidthOptions width;
  width.mode = options.foldWidth;
  width.only = options.foldOnly;
  width.rows = options.arrayRows;
  width.columns = options.arrayColumns;
  width.passes = options.arrayPasses;
  width.laneUnit = options.laneUnit;
  width.partitions = options.partitions;
  width.partitionBytes = options.partitionBytes;
  width.copyBytes = options.copyBytes;
  width.dramBytes = options.dramBytes;
  width.dramPercent = options.dramPercent;
  width.copyQueues = options.copyQueues;
  width.copyRuns = options.copyRuns;
  width.copySetup = options.copySetup;
  width.copyLatency = options.copyLatency;
  width.banks = options.banks;
  width.ports = options.ports;
  width.portBytes = options.portBytes;
  width.burstBytes = options.burstBytes;
  width.latency = options.latency;
  width.dramLatency = options.dramLatency;
  width.encodeCycles = options.encodeCycles;
  width.drainCycles = options.drainCycles;
  width.writePorts = options.writePorts;
  width.bankEntries = options.bankEntries;
  width.psumEntries = options.psumEntries;
  width.clusterMultipliers = options.clusterMultipliers;
  return width;
}

void nn::buildFoldPipeline(OpPassManager &module, const FoldOptions &options) {
  OpPassManager &manager = module.nest<func::FuncOp>();
  // After weights are scaled, since output channels are grouped differently.
  LowerConvTransposeOptions transposed;
  transposed.partitions = options.partitions;
  transposed.partitionBytes = options.interleave ? options.partitionBytes : 0;
  manager.addPass(createLowerConvTranspose(transposed));
  // Functions of an interleaved map go to the products.
  manager.addPass(createComposeMovement());
  manager.addPass(createFoldPad());
  // After simplify, which has made constant what can be; both leave data
  // movement of constants.
  SplitShufflesOptions shuffles;
  shuffles.partitions = options.partitions;
  shuffles.partitionBytes = transposed.partitionBytes;
  shuffles.rows = options.arrayRows;
  shuffles.columns = options.arrayColumns;
  shuffles.passes = options.arrayPasses;
  shuffles.queues = options.copyQueues;
  manager.addPass(createSplitShuffles(shuffles));
  manager.addPass(createFoldConstants());
  manager.addPass(createLowerDynamicConv());
  // After simplify, which knows where; before the last constant folding.
  LowerCompositesOptions composites;
  composites.partitionBytes = options.partitionBytes;
  manager.addPass(createLowerComposites(composites));
  // Which has taken apart what is better done one dimension at a time.
  manager.addPass(createSplitWindows({options.partitionBytes}));
  // Before bands, lanes and folds, which count channels.
  if (options.removeChannels) {
    RemoveChannelsOptions channels;
    channels.block = options.block;
    manager.addPass(createRemoveChannels(channels));
  }
  // What composites became may be part of a chain; constants are cut below.
  manager.addPass(createBandChains(bandOptions(options)));
  // Before folds, which tie channels to columns.
  OrderChannelsOptions order;
  order.rows = options.arrayRows;
  order.columns = options.arrayColumns;
  manager.addPass(createOrderChannels(order));
  manager.addPass(createFoldWidth(widthOptions(options)));
  // Folds leave data movement of constants.
  manager.addPass(createComposeMovement());
  manager.addPass(createFoldConstants());
  manager.addPass(createRemoveDead());
  manager.addPass(createVerifyFolded());
}

namespace {

struct FoldPipelineOptions : PassPipelineOptions<FoldPipelineOptions> {
  Option<int64_t> rows{*this, "rows",
                       llvm::cl::desc("rows of the multiplier array"),
                       llvm::cl::init(128)};
  Option<int64_t> columns{*this, "columns",
                          llvm::cl::desc("columns of the multiplier array"),
                          llvm::cl::init(64)};
  Option<int64_t> partitionBytes{
      *this, "partition-bytes",
      llvm::cl::desc("bytes of one partition of the state buffer"),
      llvm::cl::init(65536)};
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
        fold.arrayRows = options.rows;
        fold.arrayColumns = options.columns;
        fold.partitionBytes = options.partitionBytes;
        fold.foldOnly = options.only;
        buildFoldPipeline(manager, fold);
      });
}
