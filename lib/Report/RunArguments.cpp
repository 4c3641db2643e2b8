// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the options of ashlar-run do; RunOptions.td lists them.

#include "ashlar/Numerics/Kernels.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/Nearest.h"
#include "ashlar/Support/OptionTable.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::report;

#define ASHLAR_OPTIONS "lib/Report/RunOptions.inc"
#include "ashlar/Support/DefineOptions.inc"

namespace {

using Setting = support::Setting<RunOptions>;

std::string setNumber(uint64_t &target, llvm::StringRef text) {
  return text.getAsInteger(10, target) ? "expected a whole number"
                                       : std::string();
}

std::string setTolerance(double &target, llvm::StringRef text) {
  if (text.getAsDouble(target) || !std::isfinite(target) || target < 0)
    return "expected a finite number that is not negative";
  return "";
}

std::string setInput(RunOptions &options, llvm::StringRef text) {
  // ONNX names may contain '=', file names rarely do: split at the last one.
  auto [name, file] = text.rsplit('=');
  if (name.empty() || file.empty())
    return "expected NAME=FILE.npy";
  options.inputFiles.push_back({name.str(), file.str()});
  return "";
}

std::string setBytes(RunOptions &options, llvm::StringRef text) {
  unsigned shift = 0;
  if (text.consume_back("K"))
    shift = 10;
  else if (text.consume_back("M"))
    shift = 20;
  else if (text.consume_back("G"))
    shift = 30;
  uint64_t bytes = 0;
  if (text.getAsInteger(10, bytes) || bytes == 0 || bytes >> (64 - 31))
    return "expected a positive number of bytes (suffixes K, M, G)";
  options.maxMemory = bytes << shift;
  return "";
}

std::string setThreads(RunOptions &options, llvm::StringRef text) {
  uint64_t threads = 0;
  if (text.getAsInteger(10, threads) || threads == 0 || threads > 1024)
    return "expected 1 to 1024";
  options.threads = static_cast<unsigned>(threads);
  return "";
}

std::string setSharing(RunOptions &options, llvm::StringRef text) {
  if (text != "auto" && text != "lists" && text != "loops")
    return "expected auto, lists or loops";
  options.sharing = text.str();
  return "";
}

template <std::string RunOptions::*member>
constexpr auto setText = support::setText<RunOptions, member>;

template <bool RunOptions::*member>
constexpr auto setSwitch = support::setSwitch<RunOptions, member>;

constexpr Setting settings[] = {
    {OPT_input, setInput},
    {OPT_inputs, setText<&RunOptions::inputs>},
    {OPT_random_inputs,
     [](RunOptions &o, llvm::StringRef text) {
       return setNumber(o.randomSeed.emplace(0), text);
     }},
    {OPT_outputs, setText<&RunOptions::outputs>},
    {OPT_expect, setText<&RunOptions::expect>},
    {OPT_atol, [](RunOptions &o,
                  llvm::StringRef text) { return setTolerance(o.atol, text); }},
    {OPT_rtol, [](RunOptions &o,
                  llvm::StringRef text) { return setTolerance(o.rtol, text); }},
    {OPT_state_in, setText<&RunOptions::stateIn>},
    {OPT_state_out, setText<&RunOptions::stateOut>},
    {OPT_generate,
     [](RunOptions &o, llvm::StringRef text) {
       std::string problem = setNumber(o.generate.count, text);
       return problem.empty() && o.generate.count == 0
                  ? std::string("expected 1 or more")
                  : problem;
     }},
    {OPT_prompt,
     [](RunOptions &o, llvm::StringRef text) {
       o.generate.prompt = text.str();
       o.generate.hasPrompt = true;
       return std::string();
     }},
    {OPT_tokens,
     [](RunOptions &o, llvm::StringRef text) {
       o.generate.tokens = text.str();
       return std::string(text.empty() ? "expected numbers" : "");
     }},
    {OPT_tokenizer,
     [](RunOptions &o, llvm::StringRef text) {
       o.generate.tokenizer = text.str();
       return std::string(text.empty() ? "expected a file" : "");
     }},
    {OPT_also,
     [](RunOptions &o, llvm::StringRef text) {
       o.generate.programs.push_back(text.str());
       return std::string(text.empty() ? "expected a file" : "");
     }},
    {OPT_temperature,
     [](RunOptions &o, llvm::StringRef text) {
       return setTolerance(o.generate.temperature, text);
     }},
    {OPT_top_k,
     [](RunOptions &o, llvm::StringRef text) {
       return setNumber(o.generate.topK, text);
     }},
    {OPT_seed,
     [](RunOptions &o, llvm::StringRef text) {
       return setNumber(o.generate.seed, text);
     }},
    {OPT_report, setText<&RunOptions::report>},
    {OPT_layers, setText<&RunOptions::layers>},
    {OPT_trace, setText<&RunOptions::trace>},
    {OPT_stacks, setText<&RunOptions::stacks>},
    {OPT_dram_trace, setText<&RunOptions::dramTrace>},
    {OPT_html, setText<&RunOptions::html>},
    {OPT_baseline, setText<&RunOptions::baseline>},
    {OPT_dump_tensors, setText<&RunOptions::dumpFolder>},
    {OPT_machine, setText<&RunOptions::machine>},
    {OPT_energy_table, setText<&RunOptions::energyTable>},
    {OPT_max_memory, setBytes},
    {OPT_threads, setThreads},
    {OPT_functional, setSwitch<&RunOptions::functional>},
    {OPT_sharing, setSharing},
    {OPT_kernels, setText<&RunOptions::kernels>},
    {OPT_no_cache, setSwitch<&RunOptions::noCache>},
    {OPT_quiet, setSwitch<&RunOptions::quiet>},
    {OPT_help, support::setHelp<RunOptions>},
    {OPT_version, support::setVersion<RunOptions>},
};
static_assert(support::OptionTable::allSet(optionInfos, settings),
              "every option of RunOptions.td does something");

std::string nearestKernels(llvm::StringRef text) {
  std::vector<llvm::StringRef> names = {"best"};
  for (const numerics::KernelTable *table : numerics::availableKernels())
    names.push_back(table->name);
  return support::didYouMean(text, names);
}

std::string setProgram(RunOptions &options, llvm::StringRef text) {
  if (!options.program.empty())
    return "second program after '" + options.program + "', expected one";
  options.program = text.str();
  return "";
}

/// Options that stand for one run of given arrays, and those of many.
llvm::Error checkGenerate(const RunOptions &options) {
  const GenerateOptions &g = options.generate;
  auto refuse = [](llvm::StringRef what) {
    return makeError(ErrorClass::Usage, "{}", what.str());
  };
  if (g.count == 0)
    return g.hasPrompt || !g.tokens.empty() || !g.tokenizer.empty() ||
                   !g.programs.empty() || g.temperature > 0 || g.topK > 0
               ? refuse("--prompt, --tokens, --tokenizer, --also, "
                        "--temperature and --top-k need --generate=N")
               : llvm::Error::success();
  for (const std::string *text :
       {&options.inputs, &options.expect, &options.trace, &options.dramTrace,
        &options.dumpFolder, &options.layers, &options.stacks, &options.html,
        &options.machine, &options.energyTable})
    if (!text->empty())
      return refuse("--generate makes its inputs itself and runs many times: "
                    "only --outputs, --report, --state-in, --state-out, "
                    "--functional, --threads, --kernels, --max-memory and "
                    "--quiet go with it");
  if (!options.inputFiles.empty() || options.randomSeed)
    return refuse("--generate makes its inputs itself");
  return llvm::Error::success();
}

} // namespace

