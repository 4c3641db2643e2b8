// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX node names out of locations. Convention of the importer and of every
// fusion: an op's location is a NameLoc, or a FusedLoc whose first name is the
// node and whose others are what it absorbed.

#ifndef ASHLAR_ANALYSIS_NODENAMES_H
#define ASHLAR_ANALYSIS_NODENAMES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace ashlar::analysis {

/// All names in `location`, in order, without repetition.
llvm::SmallVector<std::string> getNodeNames(mlir::Location location);

/// The first name in `location`; empty if there is none.
std::string getNodeName(mlir::Location location);

/// Marks the result of `op`: it has the elements of its node in another order,
/// which its readers know.
void markReordered(mlir::Operation *op);
/// True if a location, or one that it was fused from, is so marked.
bool isReordered(mlir::Location location);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_NODENAMES_H
