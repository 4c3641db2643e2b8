// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables, loads, weight memory and drains of the sparse cluster; the sums are
// in SparseSums.cpp.

#include "SparseCheck.h"
#include "../State/TensorView.h"
#include "ashlar/Isa/PooledDrain.h"
#include "ashlar/Isa/Tiles.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

SparseChecker::SparseChecker(const machine::Description &machine,
                             llvm::ArrayRef<container::Segment> segments,
                             ProofWork &work)
    : machine(machine), work(work), constants(segments),
      weights(machine.sparse.wmBytes), isKnown(machine.sparse.wmBytes),
      tables(machine.sparse.tileTables), contents(machine.sparse.tileTables),
      held(machine.sparse.tileTables), sets(machine.sparse.fmuSets),
      opened(machine.sparse.fmuSets), sums(machine.sparse.accumulatorEntries),
      counted(machine.sparse.countEntries) {}

std::optional<Finding> SparseChecker::step(const isa::Instruction &inst,
                                           Accesses &accesses,
                                           std::optional<Cost> &cost) {
  return std::visit([&](const auto &op) { return visit(op, accesses, cost); },
                    inst);
}

//===- Weight memory ------------------------------------------------------===//

const uint8_t *SparseChecker::constantBytes(uint64_t begin,
                                            uint64_t count) const {
  const auto *after = llvm::upper_bound(
      constants, begin, [](uint64_t at, const container::Segment &segment) {
        return at < segment.dramOffset;
      });
  if (after == constants.begin())
    return nullptr;
  const container::Segment &segment = *std::prev(after);
  const uint64_t offset = begin - segment.dramOffset;
  return offset <= segment.bytes.size() &&
                 count <= segment.bytes.size() - offset
             ? segment.bytes.data() + offset
             : nullptr;
}

/// Calls fn(destination, source) for each innermost row of a descriptor.
template <typename Fn>
static void forRows(const isa::DmaCopy &op, Fn fn) {
  for (uint64_t a = 0; a < op.n0; ++a)
    for (uint64_t b = 0; b < op.n1; ++b)
      for (uint64_t c = 0; c < op.n2; ++c)
        for (uint64_t d = 0; d < op.n3; ++d) {
          auto at = [&](uint64_t base, int64_t s0, int64_t s1, int64_t s2,
                        int64_t s3) {
            return base + a * static_cast<uint64_t>(s0) +
                   b * static_cast<uint64_t>(s1) +
                   c * static_cast<uint64_t>(s2) +
                   d * static_cast<uint64_t>(s3);
          };
          fn(at(op.dstBase, op.dstStride0, op.dstStride1, op.dstStride2,
                op.dstStride3),
             at(op.srcBase, op.srcStride0, op.srcStride1, op.srcStride2,
                op.srcStride3));
        }
}

SparseChecker::Result SparseChecker::copyConstants(const isa::DmaCopy &op) {
  const bool whole =
      op.srcStride4 == op.elemBytes && op.dstStride4 == op.elemBytes;
  const uint64_t run = whole ? uint64_t(op.n4) * op.elemBytes : op.elemBytes;
  const uint64_t runs = whole ? 1 : op.n4;
  Result finding;
  const uint64_t rows = uint64_t(op.n0) * op.n1 * op.n2 * op.n3;
  if (!work.spend(rows * (runs * 16 + runs * run / 16)))
    return finding;
  forRows(op, [&](uint64_t dst, uint64_t src) {
    for (uint64_t i = 0; i < runs && !finding; ++i) {
      const uint64_t from = src + i * static_cast<uint64_t>(op.srcStride4);
      const uint64_t to = dst + i * static_cast<uint64_t>(op.dstStride4);
      const uint8_t *bytes = constantBytes(from, run);
      if (!bytes) {
        finding = Finding{
            FaultKind::BadField,
            fmt::format("weight memory is filled from [{}..{}) of DRAM, which "
                        "is not constant",
                        from, from + run),
            "dram", from};
        continue;
      }
      std::memcpy(&weights[to], bytes, run);
      isKnown.set(static_cast<unsigned>(to), static_cast<unsigned>(to + run));
    }
  });
  return finding;
}

