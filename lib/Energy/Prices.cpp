// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices from the sizes of a machine.

#include "ashlar/Energy/Prices.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::energy;

//===- Amounts ------------------------------------------------------------===//

static constexpr uint64_t million = 1000000;

std::string energy::decimalText(Millionths amount) {
  std::string whole;
  for (Millionths rest = amount / million; rest != 0 || whole.empty();
       rest /= 10)
    whole.insert(whole.begin(),
                 static_cast<char>('0' + static_cast<int>(rest % 10)));
  const auto part = static_cast<uint64_t>(amount % million);
  if (part == 0)
    return whole;
  std::string digits = fmt::format("{:06}", part);
  digits.erase(digits.find_last_not_of('0') + 1);
  return whole + "." + digits;
}

double energy::toDouble(Millionths amount) {
  return static_cast<double>(amount) / static_cast<double>(million);
}

Millionths Amounts::total() const {
  Millionths sum = 0;
  for (Millionths amount : of)
    sum += amount;
  return sum;
}

Amounts &Amounts::operator+=(const Amounts &other) {
  for (unsigned c = 0; c < numComponents; ++c)
    of[c] += other.of[c];
  return *this;
}

//===- Sizes --------------------------------------------------------------===//

uint64_t energy::memoryBytes(const machine::Description &m,
                             Component component) {
  switch (component) {
  // A partition is a memory of its own, whatever its banks.
  case Component::Sb:
  case Component::Xm:
    return m.sb.bytesPerPartition;
  case Component::Psum:
    return m.psum.entries() * 8; // Of a column.
  case Component::Fmu:
    return m.sparse.fmuBytes; // A set of a unit.
  case Component::Wm:
    return (m.sparse.wmBytes + m.sparse.wmBanks - 1) / m.sparse.wmBanks;
  case Component::Acc: // A lane adds into entries of its own.
    return std::max<uint64_t>(m.sparse.accumulatorEntries / m.sparse.lanes, 1) *
           8;
  case Component::Counters:
    return m.sparse.countEntries * 4;
  default:
    return 0;
  }
}

/// Bits of a cell that N:M weights add: its place in either set, and the
/// multiplexers of two digits that make one of M.
static uint64_t patternBits(const machine::PeArray &pe) {
  return pe.hasPattern() ? (pe.shadowSet ? 2 : 1) * pe.patternPlaceBits() +
                               (pe.patternGroup - 1) * pe.cellDigitBits
                         : 0;
}

uint64_t energy::partsOf(const machine::Description &m, Component component) {
  constexpr uint64_t queues = 10, sumBits = 64;
  const bool pools = m.sparse.exists() && m.act.poolColumns > 0;
  switch (component) {
  case Component::Dram:
  case Component::Host: // Beside the chip.
    return 0;
  case Component::Dma:
    return m.dma.queues;
  case Component::Sb:
    return m.sb.bytes();
  case Component::Xm:
    return m.xmBytes();
  case Component::Pe:
    return m.pe.rows * m.pe.columns;
  case Component::Psum:
    // The lines of pools in drains are memories like it.
    return m.pe.columns * m.psum.entries() * 8 +
           (pools ? m.act.lanes * m.act.poolColumns * 4 : 0);
  case Component::Act:
    // The epilogue of vec.drain has the stages of a drain. Four comparators of
    // 32 bits take a sixteenth of a lane's adder and multiplier.
    return m.act.lanes + m.vec.psumLanes +
           (pools ? (m.act.lanes + 15) / 16 : 0);
  case Component::Vec:
    return m.vec.lanes;
  case Component::Fmu:
    return m.sparse.tcus * m.sparse.fmuSets * m.sparse.fmuBytes;
  case Component::Wm:
    return m.sparse.tcus ? m.sparse.wmBytes : 0;
  case Component::Tcu:
    return m.sparse.multipliers();
  case Component::Acc:
    return m.sparse.tcus * m.sparse.accumulatorEntries * 8;
  case Component::Counters:
    return m.sparse.tcus ? m.sparse.countEntries * 4 : 0;
  case Component::Xr:
    return m.xr.registers;
  case Component::Sr:
    return m.sr.registers;
  case Component::Fetch:
    return m.fetch.bytesPerCycle ? queues * m.fetch.bufferBytes : 0;
  case Component::Pattern:
    return m.pe.rows * m.pe.columns * patternBits(m.pe);
  case Component::Narrow:
    return m.pe.narrowBits ? m.pe.rows * m.pe.columns * sumBits : 0;
  }
  return 0;
}

