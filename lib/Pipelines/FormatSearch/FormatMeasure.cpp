// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A candidate that misses the target costs one quick program; one that keeps it
// a second one, for the engines that the machine has.

#include "FormatMeasure.h"

#include "ashlar/Support/Error.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace ashlar::pipelines {

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
  auto outcome = evaluator.execute(candidate.formats, samples);
  if (outcome) {
    candidate.cycles = outcome->cycles;
    candidate.weightBytes = outcome->weightBytes;
    candidate.quality = judge.judge(outcome->outputs);
    candidate.reaches = judge.reaches(candidate.quality, SafetyMargin::Used);
  } else {
    llvm::Error error = outcome.takeError();
    if (!isRefusal(error))
      return error;
    candidate.failure = llvm::toString(std::move(error));
    candidate.quality.noise = HUGE_VAL;
    return candidate;
  }
  if (candidate.reaches)
    if (llvm::Error error = countAhead(candidate.formats))
      return error;
  auto count = counts.find(keyOf(candidate.formats));
  if (count == counts.end())
    return candidate;
  candidate.counted = true;
  candidate.cycles = count->second.cycles;
  candidate.weightBytes = count->second.weightBytes;
  candidate.failure = count->second.failure;
  candidate.reaches &= candidate.failure.empty();
  return candidate;
}

llvm::Expected<Quality>
FormatMeasurer::qualityOf(const numerics::FormatTable &formats) const {
  auto outputs = evaluator.outputs(formats, samples);
  if (outputs)
    return judge.judge(*outputs);
  llvm::Error error = outputs.takeError();
  if (!isRefusal(error))
    return error;
  llvm::consumeError(std::move(error));
  Quality worst;
  worst.snr = -kMaxSnr;
  worst.agreement = worst.counted = 0;
  worst.noise = HUGE_VAL;
  return worst;
}

llvm::Expected<std::vector<double>>
FormatMeasurer::noises(llvm::ArrayRef<numerics::FormatTable> tables,
                       llvm::function_ref<void(size_t)> done) const {
  std::vector<double> noises;
  llvm::Error errors = llvm::Error::success();
  for (auto &outputs : evaluator.outputsOfAll(tables, samples, done))
    if (outputs)
      noises.push_back(judge.judge(*outputs).noise);
    else
      errors = llvm::joinErrors(std::move(errors), outputs.takeError());
  if (errors)
    return errors;
  return noises;
}

} // namespace ashlar::pipelines
