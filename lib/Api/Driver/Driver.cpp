// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver as its users see it.

#include "ashlar/Api/Driver.h"

#include "../Convert.h"
#include "DriverState.h"

#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::api;
using detail::guarded;

/// More would be threads that no host has.
constexpr unsigned kMostAccelerators = 64;

const char *api::runStateName(RunState state) {
  switch (state) {
  case RunState::Waiting:
    return "waiting";
  case RunState::Running:
    return "running";
  case RunState::Done:
    return "done";
  case RunState::Skipped:
    return "skipped";
  case RunState::Failed:
    return "failed";
  }
  return "unknown";
}

static Error noRun(RunId run) {
  return {api::ErrorCode::Usage, fmt::format("there is no run {}", run)};
}

static Error noProgram(ProgramId program) {
  return {api::ErrorCode::Usage,
          fmt::format("there is no program {}", program)};
}

Driver::Driver(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Driver::Driver(Driver &&) noexcept = default;
Driver &Driver::operator=(Driver &&) noexcept = default;
Driver::~Driver() = default;

Result<Driver> Driver::create(const DriverOptions &options) {
  return guarded([&]() -> Result<Driver> {
    if (options.accelerators < 1 || options.accelerators > kMostAccelerators)
      return Error{api::ErrorCode::Usage,
                   fmt::format("{} accelerators, expected 1 to {}",
                               options.accelerators, kMostAccelerators)};
    auto impl = std::make_unique<Impl>(options);
    for (unsigned i = 0; i < options.accelerators; ++i)
      impl->workers.emplace_back([own = impl.get()] { own->work(); });
    return Driver(std::move(impl));
  });
}

//===- Programs -----------------------------------------------------------===//

Result<ProgramId> Driver::load(const std::string &path,
                               const LoadOptions &options) {
  LoadOptions proven = options;
  proven.prepare = true;
  Result<Program> program = Program::load(path, proven);
  if (!program)
    return program.error();
  return load(std::move(*program));
}

Result<ProgramId> Driver::load(Program program) {
  return guarded([&]() -> Result<ProgramId> {
    LoadedProgram loaded;
    loaded.inputs = program.inputs();
    loaded.outputs = program.outputs();
    loaded.descriptors = program.descriptors();
    loaded.bytes = program.dramBytes();
    loaded.carriesState = program.carriesState();
    loaded.first = std::make_shared<Program>(std::move(program));
    loaded.idle.push_back(loaded.first);
    std::lock_guard<std::mutex> lock(impl->mutex);
    if (Status placed = impl->place(loaded, loaded.first->modelName()); !placed)
      return placed.error();
    impl->programs.emplace(impl->nextProgram, std::move(loaded));
    return impl->nextProgram++;
  });
}

Status Driver::unload(ProgramId program) {
  std::lock_guard<std::mutex> lock(impl->mutex);
  auto found = impl->programs.find(program);
  if (found == impl->programs.end())
    return noProgram(program);
  // The spans of runs that have ended may wait for earlier runs of others.
  if (found->second.pending > 0 || impl->scheduled < impl->nextRun)
    return Error{
        api::ErrorCode::Usage,
        fmt::format("program {} has runs that have not ended, or ended "
                    "before earlier runs of other programs",
                    program)};
  for (auto &[id, run] : impl->runs)
    if (run.program == program && !run.taken && run.result)
      return Error{api::ErrorCode::Usage,
                   fmt::format("the result of run {} of program {} has not "
                               "been taken",
                               id, program)};
  impl->stateAt.erase(program);
  impl->programs.erase(found);
  return std::monostate();
}

Result<std::vector<TensorInfo>> Driver::inputs(ProgramId program) const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  auto found = impl->programs.find(program);
  if (found == impl->programs.end())
    return noProgram(program);
  return found->second.inputs;
}

Result<std::vector<TensorInfo>> Driver::outputs(ProgramId program) const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  auto found = impl->programs.find(program);
  if (found == impl->programs.end())
    return noProgram(program);
  return found->second.outputs;
}

