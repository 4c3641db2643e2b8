// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of a driver: which run is next, running it, and what its end means
// for others.

#include "../Convert.h"
#include "DriverState.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::api;

Driver::Impl::~Impl() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

/// The first run in the order of their start that may begin. Runs of a program
/// that carries state do not overtake each other.
std::optional<RunId> Driver::Impl::next() const {
  std::set<ProgramId> blocked;
  for (RunId id : open) {
    const Run &run = runs.at(id);
    const LoadedProgram &program = programs.at(run.program);
    const bool ready = run.state == RunState::Waiting && run.missing == 0 &&
                       !blocked.contains(run.program);
    if (ready)
      return id;
    if (program.carriesState)
      blocked.insert(run.program);
  }
  return std::nullopt;
}

void Driver::Impl::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    if (std::optional<RunId> id = next())
      execute(*id, lock);
    else
      changed.wait(lock);
  }
}

void Driver::Impl::execute(RunId id, std::unique_lock<std::mutex> &lock) {
  // Neither is erased before the run has ended.
  Run &run = runs.at(id);
  LoadedProgram &program = programs.at(run.program);
  run.state = RunState::Running;
  std::shared_ptr<Program> copy;
  if (!program.idle.empty()) {
    copy = std::move(program.idle.back());
    program.idle.pop_back();
  }
  const std::shared_ptr<Program> first = program.first;
  lock.unlock();
  Result<RunResult> result = detail::guarded([&]() -> Result<RunResult> {
    if (!copy) {
      Result<Program> another = first->clone();
      if (!another)
        return another.error();
      copy = std::make_shared<Program>(std::move(*another));
    }
    std::vector<ArrayView> views;
    for (const Array &array : run.inputs)
      views.push_back({array.name, array.type, array.shape, array.data.data(),
                       array.data.size()});
    return copy->run(views, run.how.run);
  });
  lock.lock();
  if (copy)
    program.idle.push_back(std::move(copy));
  if (result) {
    run.cycles = result->cycles() * result->samples();
    run.result = std::move(*result);
  } else {
    run.error = result.error();
  }
  auto calls = end(id, run.error ? RunState::Failed : RunState::Done);
  lock.unlock();
  for (const auto &call : calls)
    call();
  lock.lock();
}

/// Hands over what `to` needs of a run that has ended.
void Driver::Impl::deliver(const Run &from, RunId id, Run &to) const {
  if (to.error)
    return;
  if (from.state == RunState::Failed) {
    to.error = Error{from.error->code,
                     "run " + std::to_string(id) +
                         ", which it needs, failed: " + from.error->message};
    return;
  }
  if (from.state == RunState::Skipped) {
    to.skip = true;
    return;
  }
  auto output = [&](const std::string &name) -> const Array & {
    return *std::find_if(
        from.result->outputs().begin(), from.result->outputs().end(),
        [&](const Array &array) { return array.name == name; });
  };
  for (const Feed &feed : to.how.feeds)
    if (feed.run == id) {
      to.inputs.push_back(output(feed.output));
      to.inputs.back().name = feed.input;
    }
  const auto &condition = to.how.condition;
  if (!condition || condition->run != id)
    return;
  Result<double> value = scalarOf(output(condition->output));
  if (!value)
    to.error = value.error();
  else
    to.skip |= !holds(*condition, *value);
}

void Driver::Impl::link(RunId id, Run &run) {
  for (const Feed &feed : run.how.feeds)
    run.needs.push_back(feed.run);
  if (run.how.condition)
    run.needs.push_back(run.how.condition->run);
  std::sort(run.needs.begin(), run.needs.end());
  run.needs.erase(std::unique(run.needs.begin(), run.needs.end()),
                  run.needs.end());
  for (RunId need : run.needs) {
    Run &from = runs.at(need);
    if (from.span)
      run.readyAt = std::max(run.readyAt, from.span->end);
    else
      from.neededBy.push_back(id);
    if (from.ended())
      deliver(from, need, run);
    else
      ++run.missing;
  }
}

std::vector<std::function<void()>> Driver::Impl::end(RunId id, RunState state) {
  std::vector<std::function<void()>> calls;
  std::vector<std::pair<RunId, RunState>> ending{{id, state}};
  while (!ending.empty()) {
    const auto [at, last] = ending.back();
    ending.pop_back();
    Run &run = runs.at(at);
    run.state = last;
    run.inputs.clear();
    open.erase(at);
    --programs.at(run.program).pending;
    if (run.how.completed)
      calls.push_back([notice = std::move(run.how.completed), at = at,
                       last = last] { notice(at, last); });
    for (RunId waiting : run.neededBy) {
      Run &to = runs.at(waiting);
      deliver(run, at, to);
      if (--to.missing == 0 && (to.error || to.skip))
        ending.emplace_back(waiting,
                            to.error ? RunState::Failed : RunState::Skipped);
    }
  }
  schedule();
  changed.notify_all();
  return calls;
}

void Driver::Impl::schedule() {
  for (; scheduled < nextRun; ++scheduled) {
    auto found = runs.find(scheduled);
    if (found == runs.end())
      continue; // It was never started.
    Run &run = found->second;
    if (!run.ended())
      return;
    run.span = RunSpan{0, run.readyAt, run.readyAt};
    if (run.state == RunState::Done) {
      auto best = std::min_element(freeAt.begin(), freeAt.end());
      run.span->accelerator = static_cast<unsigned>(best - freeAt.begin());
      uint64_t begin = std::max(run.readyAt, *best);
      if (auto state = stateAt.find(run.program); state != stateAt.end())
        begin = std::max(begin, state->second);
      *best = begin + run.cycles;
      run.span->begin = begin;
      run.span->end = *best;
      if (programs.at(run.program).carriesState)
        stateAt[run.program] = *best;
    }
    for (RunId waiting : run.neededBy)
      runs.at(waiting).readyAt =
          std::max(runs.at(waiting).readyAt, run.span->end);
    if (run.released)
      runs.erase(found);
  }
}

Run *Driver::Impl::find(RunId run) {
  auto found = runs.find(run);
  return found == runs.end() || found->second.released ? nullptr
                                                       : &found->second;
}

Run *Driver::Impl::waitFor(RunId run, std::unique_lock<std::mutex> &lock) {
  Run *found = find(run);
  while (found && !found->ended()) {
    changed.wait(lock);
    found = find(run);
  }
  return found;
}
