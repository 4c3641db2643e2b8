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
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <thread>

using namespace mlir;

namespace ashlar::pipelines {

/// The module of `from` after the phase `last`, in the same context.
static llvm::Expected<OwningOpRef<ModuleOp>>
continueUntil(Phase last, ModuleOp from, Phase done, CompileOptions options) {
  options.stopAfter = last;
  auto result = compileFrom(from, done, options, *from.getContext());
  if (!result)
    return result.takeError();
  return std::move(result->module);
}

llvm::Expected<Evaluator> Evaluator::create(const CompileOptions &options,
                                            MLIRContext &context) {
  Evaluator evaluator(options);
  CompileOptions &own = evaluator.options;
  own.dumpPlan.clear();
  own.stopAfter = Phase::Simplify;
  if (own.threads == 0)
    own.threads = std::max(1u, std::thread::hardware_concurrency());
  auto result = compile(own, context);
  if (!result)
    return result.takeError();
  evaluator.simplified = std::move(result->module);
  auto folded =
      continueUntil(Phase::Fold, *evaluator.simplified, Phase::Simplify, own);
  if (!folded)
    return folded.takeError();
  evaluator.module = std::move(*folded);
  return evaluator;
}

llvm::Expected<OwningOpRef<ModuleOp>>
Evaluator::quantise(const numerics::FormatTable &formats) const {
  CompileOptions now = options;
  now.formats = formats;
  return continueUntil(Phase::Quantise, *module, Phase::Fold, now);
}

/// No other engine than the array, and the first order of instructions:
/// programs that are compared have the same bits as well.
CompileOptions Evaluator::optionsForArray() const {
  CompileOptions now = options;
  now.sparse.mode = "off";
  now.sparse.profile = {};
  now.sparse.sample = {};
  now.schedule = now.mapCompression = "off";
  now.comparedWork = 0;
  return now;
}

llvm::Expected<OwningOpRef<ModuleOp>>
Evaluator::quantiseForArray(const numerics::FormatTable &formats) const {
  CompileOptions now = optionsForArray();
  // Folds know the formats of the whole network, not those of single nodes.
  now.formats = formats;
  now.formats.nodes.clear();
  OwningOpRef<ModuleOp> &folded =
      foldedBy[llvm::formatv("{0}", numerics::toJson(now.formats))];
  if (!folded) {
    auto made = continueUntil(Phase::Fold, *simplified, Phase::Simplify, now);
    if (!made)
      return made.takeError();
    folded = std::move(*made);
  }
  now.formats = formats;
  return continueUntil(Phase::Quantise, *folded, Phase::Fold, now);
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

/// A context for one compilation: what it leaves there goes with it.
static std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  return context;
}

llvm::Expected<emulator::LoadedProgram>
Evaluator::compilePart(llvm::StringRef bytecode) const {
  const std::unique_ptr<MLIRContext> own = makeContext();
  OwningOpRef<ModuleOp> part = parseSourceString<ModuleOp>(bytecode, own.get());
  if (!part)
    return makeError(ErrorClass::Internal, "{}",
                     "a part of the network is no module");
  CompileOptions now = optionsForArray();
  now.stopAfter = Phase::Emit;
  auto compiled = compileFrom(*part, Phase::Quantise, now, *own);
  if (!compiled)
    return compiled.takeError();
  // Defined reads leave no memory to be cleared before each run.
  emulator::Options how;
  how.checkRaces = false;
  return loadCompiled(std::move(*compiled->program), how);
}

std::vector<llvm::Expected<Evaluation>>
Evaluator::countAll(llvm::ArrayRef<numerics::FormatTable> tables) const {
  std::vector<std::optional<llvm::Expected<Evaluation>>> found(tables.size());
  support::ThreadPool pool(options.threads);
  pool.parallelFor(tables.size(),
                   [&](uint64_t i) { found[i].emplace(count(tables[i])); });
  std::vector<llvm::Expected<Evaluation>> results;
  for (auto &result : found)
    results.push_back(std::move(*result));
  return results;
}

llvm::Expected<Evaluation>
Evaluator::count(const numerics::FormatTable &formats) const {
  const std::unique_ptr<MLIRContext> own = makeContext();
  CompileOptions now = options;
  now.formats = formats;
  now.stopAfter = Phase::Emit;
  auto compiled = compile(now, *own);
  if (!compiled)
    return compiled.takeError();
  Evaluation result;
  for (const container::Segment &segment : compiled->program->constants)
    result.weightBytes += segment.bytes.size();
  emulator::Options how;
  how.checkRaces = how.checkUndefined = false;
  auto program = loadCompiled(std::move(*compiled->program), how);
  if (!program)
    return program.takeError();
  how.functional = !now.sparse.sample.empty();
  auto timed = emulator::run(*program, now.sparse.sample, how);
  if (!timed)
    return timed.takeError();
  result.cycles = timed->totalCycles;
  for (auto [index, stats] : llvm::enumerate(timed->nodes))
    result.nodeCycles[program->program().nodes[index].name] += stats.cycles;
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
