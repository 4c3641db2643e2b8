// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One screen for a terminal: the run, its engines, its dearest nodes.

#include "ashlar/Report/Report.h"

#include <algorithm>
#include <fmt/format.h>

using namespace ashlar::report;

namespace {

constexpr size_t maxNodes = 8;
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
  return text + "\n";
}

std::string totals(const RunStatistics &s) {
  uint64_t macs = 0, peBusy = 0, read = 0, written = 0, copied = 0;
  for (const NodeStatistics &node : s.nodes) {
    macs += node.macs;
    peBusy += node.peBusy;
    read += node.dramRead;
    written += node.dramWrite;
  }
  for (const EngineStatistics &engine : s.engines)
    copied += engine.copied;
  return fmt::format(
      "{} MACs, PE utilisation {:.1f} %; {} saturated, {} "
      "underflowed\nDRAM: {} read, {} written, busy {:.0f} %; copied "
      "inside the chip: {}\n",
      grouped(macs), 100 * utilisation(s.machine, macs, peBusy),
      grouped(s.saturated), grouped(s.underflow), bytes(read), bytes(written),
      percent(s.dramBusy, s.totalCycles), bytes(copied));
}

std::string engineTable(const RunStatistics &s) {
  std::string text =
      fmt::format("{:<8} {:>12} {:>6}  {}\n", "engine", "busy", "", "stalls");
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
    text += fmt::format("{:<8} {:>12} {:>4.0f} %  {}\n", cell(engine.name, 8),
                        grouped(engine.busy),
                        percent(engine.busy, s.totalCycles), cell(causes, 66));
  }
  return text;
}

std::string nodeTable(const RunStatistics &s) {
  std::vector<const NodeStatistics *> nodes;
  for (const NodeStatistics &node : s.nodes)
    if (node.cycles != 0)
      nodes.push_back(&node);
  std::sort(nodes.begin(), nodes.end(), [](auto *a, auto *b) {
    return a->cycles != b->cycles ? a->cycles > b->cycles : a < b;
  });
  std::string text = fmt::format("{:<34} {:<14} {:<7} {:>12} {:>6} {:>7}\n",
                                 "node", "op", "engine", "cycles", "", "util");
  for (size_t i = 0; i < std::min(nodes.size(), maxNodes); ++i) {
    const NodeStatistics &node = *nodes[i];
    // The array's share says nothing of work that other engines do.
    std::string util =
        node.peBusy == 0
            ? "-"
            : fmt::format("{:.1f} %",
                          100 * utilisation(s.machine, node.macs, node.peBusy));
    text += fmt::format("{:<34} {:<14} {:<7} {:>12} {:>4.0f} % {:>7}\n",
                        cell(node.name, 34), cell(node.opType, 14),
                        cell(node.engine, 7), grouped(node.cycles),
                        percent(node.cycles, s.totalCycles), util);
  }
  if (nodes.size() > maxNodes) {
    uint64_t rest = 0;
    for (size_t i = maxNodes; i < nodes.size(); ++i)
      rest += nodes[i]->cycles;
    text += fmt::format("{:<57} {:>12} {:>4.0f} %\n",
                        fmt::format("{} more", nodes.size() - maxNodes),
                        grouped(rest), percent(rest, s.totalCycles));
  }
  return text;
}

} // namespace

std::string ashlar::report::toSummary(const RunStatistics &statistics) {
  std::string text = headline(statistics);
  if (!statistics.timed)
    return text;
  return text + totals(statistics) + engineTable(statistics) +
         nodeTable(statistics);
}
