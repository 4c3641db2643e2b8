// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workers that claim samples; results leave in the order of the samples.

#include "SideBySide.h"
#include "ashlar/Support/ThreadPool.h"
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

using namespace ashlar;
using namespace ashlar::report;
using emulator::LoadedProgram;
using emulator::RunResult;

/// Memory that copies may take where no limit was given, in bytes: beyond it
/// they share too little cache to gain anything.
static constexpr uint64_t copiesLimit = uint64_t(1) << 30;

namespace {

/// What the workers share.
class Samples {
public:
  Samples(SampleRange range,
          llvm::function_ref<llvm::Error(uint64_t, RunResult)> take)
      : next(range.first), nextTaken(range.first), end(range.end), take(take) {}
  ~Samples() { llvm::consumeError(std::move(failure)); }

  /// The next sample, or none if all are claimed or one has failed.
  std::optional<uint64_t> claim() {
    std::lock_guard<std::mutex> lock(mutex);
    if (next >= end)
      return std::nullopt;
    return next++;
  }

  void finish(uint64_t sample, llvm::Expected<RunResult> result) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!result)
      return fail(sample, result.takeError());
    done.emplace(sample, std::move(*result));
    for (auto found = done.begin();
         found != done.end() && found->first == nextTaken && nextTaken < failed;
         found = done.erase(found)) {
      if (llvm::Error error = take(nextTaken, std::move(found->second)))
        return fail(nextTaken, std::move(error));
      ++nextTaken;
    }
  }

  llvm::Error takeError() { return std::move(failure); }

private:
  /// Earlier samples are claimed already and may fail as well.
  void fail(uint64_t sample, llvm::Error error) {
    end = std::min(end, sample);
    if (sample >= failed)
      return llvm::consumeError(std::move(error));
    llvm::consumeError(std::move(failure));
    failure = std::move(error);
    failed = sample;
  }

  std::mutex mutex;
  uint64_t next, nextTaken, end;
  uint64_t failed = ~uint64_t(0);
  llvm::Error failure = llvm::Error::success();
  std::map<uint64_t, RunResult> done; ///< Before those they follow.
  llvm::function_ref<llvm::Error(uint64_t, RunResult)> take;
};

} // namespace

/// Copies next to the program itself; fewer if the host refuses memory.
static std::vector<LoadedProgram> copiesOf(const LoadedProgram &program,
                                           uint64_t samples,
                                           const emulator::Options &options) {
  const uint64_t limit =
      options.maxMemory != 0 ? options.maxMemory : copiesLimit;
  const uint64_t bytes = std::max<uint64_t>(1, program.memoryBytes());
  const uint64_t count =
      std::min({uint64_t(options.threads), samples, limit / bytes});
  std::vector<LoadedProgram> copies;
  while (copies.size() + 1 < count) {
    llvm::Expected<LoadedProgram> copy = emulator::replicate(program, options);
    if (!copy) {
      llvm::consumeError(copy.takeError());
      break;
    }
    copies.push_back(std::move(*copy));
  }
  return copies;
}

llvm::Error report::runSideBySide(
    LoadedProgram &program, SampleRange range, const emulator::Options &options,
    llvm::function_ref<std::vector<support::HostTensor>(uint64_t)> inputsOf,
    llvm::function_ref<llvm::Error(uint64_t, RunResult)> take) {
  std::vector<LoadedProgram> copies =
      copiesOf(program, range.end - range.first, options);
  const auto workers = static_cast<unsigned>(copies.size() + 1);
  emulator::Options how = options;
  how.threads = std::max(1u, options.threads / workers);
  Samples samples(range, take);
  support::ThreadPool pool(workers);
  pool.parallelFor(workers, [&](uint64_t worker) {
    LoadedProgram &own = worker == 0 ? program : copies[worker - 1];
    while (std::optional<uint64_t> sample = samples.claim())
      samples.finish(*sample, emulator::run(own, inputsOf(*sample), how));
  });
  return samples.takeError();
}
