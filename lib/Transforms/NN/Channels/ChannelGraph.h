// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which channels of which values stand and fall together, what they hold if
// that is one number, and which of them the results of a function need.

#ifndef ASHLAR_LIB_TRANSFORMS_NN_CHANNELS_CHANNELGRAPH_H
#define ASHLAR_LIB_TRANSFORMS_NN_CHANNELS_CHANNELGRAPH_H

#include "ProductWeights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

#include <optional>
#include <vector>

namespace ashlar::nn {

/// The channels of one value: its indices along an axis that can be left out
/// one by one, as far as the operation that makes it is concerned.
struct Channels {
  int64_t axis = 0;
  unsigned first = 0; ///< number of channel 0 in the graph
  int64_t count = 0;
};

/// The channels of a function's feature maps. Channels of different values are
/// tied where an operation has one for each other (a function, a pool, a sum):
/// all of them stay, or none.
class ChannelGraph {
public:
  /// Products keep a multiple of `granularity` channels, or all of them, and so
  /// do the parts of a concatenation, but the last, of `block` channels.
  ChannelGraph(mlir::func::FuncOp function, int64_t granularity, int64_t block);

  /// Null for values whose channels cannot be told apart.
  const Channels *of(mlir::Value value) const;
  /// Whether anything needs a channel of `value`.
  bool isNeeded(mlir::Value value, int64_t channel) const;
  /// The channels of `value` that stay; all of them where none can go.
  std::vector<int64_t> kept(mlir::Value value) const;
  /// True if no channel can go.
  bool isComplete() const { return !anyDead; }
  /// The number that all elements of a channel are, if it is known.
  std::optional<double> numberOf(mlir::Value value, int64_t channel) const;
  /// The weights of a product whose channels the graph follows; null for
  /// others.
  const ProductWeights *weightsOf(mlir::Operation *op) const;

private:
  void visit(mlir::Operation *op);
  void visitProduct(mlir::Operation *op);
  bool visitDepthwise(mlir::Operation *op);
  bool visitElementwise(mlir::Operation *op);
  bool visitWindow(mlir::Operation *op);
  bool visitMovement(mlir::Operation *op);
  bool visitConcat(mlir::Operation *op);
  /// What is known of numbers after a visit.
  void evaluateElementwise(mlir::Operation *op);
  void evaluateProduct(mlir::Operation *op, const ProductWeights &weights);
  void evaluateDepthwise(mlir::Operation *op);
  void copyNumbers(mlir::Value from, mlir::Value to,
                   llvm::function_ref<bool(double)> stays);
  bool anyNumber(mlir::Value value) const;

  Channels &add(mlir::Value value, int64_t axis, bool pinned);
  /// The channels of `value` along `axis`, all of them needed where nothing is
  /// known of it; null if they lie along another axis.
  const Channels *along(mlir::Value value, int64_t axis);
  void tie(const Channels &a, const Channels &b);
  /// Every channel of `value` is needed.
  void pin(mlir::Value value);
  void propagate();
  /// The number that the channels of `value` that stay are a multiple of.
  int64_t unitOf(mlir::Value value) const;
  bool keepWholeBlocks();

  int64_t granularity, block;
  llvm::MapVector<mlir::Value, Channels> values;
  llvm::DenseSet<mlir::Value> beforeOthers; ///< parts of concatenations
  llvm::MapVector<mlir::Operation *, ProductWeights> products;
  llvm::IntEqClasses classes;
  std::vector<bool> needed; ///< by channel, then by class
  std::vector<std::optional<double>> numbers;
  bool anyDead = false;
};

} // namespace ashlar::nn

#endif // ASHLAR_LIB_TRANSFORMS_NN_CHANNELS_CHANNELGRAPH_H
