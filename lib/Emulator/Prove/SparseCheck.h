// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sparse cluster in the static pass. Weight memory has known contents in
// every legal program, and so have tile tables that the program does not cut as
// it runs: each tile, coefficient and cycle is known before a run. This follows
// them in program order, proves bounds, order of loads and sums, and the width
// of every accumulator, and gives the exact accesses and costs of the
// instructions. Of cuts chosen at run time it knows the largest tile and the
// region that all tiles cover: enough for all proofs, and a bound of the
// cycles.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_SPARSECHECK_H
#define ASHLAR_LIB_EMULATOR_PROVE_SPARSECHECK_H

#include "../Cost/Costs.h"
#include "../Cost/ScatterTime.h"
#include "../Cost/StreamWalk.h"
#include "../Execute/TapProgram.h"
#include "../State/Tiles.h"
#include "Checks.h"
#include "Cluster/KeptPixels.h"
#include "ashlar/Container/Container.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Machine/TileGeometry.h"
#include "ashlar/Support/RawVector.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <vector>

namespace ashlar::emulator {

class SparseChecker {
public:
  using Accesses = llvm::SmallVectorImpl<isa::Access>;

  /// \p segments are the constants of the program, ascending. What `work`
  /// runs out of is not proven: the caller has to ask it.
  SparseChecker(const machine::Description &machine,
                llvm::ArrayRef<container::Segment> segments, ProofWork &work);

  /// Checks the next instruction, which has passed checkFields() and
  /// checkBounds(), and replaces \p accesses by exact ones where a table or a
  /// stream decides. Sets \p cost if it depends on either.
  std::optional<Finding> step(const isa::Instruction &inst, Accesses &accesses,
                              std::optional<Cost> &cost);

  /// Decodes the streams of a run that step() has accepted, so that no run of
  /// the program has to.
  void prepare(const isa::TccRun &op, TapPrograms &programs) const;

  /// Instead of step(), where nothing has to be proven again: follows weights
  /// and tables alone.
  void follow(const isa::Instruction &inst);

private:
  using Result = std::optional<Finding>;

  /// What is known of a tile table.
  struct Table {
    /// The tiles; of a cut that the program chooses, the largest possible ones.
    TileTable units;
    /// Where the tiles are: one by one, or as whole regions where only a cut
    /// will tell.
    TileTable places;
    bool cut = false;     ///< By the program as it runs.
    bool partial = false; ///< Tiles are of the operand.
    /// Results of an image that the whole operand of a cut reaches.
    uint64_t reached = 0;
  };

  /// What one dma.tile left in a set.
  struct Load {
    isa::DmaTile op;
    uint32_t held = 0; ///< Number of the tiles in the memories.
    uint64_t slotBytes = 0;
    uint64_t end = 0;                 ///< After the last slot.
    std::shared_ptr<KeptPixels> kept; ///< Of drains, with `drained`.
  };

  /// State of an accumulator entry, the same in all units.
  struct Sum {
    double bound = 0;     ///< Largest magnitude.
    uint64_t pending = 0; ///< Groups whose sums were not drained.
    uint32_t table = 0;   ///< Contents that the sums were made with; 0: none.
    bool defined = false;
  };

  // Everything that is not the sparse cluster's, but may touch weight memory.
  template <typename Op>
  Result visit(const Op &, Accesses &, std::optional<Cost> &) {
    return std::nullopt;
  }
  Result visit(const isa::DmaCopy &op, Accesses &, std::optional<Cost> &);
  Result visit(const isa::TccTile &op, Accesses &, std::optional<Cost> &cost);
  Result visit(const isa::DmaTile &op, Accesses &accesses,
               std::optional<Cost> &cost);
  Result visit(const isa::TccOperand &op, Accesses &,
               std::optional<Cost> &cost);
  Result visit(const isa::TccPart &op, Accesses &accesses,
               std::optional<Cost> &cost);
  Result visit(const isa::TccBind &op, Accesses &, std::optional<Cost> &cost);
  Result visit(const isa::TccNnz &op, Accesses &accesses,
               std::optional<Cost> &cost);
  Result visit(const isa::TccInit &op, Accesses &, std::optional<Cost> &cost);
  Result visit(const isa::TccRun &op, Accesses &, std::optional<Cost> &cost);
  Result visit(const isa::ActDrain &op, Accesses &accesses,
               std::optional<Cost> &cost);
  Result visit(const isa::ActPool &op, Accesses &, std::optional<Cost> &);

