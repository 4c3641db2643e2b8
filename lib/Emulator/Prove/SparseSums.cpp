// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of the sparse cluster in the static pass: slots that a run reads, the
// coefficients of its streams, its cycles, and the bounds of accumulators.

#include "../Cost/KnownStreams.h"
#include "../Cost/ScatterTime.h"
#include "../Cost/StreamWalk.h"
#include "../State/TensorView.h"
#include "SparseCheck.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/Tiles.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

using namespace ashlar;
using namespace ashlar::emulator;

//===- Start of sums ------------------------------------------------------===//

SparseChecker::Result SparseChecker::visit(const isa::TccInit &op, Accesses &,
                                           std::optional<Cost> &cost) {
  const Table *table = nullptr;
  if (op.fromMemory)
    if (Result finding = readTable(op.table, table))
      return finding;
  if (!work.spend(op.regions *
                  (4 * uint64_t(op.count) + (table ? 16 * op.groups : 0))))
    return std::nullopt;
  for (uint64_t z = 0; z < op.regions; ++z) {
    double bound = 0;
    for (uint64_t g = 0; table && g < op.groups; ++g) {
      int64_t value = 0;
      if (Result finding = knownValue(op.wm + g * op.wmStep + 8 * z, value))
        return finding;
      bound = std::max(bound, std::fabs(static_cast<double>(value)));
    }
    for (uint64_t k = 0; k < op.count; ++k) {
      const uint64_t entry = op.acc + z * op.regionStride + k;
      Sum &sum = sums[entry];
      if (sum.pending != 0)
        return Finding{FaultKind::PsumOverwrite,
                       fmt::format("accumulator {} holds sums that were not "
                                   "drained",
                                   entry),
                       "acc", entry};
      sum = {bound, 0, 0, true};
    }
  }
  if (table)
    for (const TileEntry &entry : table->units)
      if (Result finding = checkGroup(op, entry))
        return finding;
  cost = Cost{machine::tileInit(machine, op.regions, op.count, op.fromMemory),
              0, 0, 0};
  return std::nullopt;
}

//===- Slots --------------------------------------------------------------===//

const SparseChecker::Load *SparseChecker::loadOf(const isa::TccRun &op,
                                                 uint64_t address) const {
  auto load = llvm::find_if(sets[op.set], [&](const Load &load) {
    return address >= load.op.mantissas && address < load.end &&
           (address - load.op.mantissas) % load.slotBytes == 0;
  });
  return load == sets[op.set].end() ? nullptr : &*load;
}

static bool sameGeometry(const isa::DmaTile &load, const isa::TccRun &run) {
  return load.kH == run.kH && load.kW == run.kW && load.sH == run.sH &&
         load.sW == run.sW && load.dH == run.dH && load.dW == run.dW &&
         load.images == run.images && load.tileH == run.tileH &&
         load.tileW == run.tileW && load.type == run.type &&
         load.mantissa == run.mantissa && load.block == run.block;
}

SparseChecker::Result SparseChecker::checkSlots(const isa::TccRun &op) const {
  const uint64_t elements = isa::geometryOf(op).slotElements();
  const uint64_t slotBytes = elements * storedBytes(op.type, op.mantissa);
  if (!work.spend(op.channels * (8 + sets[op.set].size())))
    return std::nullopt;
  for (uint64_t i = 0; i < op.channels; ++i) {
    const uint64_t address = op.mantissas + i * slotBytes;
    const Load *load = loadOf(op, address);
    auto bad = [&](FaultKind kind, std::string what) {
      return Finding{kind,
                     fmt::format("slot {} at byte {} of set {} {}", i, address,
                                 op.set, what),
                     "fmu", op.set * machine.sparse.fmuBytes + address};
    };
    if (!load)
      return bad(FaultKind::UndefinedRead, "was not loaded");
    if (!sameGeometry(load->op, op))
      return bad(FaultKind::BadField,
                 "was loaded for another kernel, tile or type");
    if (load->held != held[op.table])
      return bad(FaultKind::BadField, "was loaded for other tiles");
    if (load->kept)
      if (Result finding = load->kept->complete(work))
        return finding;
    if (!isa::isBlock(op.type))
      continue;
    const uint64_t slot = (address - load->op.mantissas) / slotBytes;
    const uint64_t cells =
        load->op.exponents +
        (load->op.part % op.block + slot) / op.block * elements;
    const uint64_t expected =
        op.exponents + (op.phase + i) / op.block * elements;
    if (cells != expected)
      return bad(FaultKind::BadField,
                 fmt::format("has its cells at byte {}, the instruction looks "
                             "for them at {}",
                             cells, expected));
  }
  return std::nullopt;
}