//===- Prices -------------------------------------------------------------===//

static std::optional<Price> priceAt(const Curve &curve, double size) {
  if (curve.empty())
    return std::nullopt;
  const Entry &entry = curve.nearest(size);
  Price price;
  // Halves go up.
  price.millionths = static_cast<uint64_t>(std::floor(curve.at(size) + 0.5));
  price.size = curve.scaling == Scaling::None ? 0 : size;
  price.uncertainty = curve.uncertaintyAt(size);
  price.nodeNm = entry.nodeNm;
  price.source = entry.source;
  price.note = entry.note;
  return price;
}

Prices::Prices(const Table &table, const machine::Description &machine)
    : machine(machine) {
  const auto digit = static_cast<double>(machine.pe.cellDigitBits);
  for (unsigned a = 0; a < numActions; ++a) {
    const auto action = static_cast<Action>(a);
    const ActionInfo &kind = info(action);
    const auto bytes =
        static_cast<double>(memoryBytes(machine, kind.component));
    const Scaling scaling = scalingOf(action);
    const double size = scaling == Scaling::Square ? digit
                        : scaling == Scaling::Root ? bytes
                                                   : 0;
    actions[a] = priceAt(table.actions[a], size);
    if (!actions[a] && scaling == Scaling::Root)
      actions[a] = priceAt(
          kind.name == "write" ? table.sramWrite : table.sramRead, size);
  }
  for (unsigned c = 0; c < numComponents; ++c) {
    const auto component = static_cast<Component>(c);
    const Curve &own = table.areas[c];
    const Curve &curve =
        own.empty() && isMemory(component) ? table.sramArea : own;
    areas[c] = priceAt(curve, curve.scaling == Scaling::Square ? digit : 0);
  }
}

Amounts Prices::energyOf(const ActionCounts &counts) const {
  Amounts result;
  for (unsigned a = 0; a < numActions; ++a) {
    const auto action = static_cast<Action>(a);
    if (actions[a])
      result.of[static_cast<unsigned>(info(action).component)] +=
          static_cast<Millionths>(counts.of(action)) * actions[a]->millionths;
  }
  return result;
}

std::vector<Action> Prices::unpriced(const ActionCounts &counts) const {
  std::vector<Action> list;
  for (unsigned a = 0; a < numActions; ++a)
    if (!actions[a] && counts.of(static_cast<Action>(a)) != 0)
      list.push_back(static_cast<Action>(a));
  return list;
}

std::pair<double, double> Prices::boundsOf(const ActionCounts &counts) const {
  double low = 0, high = 0;
  for (unsigned a = 0; a < numActions; ++a) {
    if (!actions[a])
      continue;
    const double energy =
        toDouble(static_cast<Millionths>(counts.of(static_cast<Action>(a))) *
                 actions[a]->millionths);
    low += energy / actions[a]->uncertainty;
    high += energy * actions[a]->uncertainty;
  }
  return {low, high};
}

Amounts Prices::area() const {
  Amounts result;
  for (unsigned c = 0; c < numComponents; ++c)
    if (areas[c])
      result.of[c] =
          static_cast<Millionths>(partsOf(machine, static_cast<Component>(c))) *
          areas[c]->millionths;
  return result;
}

std::vector<Component> Prices::withoutArea() const {
  std::vector<Component> list;
  for (unsigned c = 0; c < numComponents; ++c)
    if (!areas[c] && partsOf(machine, static_cast<Component>(c)) != 0)
      list.push_back(static_cast<Component>(c));
  return list;
}
