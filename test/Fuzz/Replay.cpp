// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a fuzz target once over every file of the folders given: replays the
// seed corpus in builds without a fuzzer.

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <cstdio>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
  unsigned files = 0;
  for (int i = 1; i < argc; ++i) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(argv[i], error), end;
         !error && it != end; it.increment(error)) {
      auto buffer = llvm::MemoryBuffer::getFile(it->path());
      if (!buffer)
        continue;
      LLVMFuzzerTestOneInput(
          reinterpret_cast<const uint8_t *>((*buffer)->getBufferStart()),
          (*buffer)->getBufferSize());
      ++files;
    }
  }
  std::printf("replayed %u inputs\n", files);
  return files > 0 ? 0 : 1;
}
