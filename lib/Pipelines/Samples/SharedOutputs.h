// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outputs of one network under many formats on the same samples. Each network
// is computed in parts (NetworkParts.h): a part that was compiled before is not
// compiled again, and one that has also read the same tensors is not run again.

#ifndef ASHLAR_LIB_PIPELINES_SAMPLES_SHAREDOUTPUTS_H
#define ASHLAR_LIB_PIPELINES_SAMPLES_SHAREDOUTPUTS_H

#include "Evaluate.h"
#include "NetworkParts.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Support/ThreadPool.h"

#include <map>
#include <memory>

namespace ashlar::pipelines {

/// Values that were computed, by what they were computed from; those used least
/// lately go when all together weigh more than `limit`.
template <typename Value>
class RecentValues {
public:
  using Key = support::ArgumentDigest::Number;

  explicit RecentValues(uint64_t limit) : limit(limit) {}

  /// Null if the value is not there.
  std::shared_ptr<Value> find(const Key &key) {
    auto found = entries.find(key);
    if (found == entries.end())
      return nullptr;
    found->second.used = ++clock;
    return found->second.value;
  }

  void insert(const Key &key, std::shared_ptr<Value> value, uint64_t weight) {
    entries[key] = {std::move(value), weight, ++clock};
    total += weight;
    while (total > limit && entries.size() > 1)
      eraseOldest();
  }

private:
  struct Entry {
    std::shared_ptr<Value> value;
    uint64_t weight = 0, used = 0;
  };

  void eraseOldest() {
    auto oldest = entries.begin();
    for (auto i = entries.begin(); i != entries.end(); ++i)
      if (i->second.used < oldest->second.used)
        oldest = i;
    total -= oldest->second.weight;
    entries.erase(oldest);
  }

  const uint64_t limit;
  uint64_t total = 0, clock = 0;
  std::map<Key, Entry> entries;
};

/// Not for use by several threads at a time; it uses those of the evaluator.
class SharedOutputs {
public:
  /// `evaluator` outlives the object.
  SharedOutputs(const Evaluator &evaluator, llvm::ArrayRef<Sample> samples);

  /// Outputs of all samples under \p formats: those of the whole network,
  /// bit for bit. Errors are those of Evaluator::execute().
  llvm::Expected<std::vector<Sample>> of(const numerics::FormatTable &formats);

  /// The same of several tables; `done` is told how many are finished.
  std::vector<llvm::Expected<std::vector<Sample>>>
  ofAll(llvm::ArrayRef<numerics::FormatTable> tables,
        llvm::function_ref<void(size_t)> done);

private:
  using Key = support::ArgumentDigest::Number;
  /// Tensors by output of a part and by sample.
  using Tensors = std::vector<std::vector<HostTensor>>;
  struct Program;
  struct Run;

  static std::vector<Key> keysOf(const CutNetwork &network, size_t inputs);
  llvm::Expected<std::shared_ptr<Run>>
  begin(const numerics::FormatTable &formats);
  void compileAhead(llvm::ArrayRef<const Run *> runs);
  llvm::Expected<std::vector<Sample>> finish(Run &run);

  llvm::Expected<llvm::ArrayRef<HostTensor>> tensorOf(Run &run, size_t number);
  llvm::Expected<const Tensors *> runPart(Run &run, size_t index);
  llvm::Expected<std::shared_ptr<Program>> programOf(const NetworkPart &part);
  void keep(const NetworkPart &part, std::shared_ptr<Program> program);
  llvm::Expected<std::shared_ptr<Tensors>>
  execute(Program &program, llvm::ArrayRef<Sample> inputs);

  const Evaluator &evaluator;
  Tensors graphInputs;
  const size_t samples;
  support::ThreadPool pool;
  RecentValues<Program> programs;
  RecentValues<Tensors> tensors;
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_SAMPLES_SHAREDOUTPUTS_H
