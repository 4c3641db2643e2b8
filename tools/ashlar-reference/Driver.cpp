// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads a network, optionally runs the first phases on it, and evaluates it.

#include "Driver.h"
#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Reference/Interpreter.h"
#include "ashlar/Report/NonFinite.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/ModuleText.h"
#include "ashlar/Support/Npy.h"
#include "ashlar/Support/Npz.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "dialects/NN/NNElements.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>

using namespace mlir;
using namespace ashlar;
using namespace ashlar::reference;

namespace {

using Module = OwningOpRef<ModuleOp>;
using Tensors = std::vector<HostTensor>;

llvm::Expected<Module> load(StringRef path, MLIRContext &context) {
  if (path.ends_with(".onnx"))
    return frontend::importOnnx(path, {}, &context);
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

llvm::Error runPhase(ModuleOp module, StringRef phase) {
  PassManager manager(module.getContext());
  if (phase == "simplify" || phase == "fold")
    nn::buildSimplifyPipeline(manager);
  else if (phase != "import")
    return support::makeError(
        ErrorClass::Usage,
        "unknown phase '{}', expected import, simplify or fold", phase.str());
  if (phase == "fold")
    nn::buildFoldPipeline(manager);
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

llvm::Expected<Tensors> readInputs(func::FuncOp main,
                                   const DriverOptions &options) {
  if (options.inputs.empty())
    return randomInputs(main, options.seed);
  auto archive = support::readNpz(options.inputs);
  if (!archive)
    return archive.takeError();
  Tensors result;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    std::string name = nameOf(main.getArgAttrDict(i), i);
    auto found = llvm::find_if(
        *archive, [&](const auto &entry) { return entry.name == name; });
    if (found == archive->end())
      return support::makeError(ErrorClass::Usage, "{} has no array '{}'",
                                options.inputs, name);
    result.push_back(found->tensor);
    auto type = dyn_cast<RankedTensorType>(main.getArgumentTypes()[i]);
    auto element =
        type ? nn::toElementType(type.getElementType()) : std::nullopt;
    if (element && support::isStoredAs(found->tensor.type, *element))
      result.back().type = *element;
    report::warnNonFinite("ashlar-reference", "input", name, found->tensor);
  }
  return result;
}

llvm::Error writeOutputs(func::FuncOp main, const Tensors &results,
                         StringRef path) {
  std::vector<support::NamedTensor> archive;
  for (auto [i, tensor] : llvm::enumerate(results))
    archive.push_back({nameOf(main.getResultAttrDict(i), i), tensor});
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
  llvm::Expected<Module> module = load(options.model, context);
  if (!module)
    return module.takeError();
  auto main = (*module)->lookupSymbol<func::FuncOp>("main");
  if (!main)
    return support::makeError(ErrorClass::Malformed, "no function 'main'");
  llvm::Expected<Tensors> inputs = readInputs(main, options);
  if (!inputs)
    return inputs.takeError();
  Options evaluation;
  if (options.wide || options.check)
    evaluation.precision = Precision::Binary64;
  Tensors before;
  if (options.check) {
    llvm::Expected<Tensors> results = evaluate(**module, *inputs, evaluation);
    if (!results)
      return results.takeError();
    before = std::move(*results);
  }
  if (llvm::Error error = runPhase(**module, options.phase))
    return error;
  llvm::Expected<Tensors> results = evaluate(**module, *inputs, evaluation);
  if (!results)
    return results.takeError();
  if (options.check)
    if (llvm::Error error = compare(before, *results))
      return error;
  if (!options.outputs.empty())
    return writeOutputs(main, *results, options.outputs);
  return llvm::Error::success();
}
