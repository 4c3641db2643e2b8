// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the search predicts before it measures: the noise that each group adds
// at each format, the cycles of each node, the bytes of weights; and the
// cheapest formats whose noises sum to at most a budget. A prediction only
// proposes; what it proposes is measured end to end.

#ifndef ASHLAR_LIB_PIPELINES_FORMATMODEL_H
#define ASHLAR_LIB_PIPELINES_FORMATMODEL_H

#include "FormatSpace.h"

#include <array>
#include <map>

namespace ashlar::pipelines {

/// One format that a group may take.
struct FormatChoice {
  numerics::BlockFormat format;
  double noise = 0; ///< Added to the outputs, in the unit of Quality::noise.
  double bytes = 0; ///< Of packed weights; 0 for activations.
};

/// Cycles of one node by width of its operands: index 0 one byte, 1 two bytes;
/// activations first.
using NodeCost = std::array<std::array<double, 2>, 2>;

/// The problem: choices per group, cheapest and noisiest first.
struct FormatModel {
  std::vector<FormatGroup> groups;
  std::vector<std::vector<FormatChoice>> choices;
  std::map<std::string, NodeCost> nodes;
  /// What a cycle and a byte cost, in one unit.
  double perCycle = 1, perByte = 0;
};

/// Picks one choice per group so that the noises sum to at most `budget`,
/// greedily by noise saved per cost, then gives back what was too much. With a
/// budget that no choice meets, the least noise.
std::vector<size_t> chooseFormats(const FormatModel &model, double budget);

/// One group in another format.
struct FormatStep {
  size_t group;
  numerics::BlockFormat format;
  double worth; ///< What it saves over the noise that it is expected to add.
};

/// Those of most worth first.
void sortByWorth(std::vector<FormatStep> &steps);

/// Steps of single groups of \p formats from two bytes to one, to the least
/// noise, by worth; those that save less than \p least of the cost are left
/// out.
std::vector<FormatStep>
fewerPasses(const FormatModel &model,
            llvm::ArrayRef<numerics::BlockFormat> formats, double least);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_FORMATMODEL_H
