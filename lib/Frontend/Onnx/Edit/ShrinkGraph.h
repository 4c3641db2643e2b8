// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models made smaller: each function gives a changed copy, or nothing where the
// change is not possible. Whether the copy is a valid network is left to those
// who read it.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_SHRINKGRAPH_H
#define ASHLAR_LIB_FRONTEND_ONNX_SHRINKGRAPH_H

#include "ashlar/Frontend/Onnx/Shrink.h"
#include "lib/Frontend/Onnx/ValueTypes.h"

#include <optional>
#include <vector>

namespace ashlar::frontend {

using ModelCopy = std::optional<onnx::ModelProto>;

/// The nodes with `keep` and what they read. Values of other nodes become graph
/// inputs, or constants where nothing but constants made them; results that
/// that are never read become graph outputs. Nothing if a type is unknown that
/// an input needs, or if no node is left.
ModelCopy keepNodes(const onnx::ModelProto &model,
                    const std::vector<bool> &keep, const ValueTypes &types);

/// Without node `node`: its readers read its input `input` instead. Nothing if
/// the types differ or a result of the node is a graph output.
ModelCopy bypassNode(const onnx::ModelProto &model, int node, int input,
                     const ValueTypes &types);

/// Without graph output `output`, and without the nodes that only it needed.
/// Nothing for the last output.
ModelCopy dropOutput(const onnx::ModelProto &model, int output);

/// Without texts, metadata, declared types of inner values, functions that no
/// node calls and operator sets that no node uses.
ModelCopy dropDeclarations(const onnx::ModelProto &model);

/// Constant nodes as initialisers.
ModelCopy constantsAsInitializers(const onnx::ModelProto &model);

/// Every extent `from` of graph inputs and initialisers, and every element
/// `from` of an initialiser that may be a shape, as `to`. Elements of
/// initialisers that are left over go.
ModelCopy replaceExtent(const onnx::ModelProto &model, int64_t from,
                        int64_t to);

/// Axis `axis` of graph input `input` as `to`.
ModelCopy replaceInputExtent(const onnx::ModelProto &model, int input, int axis,
                             int64_t to);

/// Distinct extents above 1 of graph inputs and initialisers, largest first.
std::vector<int64_t> extentsOf(const onnx::ModelProto &model);

/// Initialiser `index` with all elements zero. Nothing if they are, or are
/// integers (those are shapes and indices more often than data).
ModelCopy zeroInitializer(const onnx::ModelProto &model, int index);

/// Elements of a tensor as its dimensions claim; 0 where they make no sense.
int64_t elementsOf(const onnx::TensorProto &tensor);

ShrinkSize sizeOf(const onnx::ModelProto &model);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_SHRINKGRAPH_H
