// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder: any words are refused, or decode to an instruction that encodes and
// prints back to exactly these words.

#include "ashlar/Isa/Text.h"

#include <cstdlib>
#include <cstring>

using namespace ashlar::isa;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint64_t> words(size / 8);
  if (!words.empty())
    std::memcpy(words.data(), data, words.size() * 8);
  for (size_t pos = 0; pos < words.size();) {
    size_t start = pos;
    llvm::Expected<Instruction> inst = decode(words, pos);
    if (!inst) {
      llvm::consumeError(inst.takeError());
      return 0;
    }
    llvm::SmallVector<uint64_t> again, printed;
    llvm::cantFail(encode(*inst, again));
    llvm::cantFail(encode(llvm::cantFail(parse(print(*inst), "")), printed));
    if (llvm::ArrayRef(words).slice(start, pos - start) !=
            llvm::ArrayRef<uint64_t>(again) ||
        again != printed)
      std::abort();
  }
  return 0;
}
