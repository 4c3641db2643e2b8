// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX node names, kept as locations. By convention of the importer and of all
// fusions, the location of an operation is a NameLoc, or a FusedLoc that names
// the node first and then the nodes fused into it.

#ifndef ASHLAR_ANALYSIS_MODULE_NODENAMES_H
#define ASHLAR_ANALYSIS_MODULE_NODENAMES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace ashlar::analysis {

/// All names in `location`, in order, without repetition.
llvm::SmallVector<std::string> getNodeNames(mlir::Location location);

/// The first name in `location`; empty if there is none.
std::string getNodeName(mlir::Location location);

/// Marks the result of `op` as an altered result of its ONNX node: its elements
/// are in another order, or lack a part that the operations that read it add;
/// these expect that.
void markAltered(mlir::Operation *op);
/// True if a location, or one that it was fused from, has this mark.
bool isAltered(mlir::Location location);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_MODULE_NODENAMES_H
