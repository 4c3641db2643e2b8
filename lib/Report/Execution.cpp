// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Samples of a run: the first alone, the others side by side where none needs
// what the one before has left.

#include "ashlar/Report/Execution.h"
#include "SideBySide.h"
#include "ashlar/Report/NonFinite.h"
#include "ashlar/Support/Error.h"

#include <cstring>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::report;
using support::HostTensor;
using support::NamedTensor;

namespace {

/// Keeps of a sample after the first what is counted over all of them.
void addCounts(RunStatistics &statistics, const emulator::RunResult &result) {
  statistics.saturated += result.saturated;
  statistics.underflow += result.underflow;
  statistics.nonFinite += result.nonFinite;
}

/// Samples are stacked, so that their outputs have to be equally long.
llvm::Error checkExtents(llvm::ArrayRef<NamedTensor> outputs,
                         const emulator::RunResult &first,
                         const emulator::RunResult &result, uint64_t sample) {
  for (auto [output, before, now] :
       llvm::zip(outputs, first.outputs, result.outputs))
    if (before.shape != now.shape)
      return makeError(
          ErrorClass::Unsupported,
          "output '{}' is {} for sample 0 and {} for sample {}: outputs with "
          "data-dependent extents cannot be stacked; run the samples one by "
          "one",
          output.name, support::describe(before), support::describe(now),
          sample);
  return llvm::Error::success();
}

/// The tensors of a sample that starts from \p state.
std::vector<HostTensor> samplesOf(const InputSet &inputs, uint64_t index,
                                  const RunState &state) {
  std::vector<HostTensor> sample;
  for (auto [i, array] : llvm::enumerate(inputs.tensors)) {
    sample.push_back(
        inputs.position == i ? array : sampleOf(array, inputs.samples, index));
    if (inputs.position == i)
      std::memcpy(sample.back().data.data(), &state.filled,
                  sizeof(state.filled));
  }
  return sample;
}

/// The rows that are filled after a run of a program with a cache.
int64_t filledAfter(const container::Program &program,
                    llvm::ArrayRef<HostTensor> inputs, int64_t before) {
  int64_t filled = before;
  for (auto [binding, input] : llvm::zip(program.inputs, inputs))
    if (binding.name == program.cache.position)
      std::memcpy(&filled, input.data.data(), sizeof(filled));
  for (const container::KeptTensor &kept : program.cache.tensors)
    if (kept.axis >= 0)
      return std::min(filled + kept.rows,
                      kept.shape[static_cast<size_t>(kept.axis)]);
  return filled;
}

/// Samples after the first. Time does not depend on data: the first one's is
/// that of all. `state` is what `take` has kept of the sample before.
llvm::Error executeOthers(
    emulator::LoadedProgram &program, const InputSet &inputs,
    emulator::Options how, const RunState &state,
    llvm::function_ref<llvm::Error(uint64_t, const emulator::RunResult &)>
        take) {
  how.timing = how.recordTimes = how.dumpTensors = how.traceDram = false;
  how.state = {};
  how.kept = {};
  auto inputsOf = [&](uint64_t i) { return samplesOf(inputs, i, state); };
  if (state.empty())
    return runSideBySide(program, {1, inputs.samples}, how, inputsOf,
                         [&](uint64_t i, emulator::RunResult result) {
                           return take(i, result);
                         });
  for (uint64_t i = 1; i < inputs.samples; ++i) {
    how.state = state.words;
    how.kept = state.kept;
    llvm::Expected<emulator::RunResult> result =
        emulator::run(program, inputsOf(i), how);
    if (!result)
      return result.takeError();
    if (llvm::Error error = take(i, *result))
      return error;
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Execution>
report::executeSamples(emulator::LoadedProgram &program, const InputSet &inputs,
                       emulator::Options how, RunState state,
                       llvm::function_ref<void(uint64_t)> progress) {
  Execution execution;
  execution.state = std::move(state);
  RunWarnings warnings;
  for (const container::TensorBinding &binding : program.program().outputs)
    execution.outputs.push_back({binding.name, HostTensor()});
  auto take = [&](uint64_t i,
                  const emulator::RunResult &result) -> llvm::Error {
    if (i > 0)
      if (llvm::Error error =
              checkExtents(execution.outputs, execution.first, result, i))
        return error;
    execution.state.filled =
        filledAfter(program.program(), samplesOf(inputs, i, execution.state),
                    execution.state.filled);
    execution.state.words = result.state;
    execution.state.kept = result.kept;
    warnings.add(result.nodes);
    for (auto [output, tensor] : llvm::zip(execution.outputs, result.outputs))
      appendSample(output.tensor, tensor, inputs.samples);
    if (i > 0)
      addCounts(execution.statistics, result);
    progress(i + 1);
    return llvm::Error::success();
  };
  how.state = execution.state.words;
  how.kept = execution.state.kept;
  llvm::Expected<emulator::RunResult> result =
      emulator::run(program, samplesOf(inputs, 0, execution.state), how);
  if (!result)
    return result.takeError();
  if (llvm::Error error = take(0, *result))
    return error;
  execution.first = std::move(*result);
  auto collected = collectStatistics(program, execution.first);
  if (!collected)
    return collected.takeError();
  execution.statistics = std::move(*collected);
  if (inputs.samples > 1)
    if (llvm::Error error =
            executeOthers(program, inputs, how, execution.state, take))
      return error;
  execution.statistics.samples = inputs.samples;
  for (const NamedTensor &output : execution.outputs)
    if (std::string text = describeNonFinite(output.tensor); !text.empty())
      execution.warnings.push_back(
          fmt::format("output '{}': {}", output.name, text));
  for (std::string &text : warnings.describe(program.program()))
    execution.warnings.push_back(std::move(text));
  return execution;
}

llvm::Expected<std::string> report::changeMachine(container::Program &program,
                                                  llvm::StringRef name) {
  llvm::Expected<machine::Description> other = machine::load(name);
  if (!other)
    return other.takeError();
  if (*other == program.machine)
    return "";
  std::string compiledFor = std::move(program.machine.name);
  program.machine = std::move(*other);
  return compiledFor;
}
