// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls whose products the host has not computed yet. Their operands are
// packed, hence independent of the memories, and nothing sees PSUM before the
// next drain. Computing all of them then has three advantages over computing
// each on its own: the accumulators of a few steps stay in the host's first
// cache level while all row tiles are added; the threads meet once per drain;
// and products of few rows into the same entries, such as the taps of a
// convolution of few channels, become one product of many.
//
// Every thread packs, multiplies and drains the same part of the entries: with
// many steps a range of steps, otherwise a range of columns. What it needs is
// then in the cache of its own core.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_MATMULBATCH_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_MATMULBATCH_H

#include "OperandReuse.h"
#include "ashlar/Numerics/Kernels.h"
#include "llvm/ADT/SmallVector.h"
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

  /// Cuts the columns into at most `count` parts.
  void setShape(uint64_t newRows, uint64_t newCols, unsigned count);
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
  /// Nobody refers to inactive sets any more.
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
    const StationarySet *set;
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

private:
  /// Matmuls into the same entries, in program order.
  struct Target {
    uint64_t entry = 0, steps = 0;
    llvm::SmallVector<Matmul, 8> matmuls;
  };
  /// Steps [begin, end) of a target, with one part of the columns or with all.
  struct Unit {
    static constexpr size_t allParts = ~size_t(0);
    const Target *target;
    uint64_t begin, end;
    size_t part = allParts;
  };

  /// All units, ordered so that every thread's share is its part.
  llvm::SmallVector<Unit, 64> unitsFor(unsigned threads) const;
  void compute(Engine &engine, const Unit &unit) const;
  void packMerged(Engine &engine);

  std::vector<Target> targets;
  std::vector<std::unique_ptr<StationarySet>> merged;
  size_t mergedUsed = 0;
  unsigned pending = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_MATMULBATCH_H
