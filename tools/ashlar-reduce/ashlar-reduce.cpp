// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-reduce: finds the smallest part of an ONNX model on which a command
// still fails as it does on the whole. The search is in lib/Frontend/Onnx; here
// are the command line and the trials.

#include "Scratch.h"
#include "Trial.h"
#include "ashlar/Support/ToolMain.h"

#include <cmath>

using namespace ashlar;
using llvm::Error;
using llvm::StringRef;

#define ASHLAR_OPTIONS "tools/ashlar-reduce/Options.inc"
#include "ashlar/Support/DefineOptions.inc"

namespace {

struct Options : support::ToolOptions {
  std::string model, output;
  reduce::TrialOptions trial;
  frontend::ShrinkOptions shrink;
};

std::string setNumber(double &number, StringRef text, bool zero) {
  double value = 0;
  if (text.getAsDouble(value) || !std::isfinite(value) || value < 0 ||
      (!zero && value == 0))
    return zero ? "expected a number, 0 or more" : "expected a number above 0";
  number = value;
  return "";
}

std::string setCount(uint64_t &count, StringRef text) {
  return text.getAsInteger(10, count) ? "expected a whole number, 0 or more"
                                      : "";
}

std::string setExit(Options &options, StringRef text) {
  int code = 0;
  if (text.getAsInteger(10, code) || code < 0 || code > 255)
    return "expected 0 to 255";
  options.trial.exit = code;
  return "";
}

std::string setShape(Options &options, StringRef text) {
  Error error = frontend::addInputShape(options.shrink.import, text);
  return error ? llvm::toString(std::move(error)) : "";
}

template <std::string reduce::TrialOptions::*member>
std::string setTrialText(Options &options, StringRef text) {
  options.trial.*member = text.str();
  return text.empty() ? "expected a text" : "";
}

template <double reduce::TrialOptions::*member, bool zero>
std::string setTrialNumber(Options &options, StringRef text) {
  return setNumber(options.trial.*member, text, zero);
}

constexpr support::Setting<Options> settings[] = {
    {OPT_o, support::setText<Options, &Options::output>},
    {OPT_test, setTrialText<&reduce::TrialOptions::test>},
    {OPT_reference, setTrialText<&reduce::TrialOptions::reference>},
    {OPT_exit, setExit},
    {OPT_message, setTrialText<&reduce::TrialOptions::message>},
    {OPT_atol, setTrialNumber<&reduce::TrialOptions::atol, true>},
    {OPT_rtol, setTrialNumber<&reduce::TrialOptions::rtol, true>},
    {OPT_seed,
     [](Options &o, StringRef text) { return setCount(o.trial.seed, text); }},
    {OPT_timeout, setTrialNumber<&reduce::TrialOptions::timeout, false>},
    {OPT_max_trials,
     [](Options &o, StringRef text) {
       return setCount(o.shrink.maxTrials, text);
     }},
    {OPT_input_shape, setShape},
    {OPT_help, support::setHelp<Options>},
    {OPT_version, support::setVersion<Options>},
};
static_assert(support::OptionTable::allSet(optionInfos, settings),
              "every option of Options.td does something");

Error check(const Options &options) {
  if (options.model.empty() || options.output.empty() ||
      options.trial.test.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "expected ashlar-reduce MODEL.onnx -o SMALL.onnx "
                     "--test=COMMAND; see --help");
  if (!StringRef(options.trial.test).contains("{model}"))
    return makeError(ErrorClass::Usage,
                     "option --test is '{}', expected a command with {{model}}",
                     options.trial.test);
  if (options.trial.reference.empty())
    return Error::success();
  for (const std::string &command :
       {options.trial.test, options.trial.reference})
    if (!StringRef(command).contains("{outputs}"))
      return makeError(ErrorClass::Usage,
                       "'{}' writes no {{outputs}} to compare", command);
  if (options.trial.exit || !options.trial.message.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "with --reference the failure is a difference, expected "
                     "neither --exit nor --message");
  return Error::success();
}

std::string sizeText(const frontend::ShrinkSize &size) {
  return fmt::format("{} nodes, {} inputs, {} outputs, {} constant elements",
                     size.nodes, size.inputs, size.outputs, size.constants);
}

/// Everything between the scratch folder's making and its removal.
Error search(const Options &options, reduce::Scratch &scratch) {
  reduce::Trial trial(options.trial, scratch);
  frontend::ShrinkOptions shrink = options.shrink;
  shrink.scratch = scratch.folder();
  shrink.onStep = [](StringRef step, const frontend::ShrinkSize &size) {
    support::printOut(fmt::format("{:<12} {}\n", step.str(), sizeText(size)));
  };
  auto inputs = frontend::shrinkInputs(options.model, options.shrink.import);
  if (!inputs)
    return inputs.takeError();
  if (Error error = trial.establish(options.model, *inputs))
    return error;
  support::printOut(fmt::format("{}: {}\n", options.model, trial.failure()));
  auto result =
      frontend::shrink(options.model, options.output, shrink,
                       [&](const frontend::ShrinkCandidate &candidate) {
                         return trial.shows(candidate);
                       });
  if (!result)
    return result.takeError();
  support::printOut(fmt::format(
      "{}: {}; {} trials{}\n", options.output, sizeText(result->after),
      result->trials,
      result->complete ? "" : ", ended by --max-trials: it may get smaller"));
  return Error::success();
}

Error run(const Options &options) {
  if (Error error = check(options))
    return error;
  auto scratch = reduce::Scratch::create();
  return scratch ? search(options, **scratch) : scratch.takeError();
}

} // namespace

int main(int argc, char **argv) {
  const support::Tool<Options> tool{
      "ashlar-reduce",
      "MODEL.onnx -o SMALL.onnx --test=COMMAND [options]",
      "Finds the smallest part of a model on which a command still fails in\n"
      "the same way.",
      optionTable(),
      settings,
      support::setOnly<Options, &Options::model>,
      run};
  return support::toolMain(tool, argc, argv);
}