//===- Streams ------------------------------------------------------------===//

SparseChecker::Result
SparseChecker::checkBanks(const isa::TccRun &op,
                          llvm::ArrayRef<uint32_t> groups) const {
  const uint64_t bank = machine.sparse.wmBytes / machine.sparse.wmBanks;
  for (size_t i = 1; i < groups.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const uint64_t a = op.wm + uint64_t(groups[i]) * op.wmStep;
      const uint64_t b = op.wm + uint64_t(groups[j]) * op.wmStep;
      if (a / bank > (b + op.bytes - 1) / bank ||
          b / bank > (a + op.bytes - 1) / bank)
        continue;
      return Finding{FaultKind::BadField,
                     fmt::format("the streams of groups {} and {} share a bank "
                                 "of {} bytes",
                                 groups[j], groups[i], bank),
                     "wm", a};
    }
  return std::nullopt;
}

/// What decoding and following a byte of a stream takes, and comparing it with
/// one that was followed.
static constexpr uint64_t stepsPerByte = 16, bytesPerStep = 8;

SparseChecker::Result SparseChecker::followStream(
    const isa::TccRun &op, const TileTable &table, uint32_t group,
    std::shared_ptr<const StreamWalk::Facts> &facts, Cost &cost) {
  const uint64_t address = op.wm + uint64_t(group) * op.wmStep;
  auto bad = [&](std::string what) {
    return Finding{
        FaultKind::BadField,
        fmt::format("stream of group {} at {}: {}", group, address, what), "wm",
        address};
  };
  llvm::ArrayRef<uint8_t> bytes = knownWeights(address, op.bytes);
  llvm::Expected<isa::StreamHeader> header = isa::readStreamHeader(bytes);
  if (!header)
    return bad(llvm::toString(header.takeError()));
  const isa::StreamShape &shape = header->shape;
  if (shape.kH != op.kH || shape.kW != op.kW || shape.channels != op.channels)
    return bad(fmt::format("{} channels of {}x{} taps, the instruction has "
                           "{} of {}x{}",
                           shape.channels, shape.kH, shape.kW, op.channels,
                           op.kH, op.kW));
  if (shape.turn != op.turn)
    return bad(fmt::format("taps turn every {} rows, the instruction has {}",
                           shape.turn, op.turn));
  cost.weightBits = shape.mantissaBits;
  StreamWalk walk(machine, op, table, group, shape.mantissaBits);
  facts = followed.find(walk.form(), bytes);
  if (!work.spend(facts ? op.bytes / bytesPerStep : op.bytes * stepsPerByte) ||
      facts)
    return std::nullopt;
  // What other programs have found costs as much work as finding it: how far a
  // proof goes depends on its program alone.
  facts = findKnownStream(machine, walk.form(), bytes);
  if (facts) {
    followed.keep(walk.form(), bytes, facts);
    return std::nullopt;
  }
  llvm::Expected<uint64_t> taken = isa::decodeStream(bytes, walk);
  if (!taken)
    return bad(llvm::toString(taken.takeError()));
  if (walk.outside())
    return bad(fmt::format("a coefficient of region {}, the instruction has {}",
                           walk.outside(), op.regions));
  facts = followed.keep(walk.form(), bytes, walk.facts(*taken));
  keepKnownStream(machine, walk.form(), bytes, facts);
  return std::nullopt;
}

SparseChecker::Result SparseChecker::runStreams(const isa::TccRun &op,
                                                const TileTable &table,
                                                llvm::ArrayRef<uint32_t> groups,
                                                std::vector<double> &bounds,
                                                Cost &cost) {
  uint64_t cycles = 0;
  for (uint32_t group : groups) {
    std::shared_ptr<const StreamWalk::Facts> facts;
    if (Result finding = followStream(op, table, group, facts, cost))
      return finding;
    if (!facts)
      return std::nullopt;
    for (size_t z = 0; z < bounds.size(); ++z)
      bounds[z] = std::max(bounds[z], facts->bounds[z]);
    cycles = std::max(cycles, facts->cycles);
    cost.macs += facts->macs;
    cost.work += facts->macs * clusterPasses(machine, op, cost.weightBits);
    cost.fmuBytes += facts->macs * operandBytes(op);
    cost.streamBytes += facts->taken;
  }
  cycles = routedCycles(machine, op, table, cycles);
  cost.timing = {cycles, cycles, 0};
  return std::nullopt;
}

