// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dense array or the sparse cluster: what a convolution takes on each, and
// which one the readers of each feature map go to. Private to the passes of
// `npu`.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_CLUSTERCHOICE_H
#define ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_CLUSTERCHOICE_H

#include "ashlar/Analysis/Sparse/TilePlan.h"
#include "ashlar/Machine/Transfers.h"
#include "ashlar/Partition/Classify.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace ashlar::npu {

/// Thresholds of choices, which are policies and no prices: an alternative has
/// to be better by more than one part in so many, so that small errors of
/// predictions do not move layers to and fro
/// (docs/decisions/machine/2026-11-23-thresholds-of-choices.md).
constexpr int64_t kClearLayer = 16, kClearNetwork = 256;

/// True if \p cycles are better than \p others by one part in \p share.
inline bool isClearly(int64_t cycles, int64_t others, int64_t share) {
  return cycles + cycles / share < others;
}

/// What a mode of the sparse cluster makes of a convolution.
struct Alternative {
  std::optional<analysis::TilePlan> plan;
  int64_t unskipped = 0; ///< the same cluster without skipping
  int64_t least = 0;     ///< no plan takes fewer cycles, and that is too many
  int64_t parts = 1;     ///< groups of units that share a drain
};

/// A convolution with the predicted cycles of its alternatives.
struct Candidate {
  PeConvOp conv;
  std::string obstacle; ///< why the sparse cluster cannot run it
  int64_t plain = 0;    ///< dense array, input as it is
  int64_t folded = 0;   ///< dense array, input in the best lane fold
  bool mayFold = false; ///< the input, if all stay on the array
  Alternative tile, scatter;
  analysis::DataProfile data; ///< of its input
  bool drained = false;       ///< its input can be counted as it is drained
  bool snakes = false;        ///< coefficients scatter in snake order
  int64_t loss = 0;           ///< of its readers if the result cannot be folded
  int64_t encode = 0;         ///< of its input as it is, on the vector unit
  int64_t drain = 0;          ///< of all results, on either cluster
  bool sparse = false;
  bool pinned = false; ///< to the array, since the network is faster so
  bool pulled = false; ///< to the cluster, since the network is faster so
  bool beside = false; ///< on the array, beside readers on the cluster
  int64_t tiles = 0, zeroTiles = 0; ///< stationary tiles of the array

  /// Scatter mode has to be clearly better: its cycles depend on the data.
  bool scatters() const {
    return scatter.plan &&
           (!tile.plan || isClearly(scatter.plan->inNetwork(),
                                    tile.plan->inNetwork(), kClearLayer));
  }
  const Alternative &best() const { return scatters() ? scatter : tile; }
  const std::optional<analysis::TilePlan> &plan() const { return best().plan; }
  int64_t sparseCycles() const { return plan()->inNetwork() + loss; }
  /// The sparse cluster has to be clearly better: predictions are not exact.
  bool gains() const { return plan() && isClear(sparseCycles()); }
  /// True if it is on the array and would not be clearly slower elsewhere.
  bool mayMove() const {
    return !sparse && !pinned && plan() &&
           !isClearly(plain, plan()->inNetwork(), kClearLayer);
  }
  bool isClear(int64_t sparse) const {
    return isClearly(sparse, plain, kClearLayer);
  }
};

/// True if the array can read `x` folded, and something can write it so: the
/// conditions of fold-lanes, seen from here.
bool mayFold(mlir::Value x);

/// What the options of the pass say.
struct Policy {
  llvm::StringRef mode;
  bool useScatter = true;  ///< mode auto may
  bool skipZeros = true;   ///< of the coefficients
  bool biasInSums = false; ///< where that keeps all bits
  llvm::StringRef binding; ///< whether groups of units hand tiles on
  partition::Rule rule = partition::Rule::Cost;
  analysis::CutOptions cut;
  analysis::DataProfiles profiles;

  /// Every convolution that can goes to the sparse cluster.
  bool forced() const { return mode == "tile" || mode == "scatter"; }
};

class NetworkTime;

class Chooser {
public:
  Chooser(const machine::Description &machine, const Policy &policy)
      : machine(machine), transfers(machine), policy(policy) {}

  void predict(PeConvOp conv);
  void decide();
  std::vector<Candidate> candidates;

private:
  void predictDense(Candidate &candidate, int64_t fetch,
                    const analysis::WeightPattern *weights) const;
  int64_t weightCycles(PeConvOp conv, double kept) const;
  void planSparse(Candidate &candidate,
                  const analysis::WeightPattern &weights) const;
  void planParts(Candidate &candidate, const analysis::WeightPattern &weights,
                 int64_t parts) const;
  bool mayScatter(const Candidate &candidate) const;
  void decideAlone();
  bool tryNetwork(size_t number, bool Candidate::*where, int64_t margin,
                  const NetworkTime &network, int64_t &least);
  int64_t gainOfFold(mlir::Value x);
  bool hasSparseSibling(const Candidate &candidate) const;
  bool goesSparse(const Candidate &candidate) const;
  void decideGroup(llvm::ArrayRef<size_t> group);
  int64_t decideUnfolded(llvm::ArrayRef<size_t> group);
  int64_t cyclesTogether(llvm::ArrayRef<size_t> sparse) const;
  bool isSparse(mlir::Value map) const {
    auto producer = numbers.find(map.getDefiningOp());
    return producer != numbers.end() && candidates[producer->second].sparse;
  }

  const machine::Description &machine;
  machine::TransferCosts transfers; ///< Of the moves whose folds are compared.
  const Policy &policy;
  llvm::DenseMap<mlir::Operation *, size_t> numbers; ///< Of candidates.
  llvm::DenseMap<mlir::Value, int64_t> foldGains;    ///< Known ones.
};

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_CLUSTERCHOICE_H
