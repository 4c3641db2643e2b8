// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run whose threads execute lists of instructions side by side. What they
// share:
//
// - the memories but PSUM and the units of the sparse cluster: instructions
// that conflict there are in order,
//   because one is before the other in a list, or waits for it by the position
//   that the other list has published;
// - exponent registers that several of them merge into: atomic maxima;
// - the engine of list 0, which has everything that is no memory (statistics,
//   counters of non-zeros, tiles that the data of a run cuts): nobody else
//   touches it;
//
// - decoded coefficients of the cluster, behind a lock.
//
// All else (PSUM, sets of the array, packed operands, feature-map units,
// accumulators, counters) belongs to one list.

#ifndef ASHLAR_LIB_EMULATOR_PARALLEL_LISTRUN_H
#define ASHLAR_LIB_EMULATOR_PARALLEL_LISTRUN_H

#include "../Execute/Engine.h"
#include "Lists.h"
#include "ashlar/Emulator/Emulator.h"
#include <atomic>
#include <memory>
#include <vector>

namespace ashlar::emulator {

/// The lists of a program, and an engine for each.
class ListRun {
public:
  /// Lists for as many threads as the pool of \p impl has, or what was cut
  /// before. Null if there are none, or if they are not worth it: the program
  /// then runs instruction by instruction.
  static ListRun *prepare(LoadedProgram::Impl &impl, const Options &options,
                          support::ThreadPool::Distance distance);

  /// Runs the lists, which belong to the program.
  static std::unique_ptr<ListRun> of(std::shared_ptr<const Lists> lists) {
    return std::unique_ptr<ListRun>(new ListRun(std::move(lists)));
  }
  const std::shared_ptr<const Lists> &cut() const { return lists; }

  /// Executes the program. False if the contents of memory made an instruction
  /// impossible: then nothing has been added to \p result, and the run has to
  /// be repeated in program order to find the first such instruction.
  bool run(LoadedProgram::Impl &impl, RunResult &result);

private:
  explicit ListRun(std::shared_ptr<const Lists> lists)
      : lists(std::move(lists)), positions(this->lists->lists.size()) {}

  /// How far a list has come; written by its thread alone.
  struct Position {
    alignas(64) std::atomic<uint32_t> done{0};
  };

  bool makeEngines(LoadedProgram::Impl &impl);
  void start(LoadedProgram::Impl &impl);
  bool waitFor(const Lists::Wait &wait) const;
  void runList(const LoadedProgram::Impl &impl, size_t number,
               RunResult &result);

  std::shared_ptr<const Lists> lists;
  std::vector<std::unique_ptr<Engine>> others; ///< Of lists 1 and on.
  std::vector<Engine *> engines;               ///< Of all lists.
  std::vector<Position> positions;
  std::atomic<bool> stop{false}; ///< Some list has found something.
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PARALLEL_LISTRUN_H
