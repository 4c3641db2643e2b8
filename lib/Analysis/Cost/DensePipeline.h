// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dense array and its drains over time, for the prediction of one
// convolution.

#ifndef ASHLAR_LIB_ANALYSIS_COST_DENSEPIPELINE_H
#define ASHLAR_LIB_ANALYSIS_COST_DENSEPIPELINE_H

#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Machine/Ports.h"
#include "ashlar/Partition/Windows.h"

#include <vector>

namespace ashlar::analysis {

/// Array and drain as the emitted program uses them (EmitProduct.cpp): groups
/// of windows fill banks of PSUM by turns while others drain.
class DensePipeline {
  /// Banks that are told apart. More would never be waited for.
  static constexpr size_t kMostBanks = 8;

public:
  /// `rows`: of results in a step; `result`: the fold in which the drain
  /// writes. Windows take `entries` entries of a bank at most.
  DensePipeline(npu::PeConvOp conv, int64_t rows, const Lanes &lanes,
                const Lanes &result, int64_t entries,
                const machine::Description &machine);

  /// Continues where `other` ends: the array streams while ACT drains the last
  /// sums of the product before.
  void follow(const DensePipeline &other) { state = other.state; }

  void add(llvm::ArrayRef<ColumnTile> columns) {
    for (size_t i = 0; i < columns.size(); ++i)
      add(columns[i], i + 1 == columns.size());
  }

  DenseCycles take() const { return state.cycles; }

private:
  /// `last`: no column follows. Groups of equal windows soon repeat: two of
  /// them then move every time by as much as the two before did, so that the
  /// time of very many is known without counting each.
  void add(const ColumnTile &column, bool last);

  /// Rows of results and their width, and the rows that they are reduced to.
  struct Box {
    int64_t rows = 0, width = 0, pooled = 0;
    bool operator==(const Box &) const = default;
    int64_t positions() const { return rows * width; }
  };
  /// A window and the pieces that it may be drained in.
  struct Part {
    Box whole;
    llvm::SmallVector<Box, 8> pieces;
    bool operator==(const Part &) const = default;
  };
  /// Groups of equal windows, one after the other.
  struct Run {
    llvm::SmallVector<Part, 2> windows;
    int64_t count = 0;
  };

  /// What two groups ago decides about the next one, and the sums.
  struct State {
    /// When banks of PSUM are free again, the next one first.
    llvm::SmallVector<int64_t, kMostBanks> free;
    int64_t arrayFree = 0, actFree = 0;
    DenseCycles cycles;

    bool repeats(const State &old) const {
      const int64_t step = arrayFree - old.arrayFree;
      return actFree - old.actFree == step &&
             llvm::all_of(llvm::zip_equal(free, old.free), [&](auto banks) {
               return std::get<0>(banks) - std::get<1>(banks) == step;
             });
    }

    /// What has happened since `old` happens `times` more.
    void repeat(const State &old, int64_t times) {
      const int64_t step = times * (arrayFree - old.arrayFree);
      for (int64_t &bank : free)
        bank += step;
      for (int64_t *time : {&arrayFree, &actFree, &cycles.total})
        *time += step;
      cycles.stream += times * (cycles.stream - old.cycles.stream);
      cycles.array += times * (cycles.array - old.cycles.array);
      cycles.drain += times * (cycles.drain - old.cycles.drain);
    }
  };

  Part partOf(const partition::Window &window) const;
  void findGroups(const partition::Positions4 &extent, int64_t entries);
  void findPooledGroups(npu::PeConvOp conv, int64_t images, int64_t width);
  int64_t accesses(const Box &box, int64_t bytes, int64_t step,
                   int64_t pixels) const;
  /// Cycles of one bank; none where banks have no price.
  int64_t claim(int64_t count) const {
    return machine.sb.banks == 0 ? 0
                                 : static_cast<int64_t>(machine::bankCycles(
                                       machine, static_cast<uint64_t>(count)));
  }
  /// Steps and cycles of a stream; `pattern`: through N:M weights.
  machine::PeSteps stepsOf(const Box &box, bool pattern) const;
  uint64_t groupsOf(bool pattern) const;
  int64_t streamOf(const Box &box, bool pattern) const;
  int64_t drainOf(const Box &box, int64_t columns) const;
  void addGroup(const ColumnTile &column, llvm::ArrayRef<Part> windows,
                bool inPieces);
  size_t banksOf(size_t windows) const;

  const machine::Description &machine;
  int64_t rows;                                ///< of results in a step
  int64_t lanes, drained, passes, weightBytes; ///< of x, of drains
  int64_t xBytes, stride, residual; ///< bytes, elements, bytes (0: none)
  StorageType stored;
  machine::VecCost function;
  int64_t share;            ///< of the vector unit
  npu::PoolingAttr pooling; ///< of the drain, or null
  StorageType result;       ///< of reduced windows
  int64_t pooledColumns = 1;
  std::vector<Run> groups;
  bool started = false;      ///< some group is
  bool pointwise = false;    ///< positions follow each other in the input
  bool narrow = false;       ///< cells may take two positions at a time
  bool usesPattern = false;  ///< tiles that have it are N:M weights
  bool afterPattern = false; ///< the last stream was through N:M weights
  State state;
};

} // namespace ashlar::analysis

#endif // ASHLAR_LIB_ANALYSIS_COST_DENSEPIPELINE_H
