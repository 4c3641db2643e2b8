// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host driver of several accelerators: holds compiled programs, starts runs
// of them, reports their progress, and hands out their results. A run may take
// outputs of earlier runs as inputs. It may also depend on a scalar that an
// earlier run produced, so that an early exit can skip the rest of a network.
// Part of libashlar-runtime; docs/Api.md has an example.
//
// Functions may be called by any thread. Results never depend on the number of
// accelerators nor on the host's threads.

#ifndef ASHLAR_API_DRIVER_H
#define ASHLAR_API_DRIVER_H

#include "ashlar/Api/Program.h"

#include <functional>
#include <optional>

namespace ashlar::api {

using ProgramId = uint32_t;
using RunId = uint64_t;

/// How far a run is. The last three are final.
enum class RunState : uint8_t {
  Waiting = 0, ///< For an accelerator or for an earlier run.
  Running = 1,
  Done = 2,
  Skipped = 3, ///< Its condition did not hold, or a run that it needs was left
               ///< out itself.
  Failed = 4,
};
/// "waiting", "running", "done", "skipped", "failed".
const char *runStateName(RunState state);

struct DriverOptions {
  /// Runs that may be under way at once; 1 to 64.
  unsigned accelerators = 1;
  /// DRAM of each accelerator, for all loaded programs together; 0: no limit.
  uint64_t dramBytes = 0;
};

/// An output of an earlier run becomes an input of this one.
struct Feed {
  std::string input;
  RunId run = 0;
  std::string output;
};

enum class Comparison : uint8_t {
  Less = 0,
  LessOrEqual = 1,
  Greater = 2,
  GreaterOrEqual = 3,
  Equal = 4,
  NotEqual = 5,
};

/// Holds if an output of one element compares so with `value`. A NaN is only
/// NotEqual.
struct Condition {
  RunId run = 0;
  std::string output;
  Comparison comparison = Comparison::Less;
  double value = 0;
};

struct StartOptions {
  RunOptions run;
  std::vector<Feed> feeds;
  std::optional<Condition> condition;
  /// Called once when the run has ended, by a thread of the driver or, if it
  /// need not begin, by start(). It may start other runs; it must neither throw
  /// nor wait for a run.
  std::function<void(RunId, RunState)> completed;
};

/// When a run used an accelerator, in cycles of its clock, if runs begin in the
/// order of their start as soon as what they need is there. The same for any
/// speed of the host.
struct RunSpan {
  unsigned accelerator = 0;
  uint64_t begin = 0, end = 0;
};

/// Movable, not copyable. The destructor abandons runs that wait and waits for
/// those that are under way.
class Driver {
public:
  /// Usage: numbers out of range.
  static Result<Driver> create(const DriverOptions &options = {});
  Driver(Driver &&) noexcept;
  Driver &operator=(Driver &&) noexcept;
  ~Driver();

  /// Reads and proves a program and gives it a place in DRAM. Capacity: no room
  /// is left. Otherwise as Program::load().
  Result<ProgramId> load(const std::string &path,
                         const LoadOptions &options = {});
  Result<ProgramId> load(Program program);
  /// Usage: unknown, or a run of it has not ended.
  Status unload(ProgramId program);
  Result<std::vector<TensorInfo>> inputs(ProgramId program) const;
  Result<std::vector<TensorInfo>> outputs(ProgramId program) const;

  /// Copies \p inputs, checks that every input of the program comes from there
  /// or from a feed, and returns; the run begins when an accelerator is free
  /// and the runs that it needs have ended. Runs of a program that carries
  /// state go one after the other in the order of their start.
  Result<RunId> start(ProgramId program, std::span<const ArrayView> inputs,
                      const StartOptions &options = {});
  Result<RunState> poll(RunId run) const;
  /// The same once it has ended.
  Result<RunState> wait(RunId run) const;
  /// Waits for the end and hands the result over, once. The error of a run that
  /// failed; Usage: it was skipped or its result was taken before.
  Result<RunResult> take(RunId run);
  /// What the driver set the DMA engines to: addresses in the DRAM of the
  /// accelerator. Samples of one run use the same ones in turn.
  Result<std::vector<Descriptor>> descriptors(RunId run) const;
  /// Waits for the end of this and all earlier runs. No cycles: it did not run
  /// or they were not counted.
  Result<RunSpan> span(RunId run) const;
  /// Forgets a run that has ended. Usage: it has not, or is unknown.
  Status release(RunId run);

  struct Impl;

private:
  explicit Driver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace ashlar::api

#endif // ASHLAR_API_DRIVER_H
