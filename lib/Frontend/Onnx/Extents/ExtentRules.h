// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What operators make of operands with data-dependent extents.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_EXTENTRULES_H
#define ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_EXTENTRULES_H

#include "lib/Frontend/Onnx/Registry.h"

namespace ashlar::frontend {

/// A step may be null. Errors are those of the node.
struct ExtentRule {
  /// Before the operator's own rule: changes operands so that what lies beyond
  /// an extent has no effect.
  Handler prepare = nullptr;
  /// Instead of the operator's own rule.
  Handler handler = nullptr;
  /// After it: the extents of the results.
  Handler carry = nullptr;
};

/// The rule of an operator; null if it takes no such operand.
const ExtentRule *findExtentRule(StringRef op);

/// Runs \p handler, the operator's own, as the node's operands need it.
void runWithExtents(Node &n, Handler handler);

/// Where `value` has indices beyond `extent`, `fill` instead.
Value withoutRest(Node &n, Value value, RunTimeExtent extent, double fill);
Value withoutRest(Node &n, Value value, RunTimeExtent extent, Value fill);

/// How many entries of `indices` are indices and not -1, as one i64.
Value countIndices(Node &n, Value indices);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_EXTENTRULES_H
