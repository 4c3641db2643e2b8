// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Samples of a run, one after the other.

#include "ashlar/Report/Execution.h"
#include "ashlar/Report/NonFinite.h"
#include "ashlar/Support/Error.h"

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

} // namespace

llvm::Expected<Execution>
report::executeSamples(emulator::LoadedProgram &program, const InputSet &inputs,
                       emulator::Options how, std::vector<int16_t> state,
                       llvm::function_ref<void(uint64_t)> progress) {
  Execution execution;
  execution.state = std::move(state);
  RunWarnings warnings;
  for (const container::TensorBinding &binding : program.program().outputs)
    execution.outputs.push_back({binding.name, HostTensor()});
  for (uint64_t i = 0; i < inputs.samples; ++i) {
    std::vector<HostTensor> sample;
    if (inputs.samples > 1)
      for (const HostTensor &array : inputs.tensors)
        sample.push_back(sampleOf(array, inputs.samples, i));
    how.state = execution.state;
    llvm::Expected<emulator::RunResult> result = emulator::run(
        program, inputs.samples > 1 ? sample : inputs.tensors, how);
    if (!result)
      return result.takeError();
    execution.state = result->state;
    warnings.add(result->nodes);
    for (auto [output, tensor] : llvm::zip(execution.outputs, result->outputs))
      appendSample(output.tensor, tensor, inputs.samples);
    if (i == 0) {
      execution.first = std::move(*result);
      auto collected = collectStatistics(program, execution.first);
      if (!collected)
        return collected.takeError();
      execution.statistics = std::move(*collected);
      how.timing = how.recordTimes = how.dumpTensors = how.traceDram = false;
    } else {
      addCounts(execution.statistics, *result);
    }
    progress(i + 1);
  }
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
