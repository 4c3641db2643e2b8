// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of ashlar-prune.

#include "ashlar/Frontend/Onnx/Prune.h"
#include "ashlar/Support/ToolMain.h"

#include <optional>

namespace ashlar::frontend {

#define ASHLAR_OPTIONS "lib/Frontend/Onnx/Edit/PruneOptions.inc"
#include "ashlar/Support/DefineOptions.inc"

namespace {

struct PruneArguments : support::ToolOptions {
  PruneOptions options;
  std::optional<double> density;
  std::string model, output;
  bool block = false; ///< A length of blocks was given.
};

std::string setDensity(PruneArguments &arguments, llvm::StringRef text) {
  double value = 0;
  if (text.getAsDouble(value) || !(value >= 0) || !(value <= 1))
    return "expected a number from 0 to 1";
  arguments.density = value;
  arguments.options.density = value;
  return "";
}

std::string setPattern(PruneArguments &arguments, llvm::StringRef text) {
  return parsePrunePattern(arguments.options, text);
}

std::string setScope(PruneArguments &arguments, llvm::StringRef text) {
  arguments.options.global = text == "global";
  return "";
}

std::string setBlock(PruneArguments &arguments, llvm::StringRef text) {
  int64_t block = 0;
  if (text.getAsInteger(10, block) || block < 1 || block > 4096)
    return "expected 1 to 4096";
  arguments.options.block = block;
  arguments.block = true;
  return "";
}

constexpr support::Setting<PruneArguments> settings[] = {
    {OPT_o, support::setText<PruneArguments, &PruneArguments::output>},
    {OPT_density, setDensity},
    {OPT_pattern, setPattern},
    {OPT_scope, setScope},
    {OPT_block, setBlock},
    {OPT_help, support::setHelp<PruneArguments>},
    {OPT_version, support::setVersion<PruneArguments>},
};
static_assert(support::OptionTable::allSet(optionInfos, settings),
              "every option of PruneOptions.td does something");

llvm::Error checkArguments(const PruneArguments &arguments) {
  const bool counted = arguments.options.pattern == PrunePattern::NofM;
  if (arguments.model.empty() || arguments.output.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "expected ashlar-prune MODEL.onnx -o OUT.onnx "
                     "--density=D; see --help");
  if (!counted && !arguments.density)
    return makeError(ErrorClass::Usage, "{}",
                     "no density given, expected --density=D");
  if (counted && arguments.density)
    return makeError(
        ErrorClass::Usage, "{}",
        "the pattern N:M determines the density, expected no --density");
  if (counted && arguments.options.global)
    return makeError(ErrorClass::Usage, "{}",
                     "the pattern N:M has no ranking, expected --scope=layer");
  if (arguments.block && arguments.options.pattern != PrunePattern::Block)
    return makeError(ErrorClass::Usage, "{}",
                     "option --block belongs to --pattern=block");
  return llvm::Error::success();
}

llvm::Error run(const PruneArguments &arguments) {
  if (llvm::Error error = checkArguments(arguments))
    return error;
  auto tensors = prune(arguments.model, arguments.output, arguments.options);
  if (!tensors)
    return tensors.takeError();
  int64_t weights = 0, after = 0;
  for (const PrunedTensor &tensor : *tensors) {
    support::printOut(fmt::format("{:<40} {:>10} weights {:>10} not zero\n",
                                  tensor.name, tensor.weights, tensor.after));
    weights += tensor.weights;
    after += tensor.after;
  }
  support::printOut(fmt::format(
      "{}: {} tensors, {} weights, {} not zero ({:.2f} %)\n", arguments.output,
      tensors->size(), weights, after,
      weights
          ? 100.0 * static_cast<double>(after) / static_cast<double>(weights)
          : 0.0));
  return llvm::Error::success();
}

} // namespace

int pruneMain(int argc, char **argv) {
  const support::Tool<PruneArguments> tool{
      "ashlar-prune",
      "MODEL.onnx -o OUT.onnx --density=D [options]",
      "Sets the smallest weights of a model to zero.",
      optionTable(),
      settings,
      support::setOnly<PruneArguments, &PruneArguments::model>,
      run};
  return support::toolMain(tool, argc, argv);
}

} // namespace ashlar::frontend
