// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs as Model Explorer reads them: nodes with edges, attributes, a place in
// a hierarchy, and graphs that a node leads into.

#ifndef ASHLAR_LIB_PIPELINES_EXPLORER_GRAPH_H
#define ASHLAR_LIB_PIPELINES_EXPLORER_GRAPH_H

#include "ashlar/Report/Statistics.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace ashlar::pipelines::explorer {

/// An edge into a node.
struct Edge {
  std::string source; ///< Id of a node of the same graph.
  unsigned output = 0, input = 0;
};

struct Node {
  std::string id;    ///< Unique in its graph.
  std::string label; ///< What is written on it.
  std::string space; ///< Its place, "outer/inner", or empty.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Edge> edges;
  std::vector<std::string> outputs; ///< Types.
  std::vector<std::string> subgraphs;
  std::string layer; ///< Layer of the program that it became part of, or empty.
};

struct Graph {
  std::string id;
  std::vector<Node> nodes;
};

/// Layers of a program by the names of the ONNX nodes that they execute.
using Layers = llvm::StringMap<const report::NodeStatistics *>;
Layers layersOf(const report::RunStatistics &statistics);

/// Name of the graph with the instructions of a layer.
std::string programGraphId(llvm::StringRef layer);

/// The operations of a module's function. Those of layers lead into the graph
/// of their instructions, and into \p next if that is not empty.
Graph graphOf(mlir::ModuleOp module, llvm::StringRef id, const Layers &layers,
              llvm::StringRef next);

/// The instructions of each layer by queue, with an edge from the instruction
/// before in the queue and from those of other queues that it waits for. Needs
/// a time line.
std::vector<Graph> graphsOf(const report::RunStatistics &statistics);

llvm::json::Value toJson(const Graph &graph);

} // namespace ashlar::pipelines::explorer

#endif // ASHLAR_LIB_PIPELINES_EXPLORER_GRAPH_H
