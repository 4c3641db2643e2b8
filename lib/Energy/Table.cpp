// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values at sizes between published ones, and tables by name.

#include "ashlar/Energy/Table.h"
#include "BuiltinTables.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Nearest.h"

#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <cmath>

using namespace ashlar;
using namespace ashlar::energy;

//===- Curves -------------------------------------------------------------===//

double Curve::scaled(double size) const {
  switch (scaling) {
  case Scaling::None:
    break;
  case Scaling::Root:
    return std::sqrt(size);
  case Scaling::Square:
    return size * size;
  }
  return 1;
}

std::pair<size_t, size_t> Curve::around(double size) const {
  size_t above = 0;
  while (above < entries.size() && entries[above].size <= size)
    ++above;
  if (above == 0)
    return {0, 0};
  return {above - 1, std::min(above, entries.size() - 1)};
}

double Curve::at(double size) const {
  const auto [low, high] = around(size);
  const Entry &below = entries[low];
  if (below.size == 0)
    return below.value;
  const double x = scaled(size), x0 = scaled(below.size);
  if (low == high)
    return below.value * (x / x0);
  const double x1 = scaled(entries[high].size);
  return below.value +
         (entries[high].value - below.value) * ((x - x0) / (x1 - x0));
}

const Entry &Curve::nearest(double size) const {
  const auto [low, high] = around(size);
  const double x = scaled(size);
  return x - scaled(entries[low].size) <= scaled(entries[high].size) - x
             ? entries[low]
             : entries[high];
}

double Curve::uncertaintyAt(double size) const {
  const auto [low, high] = around(size);
  return std::max(entries[low].uncertainty, entries[high].uncertainty);
}

//===- Components ---------------------------------------------------------===//

llvm::StringRef energy::partName(Component component) {
  switch (component) {
  case Component::Dram:
  case Component::Host:
    return "";
  case Component::Dma:
    return "queue";
  case Component::Pattern:
  case Component::Narrow:
    return "bit";
  case Component::Pe:
  case Component::Tcu:
    return "multiplier";
  case Component::Act:
  case Component::Vec:
    return "lane";
  case Component::Xr:
  case Component::Sr:
    return "register";
  default:
    return "byte";
  }
}

bool energy::isMemory(Component component) {
  switch (component) {
  case Component::Sb:
  case Component::Xm:
  case Component::Psum:
  case Component::Fmu:
  case Component::Wm:
  case Component::Acc:
  case Component::Counters:
    return true;
  default:
    return false;
  }
}

Scaling energy::scalingOf(Action action) {
  if (action == Action::PeMultiply || action == Action::TcuMultiply)
    return Scaling::Square;
  return isMemory(info(action).component) &&
                 info(action).unit == ActionUnit::Byte
             ? Scaling::Root
             : Scaling::None;
}

//===- By name ------------------------------------------------------------===//

llvm::ArrayRef<llvm::StringRef> energy::builtinTables() {
  static const std::vector<llvm::StringRef> names = [] {
    std::vector<llvm::StringRef> list;
    for (const BuiltinTable &table : builtinTexts())
      list.push_back(table.name);
    return list;
  }();
  return names;
}

llvm::Expected<Table> energy::loadTable(llvm::StringRef nameOrPath) {
  for (const BuiltinTable &table : builtinTexts())
    if (table.name == nameOrPath)
      return parseTable(table.text, nameOrPath);
  if (!llvm::sys::fs::exists(nameOrPath)) {
    std::string known;
    for (llvm::StringRef name : builtinTables())
      known += (known.empty() ? "" : ", ") + name.str();
    return makeError(ErrorClass::Usage,
                     "unknown energy table '{}', expected one of {} or the "
                     "path of a YAML table{}",
                     nameOrPath.str(), known,
                     support::didYouMean(nameOrPath, builtinTables()));
  }
  auto buffer = support::readFile(nameOrPath);
  if (!buffer)
    return buffer.takeError();
  return parseTable((*buffer)->getBuffer(), nameOrPath);
}