SparseChecker::Result SparseChecker::visit(const isa::DmaCopy &op, Accesses &,
                                           std::optional<Cost> &) {
  if (op.dstMem != isa::Memory::Wm)
    return std::nullopt;
  return copyConstants(op);
}

llvm::ArrayRef<uint8_t> SparseChecker::knownWeights(uint64_t begin,
                                                    uint64_t bytes) const {
  const uint64_t limit = std::min<uint64_t>(begin + bytes, weights.size());
  if (begin >= limit)
    return {};
  const int unknown = isKnown.find_first_unset_in(static_cast<unsigned>(begin),
                                                  static_cast<unsigned>(limit));
  const uint64_t end = unknown < 0 ? limit : static_cast<uint64_t>(unknown);
  return llvm::ArrayRef(weights.data() + begin, end - begin);
}

SparseChecker::Result SparseChecker::knownValue(uint64_t address,
                                                int64_t &value) const {
  llvm::ArrayRef<uint8_t> bytes = knownWeights(address, sizeof(value));
  if (bytes.size() < sizeof(value))
    return Finding{FaultKind::UndefinedRead,
                   fmt::format("an initial value at {} of weight memory, which "
                               "has not been written",
                               address),
                   "wm", address};
  std::memcpy(&value, bytes.data(), sizeof(value));
  return std::nullopt;
}

//===- Loads --------------------------------------------------------------===//

/// The part of the source of a load that the unit with tile \p entry gets.
static isa::MapBox loadedInput(const isa::DmaTile &op, const TileEntry &entry) {
  isa::MapBox input = isa::inputOf(op, entry.box());
  if (const TileEntry::Operand &own = entry.operand; own.partial) {
    const int64_t y1 = std::min(input.y + input.rows, own.y + own.rows);
    const int64_t x1 = std::min(input.x + input.cols, own.x + own.cols);
    input.y = std::max(input.y, own.y);
    input.x = std::max(input.x, own.x);
    input.rows = y1 - input.y;
    input.cols = x1 - input.x;
  }
  return input;
}

/// Bytes that are written anew no longer belong to an older load.
void SparseChecker::forgetOverwritten(uint64_t set, const Accesses &accesses) {
  llvm::erase_if(sets[set], [&](const Load &old) {
    return llvm::any_of(accesses, [&](const Access &access) {
      if (access.space != Space::Fmu)
        return false;
      auto meets = [&](uint64_t begin, uint64_t end) {
        return static_cast<int64_t>(begin) < access.end &&
               access.begin < static_cast<int64_t>(end);
      };
      const uint64_t cells =
          isa::geometryOf(old.op).slotElements() * loadedPlanes(old.op);
      return meets(old.op.mantissas, old.end) ||
             meets(old.op.exponents, old.op.exponents + cells);
    });
  });
}

SparseChecker::Result SparseChecker::visit(const isa::DmaTile &op,
                                           Accesses &accesses,
                                           std::optional<Cost> &cost) {
  const Table *table = nullptr;
  if (Result finding = readTable(op.table, table))
    return finding;
  if (Result finding = checkTiles(op, table->units))
    return finding;
  if (Result finding = checkMemories(op.table))
    return finding;
  for (const TileEntry &entry : table->units)
    if (entry.n + entry.images > op.inN)
      return Finding{FaultKind::OutOfRange,
                     fmt::format("a tile of images [{}..{}), the source has {}",
                                 entry.n, entry.n + entry.images, op.inN),
                     "tiles", op.table};
  if (op.drained)
    if (Result finding = checkOpened(op, *table))
      return finding;
  llvm::erase_if(accesses, [](const Access &access) {
    return access.space == Space::Sb || access.space == Space::Xm;
  });
  const TileTable &places = table->places;
  if (!work.spend(places.size() * places.size() * 4 + 8 * sets[op.set].size()))
    return std::nullopt;
  for (size_t unit = 0; unit < places.size() && !op.drained; ++unit) {
    const TileEntry &entry = places[unit];
    auto before = llvm::ArrayRef(places).take_front(unit);
    if (entry.idle() || llvm::any_of(before, [&](const TileEntry &other) {
          return sameData(op, other, entry);
        }))
      continue;
    const isa::MapBox input = loadedInput(op, entry);
    if (input.empty())
      continue;
    isa::DmaTile own = isa::narrow(op, input);
    own.groups = 1;
    isa::loadSource(own, entry.group * op.groupStep, machine, accesses);
  }
  const machine::TileGeometry geometry = isa::geometryOf(op);
  Load load{op, held[op.table],
            geometry.slotElements() * storedBytes(op.type, op.mantissa), 0,
            nullptr};
  load.end = op.mantissas + op.channels * load.slotBytes;
  forgetOverwritten(op.set, accesses);
  if (op.drained) {
    opened[op.set] = std::make_shared<KeptPixels>(op, table->units);
    load.kept = opened[op.set];
    cost = tileOpenCost(machine, load.kept->tiles());
  } else {
    cost = tileLoadCost(machine, loadedTiles(op, table->units));
  }
  sets[op.set].push_back(std::move(load));
  return std::nullopt;
}