//===- Runs ---------------------------------------------------------------===//

/// Arrays of the caller as arrays of the run.
static Result<std::vector<Array>> copyInputs(std::span<const ArrayView> views) {
  auto copied = detail::copyArrays(views);
  if (!copied)
    return detail::toApi(copied.takeError());
  std::vector<Array> arrays;
  for (support::NamedTensor &entry : *copied)
    arrays.push_back({std::move(entry.name),
                      static_cast<api::ElementType>(entry.tensor.type),
                      {entry.tensor.shape.begin(), entry.tensor.shape.end()},
                      std::move(entry.tensor.data)});
  return arrays;
}

Result<RunId> Driver::start(ProgramId program,
                            std::span<const ArrayView> inputs,
                            const StartOptions &options) {
  return guarded([&]() -> Result<RunId> {
    auto arrays = copyInputs(inputs);
    if (!arrays)
      return arrays.error();
    Run run;
    run.program = program;
    run.how = options;
    run.inputs = std::move(*arrays);
    std::vector<std::function<void()>> calls;
    RunId id = 0;
    {
      std::lock_guard<std::mutex> lock(impl->mutex);
      auto found = impl->programs.find(program);
      if (found == impl->programs.end())
        return noProgram(program);
      if (Status wrong = impl->check(found->second, run); !wrong)
        return wrong.error();
      id = impl->nextRun++;
      Run &kept = impl->runs.emplace(id, std::move(run)).first->second;
      impl->open.insert(id);
      ++found->second.pending;
      impl->link(id, kept);
      if (kept.missing == 0 && (kept.error || kept.skip))
        calls =
            impl->end(id, kept.error ? RunState::Failed : RunState::Skipped);
      impl->changed.notify_all();
    }
    for (const auto &call : calls)
      call();
    return id;
  });
}

Result<RunState> Driver::poll(RunId run) const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  const Run *found = impl->find(run);
  return found ? Result<RunState>(found->state) : noRun(run);
}

Result<RunState> Driver::wait(RunId run) const {
  std::unique_lock<std::mutex> lock(impl->mutex);
  const Run *found = impl->waitFor(run, lock);
  return found ? Result<RunState>(found->state) : noRun(run);
}

Result<RunResult> Driver::take(RunId run) {
  std::unique_lock<std::mutex> lock(impl->mutex);
  Run *found = impl->waitFor(run, lock);
  if (!found)
    return noRun(run);
  if (found->error)
    return *found->error;
  if (!found->result)
    return Error{api::ErrorCode::Usage,
                 found->taken
                     ? fmt::format("the result of run {} has been taken", run)
                     : fmt::format("run {} was skipped", run)};
  RunResult result = std::move(*found->result);
  found->result.reset();
  found->taken = true;
  return result;
}

Result<std::vector<Descriptor>> Driver::descriptors(RunId run) const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  const Run *found = impl->find(run);
  if (!found)
    return noRun(run);
  auto program = impl->programs.find(found->program);
  if (program == impl->programs.end())
    return noProgram(found->program);
  return program->second.descriptors;
}

Result<RunSpan> Driver::span(RunId run) const {
  std::unique_lock<std::mutex> lock(impl->mutex);
  Run *found = impl->find(run);
  while (found && !found->span) {
    impl->changed.wait(lock);
    found = impl->find(run);
  }
  return found ? Result<RunSpan>(*found->span) : noRun(run);
}

Status Driver::release(RunId run) {
  std::lock_guard<std::mutex> lock(impl->mutex);
  Run *found = impl->find(run);
  if (!found)
    return noRun(run);
  if (!found->ended())
    return Error{api::ErrorCode::Usage,
                 fmt::format("run {} is {}, expected one that has ended", run,
                             runStateName(found->state))};
  // Its place in the schedule stays until that is known.
  found->released = true;
  found->result.reset();
  if (found->span)
    impl->runs.erase(run);
  return std::monostate();
}
