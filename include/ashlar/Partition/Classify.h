// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which engine a feature map should go to, from its zeros
// (docs/SparseTiles.md).

#ifndef ASHLAR_PARTITION_CLASSIFY_H
#define ASHLAR_PARTITION_CLASSIFY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace ashlar::partition {

enum class Route : uint8_t { Dense, Sparse, Vector };

enum class Rule : uint8_t {
  Majority,  ///< sparse iff zeros > non-zeros, dense iff fewer; else cost
  Threshold, ///< sparse iff zeros reach a share, dense iff a minority; else
             ///< cost
  Cost,      ///< always the predicted cycles (default)
};

/// What is known about a feature map and the machine.
struct Evidence {
  uint64_t zeros = 0;
  uint64_t nonZeros = 0;
  bool denseRuns = true;  ///< There is a dense cluster and it has the op.
  bool sparseRuns = true; ///< There is a sparse cluster and it has the op.
  bool vectorRuns = true; ///< The vector unit has the op.
  /// Predicted cycles; 0 = not known. Unknown costs leave the choice to the
  /// default of the undecided band: the sparse cluster.
  uint64_t denseCycles = 0;
  uint64_t sparseCycles = 0;
};

/// The engine; `sharePerMille` is the least share of zeros for
/// Rule::Threshold. Unsupported error if no engine runs the operation.
llvm::Expected<Route> classify(const Evidence &evidence, Rule rule,
                               unsigned sharePerMille = 800);

llvm::StringRef name(Route route);

/// Parses "majority", "threshold", "cost"; Usage error otherwise.
llvm::Expected<Rule> parseRule(llvm::StringRef text);

} // namespace ashlar::partition

#endif // ASHLAR_PARTITION_CLASSIFY_H
