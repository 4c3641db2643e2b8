// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compile, load, run, count. The compiler's own programs need neither the race
// nor the undefined-read check of the loader here: the tests of the compiler
// run them, and the tool that executes the result does.

#include "Evaluate.h"
#include "../ProveProgram.h"

#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Pipelines/Registration.h"
#include "ashlar/Reference/Interpreter.h"
#include "ashlar/Report/Comparison.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/Npz.h"
#include "ashlar/Support/ThreadPool.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNElements.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <atomic>
#include <cmath>
#include <thread>

using namespace mlir;

namespace ashlar::pipelines {

llvm::Expected<Evaluator> Evaluator::create(const CompileOptions &options,
                                            MLIRContext &context) {
  Evaluator evaluator(options, context);
  CompileOptions &own = evaluator.options;
  own.dumpPlan.clear();
  own.stopAfter = Phase::Fold;
  if (own.threads == 0)
    own.threads = std::max(1u, std::thread::hardware_concurrency());
  auto result = compile(own, context);
  if (!result)
    return result.takeError();
  evaluator.module = std::move(result->module);
  return evaluator;
}

llvm::Expected<OwningOpRef<ModuleOp>>
Evaluator::quantise(const numerics::FormatTable &formats) const {
  CompileOptions now = options;
  now.formats = formats;
  now.stopAfter = Phase::Quantise;
  auto result = compileFrom(*module, Phase::Fold, now, *context);
  if (!result)
    return result.takeError();
  return std::move(result->module);
}

llvm::Expected<std::vector<Sample>>
evaluateExactly(ModuleOp module, llvm::ArrayRef<Sample> samples,
                unsigned threads) {
  reference::Options how;
  how.precision = reference::Precision::Binary64;
  std::vector<std::optional<llvm::Expected<Sample>>> found(samples.size());
  support::ThreadPool pool(threads);
  pool.parallelFor(samples.size(), [&](uint64_t i) {
    found[i].emplace(reference::evaluate(module, samples[i], how));
  });
  std::vector<Sample> outputs;
  llvm::Error errors = llvm::Error::success();
  for (auto &result : found) {
    if (*result)
      outputs.push_back(std::move(**result));
    else
      errors = llvm::joinErrors(std::move(errors), result->takeError());
  }
  if (errors)
    return errors;
  return outputs;
}

llvm::Expected<std::vector<Sample>>
Evaluator::reference(llvm::ArrayRef<Sample> samples) const {
  return evaluateExactly(*module, samples, options.threads);
}

llvm::Expected<Evaluation>
Evaluator::execute(const numerics::FormatTable &formats,
                   llvm::ArrayRef<Sample> samples) const {
  return measure(formats, samples, options.threads, Wanted::Array);
}

/// Calls `one` for the numbers of [0, count), some at a time.
template <typename Result>
static std::vector<llvm::Expected<Result>>
measureAll(size_t count, unsigned threads,
           llvm::function_ref<llvm::Expected<Result>(size_t)> one) {
  std::vector<std::optional<llvm::Expected<Result>>> found(count);
  support::ThreadPool pool(threads);
  pool.parallelFor(count, [&](uint64_t i) { found[i].emplace(one(i)); });
  std::vector<llvm::Expected<Result>> results;
  for (auto &result : found)
    results.push_back(std::move(*result));
  return results;
}

static llvm::Expected<std::vector<Sample>>
outputsOf(llvm::Expected<Evaluation> evaluation) {
  if (!evaluation)
    return evaluation.takeError();
  return std::move(evaluation->outputs);
}

llvm::Expected<std::vector<Sample>>
Evaluator::outputs(const numerics::FormatTable &formats,
                   llvm::ArrayRef<Sample> samples) const {
  return outputsOf(measure(formats, samples, options.threads, Wanted::Outputs));
}

std::vector<llvm::Expected<std::vector<Sample>>>
Evaluator::outputsOfAll(llvm::ArrayRef<numerics::FormatTable> tables,
                        llvm::ArrayRef<Sample> samples,
                        llvm::function_ref<void(size_t)> done) const {
  std::atomic<size_t> finished = 0;
  return measureAll<std::vector<Sample>>(
      tables.size(), options.threads, [&](size_t i) {
        auto outputs = outputsOf(
            measure(tables[i], samples, /*threads=*/1, Wanted::Outputs));
        done(++finished);
        return outputs;
      });
}

std::vector<llvm::Expected<Evaluation>>
Evaluator::countAll(llvm::ArrayRef<numerics::FormatTable> tables) const {
  return measureAll<Evaluation>(tables.size(), options.threads, [&](size_t i) {
    return measure(tables[i], {}, /*threads=*/1, Wanted::Engines);
  });
}

/// Runs \p program once for its times, with values if \p how says so.
static llvm::Error addTimes(emulator::LoadedProgram &program,
                            const Sample &sample, const emulator::Options &how,
                            Evaluation &result) {
  auto timed = emulator::run(program, sample, how);
  if (!timed)
    return timed.takeError();
  result.cycles = timed->totalCycles;
  for (auto [index, stats] : llvm::enumerate(timed->nodes))
    result.nodeCycles[program.program().nodes[index].name] += stats.cycles;
  return llvm::Error::success();
}

llvm::Expected<Evaluation>
Evaluator::measure(const numerics::FormatTable &formats,
                   llvm::ArrayRef<Sample> samples, unsigned threads,
                   Wanted wanted) const {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext own(registry, MLIRContext::Threading::DISABLED);
  own.loadAllAvailableDialects();
  own.printOpOnDiagnostic(false);
  CompileOptions now = options;
  now.formats = formats;
  now.stopAfter = Phase::Emit;
  if (wanted != Wanted::Engines)
    now.sparse.mode = "off";
  if (wanted == Wanted::Outputs) {
    // Programs that are compared have the same bits as well.
    now.schedule = "off";
    now.comparedWork = 0;
  }
  auto compiled = compile(now, own);
  if (!compiled)
    return compiled.takeError();
  Evaluation result;
  for (const container::Segment &segment : compiled->program->constants)
    result.weightBytes += segment.bytes.size();
  emulator::Options how;
  how.threads = threads;
  how.checkRaces = how.checkUndefined = false;
  auto program = loadCompiled(std::move(*compiled->program), how);
  if (!program)
    return program.takeError();
  how.functional = wanted == Wanted::Engines && !now.sparse.sample.empty();
  if (wanted != Wanted::Outputs)
    if (llvm::Error error = addTimes(*program, now.sparse.sample, how, result))
      return error;
  how.functional = true;
  how.timing = false;
  for (const Sample &sample : samples) {
    auto run = emulator::run(*program, sample, how);
    if (!run)
      return run.takeError();
    result.outputs.push_back(std::move(run->outputs));
  }
  return result;
}

namespace {

/// The graph inputs as the program will bind them.
std::vector<container::TensorBinding> inputBindings(func::FuncOp main) {
  std::vector<container::TensorBinding> bindings;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    container::TensorBinding binding;
    if (auto name = main.getArgAttrOfType<StringAttr>(i, nn::nameAttr))
      binding.name = name.str();
    auto type = cast<RankedTensorType>(main.getArgumentTypes()[i]);
    if (auto element = nn::toElementType(type.getElementType()))
      binding.type = *element;
    binding.shape.assign(type.getShape().begin(), type.getShape().end());
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

/// Every graph input once, and nothing else.
llvm::Error checkNames(llvm::ArrayRef<container::TensorBinding> bindings,
                       llvm::ArrayRef<support::NamedTensor> arrays) {
  for (const support::NamedTensor &array : arrays)
    if (llvm::none_of(bindings,
                      [&](const auto &b) { return b.name == array.name; }))
      return makeError(ErrorClass::Malformed,
                       "the model has no input '{}', expected:{}", array.name,
                       report::listBindings(bindings));
  for (const container::TensorBinding &binding : bindings)
    if (llvm::none_of(arrays,
                      [&](const auto &a) { return a.name == binding.name; }))
      return makeError(ErrorClass::Malformed,
                       "no array for input '{}', expected:{}", binding.name,
                       report::listBindings(bindings));
  return llvm::Error::success();
}

/// A value no format can hold would make every measurement meaningless.
llvm::Error checkFinite(llvm::StringRef name, const HostTensor &array) {
  if (!support::isFloat(array.type))
    return llvm::Error::success();
  for (uint64_t i = 0, n = array.numElements(); i < n; ++i)
    if (double value = array.asDouble(i); !std::isfinite(value))
      return makeError(ErrorClass::Malformed,
                       "input '{}' is {} at {}, expected finite values",
                       name.str(), value, report::indexText(i, array.shape));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::vector<Sample>> readSamples(ModuleOp module,
                                                const SampleArchive &archive) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  const std::string path = archive.name();
  auto arrays = archive.read();
  if (!arrays)
    return arrays.takeError();
  std::vector<container::TensorBinding> bindings = inputBindings(main);
  if (llvm::Error error = checkNames(bindings, *arrays))
    return withContext(std::move(error), path);
  auto set = report::bindInputs(bindings, std::move(*arrays));
  if (!set)
    return makeError(ErrorClass::Malformed, "{}: {}", path,
                     llvm::toString(set.takeError()));
  for (auto [binding, array] : llvm::zip(bindings, set->tensors))
    if (llvm::Error error = checkFinite(binding.name, array))
      return withContext(std::move(error), path);
  std::vector<Sample> samples(set->samples);
  for (uint64_t i = 0; i < set->samples; ++i)
    for (const HostTensor &array : set->tensors)
      samples[i].push_back(report::sampleOf(array, set->samples, i));
  return samples;
}

} // namespace ashlar::pipelines
