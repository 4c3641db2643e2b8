// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor is known by the parts and the graph inputs that it was computed
// from. Only what the asked outputs need is looked up or computed, from the
// last part backwards.

#include "SharedOutputs.h"

#include <atomic>

namespace ashlar::pipelines {

/// Memory that programs and tensors of earlier tables may take.
static constexpr uint64_t kProgramBytes = uint64_t(3) << 27,
                          kTensorBytes = uint64_t(1) << 26;
/// Tables whose parts are compiled side by side: a table alone often has a
/// single part that is new.
static constexpr size_t kTablesAhead = 8;

/// Values alone, on one thread.
static emulator::Options runOptions() {
  emulator::Options how;
  how.checkRaces = how.timing = false;
  return how;
}

static uint64_t bytesOf(llvm::ArrayRef<std::vector<HostTensor>> tensors) {
  uint64_t bytes = 0;
  for (const std::vector<HostTensor> &output : tensors)
    for (const HostTensor &tensor : output)
      bytes += tensor.data.size();
  return bytes;
}

/// A program, and copies of it for further threads.
struct SharedOutputs::Program {
  explicit Program(emulator::LoadedProgram first) {
    copies.push_back(std::move(first));
  }

  llvm::Error copyUntil(size_t count) {
    while (copies.size() < count) {
      auto copy = emulator::replicate(copies.front(), runOptions());
      if (!copy)
        return copy.takeError();
      copies.push_back(std::move(*copy));
    }
    return llvm::Error::success();
  }

  std::vector<emulator::LoadedProgram> copies;
};

/// One network in work.
struct SharedOutputs::Run {
  explicit Run(CutNetwork network)
      : network(std::move(network)), outputs(this->network.parts.size()) {}

  CutNetwork network;
  std::vector<Key> keys;                         ///< Of the parts' outputs.
  std::vector<std::shared_ptr<Tensors>> outputs; ///< By part, once known.

