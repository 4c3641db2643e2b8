// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Energy and area in the JSON report (docs/ReportSchema.md). Amounts are
// written with all their digits, so that sums can be checked exactly.

#include "Energy.h"
#include "JsonText.h"

using namespace ashlar;
using namespace ashlar::report;
using energy::Action;
using energy::Component;
using llvm::json::OStream;

namespace {

void amount(OStream &json, llvm::StringRef key, energy::Millionths value) {
  json.attributeBegin(key);
  json.rawValue(energy::decimalText(value));
  json.attributeEnd();
}

/// Sums by component, those of zero omitted.
void components(OStream &json, llvm::StringRef key,
                const energy::Amounts &amounts) {
  json.attributeObject(key, [&] {
    for (unsigned c = 0; c < energy::numComponents; ++c)
      if (amounts.of[c] != 0)
        amount(json, energy::name(static_cast<Component>(c)), amounts.of[c]);
  });
}

void counted(OStream &json, const energy::ActionCounts &counts) {
  json.attributeObject("actions", [&] {
    for (unsigned a = 0; a < energy::numActions; ++a)
      if (const uint64_t count = counts.of(static_cast<Action>(a)))
        json.attribute(energy::fullName(static_cast<Action>(a)), count);
  });
  json.attributeArray("multiplications", [&] {
    for (Component component : {Component::Pe, Component::Tcu})
      for (const energy::WidthCount &entry : counts.widths(component))
        json.object([&] {
          json.attribute("component", energy::name(component));
          json.attribute("moving_bits", entry.moving);
          json.attribute("stationary_bits", entry.stationary);
          json.attribute("count", entry.count);
        });
  });
}

void price(OStream &json, llvm::StringRef key, const energy::Price &price,
           llvm::StringRef amountKey, llvm::StringRef per) {
  json.attributeObject(key, [&] {
    amount(json, amountKey, price.millionths);
    json.attribute("per", per);
    if (price.size != 0)
      json.attribute("size", price.size);
    json.attribute("node_nm", price.nodeNm);
    json.attribute("uncertainty", price.uncertainty);
    json.attribute("source", jsonText(price.source));
    if (!price.note.empty())
      json.attribute("note", jsonText(price.note));
  });
}

void prices(OStream &json, const RunEnergy &energy) {
  json.attributeObject("prices", [&] {
    for (unsigned a = 0; a < energy::numActions; ++a) {
      const auto action = static_cast<Action>(a);
      if (const auto &known = energy.prices.of(action))
        price(json, energy::fullName(action), *known, "pj",
              energy::info(action).unit == energy::ActionUnit::Byte
                  ? "byte"
                  : "operation");
    }
  });
}

void wholeEnergy(OStream &json, const RunStatistics &statistics,
                 const RunEnergy &energy) {
  const energy::Table &table = *statistics.energyTable;
  const auto [low, high] = energy.prices.boundsOf(energy.counts);
  json.attributeObject("energy", [&] {
    json.attribute("table", jsonText(table.name));
    json.attribute("description", jsonText(table.description));
    json.attribute("node_nm", table.nodeNm);
    amount(json, "dynamic_pj", energy.dynamic.total());
    json.attribute("low_pj", low);
    json.attribute("high_pj", high);
    components(json, "components", energy.dynamic);
    json.attribute("seconds", energy.seconds);
    if (energy.leakageWatts) {
      json.attribute("leakage_w", *energy.leakageWatts);
      json.attribute("leakage_pj",
                     *energy.leakageWatts * energy.seconds * 1e12);
    }
    json.attribute("total_pj", energy.joules() * 1e12);
    json.attribute("average_w", energy.averageWatts());
    json.attribute("edp_js", energy.delayProduct());
    json.attribute("tops_per_w", energy.topsPerWatt(totalsOf(statistics).macs));
    json.attributeArray("unpriced", [&] {
      for (Action action : energy.prices.unpriced(energy.counts))
        json.value(energy::fullName(action));
    });
    prices(json, energy);
  });
}

void wholeArea(OStream &json, const RunStatistics &statistics,
               const RunEnergy &energy) {
  json.attributeObject("area", [&] {
    amount(json, "total_um2", energy.area.total());
    components(json, "components", energy.area);
    json.attributeObject("parts", [&] {
      for (unsigned c = 0; c < energy::numComponents; ++c)
        if (const uint64_t parts =
                energy::partsOf(statistics.machine, static_cast<Component>(c)))
          json.attribute(energy::name(static_cast<Component>(c)), parts);
    });
    json.attributeArray("unpriced", [&] {
      for (Component component : energy.prices.withoutArea())
        json.value(energy::name(component));
    });
    json.attributeObject("prices", [&] {
      for (unsigned c = 0; c < energy::numComponents; ++c)
        if (const auto &known = energy.prices.areaOf(static_cast<Component>(c)))
          price(json, energy::name(static_cast<Component>(c)), *known, "um2",
                energy::partName(static_cast<Component>(c)));
    });
  });
}

} // namespace

void report::writeEnergy(OStream &json, const RunStatistics &statistics,
                         const RunEnergy &energy) {
  counted(json, energy.counts);
  wholeEnergy(json, statistics, energy);
  wholeArea(json, statistics, energy);
}

void report::writeNodeEnergy(OStream &json, const NodeStatistics &node,
                             const RunEnergy &energy) {
  const energy::Amounts amounts = energy.prices.energyOf(node.actions);
  amount(json, "energy_pj", amounts.total());
  components(json, "energy", amounts);
  counted(json, node.actions);
}
