// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of a description: each parameter against its limits, then the
// parameters against each other.

#include "Fields.h"
#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <fmt/format.h>
#include <string>
#include <vector>

using namespace ashlar;
using namespace ashlar::machine;

namespace {

/// The parameters that a finding is about.
using Names = std::initializer_list<llvm::StringRef>;

/// Collects findings so that one run of the tool shows them all. The class is
/// Capacity if that is all that is wrong.
class Findings {
public:
  explicit Findings(LineOf lineOf) : lineOf(lineOf) {}

  template <typename... Args>
  void malformed(Names names, fmt::format_string<Args...> format,
                 Args &&...args) {
    onlyCapacity = false;
    add(names, fmt::vformat(format, fmt::make_format_args(args...)));
  }
  template <typename... Args>
  void capacity(Names names, fmt::format_string<Args...> format,
                Args &&...args) {
    add(names, fmt::vformat(format, fmt::make_format_args(args...)));
  }

  bool empty() const { return list.empty(); }

  llvm::Error take(const std::string &machine) const {
    if (list.empty())
      return llvm::Error::success();
    std::string text;
    for (const std::string &finding : list)
      text += (text.empty() ? "" : "; ") + finding;
    return makeError(onlyCapacity ? ErrorClass::Capacity
                                  : ErrorClass::Malformed,
                     "machine '{}': {}", machine, text);
  }

private:
  /// With the lines of those parameters that the description names itself.
  void add(Names names, const std::string &text) {
    std::vector<unsigned> lines;
    for (llvm::StringRef name : names)
      if (std::optional<unsigned> line = lineOf ? lineOf(name) : std::nullopt)
        lines.push_back(*line);
    llvm::sort(lines);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    list.push_back(lines.empty()
                       ? text
                       : fmt::format("{} ({} {})", text,
                                     lines.size() == 1 ? "line" : "lines",
                                     fmt::join(lines, ", ")));
  }