  /// The part that computes a tensor.
  size_t producerOf(size_t tensor) const {
    auto next = llvm::upper_bound(network.parts, tensor,
                                  [](size_t number, const NetworkPart &part) {
                                    return number < part.firstOutput;
                                  });
    return static_cast<size_t>(next - network.parts.begin()) - 1;
  }
};

SharedOutputs::SharedOutputs(const Evaluator &evaluator,
                             llvm::ArrayRef<Sample> samples)
    : evaluator(evaluator), graphInputs(samples.front().size()),
      samples(samples.size()), pool(evaluator.threads()),
      programs(kProgramBytes), tensors(kTensorBytes) {
  for (const Sample &sample : samples)
    for (auto [input, tensor] : llvm::zip(graphInputs, sample))
      input.push_back(tensor);
}

/// What each part computes is known by its content and by what it reads.
std::vector<SharedOutputs::Key> SharedOutputs::keysOf(const CutNetwork &network,
                                                      size_t inputs) {
  std::vector<Key> keys, ofTensors;
  for (size_t i = 0; i < inputs; ++i)
    ofTensors.push_back(support::ArgumentDigest().add(uint64_t(i)).take());
  for (const NetworkPart &part : network.parts) {
    support::ArgumentDigest digest;
    digest.add(part.content);
    for (size_t input : part.inputs)
      digest.add(ofTensors[input]);
    keys.push_back(digest.take());
    for (size_t i = 0; i < part.outputs; ++i)
      ofTensors.push_back(
          support::ArgumentDigest().add(keys.back()).add(uint64_t(i)).take());
  }
  return keys;
}

llvm::Expected<std::shared_ptr<SharedOutputs::Run>>
SharedOutputs::begin(const numerics::FormatTable &formats) {
  auto module = evaluator.quantiseForArray(formats);
  if (!module)
    return module.takeError();
  auto run = std::make_shared<Run>(cutNetwork(**module));
  run->keys = keysOf(run->network, graphInputs.size());
  return run;
}

/// Compiles, side by side, the parts of several networks that are about to run.
/// What is refused has no program, and is refused again when it is asked for.
void SharedOutputs::compileAhead(llvm::ArrayRef<const Run *> runs) {
  std::map<Key, const NetworkPart *> missing;
  for (const Run *run : runs)
    for (auto [part, key] : llvm::zip(run->network.parts, run->keys))
      if (!tensors.find(key) && !programs.find(part.content))
        missing.try_emplace(part.content, &part);
  std::vector<const NetworkPart *> parts;
  for (const auto &entry : missing)
    parts.push_back(entry.second);
  std::vector<std::shared_ptr<Program>> made(parts.size());
  pool.parallelFor(parts.size(), [&](uint64_t i) {
    if (auto program = evaluator.compilePart(parts[i]->module))
      made[i] = std::make_shared<Program>(std::move(*program));
    else
      llvm::consumeError(program.takeError());
  });
  for (auto [part, program] : llvm::zip(parts, made))
    if (program)
      keep(*part, std::move(program));
}

void SharedOutputs::keep(const NetworkPart &part,
                         std::shared_ptr<Program> program) {
  const uint64_t bytes = program->copies.front().memoryBytes() * pool.size();
  programs.insert(part.content, std::move(program), bytes);
}

llvm::Expected<std::shared_ptr<SharedOutputs::Program>>
SharedOutputs::programOf(const NetworkPart &part) {
  if (auto known = programs.find(part.content))
    return known;
  auto made = evaluator.compilePart(part.module);
  if (!made)
    return made.takeError();
  auto program = std::make_shared<Program>(std::move(*made));
  keep(part, program);
  return program;
}

/// Runs all samples, each on the copy of the program that is free.
llvm::Expected<std::shared_ptr<SharedOutputs::Tensors>>
SharedOutputs::execute(Program &program, llvm::ArrayRef<Sample> inputs) {
  if (llvm::Error error = program.copyUntil(pool.size()))
    return error;
  std::vector<std::optional<llvm::Expected<emulator::RunResult>>> results(
      inputs.size());
  std::atomic<size_t> next = 0;
  pool.parallelFor(program.copies.size(), [&](uint64_t copy) {
    for (size_t i = next++; i < inputs.size(); i = next++)
      results[i].emplace(
          emulator::run(program.copies[copy], inputs[i], runOptions()));
  });
  auto outputs = std::make_shared<Tensors>(
      program.copies.front().program().outputs.size());
  llvm::Error errors = llvm::Error::success();
  for (auto &result : results) {
    if (!*result) {
      errors = llvm::joinErrors(std::move(errors), result->takeError());
      continue;
    }
    for (auto [output, tensor] : llvm::zip(*outputs, (*result)->outputs))
      output.push_back(std::move(tensor));
  }
  if (errors)
    return errors;
  return outputs;
}

/// The tensor of that number, of all samples.
llvm::Expected<llvm::ArrayRef<HostTensor>>
SharedOutputs::tensorOf(Run &run, size_t number) {
  if (number < graphInputs.size())
    return graphInputs[number];
  const size_t producer = run.producerOf(number);
  auto outputs = runPart(run, producer);
  if (!outputs)
    return outputs.takeError();
  return (**outputs)[number - run.network.parts[producer].firstOutput];
}

llvm::Expected<const SharedOutputs::Tensors *>
SharedOutputs::runPart(Run &run, size_t index) {
  std::shared_ptr<Tensors> &outputs = run.outputs[index];
  if (!outputs)
    outputs = tensors.find(run.keys[index]);
  if (outputs)
    return outputs.get();
  const NetworkPart &part = run.network.parts[index];
  std::vector<Sample> inputs(samples);
  for (size_t number : part.inputs) {
    auto tensor = tensorOf(run, number);
    if (!tensor)
      return tensor.takeError();
    for (auto [input, own] : llvm::zip(inputs, *tensor))
      input.push_back(own);
  }
  auto program = programOf(part);
  if (!program)
    return program.takeError();
  auto computed = execute(**program, inputs);
  if (!computed)
    return computed.takeError();
  outputs = std::move(*computed);
  tensors.insert(run.keys[index], outputs, bytesOf(*outputs));
  return outputs.get();
}

llvm::Expected<std::vector<Sample>> SharedOutputs::finish(Run &run) {
  std::vector<Sample> outputs(samples);
  for (size_t number : run.network.results) {
    auto tensor = tensorOf(run, number);
    if (!tensor)
      return tensor.takeError();
    for (auto [output, own] : llvm::zip(outputs, *tensor))
      output.push_back(own);
  }
  return outputs;
}

llvm::Expected<std::vector<Sample>>
SharedOutputs::of(const numerics::FormatTable &formats) {
  return std::move(ofAll(formats, [](size_t) {}).front());
}

std::vector<llvm::Expected<std::vector<Sample>>>
SharedOutputs::ofAll(llvm::ArrayRef<numerics::FormatTable> tables,
                     llvm::function_ref<void(size_t)> done) {
  std::vector<llvm::Expected<std::vector<Sample>>> outputs;
  while (outputs.size() < tables.size()) {
    std::vector<llvm::Expected<std::shared_ptr<Run>>> runs;
    std::vector<const Run *> compiled;
    for (const numerics::FormatTable &table :
         tables.drop_front(outputs.size()).take_front(kTablesAhead)) {
      runs.push_back(begin(table));
      if (runs.back())
        compiled.push_back(runs.back()->get());
    }
    compileAhead(compiled);
    for (auto &run : runs) {
      if (run)
        outputs.push_back(finish(**run));
      else
        outputs.push_back(run.takeError());
      done(outputs.size());
    }
  }
  return outputs;
}

} // namespace ashlar::pipelines