  Result copyConstants(const isa::DmaCopy &op);
  /// The bytes [begin, begin + count) of DRAM, null if they are not constant.
  const uint8_t *constantBytes(uint64_t begin, uint64_t count) const;
  /// The table, or a finding if it was never written.
  Result readTable(unsigned index, const Table *&table) const;
  /// A finding if entries of another kind would stay next to new ones.
  Result checkKept(unsigned index, bool clear, bool partial) const;
  /// Gives the tiles of a table their numbers, the same for the same tiles.
  void numberTiles(unsigned index);
  uint32_t numberOf(llvm::ArrayRef<TileEntry> tiles);
  /// Counters that an instruction reads or adds to are defined, those that it
  /// clears become so.
  Result followCounters(const Accesses &accesses);
  /// No two units with tiles take them from one memory unit.
  Result checkMemories(unsigned index) const;
  /// The group of a unit within the groups that an instruction states.
  template <typename Op>
  Result checkGroup(const Op &op, const TileEntry &entry) const;
  /// Tiles within the largest tile and the groups that an instruction states.
  template <typename Op>
  Result checkTiles(const Op &op, const TileTable &table) const;
  Result checkSlots(const isa::TccRun &op) const;
  /// The load that slot \p slot of a run was written by.
  const Load *loadOf(const isa::TccRun &op, uint64_t address) const;
  Result checkBanks(const isa::TccRun &op,
                    llvm::ArrayRef<uint32_t> groups) const;
  /// What the stream of a group gives: null without a finding if there is no
  /// work left.
  Result followStream(const isa::TccRun &op, const TileTable &table,
                      uint32_t group,
                      std::shared_ptr<const StreamWalk::Facts> &facts,
                      Cost &cost);
  Result runStreams(const isa::TccRun &op, const TileTable &table,
                    llvm::ArrayRef<uint32_t> groups,
                    std::vector<double> &bounds, Cost &cost);
  /// What a scattering run takes at most; false if that may not be found out.
  bool runScattered(const isa::TccRun &op, const TileTable &table,
                    llvm::ArrayRef<uint32_t> groups, Cost &cost);
  Result addBounds(const isa::TccRun &op, uint64_t groupMask,
                   llvm::ArrayRef<double> bounds);
  Result knownValue(uint64_t address, int64_t &value) const;
  /// What the entries of a drain have to be.
  struct Drained {
    uint32_t contents = 0; ///< Tiles that they were made with.
    double parts = 0;      ///< Partial sums that are added up; 0: none.
  };
  /// One accumulator entry of a drain.
  bool takeDrained(const Drained &drained, uint64_t group, int64_t at);
  Finding drainedFinding(const isa::ActDrain &op, int64_t at) const;
  static Result checkGroups(const isa::ActDrain &op, const Table &table);
  Result drainSums(const isa::ActDrain &op, const Table &table);
  /// Entries that a drain reads and results that it starts.
  static uint64_t drainResults(const isa::ActDrain &op, const Table &table);
  uint64_t drainSteps(const isa::ActDrain &op, const Table &table) const;
  void drainAccesses(const isa::ActDrain &op, const Table &table,
                     Accesses &accesses) const;
  /// Drops the loads of a set of buffers that \p accesses write over.
  void forgetOverwritten(uint64_t set, const Accesses &accesses);
  /// Tiles that cover the entries of a pool, each of them once.
  Result checkCover(const isa::ActDrain &entries, const Table &table);
  /// What the opening of tiles for drains has to be.
  Result checkOpened(const isa::DmaTile &op, const Table &table) const;
  /// Follows the results of a drain into the tiles that were opened for them.
  Result keepResults(const isa::ActDrain &op, const Table &table, Cost &cost);
  llvm::ArrayRef<uint8_t> knownWeights(uint64_t begin, uint64_t bytes) const;

  const machine::Description &machine;
  ProofWork &work;
  llvm::ArrayRef<container::Segment> constants; ///< DRAM, ascending.
  support::RawVector<uint8_t> weights;          ///< Contents of weight memory.
  llvm::BitVector isKnown;                      ///< Per byte.
  FollowedStreams followed;
  ScatterStreams scattered;
  std::vector<Table> tables;
  /// Number of what the compute units of a table have, wherever it is in
  /// memory; 0: unwritten.
  std::vector<uint32_t> contents;
  /// Number of the tiles that a table has in each memory unit, whichever unit
  /// and group take them.
  std::vector<uint32_t> held;
  /// Numbers of contents by a digest of them, and how many there are.
  llvm::StringMap<uint32_t> numbers;
  uint32_t numContents = 0;
  std::vector<std::vector<Load>> sets;
  /// By set: what the last dma.tile with `drained` has opened.
  std::vector<std::shared_ptr<KeptPixels>> opened;
  std::vector<Sum> sums;
  std::vector<bool> counted; ///< Counters that were started.
};

template <typename Op>
std::optional<Finding> SparseChecker::checkGroup(const Op &op,
                                                 const TileEntry &entry) const {
  if (entry.idle() || entry.group < op.groups)
    return std::nullopt;
  return Finding{FaultKind::OutOfRange,
                 fmt::format("a unit of group {}, the instruction has {} "
                             "groups",
                             entry.group, op.groups),
                 "tiles", op.table};
}

template <typename Op>
std::optional<Finding> SparseChecker::checkTiles(const Op &op,
                                                 const TileTable &table) const {
  for (const TileEntry &entry : table) {
    if (entry.images > op.images || entry.rows > op.tileH ||
        entry.cols > op.tileW)
      return Finding{FaultKind::OutOfRange,
                     fmt::format("a tile of {}x{}x{} results, the instruction "
                                 "allows {}x{}x{}",
                                 entry.images, entry.rows, entry.cols,
                                 op.images, op.tileH, op.tileW),
                     "tiles", op.table};
    if (auto finding = checkGroup(op, entry))
      return finding;
  }
  return std::nullopt;
}

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_SPARSECHECK_H
