// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums over nodes, what follows from them, and their two lines of summary.

#include "Energy.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::report;

RunEnergy::RunEnergy(const RunStatistics &statistics,
                     const energy::Table &table)
    : prices(table, statistics.machine), area(prices.area()) {
  for (const NodeStatistics &node : statistics.nodes)
    counts += node.actions;
  counts += statistics.unassigned.actions;
  dynamic = prices.energyOf(counts);
  seconds = static_cast<double>(statistics.totalCycles) /
            static_cast<double>(statistics.machine.clockHz);
  // Millionths of a mW per mm2 times um2.
  if (table.leakage)
    leakageWatts =
        table.leakage->value * 1e-9 * energy::toDouble(area.total()) * 1e-6;
}

double RunEnergy::dynamicJoules() const {
  return energy::toDouble(dynamic.total()) * 1e-12;
}

double RunEnergy::joules() const {
  return dynamicJoules() + leakageWatts.value_or(0) * seconds;
}

double RunEnergy::averageWatts() const {
  return seconds > 0 ? joules() / seconds : 0;
}

double RunEnergy::percentOf(const NodeStatistics &node) const {
  const double whole = energy::toDouble(dynamic.total());
  return whole > 0
             ? 100 * energy::toDouble(prices.energyOf(node.actions).total()) /
                   whole
             : 0;
}

double RunEnergy::topsPerWatt(uint64_t macs) const {
  return joules() > 0 ? 2 * static_cast<double>(macs) / joules() * 1e-12 : 0;
}

//===- Text ---------------------------------------------------------------===//

/// "3.21 mJ" for 0.00321 and "J".
static std::string engineering(double value, const char *unit) {
  static constexpr const char *prefixes[] = {"", "m", "u", "n", "p", "f", "a"};
  size_t prefix = 0;
  while (value != 0 && value < 0.9995 && prefix + 1 < std::size(prefixes)) {
    value *= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g} {}{}", value, prefixes[prefix], unit);
}

/// The components that take most: "dram 55 %, sb 20 %".
static std::string shares(const energy::Amounts &amounts) {
  std::vector<unsigned> order;
  for (unsigned c = 0; c < energy::numComponents; ++c)
    if (amounts.of[c] != 0)
      order.push_back(c);
  std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return amounts.of[a] != amounts.of[b] ? amounts.of[a] > amounts.of[b]
                                          : a < b;
  });
  const double total = energy::toDouble(amounts.total());
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(order.size(), 5); ++i)
    text += fmt::format(
        "{}{} {:.0f} %", i ? ", " : "",
        energy::name(static_cast<energy::Component>(order[i])).str(),
        100 * energy::toDouble(amounts.of[order[i]]) / total);
  return text;
}

std::string report::energyLines(const RunStatistics &statistics,
                                const RunEnergy &energy) {
  const auto [low, high] = energy.prices.boundsOf(energy.counts);
  const std::string name = statistics.energyTable->name.substr(0, 12);
  std::string text = fmt::format(
      "energy {} ({} to {}, table {}): {}\n",
      engineering(energy.dynamicJoules(), "J"), engineering(low * 1e-12, "J"),
      engineering(high * 1e-12, "J"), name, shares(energy.dynamic));
  std::string line;
  if (energy.leakageWatts)
    line = fmt::format("leakage {}; with it ",
                       engineering(*energy.leakageWatts * energy.seconds, "J"));
  line += fmt::format("{}, EDP {}, {:.3g} TOPS/W; area {:.3g} mm2",
                      engineering(energy.averageWatts(), "W"),
                      engineering(energy.delayProduct(), "J s"),
                      energy.topsPerWatt(totalsOf(statistics).macs),
                      energy::toDouble(energy.area.total()) * 1e-6);
  const std::vector<energy::Action> missing =
      energy.prices.unpriced(energy.counts);
  if (!missing.empty())
    line += fmt::format("; {} kinds of actions have no price", missing.size());
  return text + line + "\n";
}
