// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Container reader: any bytes are refused, or give a program that can be
// written again.

#include "Reseal.h"
#include "ashlar/Container/Container.h"

#include <cstdlib>

using namespace ashlar::container;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint8_t> file(data, data + size);
  reseal(file);
  std::shared_ptr<llvm::MemoryBuffer> buffer =
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(
          reinterpret_cast<const char *>(file.data()), file.size()));
  llvm::Expected<Program> program = parse(std::move(buffer), "fuzz");
  if (!program) {
    llvm::consumeError(program.takeError());
    return 0;
  }
  if (llvm::cantFail(serialize(*program)).empty())
    std::abort();
  return 0;
}
