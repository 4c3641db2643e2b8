// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Container reader: any bytes are refused, or give a program that can be
// written again. Checksums would stop nearly every mutation at the door, so
// they are made right first; the input's remaining checks do the work.

#include "ashlar/Container/Container.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/xxhash.h"
#include <cstdlib>
#include <cstring>

using namespace ashlar::container;

/// Recomputes the checksums of sections and header that lie inside the file.
static void reseal(std::vector<uint8_t> &file) {
  constexpr size_t headerBytes = 64, entryBytes = 40;
  if (file.size() < headerBytes)
    return;
  uint64_t size = file.size();
  std::memcpy(file.data() + 24, &size, 8);
  uint32_t sections;
  std::memcpy(&sections, file.data() + 20, 4);
  if (sections > (file.size() - headerBytes) / entryBytes)
    return;
  for (uint32_t i = 0; i < sections; ++i) {
    uint8_t *entry = file.data() + headerBytes + entryBytes * i;
    uint64_t place[2];
    std::memcpy(place, entry + 8, 16);
    if (place[0] > size || place[1] > size - place[0])
      continue;
    uint64_t sum =
        llvm::xxh3_64bits(llvm::ArrayRef(file.data() + place[0], place[1]));
    std::memcpy(entry + 32, &sum, 8);
  }
  std::memset(file.data() + 32, 0, 8);
  uint64_t sum = llvm::xxh3_64bits(
      llvm::ArrayRef(file.data(), headerBytes + entryBytes * sections));
  std::memcpy(file.data() + 32, &sum, 8);
}

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
