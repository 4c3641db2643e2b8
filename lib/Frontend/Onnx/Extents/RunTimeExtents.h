// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values of a graph have a data-dependent extent. Types are static:
// such a value has room for the most indices of that axis, and another value
// says how many of them count. Nobody may depend on what lies beyond.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_RUNTIMEEXTENTS_H
#define ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_RUNTIMEEXTENTS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace ashlar::frontend {

/// One axis with a data-dependent extent.
struct RunTimeExtent {
  int64_t axis = 0;
  mlir::Value count; ///< The extent: one i64.
  /// The same axis, and counts that are computed alike.
  bool operator==(const RunTimeExtent &other) const;
};

/// Whether both are the results of equal operations on equal operands.
bool areComputedAlike(mlir::Value a, mlir::Value b);

/// Those of one import.
class RunTimeExtents {
public:
  void add(mlir::Value value, RunTimeExtent extent);
  std::optional<RunTimeExtent> find(mlir::Value value) const {
    auto found = value ? extents.find(value) : extents.end();
    return found == extents.end() ? std::nullopt : std::optional(found->second);
  }
  /// How large `count`, the extent of some value, can be at most.
  std::optional<int64_t> capacityOf(mlir::Value count) const {
    auto found = capacities.find(count);
    return found == capacities.end() ? std::nullopt
                                     : std::optional(found->second);
  }

private:
  llvm::DenseMap<mlir::Value, RunTimeExtent> extents;
  llvm::DenseMap<mlir::Value, int64_t> capacities;
};

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_RUNTIMEEXTENTS_H