SparseChecker::Result SparseChecker::checkOpened(const isa::DmaTile &op,
                                                 const Table &table) const {
  if (!table.cut && !table.partial)
    return std::nullopt;
  return Finding{FaultKind::BadField,
                 fmt::format("drains fill tiles of table {}, which are {}",
                             op.table,
                             table.partial ? "parts of the operand"
                                           : "cut as the program runs"),
                 "tiles", op.table};
}

SparseChecker::Result SparseChecker::keepResults(const isa::ActDrain &op,
                                                 const Table &table,
                                                 Cost &cost) {
  auto bad = [&](std::string what) {
    return Finding{FaultKind::BadField, std::move(what), "tiles", op.table};
  };
  if (table.cut || table.partial)
    return bad(fmt::format(
        "results of table {} are kept, whose tiles are {}", op.table,
        table.partial ? "parts of the operand" : "cut as the program runs"));
  const std::shared_ptr<KeptPixels> &kept = opened[op.set];
  if (!kept || llvm::none_of(sets[op.set], [&](const Load &load) {
        return load.kept == kept;
      }))
    return bad(fmt::format("no tiles of set {} are open for drains", op.set));
  const auto boxes = drainedBoxes(op, table.units);
  for (const isa::MapBox &box : boxes)
    if (static_cast<uint64_t>(box.images * box.rows * box.cols) >
        machine.sparse.accumulatorEntries)
      return bad(fmt::format("a tile of {}x{}x{} results, a unit has {} "
                             "accumulators",
                             box.images, box.rows, box.cols,
                             machine.sparse.accumulatorEntries));
  if (Result finding = kept->add(op, boxes, work))
    return finding;
  cost = keptCost(machine, cost, keptTraffic(kept->tiles(), op, boxes));
  return std::nullopt;
}

//===- Drain --------------------------------------------------------------===//

/// What is wrong with the sum at \p at, which takeDrained() refused.
Finding SparseChecker::drainedFinding(const isa::ActDrain &op,
                                      int64_t at) const {
  if (at < 0 || at >= static_cast<int64_t>(sums.size()))
    return Finding{
        FaultKind::OutOfRange,
        fmt::format("accumulator {}, a unit has {}", at, sums.size()), "acc",
        0};
  const Sum &sum = sums[static_cast<size_t>(at)];
  if (tables[op.table].partial &&
      sum.bound * static_cast<double>(machine.sparse.tcus) > accumulatorLimit)
    return Finding{FaultKind::AccumulatorBound,
                   fmt::format("partial sums of accumulator {} may leave 63 "
                               "bits together",
                               at),
                   "acc", static_cast<uint64_t>(at)};
  return Finding{FaultKind::UndefinedRead,
                 sum.defined
                     ? fmt::format("accumulator {} holds sums of other tiles "
                                   "than those of table {}",
                                   at, op.table)
                     : fmt::format("accumulator {} was not started", at),
                 "acc", static_cast<uint64_t>(at)};
}

