// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile tables and counters of non-zeros in the static pass.

#include "../State/RunTimeCuts.h"
#include "../State/TensorView.h"
#include "SparseCheck.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Error.h"
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

//===- Tables -------------------------------------------------------------===//

SparseChecker::Result SparseChecker::checkKept(unsigned index, bool clear,
                                               bool partial) const {
  if (clear)
    return std::nullopt;
  auto kept = [&](FaultKind kind, const char *what) {
    return Finding{kind,
                   fmt::format("table {} keeps entries that {}, expected "
                               "clear = 1",
                               index, what),
                   "tiles", index};
  };
  if (contents[index] == 0)
    return kept(FaultKind::UndefinedRead, "nothing has written");
  if (tables[index].cut)
    return kept(FaultKind::BadField, "were cut as the program ran");
  if (tables[index].partial != partial)
    return kept(FaultKind::BadField,
                partial ? "are tiles of results" : "are tiles of the operand");
  return std::nullopt;
}

uint32_t SparseChecker::numberOf(llvm::ArrayRef<TileEntry> tiles) {
  // A cryptographic digest: no two tables have the same one by design.
  llvm::BLAKE3 hash;
  work.spend(64 * tiles.size());
  for (const TileEntry &entry : tiles) {
    const TileEntry::Operand &own = entry.operand;
    const int64_t fields[] = {entry.n,    entry.y,    entry.x,     entry.images,
                              entry.rows, entry.cols, entry.group, own.partial,
                              own.y,      own.x,      own.rows,    own.cols};
    hash.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(fields),
                               sizeof(fields)));
  }
  const auto digest = hash.final();
  const llvm::StringRef key(reinterpret_cast<const char *>(digest.data()),
                            digest.size());
  auto [number, isNew] = numbers.try_emplace(key, numContents + 1);
  numContents += isNew;
  return number->second;
}

void SparseChecker::numberTiles(unsigned index) {
  const TileTable &tiles = tables[index].units;
  contents[index] = numberOf(tiles);
  // Units that share a memory are refused where the table is used.
  TileTable inMemory(tiles.size());
  for (uint64_t unit = 0; unit < tiles.size(); ++unit) {
    if (tiles[unit].idle())
      continue;
    TileEntry &entry = inMemory[tiles[unit].memoryOf(unit)];
    entry = tiles[unit];
    entry.group = 0;
  }
  held[index] = numberOf(inMemory);
}

void SparseChecker::follow(const isa::Instruction &inst) {
  const auto units = [&](unsigned index) -> TileTable & {
    tables[index].units.resize(machine.sparse.tcus);
    return tables[index].units;
  };
  llvm::SmallVector<Access, 1> none;
  std::optional<Cost> cost;
  if (const auto *copy = std::get_if<isa::DmaCopy>(&inst))
    (void)visit(*copy, none, cost);
  else if (const auto *tile = std::get_if<isa::TccTile>(&inst))
    writeTiles(*tile, units(tile->table));
  else if (const auto *operand = std::get_if<isa::TccOperand>(&inst))
    writeTiles(*operand, units(operand->table));
  else if (const auto *part = std::get_if<isa::TccPart>(&inst))
    writeLargestTiles(*part, units(part->table));
}

SparseChecker::Result SparseChecker::visit(const isa::TccTile &op, Accesses &,
                                           std::optional<Cost> &cost) {
  if (Result finding = checkKept(op.table, op.clear, false))
    return finding;
  Table &table = tables[op.table];
  table.units.resize(machine.sparse.tcus);
  writeTiles(op, table.units);
  table.places = table.units;
  table.cut = table.partial = false;
  numberTiles(op.table);
  cost = Cost{machine::tileTable(), 0, 0, 0};
  return std::nullopt;
}

SparseChecker::Result SparseChecker::visit(const isa::TccOperand &op,
                                           Accesses &,
                                           std::optional<Cost> &cost) {
  if (Result finding = checkKept(op.table, op.clear, true))
    return finding;
  Table &table = tables[op.table];
  table.units.resize(machine.sparse.tcus);
  writeTiles(op, table.units);
  table.places = table.units;
  table.cut = false;
  table.partial = true;
  numberTiles(op.table);
  cost = Cost{machine::tileTable(), 0, 0, 0};
  return std::nullopt;
}

