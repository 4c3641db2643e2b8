// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs to Model Explorer's JSON.

#include "Graph.h"

namespace ashlar::pipelines::explorer {
namespace {

using llvm::json::Array;
using llvm::json::Object;

Object keyValue(llvm::StringRef key, llvm::StringRef value) {
  // Names of a model need not be UTF-8.
  return Object{{"key", llvm::json::fixUTF8(key)},
                {"value", llvm::json::fixUTF8(value)}};
}

llvm::json::Value toJson(const Node &node) {
  Object result{{"id", llvm::json::fixUTF8(node.id)},
                {"label", llvm::json::fixUTF8(node.label)},
                {"namespace", llvm::json::fixUTF8(node.space)}};
  Array attributes, edges, outputs, subgraphs;
  for (const auto &[key, value] : node.attributes)
    attributes.push_back(keyValue(key, value));
  for (const Edge &edge : node.edges)
    edges.push_back(Object{{"sourceNodeId", llvm::json::fixUTF8(edge.source)},
                           {"sourceNodeOutputId", std::to_string(edge.output)},
                           {"targetNodeInputId", std::to_string(edge.input)}});
  for (size_t i = 0; i < node.outputs.size(); ++i)
    outputs.push_back(
        Object{{"id", std::to_string(i)},
               {"attrs", Array{keyValue("tensor_shape", node.outputs[i])}}});
  for (const std::string &graph : node.subgraphs)
    subgraphs.push_back(llvm::json::fixUTF8(graph));
  result["attrs"] = std::move(attributes);
  result["incomingEdges"] = std::move(edges);
  result["outputsMetadata"] = std::move(outputs);
  if (!subgraphs.empty())
    result["subgraphIds"] = std::move(subgraphs);
  return result;
}

} // namespace

llvm::json::Value toJson(const Graph &graph) {
  Array nodes;
  for (const Node &node : graph.nodes)
    nodes.push_back(toJson(node));
  return Object{{"id", llvm::json::fixUTF8(graph.id)},
                {"nodes", std::move(nodes)}};
}

} // namespace ashlar::pipelines::explorer
