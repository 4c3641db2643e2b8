// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table applied to a machine: what each action costs there, and how large its
// parts are. Amounts are integers of millionths, so that sums are exact.

#ifndef ASHLAR_ENERGY_PRICES_H
#define ASHLAR_ENERGY_PRICES_H

#include "ashlar/Energy/Table.h"
#include "ashlar/Machine/Description.h"

namespace ashlar::energy {

/// Millionths of a pJ (attojoules) or of a um2. Enough for any count times any
/// price.
using Millionths = unsigned __int128;

/// "12.345678"; no more digits than needed.
std::string decimalText(Millionths amount);
/// In whole pJ or um2, rounded to binary64.
double toDouble(Millionths amount);

/// The cost of an action, or the area of a part.
struct Price {
  uint64_t millionths = 0; ///< Of a pJ, or of a um2.
  double size = 0;         ///< Bytes or bits that it holds for; 0: any.
  double uncertainty = 1;
  uint64_t nodeNm = 0;
  std::string source, note;
};

/// Sums by component.
struct Amounts {
  std::array<Millionths, numComponents> of = {};

  Millionths total() const;
  Amounts &operator+=(const Amounts &other);
};

class Prices {
public:
  Prices(const Table &table, const machine::Description &machine);

  const std::optional<Price> &of(Action action) const {
    return actions[static_cast<unsigned>(action)];
  }
  const std::optional<Price> &areaOf(Component component) const {
    return areas[static_cast<unsigned>(component)];
  }

  /// Energy of actions; those without a price cost nothing here.
  Amounts energyOf(const ActionCounts &counts) const;
  /// Actions among \p counts without a price.
  std::vector<Action> unpriced(const ActionCounts &counts) const;
  /// The energy in pJ if every line is off by its uncertainty, down and up.
  std::pair<double, double> boundsOf(const ActionCounts &counts) const;

  /// Area of the machine by component.
  Amounts area() const;
  /// Components with parts of no known area.
  std::vector<Component> withoutArea() const;

private:
  const machine::Description machine;
  std::array<std::optional<Price>, numActions> actions;
  std::array<std::optional<Price>, numComponents> areas;
};

/// What each access of a memory reaches: the bytes of one SRAM; 0 for
/// components that are no memories.
uint64_t memoryBytes(const machine::Description &machine, Component component);

/// Parts of a component, counted in partName().
uint64_t partsOf(const machine::Description &machine, Component component);

} // namespace ashlar::energy

#endif // ASHLAR_ENERGY_PRICES_H
