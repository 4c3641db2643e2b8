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

/// Machine parameters of the fold phase.
struct FoldOptions {
  /// Rows and columns of the multiplier array.
  int64_t arrayRows = 128;
  int64_t arrayColumns = 64;
  /// Passes of the array over a product in the formats of the network.
  int64_t arrayPasses = 1;
  /// Bytes of one partition of the state buffer.
  int64_t partitionBytes = 65536;
  /// auto, off, stride, lane or both.
  std::string foldWidth = "auto";
  /// The alternative to take wherever it exists; empty: by cost.
  std::string foldOnly;
  /// Row groups of the array are multiples of this; 0: there are none.
  int64_t laneUnit = 8;
  /// Partitions of the state buffer.
  int64_t partitions = 128;
  /// Bytes per cycle of copies inside the chip, and of DRAM.
  int64_t copyBytes = 128, dramBytes = 64;
  /// Percent of its bytes per cycle that DRAM reaches.
  int64_t dramPercent = 100;
  /// Queues that copy at the same time.
  int64_t copyQueues = 3;
  /// Contiguous runs that one of them forms per cycle; 0: any number.
  int64_t copyRuns = 0;
  /// Cycles of a copy before its first byte.
  int64_t copySetup = 0;
  /// From the last byte of a copy inside the chip to its completion.
  int64_t copyLatency = 0;
  /// Banks of a partition (0: accesses never conflict), accesses that each
  /// takes per cycle, and bytes of an access.
  int64_t banks = 0, ports = 1, portBytes = 16;
  /// Bytes of a DRAM burst.
  int64_t burstBytes = 64;
  /// Maps may consist of phases that products interleave. Not under scale
  /// policies with state, which every phase would carry for itself.
  bool interleave = true;
  /// Channels that no result needs are left out.
  bool removeChannels = true;
  /// Channels that share an exponent in most formats of the network.
  int64_t block = 1;
  /// Cycles that nothing hides: DRAM, encode, skew of the array, drain.
  int64_t latency = 456;
  /// Of these, those from a request to DRAM to its first byte.
  int64_t dramLatency = 200;
  /// Cycles until the result of one stage of a chain in bands reaches the next
  /// stage.
  int64_t handOver = 592;
  int64_t vectorLatency = 32; ///< Both on the vector unit.
  /// Cycles of an encode of one position of all partitions, and of a drain of
  /// one position of all columns.
  int64_t encodeCycles = 2, drainCycles = 1;
  /// Row groups that PSUM takes in a cycle; 0: all.
  int64_t writePorts = 0;
  /// PSUM entries of a column: of a bank, and of the banks that fill together.
  int64_t bankEntries = 512, psumEntries = 1024;
  /// Multipliers of the sparse cluster that may run a layer; 0: none does.
  int64_t clusterMultipliers = 0;
};

/// The simplify phase: on exit everything computable at compile time is a
/// constant, batch_norm and conv_transpose are gone, data movement is minimal.
/// Added to a manager of builtin.module.
void buildSimplifyPipeline(mlir::OpPassManager &manager);

/// The fold phase: cost-driven changes of shape. Expects simplified IR.
void buildFoldPipeline(mlir::OpPassManager &manager,
                       const FoldOptions &options = {});

/// Makes the pipelines available by name: ashlar-simplify, ashlar-fold.
void registerNNPipelines();

#define GEN_PASS_REGISTRATION
#include "lib/Transforms/NN/Passes.h.inc"

} // namespace ashlar::nn

#endif // ASHLAR_TRANSFORMS_NN_PASSES_H
