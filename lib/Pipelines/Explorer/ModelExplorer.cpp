// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of --model-explorer.

#include "ModelExplorer.h"

#include "Graph.h"
#include "ashlar/Support/FileIO.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace ashlar::pipelines {
namespace {

using explorer::Graph;
using llvm::json::Array;
using llvm::json::Object;

/// The value of a layer, if it has one.
using LayerValue =
    llvm::function_ref<std::optional<double>(const report::NodeStatistics &)>;

/// White for the least value of a graph, red for the largest.
Array gradient() {
  return Array{Object{{"stop", 0}, {"bgColor", "#ffffff"}},
               Object{{"stop", 1}, {"bgColor", "#e0665c"}}};
}

Object results(Object values) {
  return Object{{"results", std::move(values)}, {"gradient", gradient()}};
}

/// Values by operation. Sums over groups of nodes would count a layer of
/// several operations more than once: the last one has the value.
Object valuesOf(const Graph &graph, const report::RunStatistics &statistics,
                LayerValue value) {
  llvm::StringMap<std::string> last;
  for (const explorer::Node &node : graph.nodes)
    if (!node.layer.empty())
      last[node.layer] = node.id;
  Object values;
  for (const report::NodeStatistics &layer : statistics.nodes)
    if (auto found = last.find(layer.name); found != last.end())
      if (std::optional<double> number = value(layer))
        values[found->second] = Object{{"value", *number}};
  return values;
}

Object dataOf(llvm::ArrayRef<Graph> graphs,
              const report::RunStatistics &statistics, LayerValue value) {
  Object data;
  for (const Graph &graph : graphs)
    data[llvm::json::fixUTF8(graph.id)] =
        results(valuesOf(graph, statistics, value));
  return data;
}

/// Cycles of issue of each instruction, by layer.
void addInstructions(Object &data, llvm::ArrayRef<Graph> programs,
                     const report::RunStatistics &statistics) {
  for (const Graph &graph : programs) {
    Object values;
    for (const explorer::Node &node : graph.nodes) {
      uint32_t index;
      if (llvm::StringRef(node.id).drop_front().getAsInteger(10, index) ||
          index >= statistics.timeline.size())
        continue;
      const report::TimedInstruction &timed = statistics.timeline[index];
      values[node.id] =
          Object{{"value", static_cast<int64_t>(timed.issueEnd - timed.start)}};
    }
    data[llvm::json::fixUTF8(graph.id)] = results(std::move(values));
  }
}

class Writer {
public:
  explicit Writer(llvm::StringRef folder) : folder(folder) {}

  llvm::Error write(llvm::StringRef name, llvm::json::Value value) const {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    std::string text;
    llvm::raw_string_ostream(text) << value << "\n";
    return support::writeFileAtomically(path, llvm::StringRef(text));
  }

private:
  llvm::StringRef folder;
};

/// The modules of `nn` and `npu` as graphs.
llvm::Expected<std::vector<Graph>> moduleGraphs(const CompileOptions &options,
                                                const explorer::Layers &layers,
                                                mlir::MLIRContext &context) {
  CompileOptions now = options;
  now.dumpPlan.clear();
  now.stopAfter = Phase::Fold;
  auto folded = compile(now, context);
  if (!folded)
    return folded.takeError();
  now.stopAfter = Phase::Plan;
  auto planned = compileFrom(*folded->module, Phase::Fold, now, context);
  if (!planned)
    return planned.takeError();
  return std::vector<Graph>{
      explorer::graphOf(*folded->module, "nn", layers, "npu"),
      explorer::graphOf(*planned->module, "npu", layers, "")};
}

} // namespace

llvm::Error writeModelExplorer(const CompilerArguments &arguments,
                               const Build &build,
                               const report::RunStatistics &statistics,
                               mlir::MLIRContext &context) {
  const explorer::Layers layers = explorer::layersOf(statistics);
  auto graphs = moduleGraphs(arguments.compile, layers, context);
  if (!graphs)
    return graphs.takeError();
  const std::vector<Graph> programs = explorer::graphsOf(statistics);
  if (std::error_code code = llvm::sys::fs::create_directories(
          arguments.explorer, /*IgnoreExisting=*/true, llvm::sys::fs::all_all))
    return makeError(ErrorClass::Usage, "cannot make the folder '{}': {}",
                     arguments.explorer, code.message());
  Array all;
  for (const Graph &graph : llvm::concat<const Graph>(*graphs, programs))
    all.push_back(explorer::toJson(graph));
  Writer writer(arguments.explorer);
  if (llvm::Error error = writer.write(
          "graph.json", Object{{"label", llvm::json::fixUTF8(statistics.model)},
                               {"graphs", std::move(all)}}))
    return error;
  Object cycles = dataOf(*graphs, statistics, [](const auto &layer) {
    return std::optional<double>(layer.cycles);
  });
  addInstructions(cycles, programs, statistics);
  if (llvm::Error error = writer.write("cycles.json", std::move(cycles)))
    return error;
  Object bytes = dataOf(*graphs, statistics, [](const auto &layer) {
    return std::optional<double>(layer.dramRead + layer.dramWrite);
  });
  if (llvm::Error error = writer.write("dram_bytes.json", std::move(bytes)))
    return error;
  if (!build.verification)
    return llvm::Error::success();
  const std::map<std::string, double> ratios = layerRatios(*build.verification);
  return writer.write("snr.json",
                      dataOf(*graphs, statistics,
                             [&](const auto &layer) -> std::optional<double> {
                               auto found = ratios.find(layer.name);
                               if (found == ratios.end())
                                 return std::nullopt;
                               return found->second;
                             }));
}

} // namespace ashlar::pipelines
