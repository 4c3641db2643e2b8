// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON report. Keys and their order are fixed by docs/ReportSchema.md.

#include "ashlar/Support/Json.h"
#include "JsonText.h"
#include "ashlar/Report/Report.h"
#include "ashlar/Support/Error.h"

#include "llvm/Support/raw_ostream.h"

using namespace ashlar;
using namespace ashlar::report;
using llvm::json::OStream;

double report::utilisation(const machine::Description &machine, uint64_t macs,
                           uint64_t peBusy) {
  const double cells = static_cast<double>(machine.pe.rows) *
                       static_cast<double>(machine.pe.columns);
  if (peBusy == 0)
    return 0;
  return static_cast<double>(macs) / (static_cast<double>(peBusy) * cells);
}

namespace {

void writeEngines(OStream &json, const RunStatistics &statistics) {
  json.attributeObject("engines", [&] {
    for (const EngineStatistics &engine : statistics.engines)
      json.attributeObject(jsonText(engine.name), [&] {
        json.attribute("instructions", engine.instructions);
        json.attribute("busy", engine.busy);
        json.attribute("copied", engine.copied);
        json.attributeObject("stall", [&] {
          for (const auto &[cause, cycles] : engine.stalls)
            json.attribute(jsonText(cause), cycles);
        });
      });
  });
}

void writeNode(OStream &json, const NodeStatistics &node,
               const machine::Description &machine) {
  json.object([&] {
    json.attribute("name", jsonText(node.name));
    json.attribute("op", jsonText(node.opType));
    json.attribute("engine", jsonText(node.engine));
    json.attributeArray("absorbed", [&] {
      for (const std::string &name : node.absorbed)
        json.value(jsonText(name));
    });
    json.attribute("cycles", node.cycles);
    json.attribute("macs", node.macs);
    json.attribute("issued", node.issued);
    json.attribute("utilisation", utilisation(machine, node.macs, node.peBusy));
    json.attribute("pe_busy", node.peBusy);
    json.attribute("dram_read", node.dramRead);
    json.attribute("dram_write", node.dramWrite);
    json.attribute("copied", node.copied);
    json.attribute("sat", node.saturated);
    json.attribute("unf", node.underflow);
    if (node.units.empty())
      return;
    json.attributeArray("units", [&] {
      for (const UnitStatistics &unit : node.units)
        json.object([&] {
          json.attribute("unit", unit.unit);
          json.attribute("group", unit.group);
          json.attribute("image", unit.image);
          json.attribute("tile", partition::toText(unit.tile));
          json.attribute("cycles", unit.cycles);
          json.attribute("products", unit.products);
          json.attribute("first", unit.first);
        });
    });
  });
}

void writeTotals(OStream &json, const RunStatistics &statistics) {
  uint64_t macs = 0, peBusy = 0, read = 0, written = 0, copied = 0;
  for (const NodeStatistics &node : statistics.nodes) {
    macs += node.macs;
    peBusy += node.peBusy;
    read += node.dramRead;
    written += node.dramWrite;
  }
  for (const EngineStatistics &engine : statistics.engines)
    copied += engine.copied;
  json.attributeObject("totals", [&] {
    json.attribute("macs", macs);
    json.attribute("pe_busy", peBusy);
    json.attribute("utilisation",
                   utilisation(statistics.machine, macs, peBusy));
    json.attribute("dram_read", read);
    json.attribute("dram_write", written);
    json.attribute("copied", copied);
    json.attribute("dram_busy", statistics.dramBusy);
    json.attribute("sat", statistics.saturated);
    json.attribute("unf", statistics.underflow);
    json.attribute("non_finite", statistics.nonFinite);
  });
}

/// The decisions that the container carries; it comes from a file.
llvm::Expected<llvm::json::Value> parseDecisions(llvm::StringRef text) {
  if (text.empty())
    return llvm::json::Array();
  llvm::Expected<llvm::json::Value> parsed = support::parseJson(jsonText(text));
  if (!parsed)
    return withContext(parsed.takeError(),
                       "the binary's decisions are not JSON");
  return parsed;
}

} // namespace

llvm::Expected<std::string> report::toJson(const RunStatistics &statistics) {
  llvm::Expected<llvm::json::Value> decisions =
      parseDecisions(statistics.decisionsJson);
  if (!decisions)
    return decisions.takeError();
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream json(stream, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("schema_version", reportSchemaVersion);
    json.attribute("model", jsonText(statistics.model));
    json.attribute("machine", jsonText(statistics.machine.name));
    json.attribute("clock_hz", statistics.machine.clockHz);
    json.attribute("timed", statistics.timed);
    json.attribute("samples", statistics.samples);
    json.attribute("total_cycles", statistics.totalCycles);
    json.attribute("idle_cycles", statistics.idleCycles);
    json.attribute("wall_seconds", statistics.wallSeconds);
    json.attribute("load_seconds", statistics.loadSeconds);
    writeTotals(json, statistics);
    writeEngines(json, statistics);
    json.attributeArray("nodes", [&] {
      for (const NodeStatistics &node : statistics.nodes)
        writeNode(json, node, statistics.machine);
    });
    json.attributeArray("cuts", [&] {
      for (const CutStatistics &cut : statistics.cuts)
        json.object([&] {
          json.attribute("instruction", cut.instruction);
          json.attribute("node", jsonText(cut.node));
          json.attribute("met", cut.met);
          json.attribute("spread", cut.spread);
          json.attribute("imbalance", cut.imbalance);
          json.attribute("probes", cut.probes);
          json.attribute("units", cut.tiles.size());
          json.attribute("tiles", partition::toText(cut.tiles));
        });
    });
    json.attributeArray("maps", [&] {
      for (const MapStatistics &map : statistics.maps)
        json.object([&] {
          json.attribute("node", jsonText(map.node));
          json.attribute("cells", map.cells);
          json.attribute("bytes", map.bytes);
          json.attribute("dense_bytes", map.denseBytes);
          json.attribute("non_zeros", map.nonZeros);
        });
    });
    json.attribute("decisions", *decisions);
  });
  text += '\n';
  return text;
}
