// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A candidate that misses the target costs the parts of the network in which it
// is new; one that keeps it a program for the engines that the machine has,
// too.

#include "FormatMeasure.h"

#include "ashlar/Support/Error.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace ashlar::pipelines {

/// Samples, and as many blends, on which noises of groups are measured.
static constexpr size_t kNoiseSamples = 2;

std::string keyOf(const numerics::FormatTable &formats) {
  return llvm::formatv("{0}", numerics::toJson(formats)).str();
}

bool isRefusal(const llvm::Error &error) {
  ErrorClass kind = support::classify(error);
  return kind == ErrorClass::Unsupported || kind == ErrorClass::Capacity;
}

llvm::Error
FormatMeasurer::countAhead(llvm::ArrayRef<numerics::FormatTable> tables) {
  std::vector<numerics::FormatTable> missing;
  std::vector<Count *> places;
  for (const numerics::FormatTable &table : tables)
    if (auto [entry, isNew] = counts.try_emplace(keyOf(table)); isNew) {
      missing.push_back(table);
      places.push_back(&entry->second);
    }
  llvm::Error errors = llvm::Error::success();
  for (auto [place, evaluation] :
       llvm::zip(places, evaluator.countAll(missing))) {
    if (evaluation) {
      place->cycles = evaluation->cycles;
      place->weightBytes = evaluation->weightBytes;
      place->nodeCycles = std::move(evaluation->nodeCycles);
      continue;
    }
    llvm::Error error = evaluation.takeError();
    if (isRefusal(error))
      place->failure = llvm::toString(std::move(error));
    else
      errors = llvm::joinErrors(std::move(errors), std::move(error));
  }
  return errors;
}

const llvm::StringMap<uint64_t> *
FormatMeasurer::nodeCycles(const numerics::FormatTable &formats) const {
  const Count &count = counts.at(keyOf(formats));
  return count.failure.empty() ? &count.nodeCycles : nullptr;
}

llvm::Expected<Candidate>
FormatMeasurer::measure(std::string label, numerics::FormatTable formats) {
  Candidate candidate;
  candidate.label = std::move(label);
  candidate.formats = std::move(formats);
  auto found = outputs.of(candidate.formats);
  if (found) {
    candidate.quality = judge.judge(*found);
    candidate.reaches = judge.reaches(candidate.quality, SafetyMargin::Used);
  } else {
    llvm::Error error = found.takeError();
    if (!isRefusal(error))
      return error;
    candidate.failure = llvm::toString(std::move(error));
    candidate.quality.noise = HUGE_VAL;
    return candidate;
  }
  addCount(candidate);
  return candidate;
}

/// What was counted of a candidate, if it was.
void FormatMeasurer::addCount(Candidate &candidate) const {
  auto count = counts.find(keyOf(candidate.formats));
  if (count == counts.end())
    return;
  candidate.counted = true;
  candidate.cycles = count->second.cycles;
  candidate.weightBytes = count->second.weightBytes;
  candidate.failure = count->second.failure;
  candidate.reaches &= candidate.failure.empty();
}

llvm::Error FormatMeasurer::count(Candidate &candidate) {
  if (llvm::Error error = countAhead(candidate.formats))
    return error;
  addCount(candidate);
  return llvm::Error::success();
}

llvm::Expected<Quality>
FormatMeasurer::qualityOf(const numerics::FormatTable &formats) {
  auto found = outputs.of(formats);
  if (found)
    return judge.judge(*found);
  llvm::Error error = found.takeError();
  if (!isRefusal(error))
    return error;
  llvm::consumeError(std::move(error));
  Quality worst;
  worst.snr = -kMaxSnr;
  worst.agreement = worst.counted = 0;
  worst.noise = HUGE_VAL;
  return worst;
}

/// Numbers of every n-th of `count` samples that follow `first`, so that about
/// kNoiseSamples remain.
static void addFew(std::vector<size_t> &numbers, size_t first, size_t count) {
  for (size_t i = 0, step = std::max<size_t>(count / kNoiseSamples, 1);
       i < count; i += step)
    numbers.push_back(first + i);
}

llvm::Expected<std::vector<double>>
FormatMeasurer::noises(llvm::ArrayRef<numerics::FormatTable> tables,
                       llvm::function_ref<void(size_t)> done) const {
  std::vector<size_t> numbers;
  addFew(numbers, 0, judge.numSamples());
  const size_t given = numbers.size();
  addFew(numbers, judge.numSamples(), judge.numExact() - judge.numSamples());
  const QualityJudge some = judge.ofSome(numbers, given);
  std::vector<Sample> few;
  for (size_t number : numbers)
    few.push_back(samples[number]);
  std::vector<double> noises;
  llvm::Error errors = llvm::Error::success();
  for (auto &found : SharedOutputs(evaluator, few).ofAll(tables, done))
    if (found)
      noises.push_back(some.judge(*found).noise);
    else
      errors = llvm::joinErrors(std::move(errors), found.takeError());
  if (errors)
    return errors;
  return noises;
}

} // namespace ashlar::pipelines
