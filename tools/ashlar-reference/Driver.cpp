// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads a network, optionally runs the first phases on it, and evaluates it.

#include "Driver.h"
#include "ashlar/Analysis/Module/ModuleForm.h"
#include "ashlar/Container/Container.h"
#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Reference/Interpreter.h"
#include "ashlar/Report/NonFinite.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/ModuleText.h"
#include "ashlar/Support/Npy.h"
#include "ashlar/Support/Npz.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "dialects/Ashlar/AshlarDialect.h"
#include "dialects/NN/NNElements.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace ashlar;
using namespace ashlar::reference;

namespace {

using Module = OwningOpRef<ModuleOp>;
using Tensors = std::vector<HostTensor>;

llvm::Expected<Module> load(const DriverOptions &options,
                            MLIRContext &context) {
  StringRef path = options.model;
  if (path.ends_with(".onnx"))
    return frontend::importOnnx(path, options.import, &context);
  if (!options.import.inputShapes.empty() || !options.import.constants.empty())
    return support::makeError(
        ErrorClass::Usage,
        "--input-shape and --constant are for ONNX models, '{}' is a module",
        path.str());
  auto buffer = support::readFile(path);
  if (!buffer)
    return buffer.takeError();
  if (llvm::Error error = support::checkModuleText((*buffer)->getBuffer()))
    return support::withContext(std::move(error), path.str());
  Module module = parseSourceString<ModuleOp>((*buffer)->getBuffer(), &context,
                                              /*sourceName=*/path);
  if (!module)
    return support::makeError(ErrorClass::Malformed, "{} does not parse",
                              path.str());
  return module;
}

/// Folds are for a machine: that of the module, or the built-in one.
llvm::Error setTarget(ModuleOp module) {
  if (module->hasAttr(records::kTargetAttr))
    return llvm::Error::success();
  auto machine = machine::load("a1");
  if (!machine)
    return machine.takeError();
  module->setAttr(records::kTargetAttr,
                  records::TargetAttr::get(module.getContext(), *machine));
  return llvm::Error::success();
}

llvm::Error runPhase(ModuleOp module, StringRef phase) {
  PassManager manager(module.getContext());
  if (phase == "simplify" || phase == "fold")
    nn::buildSimplifyPipeline(manager);
  else if (phase != "import")
    return support::makeError(
        ErrorClass::Usage,
        "unknown phase '{}', expected import, simplify or fold", phase.str());
  if (phase == "fold") {
    if (llvm::Error error = setTarget(module))
      return error;
    nn::buildFoldPipeline(manager);
  }
  if (failed(manager.run(module)))
    return support::makeError(ErrorClass::Internal, "phase {} failed",
                              phase.str());
  return llvm::Error::success();
}

std::string nameOf(DictionaryAttr attributes, unsigned index) {
  auto name =
      attributes ? attributes.getAs<StringAttr>(nn::nameAttr) : StringAttr();
  return name ? name.str() : std::to_string(index);
}

// A generator that is the same everywhere (splitmix64).
uint64_t nextRandom(uint64_t &state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

llvm::Expected<Tensors> randomInputs(func::FuncOp main, uint64_t seed) {
  Tensors result;
  for (Type argument : main.getArgumentTypes()) {
    auto type = dyn_cast<RankedTensorType>(argument);
    auto element =
        type ? nn::toElementType(type.getElementType()) : std::nullopt;
    if (!element)
      return support::makeError(ErrorClass::Unsupported,
                                "an input has no host type");
    Tensor values(*element, type.getShape());
    for (double &value : values.floats)
      value = static_cast<double>(nextRandom(seed) >> 40) / 8388608.0 - 1.0;
    for (int64_t &value : values.ints)
      value = static_cast<int64_t>(nextRandom(seed) %
                                   (*element == ElementType::Bool ? 2 : 7));
    result.push_back(toHost(values, *element));
  }
  return result;
}

// What `main` wants, as the emulator's programs say it.
llvm::Expected<std::vector<container::TensorBinding>>
bindingsOf(func::FuncOp main) {
  std::vector<container::TensorBinding> bindings;
  for (auto [i, argument] : llvm::enumerate(main.getArgumentTypes())) {
    auto type = dyn_cast<RankedTensorType>(argument);
    auto element =
        type ? nn::toElementType(type.getElementType()) : std::nullopt;
    if (!element)
      return support::makeError(ErrorClass::Unsupported,
                                "an input has no host type");
    container::TensorBinding binding;
    binding.name = nameOf(main.getArgAttrDict(i), i);
    binding.type = *element;
    binding.shape.assign(type.getShape().begin(), type.getShape().end());
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

// One sample or many, stacked on axis 0 as for `ashlar-run`. Arrays of other
// names are left alone.
llvm::Expected<report::InputSet> readInputs(func::FuncOp main,
                                            const DriverOptions &options) {
  if (options.inputs.empty()) {
    auto tensors = randomInputs(main, options.seed);
    if (!tensors)
      return tensors.takeError();
    return report::InputSet{1, std::move(*tensors), {}};
  }
  auto archive = support::readNpz(options.inputs);
  if (!archive)
    return archive.takeError();
  auto bindings = bindingsOf(main);
  if (!bindings)
    return bindings.takeError();
  std::vector<support::NamedTensor> arrays;
  for (const container::TensorBinding &binding : *bindings) {
    auto found = llvm::find_if(*archive, [&](const auto &entry) {
      return entry.name == binding.name;
    });
    if (found == archive->end())
      return support::makeError(ErrorClass::Usage, "{} has no array '{}'",
                                options.inputs, binding.name);
    arrays.push_back(*found);
  }
  auto set = report::bindInputs(*bindings, std::move(arrays));
  if (set)
    for (auto [binding, tensor] : llvm::zip(*bindings, set->tensors))
      report::warnNonFinite("ashlar-reference", "input", binding.name, tensor);
  return set;
}

// Results of every sample in turn, stacked on axis 0.
llvm::Expected<Tensors> evaluateAll(ModuleOp module,
                                    const report::InputSet &inputs,
                                    const Options &how) {
  Tensors stacked;
  for (uint64_t k = 0; k < inputs.samples; ++k) {
    Tensors sample;
    for (const HostTensor &array : inputs.tensors)
      sample.push_back(report::sampleOf(array, inputs.samples, k));
    llvm::Expected<Tensors> results = evaluate(module, sample, how);
    if (!results)
      return results.takeError();
    stacked.resize(results->size());
    for (auto [whole, part] : llvm::zip_equal(stacked, *results))
      report::appendSample(whole, part, inputs.samples);
  }
  return stacked;
}

llvm::Error writeOutputs(func::FuncOp main, const Tensors &results,
                         StringRef path) {
  std::vector<support::NamedTensor> archive;
  const llvm::DenseSet<unsigned> extents = analysis::extentsOf(main);
  for (auto [i, tensor] : llvm::enumerate(results)) {
    if (extents.contains(i))
      continue;
    std::string name = nameOf(main.getResultAttrDict(i), i);
    auto extent =
        main.getResultAttrOfType<DenseI64ArrayAttr>(i, nn::extentAttr);
    if (!extent) {
      archive.push_back({name, tensor});
      continue;
    }
    const auto count = static_cast<int64_t>(results[extent[1]].asDouble(0));
    archive.push_back(
        {name, support::firstIndices(
                   tensor, static_cast<size_t>(extent[0]),
                   std::clamp<int64_t>(count, 0, tensor.shape[extent[0]]))});
  }
  for (const support::NamedTensor &entry : archive)
    report::warnNonFinite("ashlar-reference", "output", entry.name,
                          entry.tensor);
  return support::writeNpz(path, archive);
}

// Largest difference relative to the largest expected magnitude.
double relativeDifference(const HostTensor &expected, const HostTensor &found) {
  double top = 0, difference = 0;
  for (uint64_t i = 0; i < expected.numElements(); ++i) {
    double a = expected.asDouble(i), b = found.asDouble(i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    top = std::max(top, std::fabs(a));
    // A NaN on one side only is a difference of any size.
    difference =
        std::isnan(a - b) ? HUGE_VAL : std::max(difference, std::fabs(a - b));
  }
  return difference == 0 ? 0 : difference / top;
}

// Integers must agree exactly; folded weights differ by their one rounding.
llvm::Error compare(const Tensors &expected, const Tensors &found) {
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(expected, found))) {
    auto &[before, after] = pair;
    if (before.type != after.type || before.shape != after.shape)
      return support::makeError(
          ErrorClass::Mismatch, "output {} became {}, expected {}", i,
          support::describe(after), support::describe(before));
    double limit = isFloatType(before.type) ? 1e-5 : 0.0;
    double difference = relativeDifference(before, after);
    if (!(difference <= limit))
      return support::makeError(ErrorClass::Mismatch,
                                "output {} differs by {:g} of its largest "
                                "element, expected at most {:g}",
                                i, difference, limit);
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error reference::runDriver(const DriverOptions &options) {
  if (options.model.empty())
    return support::makeError(ErrorClass::Usage, "{}",
                              "expected a model; see --help");
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<func::FuncDialect, nn::NNDialect>();
  llvm::Expected<Module> module = load(options, context);
  if (!module)
    return module.takeError();
  auto main = (*module)->lookupSymbol<func::FuncOp>("main");
  if (!main)
    return support::makeError(ErrorClass::Malformed, "no function 'main'");
  llvm::Expected<report::InputSet> inputs = readInputs(main, options);
  if (!inputs)
    return inputs.takeError();
  Options evaluation;
  if (options.wide || options.check)
    evaluation.precision = Precision::Binary64;
  Tensors before;
  if (options.check) {
    llvm::Expected<Tensors> results =
        evaluateAll(**module, *inputs, evaluation);
    if (!results)
      return results.takeError();
    before = std::move(*results);
  }
  if (llvm::Error error = runPhase(**module, options.phase))
    return error;
  llvm::Expected<Tensors> results = evaluateAll(**module, *inputs, evaluation);
  if (!results)
    return results.takeError();
  if (options.check)
    if (llvm::Error error = compare(before, *results))
      return error;
  if (!options.outputs.empty())
    return writeOutputs(main, *results, options.outputs);
  return llvm::Error::success();
}