SparseChecker::Result SparseChecker::visit(const isa::TccPart &op,
                                           Accesses &accesses,
                                           std::optional<Cost> &cost) {
  if (Result finding = followCounters(accesses))
    return finding;
  if (!work.spend(16 * uint64_t(op.inH) * op.inW))
    return std::nullopt;
  // Sizes alone decide whether there is a cut.
  isa::TccPart plain = op;
  plain.algorithm =
      op.algorithm == isa::Cut::Rows ? isa::Cut::Rows : isa::Cut::Uniform;
  if (llvm::Expected<partition::Partition> cut = cutMap(
          machine, plain, std::vector<uint32_t>(uint64_t(op.inH) * op.inW));
      !cut)
    return Finding{FaultKind::BadField, llvm::toString(cut.takeError()),
                   "tiles", op.table};
  Table &table = tables[op.table];
  table.units.resize(machine.sparse.tcus);
  writeLargestTiles(op, table.units);
  table.places = wholeRegions(op);
  table.cut = true;
  table.partial = op.disjoint;
  table.reached = static_cast<uint64_t>(
      cutGeometry(op).outputOf(partition::Box{0, 0, op.inH, op.inW}).area());
  // Nothing else has these tiles.
  contents[op.table] = held[op.table] = ++numContents;
  cost = Cost{
      machine::cutTiles(machine, uint64_t(op.inH) * op.inW, probeBound(op)), 0,
      0, 0};
  return std::nullopt;
}

SparseChecker::Result SparseChecker::visit(const isa::TccBind &op, Accesses &,
                                           std::optional<Cost> &cost) {
  const Table *known = nullptr;
  if (Result finding = readTable(op.table, known))
    return finding;
  Table &table = tables[op.table];
  bindTiles(op, table.units);
  if (table.cut)
    held[op.table] = ++numContents;
  else
    numberTiles(op.table);
  cost = Cost{machine::tileTable(), 0, 0, 0};
  return std::nullopt;
}

SparseChecker::Result SparseChecker::checkMemories(unsigned index) const {
  const TileTable &units = tables[index].units;
  std::vector<uint64_t> owner(units.size(), units.size());
  for (uint64_t unit = 0; unit < units.size(); ++unit) {
    if (units[unit].idle())
      continue;
    uint64_t &other = owner[units[unit].memoryOf(unit)];
    if (other < units.size())
      return Finding{FaultKind::BadField,
                     fmt::format("units {} and {} both take their tiles from "
                                 "memory unit {}",
                                 other, unit, units[unit].memoryOf(unit)),
                     "tiles", index};
    other = unit;
  }
  return std::nullopt;
}

SparseChecker::Result SparseChecker::readTable(unsigned index,
                                               const Table *&table) const {
  if (contents[index] == 0)
    return Finding{FaultKind::UndefinedRead,
                   fmt::format("tile table {} has not been written", index),
                   "tiles", index};
  table = &tables[index];
  return std::nullopt;
}

//===- Counters -----------------------------------------------------------===//

SparseChecker::Result SparseChecker::visit(const isa::TccNnz &op,
                                           Accesses &accesses,
                                           std::optional<Cost> &cost) {
  if (Result finding = followCounters(accesses))
    return finding;
  const uint64_t bytes = uint64_t(op.inN) * op.inH * op.inW * op.channels *
                         storedBytes(op.type, op.mantissa);
  cost = Cost{machine::countPass(machine, bytes), 0, 0, 0};
  return std::nullopt;
}

/// Calls fn(unit) for every unit of a pattern inside its memory, until it
/// returns false.
template <typename Fn>
static void forUnits(const Access &access, Fn fn) {
  std::array<uint64_t, Access::maxDims> index = {};
  for (;;) {
    int64_t base = access.base;
    for (unsigned d = 0; d < access.numDims; ++d)
      base += static_cast<int64_t>(index[d]) * access.dims[d].stride;
    for (uint64_t i = 0; i < access.runLength; ++i)
      if (!fn(static_cast<uint64_t>(base) + i))
        return;
    unsigned d = 0;
    while (d < access.numDims && ++index[d] == access.dims[d].count)
      index[d++] = 0;
    if (d == access.numDims)
      return;
  }
}

SparseChecker::Result SparseChecker::followCounters(const Accesses &accesses) {
  Result finding;
  for (const Access &access : accesses) {
    if (access.space != Space::Counts)
      continue;
    const bool starts = access.write && !access.merge;
    uint64_t runs = 1;
    for (unsigned d = 0; d < access.numDims; ++d)
      runs = std::min(runs * access.dims[d].count, uint64_t(1) << 40);
    if (!work.spend(4 * runs * access.runLength))
      return finding;
    forUnits(access, [&](uint64_t unit) {
      if (starts)
        counted[unit] = true;
      else if (!counted[unit])
        finding = Finding{FaultKind::UndefinedRead,
                          fmt::format("{}, of which counter {} was not started",
                                      isa::describe(access), unit),
                          "counts", unit};
      return !finding;
    });
  }
  return finding;
}
