// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the units did in a run, from its report. Every field of the file is
// checked before it is used.

#include "ashlar/Report/Tiles.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Json.h"

#include <array>
#include <map>

using namespace ashlar;
using namespace ashlar::report;
namespace json = llvm::json;

double UnitRun::imbalance(uint64_t units) const {
  // Units that ran together wait for the slowest.
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> rounds;
  for (const UnitStatistics &work : work) {
    auto &[most, sum] = rounds[work.first];
    most = std::max(most, work.cycles);
    sum += work.cycles;
  }
  uint64_t most = 0, sum = 0;
  for (const auto &[first, round] : rounds)
    most += round.first, sum += round.second;
  return sum ? double(most) * double(units) / double(sum) : 1.0;
}

std::vector<uint64_t> UnitRun::busy() const {
  std::vector<uint64_t> cycles;
  for (const UnitStatistics &work : work) {
    cycles.resize(std::max<size_t>(cycles.size(), work.unit + 1));
    cycles[work.unit] += work.cycles;
  }
  return cycles;
}

std::vector<partition::Box> UnitRun::tiles() const {
  std::vector<partition::Box> tiles;
  for (const UnitStatistics &work : work)
    if (work.group == 0 && work.image == 0)
      tiles.push_back(work.tile);
  return tiles;
}

/// "y,x,rows,columns", each below 2^20.
static bool parseBox(llvm::StringRef text, partition::Box &box) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, ',');
  std::array<int64_t, 4> numbers{};
  if (parts.size() != numbers.size())
    return false;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (parts[i].getAsInteger(10, numbers[i]) || numbers[i] < 0 ||
        numbers[i] >= 1 << 20)
      return false;
  box = {numbers[0], numbers[1], numbers[2], numbers[3]};
  return true;
}

/// One entry of a node's units; false if it is not one.
static bool parseUnit(const json::Value &value, UnitStatistics &work) {
  const json::Object *object = value.getAsObject();
  std::optional<llvm::StringRef> tile =
      object ? object->getString("tile") : std::nullopt;
  auto number = [&](llvm::StringRef key, auto &target, int64_t limit) {
    std::optional<int64_t> found = object->getInteger(key);
    if (!found || *found < 0 || *found > limit)
      return false;
    target = static_cast<std::remove_reference_t<decltype(target)>>(*found);
    return true;
  };
  constexpr int64_t small = 65535, large = INT64_MAX;
  return tile && parseBox(*tile, work.tile) &&
         number("unit", work.unit, small) &&
         number("group", work.group, small) &&
         number("image", work.image, small) &&
         number("first", work.first, large) &&
         number("cycles", work.cycles, large >> 20) &&
         number("products", work.products, large >> 20);
}

llvm::Expected<llvm::StringMap<UnitRun>>
report::readUnitRuns(llvm::StringRef path) {
  auto bad = [&](llvm::StringRef what) {
    return makeError(ErrorClass::Malformed, "{}: {}", path.str(), what.str());
  };
  auto file = support::readFile(path);
  if (!file)
    return file.takeError();
  llvm::Expected<json::Value> value = support::parseJson((*file)->getBuffer());
  if (!value) {
    llvm::consumeError(value.takeError());
    return bad("not JSON");
  }
  const json::Object *root = value->getAsObject();
  const json::Array *nodes = root ? root->getArray("nodes") : nullptr;
  if (!nodes)
    return bad("no report of a run");
  llvm::StringMap<UnitRun> runs;
  for (const json::Value &item : *nodes) {
    const json::Object *node = item.getAsObject();
    std::optional<llvm::StringRef> name =
        node ? node->getString("name") : std::nullopt;
    const json::Array *units = node ? node->getArray("units") : nullptr;
    if (!name || !units || units->empty())
      continue;
    UnitRun &run = runs[*name];
    run.cycles = uint64_t(node->getInteger("cycles").value_or(0));
    for (const json::Value &unit : *units) {
      run.work.emplace_back();
      if (!parseUnit(unit, run.work.back()))
        return bad("units of node '" + name->str() + "'");
    }
  }
  return runs;
}
