// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a driver knows of its programs and runs, and the threads that stand for
// accelerators. Everything here is behind one lock; programs run outside of it.

#ifndef ASHLAR_LIB_API_DRIVER_DRIVERSTATE_H
#define ASHLAR_LIB_API_DRIVER_DRIVERSTATE_H

#include "ashlar/Api/Driver.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace ashlar::api {

/// A program with a place in DRAM. Each run uses a copy of its memories, of
/// which there are never more than accelerators.
struct LoadedProgram {
  std::vector<TensorInfo> inputs, outputs;
  std::vector<Descriptor> descriptors; ///< Addresses of the accelerator.
  uint64_t base = 0, bytes = 0;        ///< In DRAM.
  bool carriesState = false;
  std::shared_ptr<Program> first; ///< Others are copies of it.
  std::vector<std::shared_ptr<Program>> idle;
  uint64_t pending = 0; ///< Runs that have not ended.
};

/// A run from its start until it is released.
struct Run {
  ProgramId program = 0;
  StartOptions how;
  std::vector<Array> inputs; ///< Given and fed.
  RunState state = RunState::Waiting;
  unsigned missing = 0; ///< Earlier runs that it waits for.
  std::vector<RunId> needs, neededBy;
  bool skip = false; ///< Its condition does not hold.
  std::optional<Error> error;
  std::optional<RunResult> result;
  std::optional<RunSpan> span;
  uint64_t readyAt = 0; ///< Cycle in which the runs that it needs have ended.
  uint64_t cycles = 0;
  bool taken = false, released = false;

  bool ended() const { return state >= RunState::Done; }
};

struct Driver::Impl {
  explicit Impl(const DriverOptions &options)
      : options(options), freeAt(options.accelerators) {}
  ~Impl();

  /// Finds room in DRAM.
  Status place(LoadedProgram &program, const std::string &name) const;
  /// Inputs of the program come from exactly one place each, and feeds and the
  /// condition name outputs that fit.
  Status check(const LoadedProgram &program, const Run &run) const;
  /// Notes what the run needs; takes what is there already.
  void link(RunId id, Run &run);
  void work();
  /// Ends a run, hands its outputs to those that wait for it and ends those
  /// that shall not begin. Returns what is to be called without the lock.
  std::vector<std::function<void()>> end(RunId id, RunState state);
  /// Gives spans to all runs up to the first that has not ended.
  void schedule();
  /// Waits until the run, or every run up to it, has ended; null if it is
  /// unknown.
  Run *waitFor(RunId run, std::unique_lock<std::mutex> &lock);
  Run *find(RunId run);

  DriverOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<ProgramId, LoadedProgram> programs;
  std::map<RunId, Run> runs;
  std::set<RunId> open; ///< Those that have not ended.
  ProgramId nextProgram = 1;
  RunId nextRun = 1;
  bool stopping = false;
  std::vector<std::thread> workers;

  // Of the schedule in cycles.
  RunId scheduled = 1;                   ///< Runs before it have a span.
  std::vector<uint64_t> freeAt;          ///< Accelerators.
  std::map<ProgramId, uint64_t> stateAt; ///< Programs with state.

private:
  Status checkFeed(const LoadedProgram &program, const Feed &feed) const;
  Status checkCondition(const Condition &condition) const;
  Result<const TensorInfo *> outputOf(RunId run,
                                      const std::string &output) const;
  void deliver(const Run &from, RunId id, Run &to) const;
  std::optional<RunId> next() const;
  void execute(RunId id, std::unique_lock<std::mutex> &lock);
};

/// The value of an array of one element.
Result<double> scalarOf(const Array &array);

/// True if \p value compares so with that of the condition.
bool holds(const Condition &condition, double value);

} // namespace ashlar::api

#endif // ASHLAR_LIB_API_DRIVER_DRIVERSTATE_H