bool SparseChecker::runScattered(const isa::TccRun &op, const TileTable &table,
                                 llvm::ArrayRef<uint32_t> groups, Cost &cost) {
  const isa::TccRun bounding = boundingRun(machine, op);
  std::map<uint32_t, std::shared_ptr<const ScatterStream>> streams;
  auto bytesOf = [&](uint32_t group) {
    return knownWeights(op.wm + uint64_t(group) * op.wmStep, op.bytes);
  };
  for (uint32_t group : groups) {
    const bool known = scattered.find(ScatterStream::formOf(bounding),
                                      bytesOf(group)) != nullptr;
    if (!work.spend(known ? op.bytes / bytesPerStep : op.bytes * stepsPerByte))
      return false;
    streams[group] = findStream(machine, bounding, bytesOf(group), scattered);
  }
  if (!work.spend(scatterSteps(machine, bounding, table,
                               [&](uint32_t group) -> const ScatterStream & {
                                 return *streams.at(group);
                               })))
    return false;
  cost = scatterCost(machine, bounding, table, scattered, bytesOf,
                     /*isZero=*/{}, [](uint64_t, uint64_t, uint64_t) {});
  return true;
}

void SparseChecker::prepare(const isa::TccRun &op,
                            TapPrograms &programs) const {
  const TapLayout layout(op);
  llvm::SmallVector<uint32_t> groups;
  for (const TileEntry &entry : tables[op.table].units) {
    if (entry.idle() || llvm::is_contained(groups, entry.group))
      continue;
    groups.push_back(entry.group);
    const uint64_t address = op.wm + uint64_t(entry.group) * op.wmStep;
    if (!programs.isFull())
      programs.find(layout, formOf(op), knownWeights(address, op.bytes));
  }
}

//===- Sums ---------------------------------------------------------------===//

SparseChecker::Result SparseChecker::addBounds(const isa::TccRun &op,
                                               uint64_t groupMask,
                                               llvm::ArrayRef<double> bounds) {
  const uint64_t results = isa::geometryOf(op).results();
  const double factor = operandBound(op.mode, op.type, op.mantissa, op.range);
  if (!work.spend(4 * results * op.regions))
    return std::nullopt;
  for (uint64_t z = 0; z < op.regions; ++z)
    for (uint64_t k = 0; k < results; ++k) {
      const uint64_t entry = op.acc + z * op.regionStride + k;
      Sum &sum = sums[entry];
      if (!sum.defined)
        return Finding{FaultKind::UndefinedRead,
                       fmt::format("accumulator {} was not started", entry),
                       "acc", entry};
      if (sum.table != 0 && sum.table != contents[op.table])
        return Finding{FaultKind::BadField,
                       fmt::format("accumulator {} holds sums of other tiles "
                                   "than those of table {}",
                                   entry, op.table),
                       "acc", entry};
      sum.bound += bounds[z] * factor;
      sum.table = contents[op.table];
      sum.pending |= groupMask;
      if (sum.bound > accumulatorLimit)
        return Finding{FaultKind::AccumulatorBound,
                       fmt::format("sums of accumulator {} may leave 63 bits "
                                   "by their coefficients and the width of "
                                   "the map",
                                   entry),
                       "acc", entry};
    }
  return std::nullopt;
}

SparseChecker::Result SparseChecker::visit(const isa::TccRun &op, Accesses &,
                                           std::optional<Cost> &cost) {
  const Table *state = nullptr;
  if (Result finding = readTable(op.table, state))
    return finding;
  const TileTable &table = state->units;
  if (Result finding = checkTiles(op, table))
    return finding;
  if (Result finding = checkMemories(op.table))
    return finding;
  if (Result finding = checkSlots(op))
    return finding;
  llvm::SmallVector<uint32_t> groups;
  uint64_t mask = 0;
  for (const TileEntry &entry : table)
    if (!entry.idle() && !llvm::is_contained(groups, entry.group)) {
      groups.push_back(entry.group);
      mask |= uint64_t(1) << entry.group;
    }
  if (Result finding = checkBanks(op, groups))
    return finding;
  if (!work.spend(groups.size() * groups.size()))
    return std::nullopt;
  std::vector<double> bounds(op.regions);
  cost = Cost{};
  if (Result finding = runStreams(op, table, groups, bounds, *cost))
    return finding;
  if (op.scatter && !runScattered(op, table, groups, *cost))
    return std::nullopt;
  return addBounds(op, mask, bounds);
}