/// Marks the sum at \p at as drained; false if it must not be.
bool SparseChecker::takeDrained(const Drained &drained, uint64_t group,
                                int64_t at) {
  if (at < 0 || at >= static_cast<int64_t>(sums.size()))
    return false;
  Sum &sum = sums[static_cast<size_t>(at)];
  sum.pending &= ~(uint64_t(1) << group);
  return sum.defined && (sum.table == 0 || sum.table == drained.contents) &&
         sum.bound * drained.parts <= accumulatorLimit;
}

/// Groups whose lanes lie side by side work on the same tiles.
SparseChecker::Result SparseChecker::checkGroups(const isa::ActDrain &op,
                                                 const Table &table) {
  auto tile = [](const TileEntry &entry) {
    return std::tuple(entry.n, entry.y, entry.x, entry.images, entry.rows,
                      entry.cols);
  };
  for (const TileTable *entries : {&table.units, &table.places}) {
    const auto units = drainedUnits(op, *entries);
    for (size_t g = 1; g < units.size(); ++g)
      if (!std::equal(units[0].begin(), units[0].end(), units[g].begin(),
                      units[g].end(), [&](uint64_t a, uint64_t b) {
                        return tile((*entries)[a]) == tile((*entries)[b]) &&
                               (*entries)[a].operand == (*entries)[b].operand;
                      }))
        return Finding{FaultKind::BadField,
                       fmt::format("groups {} and {} of table {} are drained "
                                   "side by side and have different tiles",
                                   op.group, op.group + g, op.table),
                       "tiles", op.table};
  }
  return std::nullopt;
}

SparseChecker::Result SparseChecker::drainSums(const isa::ActDrain &op,
                                               const Table &table) {
  if (Result finding = checkGroups(op, table))
    return finding;
  uint64_t images = 0, rows = 0, cols = 0;
  for (const TileEntry &entry : table.places) {
    // A tile of the operand that reaches no result has images all the same.
    if (entry.images == 0 || entry.group != op.group)
      continue;
    if (entry.n + entry.images > op.n0 || entry.y + entry.rows > op.n1 ||
        entry.x + entry.cols > op.n2)
      return Finding{
          FaultKind::OutOfRange,
          fmt::format("a tile ends at ({}, {}, {}) of an output of {}x{}x{}",
                      entry.n + entry.images, entry.y + entry.rows,
                      entry.x + entry.cols, op.n0, op.n1, op.n2),
          "tiles", op.table};
  }
  for (const TileEntry &entry : table.units) {
    if (entry.idle() || entry.group != op.group)
      continue;
    images = std::max<uint64_t>(images, entry.images);
    rows = std::max<uint64_t>(rows, entry.rows);
    cols = std::max<uint64_t>(cols, entry.cols);
  }
  const Drained drained = {
      contents[op.table],
      table.partial ? static_cast<double>(machine.sparse.tcus) : 0};
  const uint64_t own = lanesOfGroup(op);
  if (!work.spend(op.cols * (8 * images * rows * cols + op.regionStride)))
    return std::nullopt;
  for (uint64_t lane = 0; lane < op.cols; ++lane) {
    const uint64_t base = op.psum + lane % own * op.regionStride;
    const uint64_t group = op.group + lane / own;
    for (uint64_t i = 0; i < images; ++i)
      for (uint64_t y = 0; y < rows; ++y)
        for (uint64_t x = 0; x < cols; ++x) {
          const int64_t at =
              static_cast<int64_t>(base) + int64_t(i) * op.psumStride0 +
              int64_t(y) * op.psumStride1 + int64_t(x) * op.psumStride2;
          if (!takeDrained(drained, group, at))
            return drainedFinding(op, at);
        }
    // The tiles of this wave may be smaller than the region.
    const uint64_t end = std::min<uint64_t>(
        base + std::max<uint64_t>(op.regionStride, 1), sums.size());
    for (uint64_t entry = base; images > 0 && entry < end; ++entry)
      sums[entry].pending &= ~(uint64_t(1) << group);
  }
  return std::nullopt;
}

