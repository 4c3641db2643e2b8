// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timed runs without data, for people.

#include "Timed.h"

#include "../Explorer/ModelExplorer.h"
#include "../ProveProgram.h"
#include "../Verification/Verify.h"
#include "ashlar/Energy/Table.h"
#include "ashlar/Frontend/Onnx/Annotate.h"
#include "ashlar/Report/Report.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Json.h"

#include <fmt/format.h>

namespace ashlar::pipelines {
namespace {

llvm::Expected<report::RunStatistics> timeOf(const container::Program &program,
                                             bool timeline) {
  auto prices = energy::loadTable(energy::defaultTable);
  if (!prices)
    return prices.takeError();
  emulator::Options how;
  how.checkRaces = how.checkUndefined = false; // the program is proven
  how.functional = false;
  how.recordTimes = timeline;
  auto loaded = loadCompiled(program, how);
  if (!loaded)
    return loaded.takeError();
  auto timed = emulator::run(*loaded, {}, how);
  if (!timed)
    return timed.takeError();
  auto statistics = report::collectStatistics(*loaded, *timed);
  if (statistics)
    statistics->energyTable = std::move(*prices);
  return statistics;
}

/// How the results of each node are stored, as "bfp8" or "f32".
llvm::StringMap<std::string> storageOf(const report::RunStatistics &run) {
  llvm::StringMap<std::string> formats, nodes;
  llvm::Expected<llvm::json::Value> plan = support::parseJson(run.planJson);
  if (!plan) {
    llvm::consumeError(plan.takeError()); // The page complains of it.
    return nodes;
  }
  const llvm::json::Object *object = plan->getAsObject();
  const llvm::json::Array *tensors =
      object ? object->getArray("tensors") : nullptr;
  if (!tensors)
    return nodes;
  for (const llvm::json::Value &entry : *tensors) {
    const llvm::json::Object *tensor = entry.getAsObject();
    auto name = tensor ? tensor->getString("name") : std::nullopt;
    if (!name)
      continue;
    const llvm::json::Object *format = tensor->getObject("format");
    auto mantissa = format ? format->getInteger("mantissa") : std::nullopt;
    formats[*name] = mantissa ? fmt::format("bfp{}", *mantissa)
                              : tensor->getString("type").value_or("").str();
  }
  for (const report::PlacementStatistics &place : run.placements) {
    const std::string format = formats.lookup(place.name);
    std::string &all = nodes[place.node];
    if (!format.empty() && !llvm::StringRef(all).contains(format))
      all += (all.empty() ? "" : ", ") + format;
  }
  return nodes;
}

/// "12,345 cycles (3.2 %) on pe, ..." for a node.
std::string textOf(const report::NodeStatistics &node,
                   const report::RunStatistics &statistics,
                   const std::string &storage) {
  std::string text = fmt::format(
      "ashlar: {} of {} cycles ({:.1f} %), span {} to {}, engine {}",
      node.cycles, statistics.totalCycles,
      100.0 * static_cast<double>(node.cycles) /
          static_cast<double>(std::max<uint64_t>(statistics.totalCycles, 1)),
      node.start, node.end, node.engine);
  const char *separator = "; busy cycles: ";
  for (size_t i = 0; i < node.busy.size(); ++i)
    if (node.busy[i] > 0) {
      text += fmt::format("{}{} {}", separator, statistics.engines[i].name,
                          node.busy[i]);
      separator = ", ";
    }
  if (node.macs > 0)
    text += fmt::format("; {} multiply-accumulates", node.macs);
  text += fmt::format("; DRAM: {} bytes read, {} written", node.dramRead,
                      node.dramWrite);
  if (!storage.empty())
    text += "; stored as " + storage;
  for (size_t i = 0; i < node.absorbed.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "; with " : ", ", node.absorbed[i]);
  return text;
}

llvm::Error annotate(const CompilerArguments &arguments,
                     const report::RunStatistics &statistics) {
  llvm::StringMap<std::string> texts;
  const llvm::StringMap<std::string> storage = storageOf(statistics);
  for (const report::NodeStatistics &node : statistics.nodes)
    for (const std::string &absorbed : node.absorbed)
      texts[absorbed] = "ashlar: fused into " + node.name;
  for (const report::NodeStatistics &node : statistics.nodes)
    texts[node.name] = textOf(node, statistics, storage.lookup(node.name));
  return frontend::annotate(
      arguments.compile.model, arguments.annotated, texts,
      "ashlar: no instructions of its own (folded, a view, or part of another "
      "node)");
}

} // namespace

llvm::Error writeTimed(const CompilerArguments &arguments, const Build &build,
                       mlir::MLIRContext &context) {
  if (arguments.html.empty() && arguments.layers.empty() &&
      arguments.annotated.empty() && arguments.explorer.empty())
    return llvm::Error::success();
  auto statistics = timeOf(*build.result.program,
                           /*timeline=*/!arguments.html.empty() ||
                               !arguments.explorer.empty());
  if (!statistics)
    return statistics.takeError();
  if (!arguments.html.empty()) {
    report::PageContext context;
    if (build.verification)
      context.layerSnr = layerRatios(*build.verification);
    auto page = report::toHtml(*statistics, context);
    if (!page)
      return page.takeError();
    if (llvm::Error error = support::writeFileAtomically(
            arguments.html, llvm::StringRef(*page)))
      return error;
  }
  if (!arguments.layers.empty())
    if (llvm::Error error = support::writeFileAtomically(
            arguments.layers,
            llvm::StringRef(report::toLayerTable(*statistics))))
      return error;
  if (!arguments.annotated.empty())
    if (llvm::Error error = annotate(arguments, *statistics))
      return error;
  if (!arguments.explorer.empty())
    return writeModelExplorer(arguments, build, *statistics, context);
  return llvm::Error::success();
}

} // namespace ashlar::pipelines
