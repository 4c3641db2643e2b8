// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A container of more than 4 GiB, nearly all of it a hole in the file. Seconds:
// only test/Integration/LargeModels/container-long.test runs it.

#include "SampleProgram.h"
#include "lib/Container/Layout.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::container;

namespace {

constexpr uint64_t kAddress = 4096;
constexpr uint64_t kBytes = (uint64_t(1) << 32) + 192;

/// Zeros that take no memory.
class Zeros {
public:
  Zeros()
      : at(mmap(nullptr, kBytes, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Zeros() { munmap(at, kBytes); }
  Zeros(const Zeros &) = delete;

  llvm::ArrayRef<uint8_t> bytes() const {
    return {static_cast<const uint8_t *>(at), kBytes};
  }

private:
  void *at;
};

/// The sample with one more segment, which is the last section; in the file it
/// is made longer.
std::vector<uint8_t> beginning() {
  Program program = sampleProgram();
  program.machine.dram.bytes = uint64_t(1) << 33;
  program.dramBytes = kAddress + kBytes;
  program.addConstant(kAddress, std::vector<uint8_t>(1));
  std::vector<uint8_t> file = llvm::cantFail(serialize(program));
  file.pop_back();
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  const size_t last =
      sizeof header + (header.sectionCount - 1) * sizeof(SectionEntry);
  SectionEntry entry;
  std::memcpy(&entry, &file[last], sizeof entry);
  entry.bytes = kBytes;
  entry.checksum = llvm::xxh3_64bits(Zeros().bytes());
  std::memcpy(&file[last], &entry, sizeof entry);
  header.fileBytes = entry.offset + kBytes;
  std::memcpy(file.data(), &header, sizeof header);
  header.checksum = headerChecksum(
      llvm::ArrayRef(file).take_front(last + sizeof(SectionEntry)));
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

TEST(Container, DISABLED_MoreThan4GiB) {
  const std::vector<uint8_t> file = beginning();
  llvm::SmallString<128> path;
  int descriptor = -1;
  ASSERT_FALSE(
      llvm::sys::fs::createTemporaryFile("large", "ash", descriptor, path));
  ASSERT_EQ(::write(descriptor, file.data(), file.size()),
            static_cast<ssize_t>(file.size()));
  ASSERT_EQ(::ftruncate(descriptor, static_cast<off_t>(file.size() + kBytes)),
            0);
  ::close(descriptor);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  ASSERT_TRUE(static_cast<bool>(buffer));
  auto program = parse(std::move(*buffer), path);
  ASSERT_TRUE(static_cast<bool>(program))
      << llvm::toString(program.takeError());
  EXPECT_EQ(program->dramBytes, kAddress + kBytes);
  const Segment &segment = program->constants.back();
  EXPECT_EQ(segment.dramOffset, kAddress);
  EXPECT_EQ(segment.bytes.size(), kBytes);
  EXPECT_EQ(segment.bytes.back(), 0);
  llvm::sys::fs::remove(path);
}

} // namespace
