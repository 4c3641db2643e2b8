// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Developer tool: runs a network in the reference interpreter.

#include "Driver.h"
#include "ashlar/Support/Version.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

int main(int argc, char **argv) {
  cl::OptionCategory category("ashlar-reference options");
  cl::opt<std::string> model(cl::Positional, cl::Required,
                             cl::desc("MODEL.onnx or MODEL.mlir"),
                             cl::cat(category));
  cl::opt<std::string> inputs("inputs", cl::desc("inputs by ONNX name"),
                              cl::value_desc("FILE.npz"), cl::cat(category));
  cl::opt<std::string> outputs("outputs", cl::desc("where the results go"),
                               cl::value_desc("FILE.npz"), cl::cat(category));
  cl::opt<std::string> phase(
      "phase", cl::desc("run this phase first: import, simplify or fold"),
      cl::init("import"), cl::cat(category));
  cl::opt<bool> wide("fp64", cl::desc("round no result to its type"),
                     cl::cat(category));
  cl::opt<bool> check("check-phase",
                      cl::desc("compare the network before and after --phase "
                               "on seeded inputs, in binary64"),
                      cl::cat(category));
  cl::opt<uint64_t> seed("random-inputs", cl::desc("seed of random inputs"),
                         cl::init(1), cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << ashlar::support::versionLine("ashlar-reference") << "\n";
  });
  if (!cl::ParseCommandLineOptions(
          argc, argv, "Runs a network in host arithmetic\n", &errs()))
    return static_cast<int>(ashlar::ErrorClass::Usage);

  ashlar::reference::DriverOptions options;
  options.model = model;
  options.inputs = inputs;
  options.outputs = outputs;
  options.phase = phase;
  options.wide = wide;
  options.check = check;
  options.seed = seed;
  return ashlar::reportAndExitCode("ashlar-reference",
                                   ashlar::reference::runDriver(options));
}
