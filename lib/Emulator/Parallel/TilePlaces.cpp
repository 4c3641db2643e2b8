// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes around tiles.

#include "TilePlaces.h"
#include "ashlar/Isa/Tiles.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

TilePlaces::TilePlaces(const machine::Description &machine)
    : machine(machine),
      tables(machine.sparse.tileTables, TileTable(machine.sparse.tcus)) {}

static void eraseStateBuffer(llvm::SmallVectorImpl<Access> &accesses) {
  llvm::erase_if(accesses, [](const Access &access) {
    return access.space == Space::Sb || access.space == Space::Xm;
  });
}

/// Streams of several groups one by one, so that the copies that replace them
/// are seen to do so.
static void splitStreams(llvm::SmallVectorImpl<Access> &accesses) {
  for (size_t i = 0, end = accesses.size(); i < end; ++i) {
    const Access all = accesses[i];
    if (all.space != Space::Wm || all.numDims != 1)
      continue;
    for (uint64_t k = 0; k < all.dims[0].count; ++k) {
      Access one = all;
      one.numDims = 0;
      one.base += static_cast<int64_t>(k) * all.dims[0].stride;
      one.begin = one.base;
      one.end = one.base + static_cast<int64_t>(one.runLength);
      if (k == 0)
        accesses[i] = one;
      else
        accesses.push_back(one);
    }
  }
}

/// A run names the whole set besides its slots, because a buffer has a single
/// port: which is nothing that threads share.
void TilePlaces::narrow(const isa::TccRun &,
                        llvm::SmallVectorImpl<Access> &accesses) const {
  splitStreams(accesses);
  for (size_t i = accesses.size(); i-- > 0;)
    if (accesses[i].space == Space::Fmu && accesses[i].begin == 0 &&
        accesses[i].end == static_cast<int64_t>(machine.sparse.fmuBytes)) {
      accesses.erase(accesses.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
}

/// The rows and columns that each group's tiles reach together.
void TilePlaces::narrow(const isa::DmaTile &op,
                        llvm::SmallVectorImpl<Access> &accesses) const {
  isa::MapBox input;
  std::set<uint32_t> groups;
  for (const TileEntry &entry : tables[op.table]) {
    if (entry.idle())
      continue;
    input.include(isa::inputOf(op, entry.box()));
    groups.insert(op.groupStep == 0 ? 0 : entry.group);
  }
  eraseStateBuffer(accesses);
  if (input.empty())
    return;
  isa::DmaTile part = isa::narrow(op, input);
  part.groups = 1;
  for (uint32_t group : groups)
    isa::loadSource(part, uint64_t(group) * op.groupStep, machine, accesses);
}

void TilePlaces::narrow(const isa::ActDrain &op,
                        llvm::SmallVectorImpl<Access> &accesses) const {
  isa::MapBox results;
  int64_t sum = 0;
  for (const TileEntry &entry : tables[op.table])
    if (!entry.idle() && entry.group == op.group) {
      results.include(entry.box());
      sum += static_cast<int64_t>(entry.results());
    }
  eraseStateBuffer(accesses);
  if (results.empty())
    return;
  const size_t first = accesses.size();
  isa::drainMemory(isa::narrow(op, results), machine, accesses);
  // Tiles do not overlap.
  if (sum != results.images * results.rows * results.cols)
    for (size_t i = first; i < accesses.size(); ++i)
      accesses[i].exact = false;
}

void TilePlaces::step(const isa::Instruction &inst,
                      llvm::SmallVectorImpl<Access> &accesses) {
  if (const auto *tile = std::get_if<isa::TccTile>(&inst)) {
    writeTiles(*tile, tables[tile->table]);
    // The other entries of the table stay.
    if (!tile->clear && !accesses.empty()) {
      Access kept = accesses.front();
      kept.write = false;
      accesses.insert(accesses.begin(), kept);
    }
  } else if (const auto *run = std::get_if<isa::TccRun>(&inst)) {
    narrow(*run, accesses);
  } else if (const auto *load = std::get_if<isa::DmaTile>(&inst)) {
    narrow(*load, accesses);
  } else if (const auto *drain = std::get_if<isa::ActDrain>(&inst)) {
    if (drain->fromTcu)
      narrow(*drain, accesses);
  }
}
