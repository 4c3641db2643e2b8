// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One screen for a terminal: the run, its engines, the nodes that took most of
// it.

#include "ashlar/Report/Report.h"

#include "Energy.h"

#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

using namespace ashlar::report;

namespace {

constexpr size_t maxNodes = 6;
constexpr size_t maxEngines = 9;

double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole)
               : 0.0;
}

/// Digits in groups of three: "1,234,567".
std::string grouped(uint64_t value) {
  const std::string digits = fmt::format("{}", value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0)
      text += ',';
    text += digits[i];
  }
  return text;
}

/// At most nine characters: all digits as long as they fit.
std::string counted(uint64_t value) {
  const std::string text = grouped(value);
  if (text.size() <= 9)
    return text;
  const auto number = static_cast<double>(value);
  return value < 1000000000      ? fmt::format("{:.1f} M", number / 1e6)
         : value < 1000000000000 ? fmt::format("{:.1f} G", number / 1e9)
                                 : fmt::format("{:.2e}", number);
}

std::string bytes(uint64_t count) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(count);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", count)
                   : fmt::format("{:.1f} {}", value, units[unit]);
}

/// \p text cut to \p width; control characters would move the cursor.
std::string cell(std::string text, size_t width) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127)
      c = '?';
  if (text.size() > width)
    text = text.substr(0, width - 2) + "..";
  return text;
}

std::string headline(const RunStatistics &s) {
  std::string text =
      fmt::format("{} on {}", cell(s.model, 50), cell(s.machine.name, 20));
  if (!s.compiledFor.empty())
    text += fmt::format(", compiled for {}", cell(s.compiledFor, 20));
  if (s.timed) {
    const double seconds = static_cast<double>(s.totalCycles) /
                           static_cast<double>(s.machine.clockHz);
    text += fmt::format(": {} cycles ({:.3f} ms at {:.2f} GHz)",
                        grouped(s.totalCycles), seconds * 1e3,
                        static_cast<double>(s.machine.clockHz) * 1e-9);
  }
  text += fmt::format("\nemulated in {:.3f} s, loaded in {:.3f} s",
                      s.wallSeconds, s.loadSeconds);
  if (s.samples != 1)
    text +=
        fmt::format("; {} samples, cycles and times of the first", s.samples);
  text += fmt::format("; {} saturated, {} underflowed\n", grouped(s.saturated),
                      grouped(s.underflow));
  return text;
}

/// What an engine of multipliers did, while it was busy and over the whole run.
std::string multipliers(const RunStatistics &s, const char *name,
                        const char *title) {
  const size_t index = engineIndex(s, name);
  if (index == s.engines.size() || s.engines[index].work == 0)
    return "";
  const EngineStatistics &engine = s.engines[index];
  return fmt::format("; {} utilisation {:.1f} % busy, {:.1f} % end to end",
                     title, 100 * engine.utilisation(),
                     100 * engine.endToEnd(s.totalCycles));
}

/// Of the cycles, those in which the host worked.
std::string hostShare(const RunStatistics &s) {
  const size_t q = engineIndex(s, "host");
  if (q >= s.engines.size() || s.engines[q].instructions == 0)
    return "";
  return fmt::format("; host busy {:.0f} %",
                     percent(s.engines[q].busy, s.totalCycles));
}

std::string totals(const RunStatistics &s) {
  const Totals sums = totalsOf(s);
  const double perCycle = s.totalCycles ? static_cast<double>(sums.macs) /
                                              static_cast<double>(s.totalCycles)
                                        : 0;
  return fmt::format(
      "{} MACs, {:.1f} per cycle{}{}\nDRAM: {} read, {} written, busy {:.0f} "
      "%; copied inside the chip: {}{}\n",
      grouped(sums.macs), perCycle, multipliers(s, "pe", "PE"),
      multipliers(s, "tcc", "TCC"), bytes(sums.dramRead), bytes(sums.dramWrite),
      percent(s.dramBusy, s.totalCycles), bytes(sums.copied), hostShare(s));
}

