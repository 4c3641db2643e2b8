// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the engines share while a program executes: memories, kernels, threads,
// counters; and one execute() per instruction. Instructions have passed the
// verifier, so nothing here checks bounds again.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_ENGINE_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_ENGINE_H

#include "../Cost/Costs.h"
#include "../Cost/ScatterTime.h"
#include "../Cost/StreamWalk.h"
#include "../State/KeptTiles.h"
#include "../State/Memory.h"
#include "../State/TensorView.h"
#include "MatmulBatch.h"
#include "OperandReuse.h"
#include "TapProgram.h"
#include "ashlar/Emulator/Fault.h"
#include "ashlar/Emulator/Result.h"
#include "ashlar/Emulator/SparseObserver.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Numerics/Kernels.h"
#include "ashlar/Numerics/Statistics.h"
#include "ashlar/Support/ElementType.h"
#include "ashlar/Support/ThreadPool.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Alignment.h"
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ashlar::emulator {

/// Buffers of one host thread, grown once and kept. Distinct purposes have
/// distinct buffers, so that nested helpers never share one.
class Scratch {
public:
  enum Slot {
    GatherA,  ///< Gathered mantissas or raw elements.
    Signed,   ///< Mantissas that are stored without signs.
    GatherB,  ///< Gathered exponent cells.
    Moving,   ///< Aligned moving operand.
    Zeroed,   ///< Window masks.
    Accums,   ///< Gathered accumulators.
    RowA,     ///< Operand rows in binary32 or int64.
    RowB,     ///< Second operand.
    Block,    ///< Result rows of one block.
    Mantissa, ///< Encoded rows before they are scattered.
    Cells,    ///< Exponent cells before they are scattered.
    Pointers, ///< Row pointers for the encoder.
    Pointers2,
    Epilogues, ///< Parameters of the rows of one block.
    Store,     ///< Converted elements before they are scattered.
    Column,    ///< Elements of one block.
    NumSlots
  };
  template <typename T>
  T *get(Slot slot, uint64_t count) {
    std::vector<uint64_t> &buffer = buffers[slot];
    // One cache line beyond, because kernels may read whole vectors, and one to
    // start at a line.
    uint64_t words = (count * sizeof(T) + 63) / 8 + 16;
    if (buffer.size() < words)
      buffer.resize(words + words / 2);
    return reinterpret_cast<T *>(
        llvm::alignAddr(buffer.data(), llvm::Align(64)));
  }
  static Scratch &ofThisThread();

  numerics::PlannedSums sums; ///< Of a drain that computes its products.

private:
  std::vector<uint64_t> buffers[NumSlots];
};

/// What the contents of memory made impossible: a fault without its
/// instruction.
struct RunFinding {
  FaultKind kind;
  std::string message;
  std::optional<uint64_t> address = std::nullopt; ///< Linear, in SB.
};

/// Everything that executing one instruction may touch.
struct Engine {
  Memory memory;
  /// The statistics registers.
  std::vector<numerics::Statistics> statistics;
  std::vector<TileTable> tables;  ///< Of the sparse cluster.
  std::vector<bool> cutTables;    ///< Those that this run has cut.
  std::vector<KeptTiles> kept;    ///< By buffer set: what drains fill.
  std::vector<uint32_t> nonZeros; ///< Counters.
  SparseObserver *observer = nullptr;
  /// What instructions took whose time the data of this run decides.
  llvm::DenseMap<uint32_t, Cost> measured;
  /// Addresses that the data of this run decides, if keepChosen: of dma.gather
  /// and dma.put how far each row lies from where index 0 is, of compressed
  /// transfers the bytes of each cell.
  llvm::DenseMap<uint32_t, std::vector<uint64_t>> chosen;
  bool keepChosen = false;
  /// What dma.compress has stored for each node.
  std::map<uint32_t, StoredMaps> maps;
  /// Cuts that this run has chosen, in program order.
  std::vector<CutResult> cuts;
  /// What units have done in scatter mode, and where they are found by node,
  /// unit, group, image and tile.
  std::vector<UnitWork> units;
  std::map<std::array<int64_t, 8>, size_t> unitIndex;
  /// Nodes of the instructions, for the above.
  llvm::ArrayRef<uint32_t> nodes;
  const machine::Description *machine = nullptr;
  const machine::Description *costMachine = nullptr; ///< For `measured`.
  const numerics::KernelTable *kernels = nullptr;
  support::ThreadPool *pool = nullptr;
  /// Element operations of a loop from which threads share it.
  uint64_t forkWork = 0;
  /// Threads that share the columns of a product of few steps.
  unsigned columnSharers = 1;
  StationarySets sets;
  /// Moving operands that matmuls share, found by the loader.
  OperandReuse reuse;
  /// Uses of operands by the instructions that this engine executes; empty if
  /// it executes all of them.
  llvm::ArrayRef<uint32_t> ownUses;
  uint32_t usesOf(uint32_t operand) const {
    return ownUses.empty() ? reuse.usesOf(operand) : ownUses[operand];
  }
  OperandCache operands;
  /// Coefficients of the sparse cluster, decoded. All engines of a program and
  /// of its copies share them.
  std::shared_ptr<TapPrograms> tapPrograms = std::make_shared<TapPrograms>();
  /// The same for the time that they take.
  ScatterStreams scattered;
  FollowedStreams followed;
  /// Products that the next reader of PSUM requests.
  MatmulBatch batch;
  /// By instruction, whether it is a drain whose sums nothing reads after it.
  std::vector<bool> lastReads;
  /// Whether an observer of this run looks at the sums themselves.
  bool keepSums = false;
  /// Whether the sums that the current drain reads need a place in PSUM.
  bool needsSums() const { return keepSums || !lastReads[current]; }
  /// Index of the current instruction.
  uint32_t current = 0;
  /// Counters of the current instruction.
  numerics::EncodeCounters counters;
  uint64_t fetched = 0; ///< Elements fetched by this instruction.
  /// Set by the current instruction if the contents of memory make it
  /// impossible, or break a promise of its fields: the run ends there.
  std::optional<RunFinding> finding;
  /// A promise that operands break, as a finding; none if \p text is empty.
  void reject(std::string text) {
    if (!text.empty())
      finding = RunFinding{FaultKind::BadField, std::move(text)};
  }
  std::mutex mutex;

  /// Tile tables as they are before a run.
  void clearTables();
  /// Sets the threads of a run, null for one thread, and whether they are near.
  void setThreads(support::ThreadPool *threads, bool areNear);

  /// Runs \p fn over [0, n), in parallel if \p work (elements touched) pays
  /// for a fork. \p fn must give the same result for any partition.
  void split(uint64_t n, uint64_t work,
             llvm::function_ref<void(uint64_t, uint64_t)> fn);

  /// Clears the register that collects exponents, if the target says so.
  void beginEncode(const EncodeTarget &target);
  /// Adds a thread's encode results to the counters and merges the register.
  void finishEncode(const numerics::EncodeStats &stats,
                    const EncodeTarget &target);
  void clearScale(unsigned xr) { memory.xr(xr) = clearedScale; }

  void execute(const isa::SemWait &) {}
  void execute(const isa::SemSignal &) {}
  void execute(const isa::XrSet &op);
  void execute(const isa::XrMerge &op);
  void execute(const isa::XrSelect &op);
  void execute(const isa::XrPick &op);
  void execute(const isa::XrPredict &op);
  void execute(const isa::DmaCopy &op);
  void execute(const isa::DmaFill &op);
  void execute(const isa::DmaUnpack &op);
  void execute(const isa::DmaGather &op);
  void execute(const isa::DmaPut &op);
  void execute(const isa::DmaCompress &op);
  void execute(const isa::DmaExpand &op);
  void execute(const isa::PeLoad &op);
  void execute(const isa::PeSwap &op);
  void execute(const isa::PeMatmul &op);
  void execute(const isa::ActDrain &op);
  void execute(const isa::VecMap &op);
  void execute(const isa::VecPool &op);
  void execute(const isa::VecDrain &op);
  void execute(const isa::ActPool &op);
  void execute(const isa::VecReduce &op);
  void execute(const isa::VecReduceChannels &op);
  void execute(const isa::VecStat &op);
  void execute(const isa::VecMeasure &op);
  void execute(const isa::VecGather &op);
  void execute(const isa::HostNonzero &op);
  void execute(const isa::HostSort &op);
  void execute(const isa::HostUnique &op);
  void execute(const isa::HostNms &op);
  void execute(const isa::TccTile &op);
  void execute(const isa::DmaTile &op);
  void execute(const isa::TccInit &op);
  void execute(const isa::TccRun &op);
  void execute(const isa::TccNnz &op);
  void execute(const isa::TccPart &op);
  void execute(const isa::TccOperand &op);
  void execute(const isa::TccBind &op);
  /// Counts the non-zeros that a drain has stored.
  void countDrained(const isa::ActDrain &op);
  /// Writes the results of one tile, which lie at the destination of \p op, to
  /// the tiles that were opened for them.
  void keepResults(const isa::ActDrain &op, const isa::MapBox &tile);
  /// Time and addresses of a dma.gather whose rows lie \p rows bytes from where
  /// index 0 is.
  void measureRows(const isa::DmaGather &op, llvm::ArrayRef<int64_t> rows);
  /// Time of a tcc.run on tiles that this run has cut.
  void measureTiles(const isa::TccRun &op);
  /// Measures a scattering tcc.run on the resident tiles.
  void measureScatter(const isa::TccRun &op);
  void addWork(const isa::TccRun &op, uint64_t unit, uint64_t cycles,
               uint64_t products);
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_ENGINE_H
