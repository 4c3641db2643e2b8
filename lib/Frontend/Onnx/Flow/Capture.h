// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a graph attribute reads of the scope around it.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FLOW_CAPTURE_H
#define ASHLAR_LIB_FRONTEND_ONNX_FLOW_CAPTURE_H

#include "lib/Frontend/Onnx/Flatten.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace ashlar::frontend {

/// Names that the graph itself defines: inputs, initialisers, results of nodes.
llvm::StringSet<> definedNames(const onnx::GraphProto &graph);

/// Calls `visit` for every name that `graph` reads and neither it nor a graph
/// around it inside the attribute defines. References to attributes of `bound`,
/// if given, become their values.
void captureFree(onnx::GraphProto &graph, const BoundAttributes *bound,
                 llvm::function_ref<void(const std::string &)> visit);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FLOW_CAPTURE_H
