// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layers as a table for spreadsheets.

#include "../Energy.h"
#include "ashlar/Report/Report.h"

#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

using namespace ashlar::report;

namespace {

/// A field of RFC 4180: quoted where it has to be.
std::string field(llvm::StringRef text) {
  if (text.find_first_of(",\"\r\n") == llvm::StringRef::npos)
    return text.str();
  std::string quoted = "\"";
  for (char c : text) {
    quoted += c;
    if (c == '"')
      quoted += c;
  }
  return quoted + "\"";
}

class Table {
public:
  explicit Table(const RunStatistics &statistics) : statistics(statistics) {
    for (size_t i = 0; i < statistics.engines.size(); ++i)
      if (statistics.engines[i].instructions > 0)
        engines.push_back(i);
    if (statistics.timed && statistics.energyTable)
      prices.emplace(statistics, *statistics.energyTable);
  }

  std::string text() const {
    std::string lines = header();
    for (const NodeStatistics &node : statistics.nodes)
      lines += row(node);
    return lines;
  }

private:
  std::string header() const {
    std::string line = "name,op,engine,cycles,start,end,macs,issued,dram_read,"
                       "dram_write,copied,saturated,underflow";
    for (size_t index : engines)
      line += fmt::format(",busy_{0},utilisation_{0}",
                          statistics.engines[index].name);
    return line + (prices ? ",energy_pj\r\n" : "\r\n");
  }

  std::string row(const NodeStatistics &node) const {
    std::string line = fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{}", field(node.name),
        field(node.opType), field(node.engine), node.cycles, node.start,
        node.end, node.macs, node.issued, node.dramRead, node.dramWrite,
        node.copied, node.saturated, node.underflow);
    for (size_t index : engines)
      line += fmt::format(",{},{:.4f}",
                          index < node.busy.size() ? node.busy[index] : 0,
                          node.utilisation(index, statistics.engines[index]));
    if (prices)
      line += fmt::format(",{:.6f}",
                          ashlar::energy::toDouble(
                              prices->prices.energyOf(node.actions).total()));
    return line + "\r\n";
  }

  const RunStatistics &statistics;
  std::vector<size_t> engines; ///< Those that the program uses.
  std::optional<RunEnergy> prices;
};

} // namespace

std::string ashlar::report::toLayerTable(const RunStatistics &statistics) {
  return Table(statistics).text();
}