void SparseChecker::drainAccesses(const isa::ActDrain &op, const Table &table,
                                  Accesses &accesses) const {
  // What stays: table, accumulators, registers, parameters.
  llvm::erase_if(accesses, [&](const Access &access) {
    return access.space == Space::Sb || access.space == Space::Xm;
  });
  if (table.partial) {
    const isa::ActDrain whole = partialDrain(op, table.units);
    if (whole.n0 > 0)
      isa::drainMemory(whole, machine, accesses);
    return;
  }
  for (const TileEntry &entry : table.places) {
    if (entry.idle() || entry.group != op.group)
      continue;
    isa::drainMemory(unitDrain(op, entry), machine, accesses);
  }
}

/// Tiles that a cut will choose cover their region once. Parts of the operand
/// have partial sums, each of which is read, and start the other results.
uint64_t SparseChecker::drainResults(const isa::ActDrain &op,
                                     const Table &table) {
  if (!table.partial)
    return drainedResults(op, table.places);
  const uint64_t sums = drainedResults(op, table.units);
  if (!table.cut)
    return sums + unreachedResults(op, table.units);
  // Parts of any cut reach together what the whole operand does.
  return sums + partialDrain(op, table.units).n0 *
                    (uint64_t(op.n1) * op.n2 - table.reached);
}

/// Of tiles side by side that a cut will choose, as if they were equal.
uint64_t SparseChecker::drainSteps(const isa::ActDrain &op,
                                   const Table &table) const {
  if (!op.sideBySide)
    return drainResults(op, table);
  if (!table.cut)
    return drainedSteps(machine, op, table.places);
  return llvm::divideCeil(drainResults(op, table),
                          machine::tilesSideBySide(machine, op.cols));
}

SparseChecker::Result SparseChecker::visit(const isa::ActDrain &op,
                                           Accesses &accesses,
                                           std::optional<Cost> &cost) {
  if (Result finding = followCounters(accesses))
    return finding;
  if (!op.fromTcu)
    return std::nullopt;
  const Table *table = nullptr;
  if (Result finding = readTable(op.table, table))
    return finding;
  if (op.sideBySide && table->partial)
    return Finding{FaultKind::BadField,
                   "partial sums of tiles of the operand side by side"};
  if (Result finding = drainSums(op, *table))
    return finding;
  drainAccesses(op, *table, accesses);
  cost = tileDrainCost(machine, op, drainSteps(op, *table),
                       drainResults(op, *table));
  return op.kept ? keepResults(op, *table, *cost) : std::nullopt;
}

SparseChecker::Result SparseChecker::checkCover(const isa::ActDrain &entries,
                                                const Table &table) {
  const uint64_t area = uint64_t(entries.n1) * entries.n2;
  if (!work.spend(area))
    return std::nullopt;
  std::vector<bool> covered(area);
  uint64_t sum = 0;
  for (const TileEntry &entry : table.units) {
    if (entry.idle() || entry.group != entries.group)
      continue;
    sum += entry.results();
    for (uint64_t y = 0; y < entry.rows; ++y)
      std::fill_n(covered.begin() + static_cast<ptrdiff_t>(
                                        (entry.y + y) * entries.n2 + entry.x),
                  entry.cols, true);
  }
  const auto reached =
      static_cast<uint64_t>(std::count(covered.begin(), covered.end(), true));
  if (sum == area && reached == area)
    return std::nullopt;
  return Finding{FaultKind::BadField,
                 fmt::format("the tiles of group {} have {} results at {} of "
                             "the {}x{} entries of a pool, expected each once",
                             entries.group, sum, reached, entries.n1,
                             entries.n2),
                 "tiles", entries.table};
}

SparseChecker::Result SparseChecker::visit(const isa::ActPool &op, Accesses &,
                                           std::optional<Cost> &) {
  const Table *table = nullptr;
  if (Result finding = readTable(op.table, table))
    return finding;
  if (table->cut || table->partial)
    return Finding{FaultKind::BadField,
                   "a pool of tiles that the program cuts as it runs, or that "
                   "are of the operand",
                   "tiles", op.table};
  const isa::ActDrain entries = isa::entriesDrain(op);
  // Bounds first: the tiles lie inside the entries.
  if (Result finding = drainSums(entries, *table))
    return finding;
  return checkCover(entries, *table);
}
