// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembler: any text is refused, or gives a program whose text gives the same
// file.

#include "ashlar/Container/Assembly.h"

#include <cstdlib>

using namespace ashlar::container;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::Expected<Program> program = assemble(text, "fuzz");
  if (!program) {
    llvm::consumeError(program.takeError());
    return 0;
  }
  std::string printed = llvm::cantFail(disassemble(*program));
  Program again = llvm::cantFail(assemble(printed, "again"));
  if (llvm::cantFail(serialize(again)) != llvm::cantFail(serialize(*program)))
    std::abort();
  return 0;
}