  LineOf lineOf;
  std::vector<std::string> list;
  bool onlyCapacity = true;
};

void checkLimits(const Description &machine, Findings &findings) {
  Description copy = machine;
  for (const Field &field : fields()) {
    const uint64_t value = *field.access(copy);
    if (value >= field.minimum && value <= field.maximum)
      continue;
    const std::string name = *field.section
                                 ? std::string(field.section) + "." + field.key
                                 : std::string(field.key);
    const std::string text =
        fmt::format("{} is {}, expected {} to {} {}", name, value,
                    field.minimum, field.maximum, field.unit);
    if (field.isSize && value > field.maximum)
      findings.capacity({name}, "{}", text);
    else
      findings.malformed({name}, "{}", text);
  }
}

void checkSizes(const Description &m, Findings &findings) {
  constexpr uint64_t maxSb = uint64_t(1) << 30;
  if (m.sb.bytes() > maxSb)
    findings.capacity({"sb.partitions", "sb.bytes_per_partition"},
                      "sb.partitions * sb.bytes_per_partition is {} bytes, "
                      "expected at most {}",
                      m.sb.bytes(), maxSb);
  constexpr uint64_t maxEntries = uint64_t(1) << 20;
  if (m.psum.entries() > maxEntries)
    findings.capacity({"psum.banks", "psum.entries_per_bank"},
                      "psum.banks * psum.entries_per_bank is {} entries per "
                      "column, expected at most {}",
                      m.psum.entries(), maxEntries);
  constexpr uint64_t maxPsum = uint64_t(1) << 30;
  const uint64_t psumBytes = m.psum.entries() * m.pe.columns * 8;
  if (psumBytes > maxPsum)
    findings.capacity({"psum.banks", "psum.entries_per_bank", "pe.columns"},
                      "the accumulators (psum.banks * psum.entries_per_bank * "
                      "pe.columns * 8) take {} bytes, expected at most {}",
                      psumBytes, maxPsum);
  constexpr uint64_t maxSparse = uint64_t(1) << 30;
  const uint64_t sparseBytes =
      m.sparse.tcus *
      (m.sparse.fmuBytes * m.sparse.fmuSets + m.sparse.accumulatorEntries * 8);
  if (sparseBytes > maxSparse)
    findings.capacity({"sparse.tcus", "sparse.fmu_bytes", "sparse.fmu_sets",
                       "sparse.accumulator_entries"},
                      "the sparse cluster's memories (sparse.tcus * (fmu_bytes "
                      "* fmu_sets + accumulator_entries * 8)) take {} bytes, "
                      "expected at most {}",
                      sparseBytes, maxSparse);
}

void checkRelations(const Description &m, Findings &findings) {
  if (!std::has_single_bit(m.dram.burstBytes))
    findings.malformed({"dram.burst_bytes"},
                       "dram.burst_bytes is {}, expected a power of two",
                       m.dram.burstBytes);
  if (!std::has_single_bit(m.xmGroup))
    findings.malformed({"xm_group"}, "xm_group is {}, expected a power of two",
                       m.xmGroup);
  if (m.sb.partitions % m.xmGroup != 0)
    findings.malformed({"sb.partitions", "xm_group"},
                       "sb.partitions is {}, expected a multiple of xm_group "
                       "{}",
                       m.sb.partitions, m.xmGroup);
  if (m.sb.bytesPerPartition % 64 != 0)
    findings.malformed({"sb.bytes_per_partition"},
                       "sb.bytes_per_partition is {}, expected a multiple of "
                       "64",
                       m.sb.bytesPerPartition);
  if (m.pe.rows > m.sb.partitions)
    findings.malformed({"pe.rows", "sb.partitions"},
                       "pe.rows is {}, expected at most sb.partitions {} "
                       "(row i reads partition i)",
                       m.pe.rows, m.sb.partitions);
  if (m.pe.columns > m.sb.partitions)
    findings.malformed({"pe.columns", "sb.partitions"},
                       "pe.columns is {}, expected at most sb.partitions {} "
                       "(column c drains to partition c)",
                       m.pe.columns, m.sb.partitions);
  if (m.pe.rows % m.pe.rowGroupGranularity != 0)
    findings.malformed({"pe.rows", "pe.row_group_granularity"},
                       "pe.rows is {}, expected a multiple of "
                       "pe.row_group_granularity {}",
                       m.pe.rows, m.pe.rowGroupGranularity);
}

/// N:M weights fill whole words of indices, and their positions are row groups
/// of the array.
void checkPattern(const PeArray &pe, Findings &findings) {
  if (!pe.hasPattern())
    return;
  if (pe.patternGroup < 2 || !std::has_single_bit(pe.patternGroup))
    findings.malformed({"pe.pattern_group"},
                       "pe.pattern_group is {}, expected 0 or a power of two "
                       "from 2 on",
                       pe.patternGroup);
  else if (pe.patternKept >= pe.patternGroup ||
           pe.patternGroup % pe.patternKept != 0)
    findings.malformed({"pe.pattern_kept", "pe.pattern_group"},
                       "pe.pattern_kept is {}, expected a smaller divisor of "
                       "pe.pattern_group {}",
                       pe.patternKept, pe.patternGroup);
  else if (pe.rows % pe.patternGroup != 0)
    findings.malformed({"pe.rows", "pe.pattern_group"},
                       "pe.rows is {}, expected a multiple of "
                       "pe.pattern_group {}",
                       pe.rows, pe.patternGroup);
}

/// Two narrow magnitudes share a digit of the multiplier.
void checkNarrow(const PeArray &pe, Findings &findings) {
  if (pe.narrowBits == 0)
    return;
  const uint64_t most = pe.cellDigitBits / 2 + 1;
  if (pe.narrowBits < 3)
    findings.malformed({"pe.narrow_bits"},
                       "pe.narrow_bits is {}, expected 0 or at least 3, the "
                       "bits of the narrowest mantissa",
                       pe.narrowBits);
  else if (pe.narrowBits > most)
    findings.malformed({"pe.narrow_bits", "pe.cell_digit_bits"},
                       "pe.narrow_bits is {}, expected at most {} (two "
                       "magnitudes of one bit less share a digit of "
                       "pe.cell_digit_bits {})",
                       pe.narrowBits, most, pe.cellDigitBits);
}

void checkCluster(const Sparse &sparse, Findings &findings) {
  if (sparse.wmBytes % sparse.wmBanks != 0)
    findings.malformed({"sparse.wm_bytes", "sparse.wm_banks"},
                       "sparse.wm_bytes is {}, expected a multiple of "
                       "sparse.wm_banks {}",
                       sparse.wmBytes, sparse.wmBanks);
  if (sparse.narrowTcus > sparse.tcus)
    findings.malformed({"sparse.narrow_tcus", "sparse.tcus"},
                       "sparse.narrow_tcus is {}, expected at most sparse.tcus "
                       "{} (narrow units are some of all units)",
                       sparse.narrowTcus, sparse.tcus);
  if (sparse.narrowTcus > 0 && sparse.narrowLanes > sparse.lanes)
    findings.malformed({"sparse.narrow_lanes", "sparse.lanes"},
                       "sparse.narrow_lanes is {}, expected at most "
                       "sparse.lanes {}",
                       sparse.narrowLanes, sparse.lanes);
  if (sparse.accumulatorBanks > 0 &&
      !std::has_single_bit(sparse.accumulatorBanks))
    findings.malformed({"sparse.accumulator_banks"},
                       "sparse.accumulator_banks is {}, expected 0 or a power "
                       "of two",
                       sparse.accumulatorBanks);
}

/// Costs of the classes of functions of one engine.
template <typename Engine>
void checkCosts(const std::string &name, const Engine &engine,
                Findings &findings) {
  const uint64_t costs[] = {engine.costCheap, engine.costMedium,
                            engine.costExpensive, engine.costVeryExpensive};
  if (!llvm::is_sorted(costs))
    findings.malformed({name + ".cost_cheap", name + ".cost_medium",
                        name + ".cost_expensive",
                        name + ".cost_very_expensive"},
                       "{} costs are {}, {}, {}, {}, expected cheap <= medium "
                       "<= expensive <= very_expensive",
                       name, costs[0], costs[1], costs[2], costs[3]);
}

void checkDram(const Dram &dram, Findings &findings) {
  if (dram.kind() != DramModel::Banked)
    return;
  if (!std::has_single_bit(dram.rowBytes))
    findings.malformed({"dram.row_bytes"},
                       "dram.row_bytes is {}, expected a power of two",
                       dram.rowBytes);
  if (dram.rowBytes < dram.burstBytes)
    findings.malformed({"dram.row_bytes", "dram.burst_bytes"},
                       "dram.row_bytes is {}, expected at least "
                       "dram.burst_bytes {}",
                       dram.rowBytes, dram.burstBytes);
  const uint64_t prepare =
      dram.prechargeCycles + dram.activateCycles + dram.columnCycles;
  if (dram.latency < prepare)
    findings.malformed({"dram.latency", "dram.precharge_cycles",
                        "dram.activate_cycles", "dram.column_cycles"},
                       "dram.latency is {}, expected at least the {} of "
                       "precharge_cycles, activate_cycles and column_cycles, "
                       "which pass before a first byte",
                       dram.latency, prepare);
  // Between two refreshes there is time to open a row and for a burst, else
  // none would ever end.
  const uint64_t least =
      dram.activateCycles + dram.columnCycles +
      (dram.burstBytes + dram.bytesPerCycle - 1) / dram.bytesPerCycle;
  if (dram.refreshInterval && dram.refreshInterval < dram.refreshCycles + least)
    findings.malformed(
        {"dram.refresh_interval", "dram.refresh_cycles", "dram.activate_cycles",
         "dram.column_cycles"},
        "dram.refresh_interval is {}, expected 0 or at least {}: "
        "refresh_cycles, activate_cycles, column_cycles and a "
        "burst",
        dram.refreshInterval, dram.refreshCycles + least);
}

/// More ports than their memories can have.
void checkPorts(const Description &m, Findings &findings) {
  if (!std::has_single_bit(m.sb.portBytes))
    findings.malformed({"sb.port_bytes"},
                       "sb.port_bytes is {}, expected a power of two",
                       m.sb.portBytes);
  if (m.psum.writePorts > m.psum.entries())
    findings.malformed(
        {"psum.write_ports", "psum.banks", "psum.entries_per_bank"},
        "psum.write_ports is {}, expected at most the entries "
        "of a column (psum.banks * psum.entries_per_bank) {}",
        m.psum.writePorts, m.psum.entries());
}

} // namespace

llvm::Error machine::validateWithLines(const Description &machine,
                                       LineOf lineOf) {
  Findings findings(lineOf);
  const std::string &name = machine.name;
  if (name.empty() || name.size() > 64)
    findings.malformed({"name"}, "name has {} characters, expected 1 to 64",
                       name.size());
  checkLimits(machine, findings);
  checkPattern(machine.pe, findings);
  checkNarrow(machine.pe, findings);
  // Products and relations are meaningful, and free of overflow, only between
  // values that are each within limits.
  if (findings.empty()) {
    checkSizes(machine, findings);
    checkRelations(machine, findings);
    checkCluster(machine.sparse, findings);
    checkDram(machine.dram, findings);
    checkPorts(machine, findings);
    checkCosts("act", machine.act, findings);
    checkCosts("vec", machine.vec, findings);
  }
  return findings.take(name.substr(0, 64));
}

llvm::Error Description::validate() const {
  return validateWithLines(*this, {});
}
