// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planner of memory: residency, addresses and tiles of all operations of a
// module (PlanMemory.cpp, PlanTiles.cpp), results made in the memory of their
// operand (PlanInPlace.cpp) and of their concatenation (PlanConcat.cpp), the
// search for what fits (PlanSearch.cpp) by what it costs (PlanCycles.cpp).

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_MEMORY_MEMORYPLANNER_H
#define ASHLAR_LIB_TRANSFORMS_NPU_MEMORY_MEMORYPLANNER_H

#include "LiveMemory.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Machine/Description.h"
#include "dialects/NPU/ModuleAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>
#include <string>
#include <vector>

namespace ashlar::npu {

using analysis::Shape;
using analysis::TilingModel;

/// Tiles of one operation and the scratch memory of one slot.
struct TileChoice {
  Shape tile;
  int64_t slotBytes = 0;
  int64_t slots = 1;
  /// Bytes of DRAM that the tiles of a product read if outputs, or positions,
  /// are cut first; -1 where such tiles do not fit or nothing is cut.
  int64_t outputsFirst = -1, positionsFirst = -1;
};

/// What is known about one operation while planning.
struct OpPlan {
  mlir::Operation *op = nullptr;
  TilingModel model;
  int64_t bytes = 0;             ///< of the result, per partition
  analysis::WeightNeeds weights; ///< as chunks of the limit tried
  int64_t chunks = 0;            ///< ring that this and earlier operations need
  int64_t lastUse = 0;           ///< index of the last operation that reads it
  bool canReside = true;
  bool resident = false;
  /// Index of the operation whose resident result this one shares, or -1.
  int64_t shares = -1;
  int64_t room = 0;            ///< bytes of the memory that it owns
  std::optional<int64_t> part; ///< first channel in a concatenation's memory
  bool grows = false;          ///< a concatenation adds to it where it lies
  analysis::View dense;        ///< strides of a result in memory of its own
  analysis::View view;         ///< strides of a resident result
  bool hasLanes = false;       ///< carries a lane fold
  int64_t offset = -1;
  int64_t scratchBase = 0;
  int64_t usedEnd = 0; ///< of all memory in use, scratch included
  TileChoice choice;
  /// Index of the operation in whose memory this result is made (the owner of
  /// the operand's), or -1, and why.
  int64_t over = -1;
  std::string overReason;
  bool swaps = false; ///< blocks of both are swapped
  /// Why a data movement that moves nothing is a copy nevertheless.
  std::string viewReason;
  /// Why the result is in DRAM.
  std::string dramReason = "graph output";
};

/// What one attempt to plan a module requests.
struct PlanWish {
  int64_t ring = 0;        ///< bytes for prefetching weights
  int64_t chunksAhead = 2; ///< chunks of weights that the ring holds at least
  /// Bytes of a partition that a chunk of weights may take; 0: whole columns.
  int64_t chunkLimit = 0;
};

/// Decisions about an operation that planning takes back where memory is short.
struct EarlierDecisions {
  LayoutAttr layout;
  Stationary stationary = Stationary::Weights;
  mlir::Attribute stationaryReason;
  uint64_t rowsApart = 0;     ///< rows of the operand that lie apart
  mlir::Attribute rowsReason; ///< decision about them
};

/// A plan that can be gone back to, with the decisions that it rests on.
struct PlanState {
  std::vector<OpPlan> plans;
  std::vector<EarlierDecisions> decisions;
  int64_t ring = 0, chunkLimit = 0, records = 0, identity = 0, reserved = 0;
  bool joins = true;
};

/// Gives the movements of a module that has no plan one pattern for each
/// iteration of the outer loop where a result axis has two, so that tiles may
/// cut the axis (UnrollMoves.cpp). True if one has changed.
bool unrollMoves(mlir::ModuleOp module);

/// Tiles of extents `tile` that a result of `shape` takes.
int64_t tileCount(const Shape &shape, const Shape &tile);

class Planner {
public:
  Planner(const machine::Description &machine, mlir::ModuleOp module)
      : machine(machine), banksApart(tuningOf(module).getBanksApart()) {
    collect(module);
  }

  /// True if there is a plan that fits; it is in `plans` then.
  bool search();
  /// Fails, with the reason, for want of memory, and for a plan of more tiles
  /// than a program may have instructions.
  llvm::LogicalResult refuse() const;
  llvm::LogicalResult refuseManyTiles() const;
  void annotate(mlir::ModuleOp module);

