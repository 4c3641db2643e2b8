// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flag table of ashlarc.

#include "Arguments.h"

#include "ashlar/Support/CommandLine.h"

namespace ashlar::pipelines {
namespace {

using Flag = support::Flag<CompilerArguments>;

std::string textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

template <std::string CompilerArguments::*member>
std::string setText(CompilerArguments &arguments, llvm::StringRef text) {
  arguments.*member = text.str();
  return text.empty() ? "expected a value" : "";
}

template <bool CompilerArguments::*member>
std::string setSwitch(CompilerArguments &arguments, llvm::StringRef) {
  arguments.*member = true;
  return "";
}

std::string setPhase(CompilerArguments &arguments, llvm::StringRef text) {
  auto phase = parsePhase(text);
  if (!phase)
    return "expected one of " + phaseNames();
  arguments.compile.stopAfter = *phase;
  arguments.stopRequested = true;
  return "";
}

std::string setThreads(CompilerArguments &arguments, llvm::StringRef text) {
  unsigned threads = 0;
  if (text.getAsInteger(10, threads) || threads == 0 || threads > 1024)
    return "expected 1 to 1024";
  arguments.compile.threads = threads;
  return "";
}

constexpr Flag flags[] = {
    {"o", "FILE", "output (a program; text with --compile-to)",
     setText<&CompilerArguments::output>},
    {"machine", "NAME|FILE.yaml", "machine to compile for (a1)",
     [](CompilerArguments &a, llvm::StringRef text) {
       a.compile.machine = text.str();
       return std::string(text.empty() ? "expected a name or a file" : "");
     }},
    {"format", "FORMAT", "bfp8 (default), bfp16, or w=8,block=16,range=7",
     [](CompilerArguments &a, llvm::StringRef text) {
       a.compile.format = text.str();
       return std::string(text.empty() ? "expected a format" : "");
     }},
    {"input-shape", "NAME=1x3x224x224", "static shape of a graph input",
     [](CompilerArguments &a, llvm::StringRef text) {
       return textOf(frontend::addInputShape(a.compile.import, text));
     }},
    {"constant", "NAME=FILE.npy", "makes a graph input constant",
     [](CompilerArguments &a, llvm::StringRef text) {
       return textOf(frontend::addConstant(a.compile.import, text));
     }},
    {"compile-to", "PHASE", "stop after a phase and print its module",
     setPhase},
    {"check", nullptr, "list every node: mapped, rewritten, unsupported, why",
     setSwitch<&CompilerArguments::check>},
    {"explain", nullptr, "print the decisions of all passes",
     setSwitch<&CompilerArguments::explain>},
    {"report", "FILE.json", "write the compile report (docs/ReportSchema.md)",
     setText<&CompilerArguments::report>},
    {"dump-plan", "DIR", "write the numeric plan and its constants",
     [](CompilerArguments &a, llvm::StringRef text) {
       a.compile.dumpPlan = text.str();
       return std::string(text.empty() ? "expected a folder" : "");
     }},
    {"threads", "N", "threads (all hardware threads); results never change",
     setThreads},
    {"list-machines", nullptr, "print the built-in machines",
     setSwitch<&CompilerArguments::listMachines>},
    {"dump-machine", "NAME", "print a machine description as YAML",
     setText<&CompilerArguments::dumpMachine>},
    {"help", nullptr, "print this", setSwitch<&CompilerArguments::help>},
    {"version", nullptr, "print the version",
     setSwitch<&CompilerArguments::version>},
};

std::string setModel(CompilerArguments &arguments, llvm::StringRef text) {
  if (!arguments.compile.model.empty())
    return "second model after '" + arguments.compile.model + "', expected one";
  arguments.compile.model = text.str();
  return "";
}

} // namespace

llvm::Expected<CompilerArguments>
parseCompilerArguments(llvm::ArrayRef<std::string> args) {
  CompilerArguments arguments;
  if (llvm::Error error = support::parseCommandLine(
          args, llvm::ArrayRef<Flag>(flags), setModel, arguments))
    return error;
  bool answersAlone = arguments.help || arguments.version ||
                      arguments.listMachines || !arguments.dumpMachine.empty();
  if (answersAlone)
    return arguments;
  if (arguments.compile.model.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "no model given, expected ashlarc MODEL.onnx -o OUT.ash; "
                     "see --help");
  if (arguments.output.empty() && !arguments.check && !arguments.explain &&
      !arguments.stopRequested && arguments.report.empty() &&
      arguments.compile.dumpPlan.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "no output given, expected -o OUT.ash (or --check, "
                     "--explain, --compile-to); see --help");
  return arguments;
}

std::string compilerHelp() {
  return "usage: ashlarc MODEL.onnx -o OUT.ash [options]\n\n"
         "Compiles an ONNX model to a program for ashlar-run.\n\noptions:\n" +
         support::describeFlags(llvm::ArrayRef<Flag>(flags)) +
         "\nphases: " + phaseNames() +
         "\nexit codes: 0 ok, 1 internal, 2 usage, 3 unsupported, "
         "4 malformed input,\n            5 capacity, 6 mismatch\n";
}

} // namespace ashlar::pipelines
