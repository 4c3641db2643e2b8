// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences and optionals as inputs and outputs of a model. A program has
// tensors only: element K of NAME is the tensor NAME.K, and an optional that is
// there is its tensor.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FLOW_GRAPHLISTS_H
#define ASHLAR_LIB_FRONTEND_ONNX_FLOW_GRAPHLISTS_H

#include "Flow.h"

#include "ashlar/Frontend/Onnx/Import.h"

namespace ashlar::frontend {

/// Puts tensors in the place of inputs that are sequences or optionals, and
/// nodes that make lists of them. A sequence has as many elements as the
/// options say, or name. An error if they do not tell, and for names that the
/// model has already.
llvm::Error splitInputs(Model &model, const ImportOptions &options);

/// The outputs of a graph with elements in the place of lists of \p flow, by
/// aliases of \p host. An optional without a value is left out.
llvm::Expected<std::vector<onnx::ValueInfoProto>>
splitOutputs(const onnx::GraphProto &graph, Flow &flow, FlowHost &host);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FLOW_GRAPHLISTS_H
