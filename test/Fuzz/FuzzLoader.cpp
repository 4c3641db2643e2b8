// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loader and emulator: the text of any program is refused, by the assembler or
// by the loader, or runs on inputs of zeros without a fault of ours. Text
// reaches the loader more often than bytes would.

#include "ashlar/Container/Assembly.h"
#include "ashlar/Emulator/Emulator.h"

using namespace ashlar;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto program = container::assemble(text, "fuzz");
  if (!program) {
    llvm::consumeError(program.takeError());
    return 0;
  }
  emulator::Options options;
  options.maxMemory = uint64_t(64) << 20;
  auto loaded = emulator::load(std::move(*program), options);
  if (!loaded) {
    llvm::consumeError(loaded.takeError());
    return 0;
  }
  std::vector<support::HostTensor> inputs;
  for (const container::TensorBinding &input : loaded->program().inputs)
    inputs.push_back(support::HostTensor::zeros(
        input.type, llvm::ArrayRef(input.shape.data(), input.shape.size())));
  auto result = emulator::run(*loaded, inputs, options);
  if (!result)
    llvm::consumeError(result.takeError());
  return 0;
}