llvm::Expected<RunOptions>
report::parseRunArguments(llvm::ArrayRef<std::string> args) {
  RunOptions options;
  auto given = support::parseCommandLine(
      optionTable(), args, llvm::ArrayRef(settings), setProgram, options);
  if (!given)
    return given.takeError();
  if (options.help || options.version || options.kernels == "help")
    return options;
  if (options.kernels != "best" && !numerics::kernelsByName(options.kernels))
    return makeError(ErrorClass::Usage,
                     "kernels '{}' are unknown or cannot run on this host, "
                     "which has {}{}",
                     options.kernels, numerics::kernelNames(),
                     nearestKernels(options.kernels));
  if (options.program.empty())
    return makeError(ErrorClass::Usage, "no program given, expected {}",
                     "ashlar-run PROGRAM.ash [options]; see --help");
  if (llvm::Error error = checkGenerate(options))
    return error;
  if (options.functional && !options.trace.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--trace needs cycles, which --functional does not count");
  if (options.functional && !options.dramTrace.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--dram-trace needs the order of service, which "
                     "--functional does not count");
  if (options.functional && !options.layers.empty())
    return makeError(
        ErrorClass::Usage, "{}",
        "--layers needs cycles, which --functional does not count");
  if (options.functional && !options.stacks.empty())
    return makeError(
        ErrorClass::Usage, "{}",
        "--stacks needs cycles, which --functional does not count");
  if (options.functional && !options.html.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--html needs cycles, which --functional does not count");
  if (!options.baseline.empty() && options.html.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--baseline needs --html=FILE.html, which compares");
  if (options.functional && !options.energyTable.empty())
    return makeError(
        ErrorClass::Usage, "{}",
        "--energy-table needs counts, which --functional does not count");
  return options;
}

std::string report::runHelp() {
  return "usage: ashlar-run PROGRAM.ash [options]\n\n"
         "Loads a compiled program, proves it, executes it bit-exactly and "
         "counts its\ncycles. Arrays with n times the compiled batch on axis "
         "0 run n samples.\n\n" +
         optionTable().describe() + "\n" + support::exitCodeLines;
}
