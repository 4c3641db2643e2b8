// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which lines a table may have: sections, keys, units, sizes.

#ifndef ASHLAR_LIB_ENERGY_PARSELINES_H
#define ASHLAR_LIB_ENERGY_PARSELINES_H

#include "ashlar/Energy/Table.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ashlar::energy {

/// Largest Entry::value: 1e9 pJ, um2 or mW. Prices fit 64 bits, prices times
/// counts 128.
inline constexpr double maxValue = 1e15;

/// A line before its unit is known.
struct RawEntry {
  std::optional<double> value, size, uncertainty;
  std::optional<std::string> unit;
  std::optional<uint64_t> nodeNm;
  unsigned unitLine = 0;
  std::string source, note;
};

/// A key of a section.
struct LineKind {
  enum Quantity : uint8_t { EnergyOfByte, EnergyOfOperation, Area, Leakage };

  std::string section, key;
  Quantity quantity;
  Scaling scaling = Scaling::None;
  llvm::StringRef part = {}; ///< Of an area.
  Curve *(*find)(Table &, unsigned) = nullptr;
  unsigned index = 0; ///< Of the action or component.

  static LineKind leakage();
  std::string path() const { return section + "." + key; }
  Curve &target(Table &table) const { return *find(table, index); }
  /// The field that has the size: "bytes", "bits" or none.
  llvm::StringRef size() const;
  /// The units that are understood, as text.
  std::string units() const;
  /// From \p unit to the unit of Entry::value.
  std::optional<double> factor(llvm::StringRef unit) const;
};

bool isSection(llvm::StringRef name);
std::string sectionNames();
std::optional<LineKind> findLine(llvm::StringRef section, llvm::StringRef key);
/// The keys of a section, as text.
std::string linesOf(llvm::StringRef section);

void forEachCurve(Table &table, llvm::function_ref<void(Curve &)> visit);

} // namespace ashlar::energy

#endif // ASHLAR_LIB_ENERGY_PARSELINES_H
