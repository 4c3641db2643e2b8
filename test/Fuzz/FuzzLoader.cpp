// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loader and emulator: the text of any program is refused, by the assembler or
// by the loader, or runs on inputs of zeros without a fault of ours. Text
// reaches the loader more often than bytes would.

#include "RunProgram.h"
#include "ashlar/Container/Assembly.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  runProgram(ashlar::container::assemble(text, "fuzz"));
  return 0;
}