std::string engineTable(const RunStatistics &s) {
  std::string text = fmt::format("{:<8} {:>12} {:>6} {:>7}  {}\n", "engine",
                                 "busy", "", "util", "stalls");
  size_t shown = 0;
  for (const EngineStatistics &engine : s.engines) {
    if (engine.instructions == 0 || shown++ >= maxEngines)
      continue;
    auto stalls = engine.stalls;
    std::sort(stalls.begin(), stalls.end(), [](const auto &a, const auto &b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    std::string causes;
    for (size_t i = 0; i < std::min<size_t>(stalls.size(), 3); ++i)
      causes += fmt::format("{}{} {:.0f} %", i ? ", " : "", stalls[i].first,
                            percent(stalls[i].second, s.totalCycles));
    text += fmt::format("{:<8} {:>12} {:>4.0f} % {:>5.1f} %  {}\n",
                        cell(engine.name, 8), grouped(engine.busy),
                        percent(engine.busy, s.totalCycles),
                        100 * engine.utilisation(), cell(causes, 66));
  }
  return text;
}

/// True if instructions went to the engine.
bool isUsed(const RunStatistics &s, const char *name) {
  const size_t q = engineIndex(s, name);
  return q < s.engines.size() && s.engines[q].instructions > 0;
}

/// The engines of a line of the node table; copy queues count together. There
/// is room for five: the host takes the place of the cluster, or of ACT.
std::array<const char *, 5> columnsOf(const RunStatistics &s) {
  if (!isUsed(s, "host"))
    return {"pe", "tcc", "act", "vec", "dma"};
  return {"pe", isUsed(s, "tcc") ? "tcc" : "act", "vec", "dma", "host"};
}

/// Busy cycles of the engines whose names begin with \p name.
uint64_t busyOf(const RunStatistics &s, const NodeStatistics &node,
                const std::string &name) {
  uint64_t sum = 0;
  for (size_t q = 0; q < node.busy.size(); ++q)
    if (s.engines[q].name == name ||
        (name == "dma" && s.engines[q].name.rfind(name, 0) == 0))
      sum += node.busy[q];
  return sum;
}

/// Utilisation of the multipliers that worked longest for a node.
std::string utilisationOf(const RunStatistics &s, const NodeStatistics &node) {
  size_t best = s.engines.size();
  for (const char *name : {"pe", "tcc"}) {
    const size_t q = engineIndex(s, name);
    if (q < node.work.size() && node.work[q] != 0 &&
        (best == s.engines.size() || node.busy[q] > node.busy[best]))
      best = q;
  }
  return best == s.engines.size()
             ? "-"
             : fmt::format("{:.1f} %",
                           100 * node.utilisation(best, s.engines[best]));
}

std::string nodeLine(const RunStatistics &s, const NodeStatistics &node,
                     const std::optional<RunEnergy> &energy,
                     const std::string &span, const std::string &util) {
  std::string text =
      fmt::format("{:<20} {:<8} {:>9} {:>3.0f} % {:>9}", cell(node.name, 20),
                  cell(node.opType, 8), counted(node.cycles),
                  percent(node.cycles, s.totalCycles), span);
  for (const char *name : columnsOf(s))
    text += fmt::format(" {:>9}", counted(busyOf(s, node, name)));
  text += fmt::format(" {:>7}", util);
  if (energy)
    text += fmt::format(" {:>4.0f} %", energy->percentOf(node));
  return text + "\n";
}

/// The nodes from \p first on, as one.
NodeStatistics sumOf(llvm::ArrayRef<const NodeStatistics *> nodes) {
  NodeStatistics rest;
  rest.name = fmt::format("{} more", nodes.size());
  for (const NodeStatistics *node : nodes) {
    rest.cycles += node->cycles;
    rest.actions += node->actions;
    rest.busy.resize(std::max(rest.busy.size(), node->busy.size()));
    for (size_t q = 0; q < node->busy.size(); ++q)
      rest.busy[q] += node->busy[q];
  }
  return rest;
}

std::string nodeTable(const RunStatistics &s,
                      const std::optional<RunEnergy> &energy) {
  std::vector<const NodeStatistics *> nodes;
  for (const NodeStatistics &node : s.nodes)
    if (node.cycles != 0 || node.end != 0)
      nodes.push_back(&node);
  std::sort(nodes.begin(), nodes.end(), [](auto *a, auto *b) {
    return a->cycles != b->cycles ? a->cycles > b->cycles : a < b;
  });
  std::string text = fmt::format("{:<20} {:<8} {:>9} {:>5} {:>9}", "node", "op",
                                 "share", "", "span");
  for (const char *name : columnsOf(s))
    text += fmt::format(" {:>9}", name);
  text += fmt::format(" {:>7}{}\n", "util", energy ? " energy" : "");
  const llvm::ArrayRef<const NodeStatistics *> all(nodes);
  for (const NodeStatistics *node : all.take_front(maxNodes))
    text += nodeLine(s, *node, energy, counted(node->end - node->start),
                     utilisationOf(s, *node));
  if (all.size() > maxNodes)
    text += nodeLine(s, sumOf(all.drop_front(maxNodes)), energy, "-", "-");
  return text;
}

} // namespace

std::string ashlar::report::toSummary(const RunStatistics &statistics) {
  std::string text = headline(statistics);
  if (!statistics.timed)
    return text;
  std::optional<RunEnergy> energy;
  if (statistics.energyTable)
    energy.emplace(statistics, *statistics.energyTable);
  text += totals(statistics);
  if (energy)
    text += energyLines(statistics, *energy);
  return text + engineTable(statistics) + nodeTable(statistics, energy);
}
