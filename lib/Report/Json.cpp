// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON report. Keys and their order are fixed by docs/ReportSchema.md.

#include "ashlar/Support/Json.h"
#include "Energy.h"
#include "JsonText.h"
#include "ashlar/Machine/Json.h"
#include "ashlar/Report/Report.h"
#include "ashlar/Support/Error.h"

#include "llvm/Support/raw_ostream.h"

using namespace ashlar;
using namespace ashlar::report;
using llvm::json::OStream;

namespace {

void writeEngines(OStream &json, const RunStatistics &statistics) {
  json.attributeObject("engines", [&] {
    for (const EngineStatistics &engine : statistics.engines)
      json.attributeObject(jsonText(engine.name), [&] {
        json.attribute("instructions", engine.instructions);
        json.attribute("busy", engine.busy);
        json.attribute("unit", jsonText(engine.unit));
        json.attribute("peak_per_cycle", engine.peak);
        json.attribute("work", engine.work);
        json.attribute("useful", engine.useful);
        json.attribute("occupancy", engine.occupancy());
        json.attribute("utilisation", engine.utilisation());
        json.attribute("end_to_end", engine.endToEnd(statistics.totalCycles));
        json.attribute("copied", engine.copied);
        json.attributeObject("stall", [&] {
          for (const auto &[cause, cycles] : engine.stalls)
            json.attribute(jsonText(cause), cycles);
        });
      });
  });
}

/// Cycles by engine, those that did nothing omitted.
void writeBusy(OStream &json, const NodeStatistics &node,
               const RunStatistics &statistics) {
  json.attributeObject("busy", [&] {
    for (size_t q = 0; q < node.busy.size(); ++q)
      if (node.busy[q] != 0)
        json.attribute(jsonText(statistics.engines[q].name), node.busy[q]);
  });
}

/// Utilisation of an engine for a node; 0 without such an engine.
double utilisationOf(const NodeStatistics &node, size_t engine,
                     const RunStatistics &statistics) {
  return engine < statistics.engines.size()
             ? node.utilisation(engine, statistics.engines[engine])
             : 0;
}

void writeNode(OStream &json, const NodeStatistics &node,
               const RunStatistics &statistics,
               const std::optional<RunEnergy> &energy) {
  const size_t pe = engineIndex(statistics, "pe");
  const size_t tcc = engineIndex(statistics, "tcc");
  json.object([&] {
    json.attribute("name", jsonText(node.name));
    json.attribute("op", jsonText(node.opType));
    json.attribute("engine", jsonText(node.engine));
    json.attributeArray("absorbed", [&] {
      for (const std::string &name : node.absorbed)
        json.value(jsonText(name));
    });
    json.attribute("cycles", node.cycles);
    json.attribute("start", node.start);
    json.attribute("end", node.end);
    json.attribute("span", node.end - node.start);
    writeBusy(json, node, statistics);
    json.attribute("macs", node.macs);
    json.attribute("issued", node.issued);
    json.attribute("utilisation", utilisationOf(node, pe, statistics));
    json.attribute("cluster_utilisation", utilisationOf(node, tcc, statistics));
    json.attribute("pe_busy", pe < node.busy.size() ? node.busy[pe] : 0);
    json.attribute("dram_read", node.dramRead);
    json.attribute("dram_write", node.dramWrite);
    json.attribute("dram_activations", node.dramActivations);
    json.attribute("copied", node.copied);
    json.attribute("sat", node.saturated);
    json.attribute("unf", node.underflow);
    json.attribute("repaired", node.repaired);
    json.attribute("repair_cycles", node.repairCycles);
    if (energy)
      writeNodeEnergy(json, node, *energy);
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
  const Totals sums = totalsOf(statistics);
  const size_t pe = engineIndex(statistics, "pe");
  const EngineStatistics array = pe < statistics.engines.size()
                                     ? statistics.engines[pe]
                                     : EngineStatistics();
  const size_t host = engineIndex(statistics, "host");
  const uint64_t hostBusy =
      host < statistics.engines.size() ? statistics.engines[host].busy : 0;
  json.attributeObject("totals", [&] {
    json.attribute("macs", sums.macs);
    json.attribute("issued", sums.issued);
    json.attribute("macs_per_cycle",
                   statistics.totalCycles
                       ? static_cast<double>(sums.macs) /
                             static_cast<double>(statistics.totalCycles)
                       : 0.0);
    json.attribute("pe_busy", array.busy);
    json.attribute("utilisation", array.utilisation());
    json.attribute("host_busy", hostBusy);
    json.attribute("host_share",
                   statistics.totalCycles
                       ? static_cast<double>(hostBusy) /
                             static_cast<double>(statistics.totalCycles)
                       : 0.0);
    json.attribute("dram_read", sums.dramRead);
    json.attribute("dram_write", sums.dramWrite);
    json.attribute("copied", sums.copied);
    json.attribute("dram_busy", statistics.dramBusy);
    json.attribute("dram_useful", statistics.dramUseful);
    json.attribute("dram_activations", statistics.dramActivations);
    json.attribute("dram_row_hits", statistics.dramRowHits);
    json.attribute("dram_refresh", statistics.dramRefresh);
    json.attribute("dram_utilisation",
                   dramShare(statistics, statistics.dramBusy));
    json.attribute("dram_end_to_end",
                   dramShare(statistics, statistics.totalCycles));
    json.attribute("sat", statistics.saturated);
    json.attribute("unf", statistics.underflow);
    json.attribute("non_finite", statistics.nonFinite);
  });
}

void writeCuts(OStream &json, const RunStatistics &statistics) {
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
}

void writeMaps(OStream &json, const RunStatistics &statistics) {
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
  std::optional<RunEnergy> energy;
  if (statistics.energyTable && statistics.timed)
    energy.emplace(statistics, *statistics.energyTable);
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream json(stream, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("schema_version", reportSchemaVersion);
    json.attribute("model", jsonText(statistics.model));
    json.attribute("machine", jsonText(statistics.machine.name));
    if (!statistics.compiledFor.empty())
      json.attribute("compiled_for", jsonText(statistics.compiledFor));
    json.attribute("machine_parameters", machine::toJson(statistics.machine));
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
        writeNode(json, node, statistics, energy);
    });
    json.attributeObject("unassigned", [&] {
      json.attribute("cycles", statistics.idleCycles);
      writeBusy(json, statistics.unassigned, statistics);
      if (energy)
        writeNodeEnergy(json, statistics.unassigned, *energy);
    });
    if (energy)
      writeEnergy(json, statistics, *energy);
    writeCuts(json, statistics);
    writeMaps(json, statistics);
    json.attribute("decisions", *decisions);
  });
  text += '\n';
  return text;
}
