// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Developer tool: runs a network in the reference interpreter.

#include "Driver.h"

using namespace ashlar;
using reference::DriverOptions;

static std::string setSeed(DriverOptions &options, llvm::StringRef text) {
  return text.getAsInteger(10, options.seed) ? "expected a number" : "";
}

static std::string setShape(DriverOptions &options, llvm::StringRef text) {
  return llvm::toString(frontend::addInputShape(options.import, text));
}

static std::string setConstant(DriverOptions &options, llvm::StringRef text) {
  return llvm::toString(frontend::addConstant(options.import, text));
}

int main(int argc, char **argv) {
  using support::setSwitch;
  using support::setText;
  support::Tool<DriverOptions> tool{
      "ashlar-reference",
      "MODEL.onnx|MODEL.mlir [options]",
      "Runs a network in host arithmetic.",
      {{"inputs", "FILE.npz",
        "inputs by ONNX name; n times the model's batch on axis 0 is n samples",
        setText<DriverOptions, &DriverOptions::inputs>,
        support::FileUse::Reads},
       {"outputs", "FILE.npz", "where the results go",
        setText<DriverOptions, &DriverOptions::outputs>,
        support::FileUse::Writes},
       {"phase", "PHASE", "run first: import (default), simplify or fold",
        setText<DriverOptions, &DriverOptions::phase>},
       {"fp64", nullptr, "round no result to its type",
        setSwitch<DriverOptions, &DriverOptions::wide>},
       {"check-phase", nullptr,
        "compare before and after --phase on seeded inputs, in binary64",
        setSwitch<DriverOptions, &DriverOptions::check>},
       {"random-inputs", "SEED", "seed of random inputs (1)", setSeed},
       {"input-shape", "NAME=1x3x224x224", "static shape of a graph input",
        setShape},
       {"constant", "NAME=FILE.npy", "make a graph input constant", setConstant,
        support::FileUse::ReadsNamed}},
      support::setOnly<DriverOptions, &DriverOptions::model>,
      reference::runDriver};
  return support::toolMain(std::move(tool), argc, argv);
}
