// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Developer tool: runs a network in the reference interpreter.

#include "Driver.h"

using namespace ashlar;
using reference::DriverOptions;

#define ASHLAR_OPTIONS "tools/ashlar-reference/Options.inc"
#include "ashlar/Support/DefineOptions.inc"

static std::string setSeed(DriverOptions &options, llvm::StringRef text) {
  return text.getAsInteger(10, options.seed) ? "expected a number" : "";
}

static std::string setShape(DriverOptions &options, llvm::StringRef text) {
  return llvm::toString(frontend::addInputShape(options.import, text));
}

static std::string setConstant(DriverOptions &options, llvm::StringRef text) {
  return llvm::toString(frontend::addConstant(options.import, text));
}

constexpr support::Setting<DriverOptions> settings[] = {
    {OPT_inputs, support::setText<DriverOptions, &DriverOptions::inputs>},
    {OPT_outputs, support::setText<DriverOptions, &DriverOptions::outputs>},
    {OPT_phase, support::setText<DriverOptions, &DriverOptions::phase>},
    {OPT_fp64, support::setSwitch<DriverOptions, &DriverOptions::wide>},
    {OPT_check_phase, support::setSwitch<DriverOptions, &DriverOptions::check>},
    {OPT_random_inputs, setSeed},
    {OPT_input_shape, setShape},
    {OPT_constant, setConstant},
    {OPT_help, support::setHelp<DriverOptions>},
    {OPT_version, support::setVersion<DriverOptions>},
};
static_assert(support::OptionTable::allSet(optionInfos, settings),
              "every option of Options.td does something");

int main(int argc, char **argv) {
  const support::Tool<DriverOptions> tool{
      "ashlar-reference",
      "MODEL.onnx|MODEL.mlir [options]",
      "Interprets a network on the host, without the machine.",
      optionTable(),
      settings,
      support::setOnly<DriverOptions, &DriverOptions::model>,
      reference::runDriver};
  return support::toolMain(tool, argc, argv);
}
