// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls whose products the host has not computed yet. Their operands are
// packed, hence independent of the memories, and nothing sees an entry of PSUM
// before a drain of it. Computing all products of an entry then has three
// advantages over computing each on its own: the accumulators of a few steps
// stay in the host's first cache level while all row tiles are added; the
// threads meet once per drain; and products of few rows into the same entries,
// such as the taps of a convolution of few channels, become one product of
// many. Entries of a window that the array is still filling wait for a drain of
// their own.
//
// Every thread packs, multiplies and drains the same part of the entries: with
// many steps a range of steps, otherwise a range of columns. What it needs is
// then in the cache of its own core.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_MATMULBATCH_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_MATMULBATCH_H

#include "OperandReuse.h"
#include "ashlar/Numerics/Kernels.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace ashlar::emulator {

struct Engine;

/// From this many steps on, threads split the steps.
inline constexpr uint64_t splitSteps = 128;
/// Rows of products that become one; a stationary set with at most half of
/// them takes part.
inline constexpr uint64_t mergedRows = 64;

/// One set of stationary operands inside the array.
struct StationarySet {
  /// Columns from `first` on.
  struct Part {
    uint64_t first = 0;
    numerics::PackedStationary packed;
  };
  std::vector<Part> parts;
  /// Aligned integers, rows x cols, of sets that may be merged; else empty.
  std::vector<int16_t> values;
  std::vector<uint64_t> raw; ///< Select mode: words as stored, rows x cols.
  uint64_t rows = 0, cols = 0;
  unsigned waiting = 0;  ///< Matmuls of the batch that refer to it.
  bool isPacked = false; ///< A merged one, with all rows that it has.

  /// Cuts the columns into at most `count` parts.
  void setShape(uint64_t newRows, uint64_t newCols, unsigned count);
  /// Whether all parts hold stored bytes and shifts.
  bool isInBlocks() const {
    return std::all_of(parts.begin(), parts.end(),
                       [](const Part &part) { return part.packed.inBlocks; });
  }
  /// Makes aligned integers of them, for operands that are such.
  void leaveBlocks(const numerics::KernelTable &kernels) {
    for (Part &part : parts)
      if (part.packed.inBlocks)
        kernels.leaveBlocks(part.packed);
  }
  /// Columns of a part.
  uint64_t colsOf(size_t part) const {
    return (part + 1 < parts.size() ? parts[part + 1].first : cols) -
           parts[part].first;
  }
  /// Whether the sets have the same columns in the same parts.
  bool hasColumnsOf(const StationarySet &other) const {
    return cols == other.cols && parts.size() == other.parts.size();
  }
};

/// Stationary sets that may still be needed. Storage is kept for reuse.
class StationarySets {
public:
  StationarySet &shadow() { return *shadowSet; }
  StationarySet &active() { return *activeSet; }
  /// The shadow set becomes active; the old active set keeps its contents
  /// until recycle().
  void swap();
  /// Inactive sets that no matmul of the batch refers to may be used again.
  void recycle();

private:
  using Pointer = std::unique_ptr<StationarySet>;
  Pointer shadowSet = std::make_unique<StationarySet>();
  Pointer activeSet = std::make_unique<StationarySet>();
  std::vector<Pointer> retired, unused;
};

/// Matmuls waiting for the next drain.
class MatmulBatch {
public:
  struct Matmul {
    StationarySet *set;
    OperandCache::Slot *operand;
    bool accumulate;
    StationarySet *growing = nullptr; ///< `set` if it is a merged one.
  };

  bool empty() const { return pending == 0; }
  /// Whether a matmul of `steps` entries from `entry` on may be added. If not,
  /// a flush must come first: the entries overlap those of another one only
  /// partly, or too many operands would be kept.
  bool accepts(uint64_t entry, uint64_t steps) const;
  /// Appends a matmul that accepts() has agreed to.
  void add(uint64_t entry, uint64_t steps, const Matmul &matmul);
  /// Adds a set of at most mergedRows / 2 rows to the last matmul of these
  /// entries if that is a merged one with rows left. Gives its operand and, in
  /// `row`, where the set's rows lie in it; null if there is none.
  OperandCache::Slot *merge(const StationarySet &set, uint64_t entry,
                            uint64_t steps, uint64_t &row);
  /// Appends a merged matmul that so far holds `set` alone.
  void addMerged(const StationarySet &set, OperandCache::Slot &operand,
                 bool accumulate, uint64_t entry, uint64_t steps);
  /// Computes everything.
  void flush(Engine &engine);
  /// Computes what goes into any of `steps` entries from `entry` on.
  void flush(Engine &engine, uint64_t entry, uint64_t steps);

  /// Matmuls into the same entries, in program order.
  struct Target {
    uint64_t entry = 0, steps = 0;
    uint64_t done = 0; ///< Steps that have been computed.
    llvm::SmallVector<Matmul, 8> matmuls;

    /// The columns of every part, if all matmuls have the same.
    llvm::ArrayRef<StationarySet::Part> parts() const {
      return matmuls.front().set->parts;
    }
    /// Whether all matmuls add to one sum that the first of them starts, part
    /// by part of the columns.
    bool isOneSum() const {
      return !matmuls.front().accumulate &&
             std::all_of(
                 matmuls.begin() + 1, matmuls.end(),
                 [](const Matmul &matmul) { return matmul.accumulate; });
    }
    /// The products of a part of the columns.
    void
    productsOf(size_t part,
               llvm::SmallVectorImpl<numerics::PackedProduct> &products) const {
      for (const Matmul &matmul : matmuls)
        products.push_back(
            {&matmul.set->parts[part].packed, &matmul.operand->packed});
    }
    /// Multiplications for `count` steps, in units of Engine::split's work.
    uint64_t work(uint64_t count) const;
  };
  /// The matmuls into `steps` entries from `entry` on, to be computed part by
  /// part; null unless these are the next steps of one target, all of whose
  /// sets have `cols` columns in the same parts. Good for a call of compute()
  /// for each part, and then finish().
  Target *open(Engine &engine, uint64_t entry, uint64_t steps, uint64_t cols);
  /// On any thread: steps [begin, end) from the first one opened on, of one
  /// part of the columns or of all; `begin` is a multiple of kMovingUnit.
  void compute(Engine &engine, const Target &target, uint64_t begin,
               uint64_t end, size_t part = allParts) const;
  /// What open() gave has been computed.
  void finish(Engine &engine, Target &target, uint64_t steps);
  static constexpr size_t allParts = ~size_t(0);

private:
  /// Steps [begin, end) of a target, with one part of the columns or with all.
  struct Unit {
    const Target *target;
    uint64_t begin, end;
    size_t part = allParts;
  };

  void flush(Engine &engine, llvm::function_ref<bool(const Target &)> which);
  /// All units of some targets, ordered so that every thread's share is its
  /// part.
  llvm::SmallVector<Unit, 64> unitsFor(llvm::ArrayRef<const Target *> some,
                                       unsigned threads) const;
  void compute(Engine &engine, const Unit &unit) const;
  void packMerged(Engine &engine, const Target &target);
  /// Nothing of the target waits any more.
  void release(Engine &engine, const Target &target);

  std::vector<Target> targets;
  std::vector<std::unique_ptr<StationarySet>> merged;
  std::vector<StationarySet *> unusedMerged;
  unsigned pending = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_MATMULBATCH_H
