// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What control flow with rounds shares: a body per round, values that go on to
// the next, parts that the rounds collect.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FLOW_ROUNDS_H
#define ASHLAR_LIB_FRONTEND_ONNX_FLOW_ROUNDS_H

#include "FlowNode.h"

namespace ashlar::frontend {

/// Values that go from one round to the next, and one list of parts for each
/// value that the rounds collect.
struct Rounds {
  Names carried;
  std::vector<Names> collected;
  /// Collected values that are whole already; empty where they are not.
  Names whole;
};

/// The graph `attribute` of the node for `operands`; `place` tells the bodies
/// of one node apart. Its results count where `condition`, a boolean number, is
/// true; always if it is empty.
llvm::Expected<Expansion> expandBody(FlowNode &n, llvm::StringRef attribute,
                                     llvm::StringRef place,
                                     const Names &operands,
                                     const std::string &condition = {});

/// One round of a body whose results, from `first` on, are carried values and
/// then parts.
llvm::Error takeRound(Rounds &rounds, const Expansion &body, size_t first);

/// The results of the node: carried values, then what was collected, stacked
/// along `axes` or the first one.
llvm::Error setRounds(FlowNode &n, const Rounds &rounds,
                      llvm::ArrayRef<int64_t> axes);

/// `yes` where the boolean `condition` is true, else `no`; unsupported if they
/// are not tensors of one type that differ in one extent at most. `what` names
/// them.
llvm::Expected<std::string> choose(FlowNode &n, const std::string &condition,
                                   const std::string &yes,
                                   const std::string &no, llvm::StringRef what);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FLOW_ROUNDS_H