  std::vector<OpPlan> plans;

private:
  void collect(mlir::ModuleOp module);
  void setModel(OpPlan &plan);
  int64_t identityBytes() const;
  bool unfoldSpilled();
  bool attempt(const PlanWish &wish, bool mayEvict);
  bool attemptEvicting(const PlanWish &wish);
  bool keepAll(llvm::ArrayRef<int64_t> rings, int64_t chunkLimit);
  bool evictSome(int64_t chunkLimit);
  bool planShort();
  void setChunkLimit(int64_t limit);
  void startShort(int64_t limit);
  int64_t largestChunk() const;
  PlanState save() const;
  void restore(PlanState state);
  double movement() const;
  double predictedCycles() const;
  double stagedCycles(const OpPlan &plan) const;
  double weightCycles(const OpPlan &plan, int64_t ringBytes) const;
  double arrayCycles(const OpPlan &plan) const;
  std::vector<int64_t> ringBases() const;
  bool place(size_t index);
  bool placeAll(size_t first, bool mayEvict);
  void enter(size_t index);
  LiveArea ownArea(size_t index) const;
  int64_t firstFit(size_t index, int64_t ignored, size_t since) const;
  size_t firstRunning(size_t index) const;
  int64_t ownerOf(int64_t index) const;
  bool isConvertingMove(size_t index) const;
  llvm::StringRef refusalInPlace(size_t index) const;
  bool placeAbove(size_t index);
  bool placeApart(size_t index);
  void countBanks(size_t index, int64_t weight,
                  llvm::MutableArrayRef<int64_t> banks) const;
  bool placeInPlace(size_t index);
  bool placeSwapped(size_t index);
  std::optional<TileChoice> swapScratch(const OpPlan &plan,
                                        int64_t available) const;
  void recordInPlace(size_t index);
  bool chooseScratch(size_t index);
  int64_t limitAt(size_t index) const;
  bool countWeights(int64_t chunksAhead);
  bool evictAt(size_t index);
  bool keepWeightsStationary(size_t index, llvm::StringRef reason);
  const OpPlan *producer(mlir::Value value) const;
  void shareMemory();
  size_t shareAgain();
  bool share(OpPlan &plan);
  std::string refusalOfView(const OpPlan &plan,
                            const analysis::View &view) const;
  void shareConcat(size_t index);
  bool canBePart(const OpPlan &plan, mlir::Value value, int64_t start) const;
  bool canGrow(const OpPlan &plan, mlir::Value value) const;
  bool canJoin(const OpPlan &plan) const;
  bool isReadInDram(mlir::OpOperand &use) const;
  bool isStaged(const OpPlan &plan, unsigned operand) const;
  bool stagesResult(const OpPlan &plan) const;
  int64_t slotBytes(const OpPlan &plan, const Shape &tile) const;
  int64_t movedBytes(const OpPlan &plan, const Shape &tile) const;
  bool waitsForColumns(const OpPlan &plan) const;
  bool readsDramOnce(const OpPlan &plan, const Shape &tile) const;
  uint64_t loadedBytes(const OpPlan &plan, const Shape &tile) const;
  bool waitsForDram(const OpPlan &plan, const Shape &tile) const;
  TileChoice inBands(const OpPlan &plan, const TileChoice &whole,
                     int64_t axis) const;
  /// Cuts tiles until two slots fit \p available bytes and, with \p overlap,
  /// there are enough of them; along \p axes in this order, along none into
  /// less than \p least indices. False if no such tiles do; \p choice has the
  /// smallest then.
  bool cutTile(const OpPlan &plan, int64_t available, bool overlap,
               int64_t least, llvm::ArrayRef<int64_t> axes,
               TileChoice &choice) const;
  std::optional<TileChoice> cutPositions(const OpPlan &plan,
                                         int64_t available) const;
  std::optional<TileChoice> cutOutputs(const OpPlan &plan, int64_t available,
                                       bool first) const;
  void recordWeights(const OpPlan &plan) const;
  void dropPacking(mlir::Operation *op) const;
  bool dropApart(mlir::Operation *op) const;
  int64_t tileTraffic(const OpPlan &plan, const TileChoice &choice) const;
  std::optional<TileChoice> chooseTile(const OpPlan &plan,
                                       int64_t available) const;
  int64_t liveEnd(size_t index) const;
  /// The most that resident constants may take of a partition.
  int64_t constantBytes() const { return machine.sb.bytesPerPartition / 16; }

  const machine::Description &machine;
  const bool banksApart; ///< results lie in other banks than operands
  llvm::DenseMap<mlir::Operation *, size_t> indexOf;
  /// First bytes of every partition: the identity that transposes share, then
  /// small constants.
  int64_t identity = 0, reserved = 0;
  std::vector<int64_t> lastReaders; ///< by operation, of its own result
  bool joins = true;                ///< products may write into concatenations
  int64_t ring = 0;                 ///< bytes wished for prefetching weights
  int64_t chunkLimit = 0;           ///< bytes of a chunk of weights, 0: any
  int64_t records = 0;              ///< of moving weights, in bytes
  int64_t tileLimit = 0;            ///< largest acceptable tile count, 0: any
  LiveMemory live;      ///< areas of operations before the one being placed
  size_t dirty = 0;     ///< first operation whose model is new
  size_t evictions = 0; ///< of the current attempt
  size_t failedAt = 0;
  int64_t failedAvailable = 0, failedWeights = 0;
};

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_MEMORY_MEMORYPLANNER_H
