// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads a program and runs it on inputs of zeros: refused, or without a fault
// of ours.

#ifndef ASHLAR_TEST_FUZZ_RUNPROGRAM_H
#define ASHLAR_TEST_FUZZ_RUNPROGRAM_H

#include "ashlar/Container/Container.h"
#include "ashlar/Emulator/Emulator.h"

inline void runProgram(llvm::Expected<ashlar::container::Program> program) {
  using namespace ashlar;
  if (!program)
    return llvm::consumeError(program.takeError());
  emulator::Options options;
  options.maxMemory = uint64_t(64) << 20;
  auto loaded = emulator::load(std::move(*program), options);
  if (!loaded)
    return llvm::consumeError(loaded.takeError());
  std::vector<support::HostTensor> inputs;
  for (const container::TensorBinding &input : loaded->program().inputs)
    inputs.push_back(support::HostTensor::zeros(
        input.type, llvm::ArrayRef(input.shape.data(), input.shape.size())));
  auto result = emulator::run(*loaded, inputs, options);
  if (!result)
    llvm::consumeError(result.takeError());
}

#endif // ASHLAR_TEST_FUZZ_RUNPROGRAM_H
