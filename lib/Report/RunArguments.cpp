// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flag table of ashlar-run.

#include "ashlar/Numerics/Kernels.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/CommandLine.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::report;

namespace {

using Flag = support::Flag<RunOptions>;

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

template <std::string RunOptions::*member>
std::string setText(RunOptions &options, llvm::StringRef text) {
  options.*member = text.str();
  return text.empty() ? "expected a value" : "";
}

template <bool RunOptions::*member>
std::string setSwitch(RunOptions &options, llvm::StringRef) {
  options.*member = true;
  return "";
}

constexpr Flag flags[] = {
    {"input", "NAME=FILE.npy", "an input array; repeat for several", setInput,
     support::FileUse::ReadsNamed},
    {"inputs", "FILE.npz", "input arrays by ONNX name",
     setText<&RunOptions::inputs>, support::FileUse::Reads},
    {"random-inputs", "SEED", "seeded arrays for the inputs not given",
     [](RunOptions &o, llvm::StringRef text) {
       return setNumber(o.randomSeed.emplace(0), text);
     }},
    {"outputs", "FILE.npz", "write the outputs by ONNX name",
     setText<&RunOptions::outputs>, support::FileUse::Writes},
    {"expect", "FILE.npz", "compare the outputs; exit code 6 on mismatch",
     setText<&RunOptions::expect>, support::FileUse::Reads},
    {"atol", "A", "absolute tolerance of --expect (0)",
     [](RunOptions &o, llvm::StringRef text) {
       return setTolerance(o.atol, text);
     }},
    {"rtol", "R", "relative tolerance of --expect (0)",
     [](RunOptions &o, llvm::StringRef text) {
       return setTolerance(o.rtol, text);
     }},
    {"state-in", "FILE.npz", "state of an earlier run (as at load)",
     setText<&RunOptions::stateIn>, support::FileUse::Reads},
    {"state-out", "FILE.npz", "write the state after the last sample",
     setText<&RunOptions::stateOut>, support::FileUse::Writes},
    {"report", "FILE.json", "write the report (docs/ReportSchema.md)",
     setText<&RunOptions::report>, support::FileUse::Writes},
    {"layers", "FILE.csv", "write the layers as a table",
     setText<&RunOptions::layers>, support::FileUse::Writes},
    {"trace", "FILE", "write a time line: .pftrace for Perfetto, else JSON",
     setText<&RunOptions::trace>, support::FileUse::Writes},
    {"stacks", "FILE", "write cycles as folded stacks (speedscope)",
     setText<&RunOptions::stacks>, support::FileUse::Writes},
    {"dram-trace", "FILE", "write the requests to DRAM for Ramulator 2",
     setText<&RunOptions::dramTrace>, support::FileUse::Writes},
    {"html", "FILE.html", "write the report as a page to look at",
     setText<&RunOptions::html>, support::FileUse::Writes},
    {"baseline", "FILE.json", "report of another run, which --html compares",
     setText<&RunOptions::baseline>, support::FileUse::Reads},
    {"dump-tensors", "DIR", "write every planned tensor of one sample",
     setText<&RunOptions::dumpFolder>, support::FileUse::WritesDump},
    {"machine", "NAME|FILE.yaml",
     "run on this machine instead of that of the program",
     setText<&RunOptions::machine>, support::FileUse::Reads},
    {"energy-table", "NAME|FILE.yaml",
     "prices of the reports (n7; docs/Energy.md)",
     setText<&RunOptions::energyTable>, support::FileUse::Reads},
    {"max-memory", "BYTES", "refuse programs that need more (K, M, G)",
     setBytes},
    {"threads", "N", "threads (all hardware threads); results never change",
     setThreads},
    {"functional", nullptr, "execute only, count no cycles",
     setSwitch<&RunOptions::functional>},
    {"kernels", "NAME", "kernel set, or help for a list; results never change",
     setText<&RunOptions::kernels>},
    {"quiet", nullptr, "print errors and warnings only",
     setSwitch<&RunOptions::quiet>},
    {"help", nullptr, "print this", setSwitch<&RunOptions::help>},
    {"version", nullptr, "print the version", setSwitch<&RunOptions::version>},
};

std::string setProgram(RunOptions &options, llvm::StringRef text) {
  if (!options.program.empty())
    return "second program after '" + options.program + "', expected one";
  options.program = text.str();
  return "";
}

} // namespace

llvm::Expected<RunOptions>
report::parseRunArguments(llvm::ArrayRef<std::string> args) {
  RunOptions options;
  if (llvm::Error error = support::parseCommandLine(
          args, llvm::ArrayRef<Flag>(flags), setProgram, options))
    return error;
  if (options.help || options.version || options.kernels == "help")
    return options;
  if (options.kernels != "best" && !numerics::kernelsByName(options.kernels))
    return makeError(ErrorClass::Usage,
                     "kernels '{}' are unknown or cannot run on this host, "
                     "which has {}",
                     options.kernels, numerics::kernelNames());
  if (options.program.empty())
    return makeError(ErrorClass::Usage, "no program given, expected {}",
                     "ashlar-run PROGRAM.ash [options]; see --help");
  if (options.functional && !options.trace.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--trace needs cycles, which --functional leaves out");
  if (options.functional && !options.dramTrace.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--dram-trace needs the order of service, which "
                     "--functional leaves out");
  if (options.functional && !options.layers.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--layers needs cycles, which --functional leaves out");
  if (options.functional && !options.stacks.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--stacks needs cycles, which --functional leaves out");
  if (options.functional && !options.html.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--html needs cycles, which --functional leaves out");
  if (!options.baseline.empty() && options.html.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--baseline needs --html=FILE.html, which compares");
  if (options.functional && !options.energyTable.empty())
    return makeError(
        ErrorClass::Usage, "{}",
        "--energy-table needs counts, which --functional leaves out");
  return options;
}

std::string report::runHelp() {
  return "usage: ashlar-run PROGRAM.ash [options]\n\n"
         "Loads a compiled program, verifies it, executes it bit exactly and "
         "counts its\ncycles. Arrays with n times the compiled batch on axis "
         "0 run n samples.\n\noptions:\n" +
         support::describeFlags(llvm::ArrayRef<Flag>(flags)) + "\n" +
         support::exitCodeLines;
}
