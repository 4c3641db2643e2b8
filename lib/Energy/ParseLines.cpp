// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lines of a table follow from the actions and the components.

#include "ParseLines.h"

#include "llvm/ADT/STLExtras.h"

using namespace ashlar::energy;

namespace {

constexpr llvm::StringLiteral sram = "sram";

/// A prefix of a unit and what it is in the unit of Entry::value.
struct Prefix {
  llvm::StringLiteral text;
  double factor;
};
constexpr Prefix energies[] = {{"fJ", 1e3}, {"pJ", 1e6}, {"nJ", 1e9}};
constexpr Prefix areas[] = {{"um2", 1e6}, {"mm2", 1e12}};
constexpr Prefix powers[] = {{"mW", 1e6}, {"W", 1e9}};

/// What stands below the line of a unit, as a multiple of it.
constexpr Prefix bytes[] = {
    {"byte", 1}, {"bit", 8}, {"64bit", 0.125}, {"MiB", 1.0 / (1 << 20)}};
constexpr Prefix operations[] = {{"op", 1}};
constexpr Prefix squares[] = {{"mm2", 1}};

llvm::ArrayRef<Prefix> numerators(LineKind::Quantity quantity) {
  switch (quantity) {
  case LineKind::Area:
    return areas;
  case LineKind::Leakage:
    return powers;
  default:
    return energies;
  }
}

std::vector<Prefix> denominators(const LineKind &kind) {
  switch (kind.quantity) {
  case LineKind::EnergyOfByte:
    return {bytes[0], bytes[1], bytes[2]};
  case LineKind::EnergyOfOperation:
    return {operations[0]};
  case LineKind::Leakage:
    return {squares[0]};
  case LineKind::Area:
    break;
  }
  if (kind.part == "byte")
    return {bytes[0], bytes[1], bytes[3]};
  return {};
}

Curve *findAction(Table &table, unsigned index) {
  return &table.actions[index];
}
Curve *findArea(Table &table, unsigned index) { return &table.areas[index]; }
Curve *findSram(Table &table, unsigned index) {
  Curve *curves[] = {&table.sramRead, &table.sramWrite, &table.sramArea};
  return curves[index];
}

LineKind actionLine(Action action) {
  return {name(info(action).component).str(),
          info(action).name.str(),
          info(action).unit == ActionUnit::Byte ? LineKind::EnergyOfByte
                                                : LineKind::EnergyOfOperation,
          scalingOf(action),
          "",
          findAction,
          static_cast<unsigned>(action)};
}

LineKind areaLine(Component component) {
  const bool multiplies =
      component == Component::Pe || component == Component::Tcu;
  return {name(component).str(),
          "area",
          LineKind::Area,
          multiplies ? Scaling::Square : Scaling::None,
          partName(component),
          findArea,
          static_cast<unsigned>(component)};
}

/// All lines, section by section.
std::vector<LineKind> makeLines() {
  std::vector<LineKind> lines = {
      {sram.str(), "read", LineKind::EnergyOfByte, Scaling::Root, "", findSram,
       0},
      {sram.str(), "write", LineKind::EnergyOfByte, Scaling::Root, "", findSram,
       1},
      {sram.str(), "area", LineKind::Area, Scaling::None, "byte", findSram, 2}};
  for (unsigned c = 0; c < numComponents; ++c) {
    const auto component = static_cast<Component>(c);
    for (unsigned a = 0; a < numActions; ++a)
      if (info(static_cast<Action>(a)).component == component)
        lines.push_back(actionLine(static_cast<Action>(a)));
    if (!partName(component).empty())
      lines.push_back(areaLine(component));
  }
  return lines;
}

const std::vector<LineKind> &allLines() {
  static const std::vector<LineKind> lines = makeLines();
  return lines;
}

} // namespace

LineKind LineKind::leakage() {
  LineKind kind;
  kind.key = "leakage";
  kind.quantity = Leakage;
  return kind;
}

llvm::StringRef LineKind::size() const {
  switch (scaling) {
  case Scaling::None:
    break;
  case Scaling::Root:
    return "bytes";
  case Scaling::Square:
    return "bits";
  }
  return "";
}

std::string LineKind::units() const {
  std::string text;
  for (const Prefix &above : numerators(quantity)) {
    auto add = [&](llvm::StringRef below) {
      text += (text.empty() ? "" : ", ") + above.text.str() + "/" + below.str();
    };
    for (const Prefix &below : denominators(*this))
      add(below.text);
    if (quantity == Area && part != "byte")
      add(part);
  }
  return text;
}

std::optional<double> LineKind::factor(llvm::StringRef unit) const {
  const auto [above, below] = unit.split('/');
  const Prefix *numerator = llvm::find_if(
      numerators(quantity), [&](const Prefix &p) { return p.text == above; });
  if (numerator == numerators(quantity).end())
    return std::nullopt;
  if (quantity == Area && part != "byte")
    return below == part ? std::optional(numerator->factor) : std::nullopt;
  for (const Prefix &entry : denominators(*this))
    if (entry.text == below)
      return numerator->factor * entry.factor;
  return std::nullopt;
}

bool ashlar::energy::isSection(llvm::StringRef name) {
  return llvm::any_of(
      allLines(), [&](const LineKind &line) { return line.section == name; });
}

std::string ashlar::energy::sectionNames() {
  std::string text;
  llvm::StringRef last;
  for (const LineKind &line : allLines()) {
    if (line.section == last)
      continue;
    text += (text.empty() ? "" : ", ") + line.section;
    last = line.section;
  }
  return text;
}

std::optional<LineKind> ashlar::energy::findLine(llvm::StringRef section,
                                                 llvm::StringRef key) {
  for (const LineKind &line : allLines())
    if (line.section == section && line.key == key)
      return line;
  return std::nullopt;
}

std::string ashlar::energy::linesOf(llvm::StringRef section) {
  std::string text;
  for (const LineKind &line : allLines())
    if (line.section == section)
      text += (text.empty() ? "" : ", ") + line.key;
  return text;
}

void ashlar::energy::forEachCurve(Table &table,
                                  llvm::function_ref<void(Curve &)> visit) {
  for (Curve &curve : table.actions)
    visit(curve);
  for (Curve &curve : table.areas)
    visit(curve);
  for (Curve *curve : {&table.sramRead, &table.sramWrite, &table.sramArea})
    visit(*curve);
}
