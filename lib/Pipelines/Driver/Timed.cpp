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

/// "12,345 cycles (3.2 %) on pe, ..." for a node.
std::string textOf(const report::NodeStatistics &node,
                   const report::RunStatistics &statistics) {
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
  text += fmt::format("; {} multiply-accumulates, {} bytes from DRAM, {} to it",
                      node.macs, node.dramRead, node.dramWrite);
  for (size_t i = 0; i < node.absorbed.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "; with " : ", ", node.absorbed[i]);
  return text;
}

llvm::Error annotate(const CompilerArguments &arguments,
                     const report::RunStatistics &statistics) {
  llvm::StringMap<std::string> texts;
  for (const report::NodeStatistics &node : statistics.nodes)
    for (const std::string &absorbed : node.absorbed)
      texts[absorbed] = "ashlar: fused into " + node.name;
  for (const report::NodeStatistics &node : statistics.nodes)
    texts[node.name] = textOf(node, statistics);
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
