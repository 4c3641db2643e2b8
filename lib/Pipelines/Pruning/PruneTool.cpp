// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of ashlar-prune.

#include "ashlar/Pipelines/Prune.h"

#include "PruneStudy.h"
#include "ashlar/Support/ToolMain.h"
#include "mlir/IR/MLIRContext.h"

#include <optional>

namespace ashlar::pipelines {

using frontend::PrunedTensor;
using frontend::PruneOptions;
using frontend::PrunePattern;

#define ASHLAR_OPTIONS "lib/Pipelines/Pruning/PruneOptions.inc"
#include "ashlar/Support/DefineOptions.inc"

namespace {

struct PruneArguments : support::ToolOptions {
  PruneOptions options;
  std::optional<double> density;
  std::string model, output;
  bool block = false; ///< A length of blocks was given.
  std::string inputs;
  bool sensitivity = false;
  std::optional<double> target; ///< Percent of best classes that stay.

  bool studies() const { return sensitivity || target; }
};

std::string setDensity(PruneArguments &arguments, llvm::StringRef text) {
  double value = 0;
  if (text.getAsDouble(value) || !(value >= 0) || !(value <= 1))
    return "expected a number from 0 to 1";
  arguments.density = value;
  arguments.options.density = value;
  return "";
}

std::string setTarget(PruneArguments &arguments, llvm::StringRef text) {
  double value = 0;
  if (text.getAsDouble(value) || !(value > 0) || !(value <= 100))
    return "expected a number above 0, at most 100";
  arguments.target = value;
  return "";
}

std::string setPattern(PruneArguments &arguments, llvm::StringRef text) {
  return frontend::parsePrunePattern(arguments.options, text);
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
    {OPT_inputs, support::setText<PruneArguments, &PruneArguments::inputs>},
    {OPT_sensitivity,
     support::setSwitch<PruneArguments, &PruneArguments::sensitivity>},
    {OPT_target_agreement, setTarget},
    {OPT_help, support::setHelp<PruneArguments>},
    {OPT_version, support::setVersion<PruneArguments>},
};
static_assert(support::OptionTable::allSet(optionInfos, settings),
              "every option of PruneOptions.td does something");

llvm::Error checkStudy(const PruneArguments &arguments) {
  const char *study = arguments.target ? "--target-agreement" : "--sensitivity";
  auto refuse = [&](llvm::StringRef why) {
    return makeError(ErrorClass::Usage, "{} {}", study, why.str());
  };
  if (arguments.inputs.empty())
    return refuse("needs samples, expected --inputs=FILE.npz");
  if (arguments.density)
    return refuse("tries densities of its own, expected no --density");
  if (arguments.options.pattern == PrunePattern::NofM)
    return refuse("tries densities, which the pattern N:M determines");
  if (arguments.options.global)
    return refuse("looks at each tensor, expected --scope=layer");
  return llvm::Error::success();
}

llvm::Error checkArguments(const PruneArguments &arguments) {
  const bool counted = arguments.options.pattern == PrunePattern::NofM;
  if (arguments.block && arguments.options.pattern != PrunePattern::Block)
    return makeError(ErrorClass::Usage, "{}",
                     "option --block belongs to --pattern=block");
  const bool writes = !arguments.sensitivity || arguments.target;
  if (arguments.studies() && !arguments.model.empty() &&
      (!writes || !arguments.output.empty()))
    return checkStudy(arguments);
  if (!arguments.studies() && !arguments.inputs.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--inputs belongs to --sensitivity or "
                     "--target-agreement=PCT");
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
  return llvm::Error::success();
}

void printQuality(const PrunedTensor &tensor, double density,
                  const Quality &quality) {
  support::printOut(fmt::format(
      "{:<40} {:>10} weights  density {:<5} agreement {:6.2f} %  counted "
      "{:6.2f} %  snr {:6.1f} dB\n",
      tensor.name, tensor.weights, density, quality.agreement, quality.counted,
      quality.snr));
}

/// Each tensor alone at each density.
llvm::Error printSensitivity(const PruneStudy &study) {
  for (auto [i, tensor] : llvm::enumerate(study.tensors()))
    for (double density : llvm::drop_begin(kPruneDensities)) {
      std::vector<double> densities(study.tensors().size(), 1.0);
      densities[i] = density;
      auto quality = study.measure(densities);
      if (!quality)
        return quality.takeError();
      printQuality(tensor, density, *quality);
    }
  return llvm::Error::success();
}

/// What a study prints, and the densities that it finds.
llvm::Error runStudy(const PruneArguments &arguments, PruneOptions &options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto study = PruneStudy::create(arguments.model, options,
                                  SampleArchive(arguments.inputs),
                                  arguments.target.has_value(), context);
  if (!study)
    return study.takeError();
  if (arguments.sensitivity)
    if (llvm::Error error = printSensitivity(*study))
      return error;
  if (!arguments.target)
    return llvm::Error::success();
  auto densities =
      study->search(*arguments.target,
                    [&](size_t tensor, double density, const Quality &quality) {
                      printQuality(study->tensors()[tensor], density, quality);
                    });
  if (!densities)
    return densities.takeError();
  options.densities = std::move(*densities);
  return llvm::Error::success();
}

llvm::Error run(const PruneArguments &arguments) {
  if (llvm::Error error = checkArguments(arguments))
    return error;
  PruneOptions options = arguments.options;
  if (arguments.studies())
    if (llvm::Error error = runStudy(arguments, options))
      return error;
  if (arguments.output.empty())
    return llvm::Error::success();
  auto tensors = frontend::prune(arguments.model, arguments.output, options);
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
      "Sets the smallest weights of a model to zero, to try sparsity without\n"
      "training.",
      optionTable(),
      settings,
      support::setOnly<PruneArguments, &PruneArguments::model>,
      run};
  return support::toolMain(tool, argc, argv);
}

} // namespace ashlar::pipelines
