// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Energy per action and area per part, each line with unit, technology node,
// uncertainty and source. docs/Energy.md explains the format.

#ifndef ASHLAR_ENERGY_TABLE_H
#define ASHLAR_ENERGY_TABLE_H

#include "ashlar/Energy/Actions.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace ashlar::energy {

/// A published number.
struct Entry {
  double size = 0; ///< Bytes of a memory, bits of an operand; 0: any.
  /// Millionths of a pJ per action, of a um2 per part, of a mW per mm2.
  double value = 0;
  double uncertainty = 1; ///< The truth is within this factor up and down.
  uint64_t nodeNm = 0;    ///< Technology node, nm.
  std::string source;     ///< Citation.
  std::string note;       ///< What was assumed; may be empty.
};

/// How a cost follows from a size.
enum class Scaling : uint8_t {
  None,
  Root,   ///< Bytes of a memory: lines grow with their square root.
  Square, ///< Bits of a multiplier: cells grow with their square.
};

/// Published numbers of one kind at several sizes, ascending.
struct Curve {
  Scaling scaling = Scaling::None;
  std::vector<Entry> entries;

  bool empty() const { return entries.empty(); }
  /// The value at \p size: a straight line over the scaled size between two
  /// entries, proportional to the scaled size outside. Only additions,
  /// multiplications, divisions and square roots: the same bits everywhere.
  double at(double size) const;
  /// The entry that counts most at \p size, for citation; never of an empty
  /// curve.
  const Entry &nearest(double size) const;
  /// Largest uncertainty of the entries that at() uses.
  double uncertaintyAt(double size) const;

private:
  double scaled(double size) const;
  /// The entries around \p size; the same twice outside.
  std::pair<size_t, size_t> around(double size) const;
};

/// A table. What it omits has no price, and reports say so.
struct Table {
  std::string name, description;
  uint64_t nodeNm = 0;
  std::array<Curve, numActions> actions;
  std::array<Curve, numComponents> areas; ///< Per part, partName().
  /// What memories without lines of their own cost: per byte.
  Curve sramRead, sramWrite, sramArea;
  std::optional<Entry> leakage; ///< mW per mm2 of area.
};

/// What a component's area is counted in: "byte", "multiplier", "lane",
/// "register", "queue"; empty for components without area on the chip.
llvm::StringRef partName(Component component);
/// Whether a component is a memory whose lines default to those of `sram`.
bool isMemory(Component component);
/// How the price of an action follows from the machine's sizes.
Scaling scalingOf(Action action);

/// Parses a table. Malformed errors "\p name:LINE: ..." name the field and what
/// was expected. A table without a name has the stem of the path \p name.
llvm::Expected<Table> parseTable(llvm::StringRef text, llvm::StringRef name);

/// The table that reports use unless told otherwise.
inline constexpr llvm::StringLiteral defaultTable = "n7";

/// Names of the tables that ship.
llvm::ArrayRef<llvm::StringRef> builtinTables();

/// A table that ships by name, or a file by path. A name that is neither is a
/// Usage error that lists those that ship.
llvm::Expected<Table> loadTable(llvm::StringRef nameOrPath);

} // namespace ashlar::energy

#endif // ASHLAR_ENERGY_TABLE_H
