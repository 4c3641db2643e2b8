// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loader and emulator on the bytes of programs: a sealed file is refused or
// runs.

#include "Reseal.h"
#include "RunProgram.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint8_t> file(data, data + size);
  reseal(file);
  runProgram(ashlar::container::parse(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(
          reinterpret_cast<const char *>(file.data()), file.size())),
      "fuzz"));
  return 0;
}
