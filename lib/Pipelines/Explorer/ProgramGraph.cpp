// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions of each layer as a graph.

#include "Graph.h"

#include <fmt/format.h>
#include <map>

namespace ashlar::pipelines::explorer {
namespace {

/// Instructions of a layer that are shown: a browser lays out some thousand
/// nodes, and loops of a layer look alike.
constexpr size_t mostInstructions = 1000;

class ProgramGraphBuilder {
public:
  explicit ProgramGraphBuilder(const report::RunStatistics &statistics)
      : statistics(statistics) {}

  std::vector<Graph> build() {
    std::vector<std::vector<const report::TimedInstruction *>> layers(
        statistics.nodes.size());
    for (const report::TimedInstruction &instruction : statistics.timeline)
      if (instruction.node < layers.size())
        layers[instruction.node].push_back(&instruction);
    std::vector<Graph> graphs;
    for (size_t i = 0; i < layers.size(); ++i)
      graphs.push_back(graphOf(statistics.nodes[i].name, layers[i]));
    return graphs;
  }

private:
  using Instructions = llvm::ArrayRef<const report::TimedInstruction *>;

  static std::string idOf(uint32_t index) { return fmt::format("i{}", index); }

  Graph graphOf(llvm::StringRef layer, Instructions instructions) const {
    Graph graph{programGraphId(layer), {}};
    Instructions shown = instructions.take_front(mostInstructions);
    std::map<uint32_t, std::string> last; // id by queue
    std::map<uint32_t, bool> here;
    for (const report::TimedInstruction *instruction : shown)
      here[instruction->index] = true;
    for (const report::TimedInstruction *instruction : shown) {
      Node node = nodeOf(*instruction);
      std::string &before = last[instruction->engine];
      unsigned input = 0;
      if (!before.empty())
        node.edges.push_back({before, 0, input++});
      for (uint32_t source : instruction->sources)
        if (here.count(source))
          node.edges.push_back({idOf(source), 0, input++});
      before = node.id;
      graph.nodes.push_back(std::move(node));
    }
    if (shown.size() < instructions.size())
      graph.nodes.push_back(
          {"more",
           fmt::format("{} more", instructions.size() - shown.size()),
           "",
           {},
           {},
           {},
           {},
           {}});
    return graph;
  }

  Node nodeOf(const report::TimedInstruction &instruction) const {
    Node node;
    node.id = idOf(instruction.index);
    node.label = instruction.opcode;
    node.space = statistics.engines[instruction.engine].name;
    node.attributes = {{"instruction", std::to_string(instruction.index)},
                       {"start", std::to_string(instruction.start)},
                       {"busy until", std::to_string(instruction.issueEnd)},
                       {"complete", std::to_string(instruction.complete)}};
    if (instruction.macs > 0)
      node.attributes.push_back(
          {"multiplications", std::to_string(instruction.macs)});
    if (instruction.copied > 0)
      node.attributes.push_back(
          {"bytes copied", std::to_string(instruction.copied)});
    return node;
  }

  const report::RunStatistics &statistics;
};

} // namespace

Layers layersOf(const report::RunStatistics &statistics) {
  Layers layers;
  for (const report::NodeStatistics &node : statistics.nodes)
    for (const std::string &absorbed : node.absorbed)
      layers[absorbed] = &node;
  for (const report::NodeStatistics &node : statistics.nodes)
    layers[node.name] = &node;
  return layers;
}

std::string programGraphId(llvm::StringRef layer) {
  return "isa: " + layer.str();
}

std::vector<Graph> graphsOf(const report::RunStatistics &statistics) {
  return ProgramGraphBuilder(statistics).build();
}

} // namespace ashlar::pipelines::explorer
