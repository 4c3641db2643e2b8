// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Refused programs as errors of the compiler.

#include "ProveProgram.h"

#include "ashlar/Support/Error.h"

namespace ashlar::pipelines {

/// What the loader says of a program becomes what that means here. A host
/// without memory is not a fault of the program.
static llvm::Error explain(llvm::Error error, ProgramSource source) {
  if (!error || support::classify(error) == ErrorClass::Capacity)
    return error;
  const std::string said = llvm::toString(std::move(error));
  if (source == ProgramSource::File)
    return makeError(ErrorClass::Malformed,
                     "the loader refuses the program that this file becomes: "
                     "{}; the file was changed after ashlarc wrote it, or the "
                     "compiler is wrong: compile the model again without "
                     "--compile-from",
                     said);
  return makeError(ErrorClass::Internal,
                   "the loader refuses the compiled program: {}; the compiler "
                   "is wrong, not the model: please report this with the "
                   "model, the machine and the options. No program was written",
                   said);
}

llvm::Error proveProgram(const container::Program &program,
                         ProgramSource source) {
  return explain(emulator::prove(program), source);
}

llvm::Expected<emulator::LoadedProgram>
loadCompiled(container::Program program, const emulator::Options &options) {
  auto loaded = emulator::load(std::move(program), options);
  if (!loaded)
    return explain(loaded.takeError(), ProgramSource::Model);
  return loaded;
}

} // namespace ashlar::pipelines
