// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The container: round trip, determinism, and hostile files.

#include "SampleProgram.h"
#include "ashlar/Container/Assembly.h"
#include "ashlar/Container/Bundle.h"
#include "ashlar/Support/Error.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::container;
using Bytes = std::vector<uint8_t>;

namespace {
Bytes image(const Program &program) {
  return llvm::cantFail(serialize(program));
}

llvm::Expected<Program> parseBytes(const Bytes &bytes) {
  std::shared_ptr<llvm::MemoryBuffer> buffer =
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(
          reinterpret_cast<const char *>(bytes.data()), bytes.size()));
  return parse(std::move(buffer), "f");
}

/// The error text of a file; "accepted" if there is none.
std::string message(const Bytes &bytes) {
  llvm::Expected<Program> program = parseBytes(bytes);
  if (program)
    return "accepted";
  llvm::Error error = program.takeError();
  ErrorClass kind = support::classify(error);
  EXPECT_TRUE(kind == ErrorClass::Malformed || kind == ErrorClass::Capacity);
  return llvm::toString(std::move(error));
}

std::string refusal(const Program &program) {
  llvm::Expected<Bytes> bytes = serialize(program);
  return bytes ? "accepted" : llvm::toString(bytes.takeError());
}

/// Makes the header's checksum right again after a change.
void reseal(Bytes &bytes) {
  uint32_t sections;
  std::memcpy(&sections, bytes.data() + 20, 4);
  std::memset(bytes.data() + 32, 0, 8);
  uint64_t sum =
      llvm::xxh3_64bits(llvm::ArrayRef(bytes.data(), 64 + 40 * sections));
  std::memcpy(bytes.data() + 32, &sum, 8);
}

TEST(Container, RoundTrip) {
  Bytes bytes = image(sampleProgram());
  llvm::Expected<Program> back = parseBytes(bytes);
  ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
  EXPECT_EQ(image(*back), bytes);
  Program sample = sampleProgram();
  EXPECT_EQ(llvm::cantFail(disassemble(*back)),
            llvm::cantFail(disassemble(sample)));
  EXPECT_EQ(back->machine, sample.machine);
  EXPECT_EQ(back->code, sample.code);
  EXPECT_EQ(back->nodeOfInstruction, sample.nodeOfInstruction);
  EXPECT_EQ(back->constants[1].bytes.size(), 100u);
  EXPECT_EQ(back->dumps[0].tileStride, 64);
  EXPECT_EQ(back->dumps[2].cellChannels, 8u);
  EXPECT_EQ(back->dumps[2].cellBytes, 96u);
  EXPECT_EQ(back->dumps[2].cellPitch, 128u);
}

TEST(Container, EmptyProgram) {
  Program program;
  llvm::Expected<Program> back = parseBytes(image(program));
  ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
  EXPECT_TRUE(back->code.empty());
}

TEST(Container, SegmentsAreAlignedAndInPlace) {
  Bytes bytes = image(sampleProgram());
  llvm::Expected<Program> back = parseBytes(bytes);
  ASSERT_TRUE(bool(back));
  for (const Segment &segment : back->constants)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(segment.bytes.data()) % 8, 0u);
}

TEST(Container, TruncationAtEveryLength) {
  Bytes bytes = image(sampleProgram());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(message(Bytes(bytes.begin(), bytes.begin() + length)), "accepted")
        << length;
  bytes.push_back(0);
  EXPECT_NE(message(bytes), "accepted") << "a longer file";
}

TEST(Container, EverySingleBitFlip) {
  Bytes bytes = image(sampleProgram());
  for (size_t i = 0; i < bytes.size(); ++i)
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes[i] ^= 1 << bit;
      EXPECT_NE(message(bytes), "accepted") << i << "." << bit;
      bytes[i] ^= 1 << bit;
    }
}

/// The same with checksums that match: the checks after them must hold too.
TEST(Container, BitFlipsWithValidChecksums) {
  const Bytes good = image(sampleProgram());
  uint32_t sections;
  std::memcpy(&sections, good.data() + 20, 4);
  unsigned accepted = 0, refused = 0;
  for (size_t i = 0; i < good.size(); ++i)
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes bytes = good;
      bytes[i] ^= 1 << bit;
      for (uint32_t s = 0; s < sections; ++s) {
        uint64_t place[2];
        uint8_t *entry = bytes.data() + 64 + 40 * s;
        std::memcpy(place, entry + 8, 16);
        if (place[0] > bytes.size() || place[1] > bytes.size() - place[0])
          continue;
        uint64_t sum = llvm::xxh3_64bits(
            llvm::ArrayRef(bytes.data() + place[0], place[1]));
        std::memcpy(entry + 32, &sum, 8);
      }
      uint32_t count;
      std::memcpy(&count, bytes.data() + 20, 4);
      if (count == sections)
        reseal(bytes);
      llvm::Expected<Program> program = parseBytes(bytes);
      if (!program) {
        ++refused;
        llvm::consumeError(program.takeError());
        continue;
      }
      ++accepted;
      // What was accepted can be used: written again, and printed or refused.
      Bytes again = image(*program);
      EXPECT_FALSE(again.empty());
      if (auto text = disassemble(*program); !text)
        llvm::consumeError(text.takeError());
    }
  EXPECT_GT(accepted, 0u);
  EXPECT_GT(refused, 0u);
}

TEST(Container, VersionsAreNamed) {
  Bytes bytes = image(sampleProgram());
  bytes[8] = 2;
  EXPECT_EQ(message(bytes), "f: format version 2, this reader knows 1");
  bytes[8] = 1;
  bytes[14] = 10;
  EXPECT_EQ(message(bytes),
            "f: instruction set version 3.10, this reader knows 3.9");
}

TEST(Container, TheFirstDamagedSectionIsNamed) {
  // Large enough for threads: eight sections of a megabyte.
  constexpr uint64_t sectionBytes = 1 << 20, count = 8;
  const Bytes zeros(sectionBytes);
  Program program;
  program.dramBytes = count * sectionBytes;
  for (uint64_t i = 0; i < count; ++i)
    program.constants.push_back({i * sectionBytes, zeros});
  Bytes bytes = image(program);
  const auto messageWith = [&](unsigned threads) {
    auto programs = parseAll(
        llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(
            reinterpret_cast<const char *>(bytes.data()), bytes.size())),
        "f", threads);
    return programs ? "" : llvm::toString(programs.takeError());
  };
  for (unsigned threads : {1u, 2u, 4u})
    EXPECT_EQ(messageWith(threads), "");
  // From the end, with five other sections in front of the constants.
  const size_t end = bytes.size();
  for (uint64_t before : {1, 2, 5}) {
    bytes[end - before * sectionBytes + 7] ^= 1;
    for (unsigned threads : {1u, 2u, 4u})
      EXPECT_EQ(
          messageWith(threads),
          fmt::format("f: section {}: checksum does not match", 13 - before));
  }
}

TEST(Container, HeaderMessages) {
  const Bytes good = image(sampleProgram());
  EXPECT_EQ(message({}), "f: file has 0 bytes, the header needs 64");
  Bytes bytes = good;
  bytes[0] = 'B';
  EXPECT_EQ(message(bytes), "f: not an Ashlar program: wrong first bytes, "
                            "expected a file that ashlarc wrote");
  bytes = good;
  bytes[32] ^= 1;
  EXPECT_EQ(message(bytes), "f: header checksum does not match");
  bytes = good;
  bytes.back() ^= 1;
  EXPECT_EQ(message(bytes), "f: section 6: checksum does not match");
  bytes = good;
  bytes[20] = 255; // more sections than the file can have
  bytes[21] = 255;
  EXPECT_EQ(message(bytes), "f: table of 65535 sections does not fit the file");
  bytes = good;
  bytes[40] = 1;
  reseal(bytes);
  EXPECT_EQ(message(bytes), "f: reserved bytes of the header are not zero");
  bytes = good;
  bytes[64] = 2;
  reseal(bytes);
  EXPECT_EQ(message(bytes), "f: section 0 has kind 2, expected 1");
}

TEST(Container, WriterIsDeterministic) {
  EXPECT_EQ(image(sampleProgram()), image(sampleProgram()));
}

TEST(Container, WriteAndRead) {
  std::string path = testing::TempDir() + "/container-test.ash";
  ASSERT_FALSE(bool(write(sampleProgram(), path)));
  llvm::Expected<Program> back = read(path);
  ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
  EXPECT_EQ(image(*back), image(sampleProgram()));
  std::remove(path.c_str());
  llvm::Expected<Program> absent = read(path);
  EXPECT_FALSE(bool(absent));
  llvm::consumeError(absent.takeError());
}

TEST(Check, Messages) {
  Program p = sampleProgram();
  p.dramBytes = uint64_t(1) << 60;
  EXPECT_NE(refusal(p).find("bytes of DRAM, the machine has"),
            std::string::npos);
  p = sampleProgram();
  p.semaphores = 257;
  EXPECT_EQ(refusal(p), "program uses 257 semaphores, at most 256 exist");
  p = sampleProgram();
  p.inputs[0].shape = {-1};
  EXPECT_EQ(refusal(p), "tensor 'x' has a dimension of -1");
  p.inputs[0].shape = {1 << 30, 1 << 30, 1 << 30};
  EXPECT_EQ(refusal(p), "tensor 'x' is too large");
  p.inputs[0].shape.assign(17, 1);
  EXPECT_EQ(refusal(p), "tensor 'x' has rank 17, at most 16 is allowed");
  p = sampleProgram();
  p.outputs[0].dramOffset = 4091;
  EXPECT_EQ(refusal(p), "tensor 'y': 6 bytes at 4091 lie outside the 4096 "
                        "bytes of DRAM that the program uses");
  p = sampleProgram();
  p.constants[1].dramOffset = 132;
  EXPECT_EQ(refusal(p), "constant segment 1 at 132 overlaps or precedes the "
                        "one before, which ends at 133");
  p = sampleProgram();
  p.code.push_back(0);
  EXPECT_EQ(refusal(p), "word 36: instruction of 0 words, the code ends "
                        "after 1");
  p = sampleProgram();
  p.nodeOfInstruction.pop_back();
  EXPECT_EQ(refusal(p), "debug map has 3 entries, the code 4 instructions");
  p = sampleProgram();
  p.nodeOfInstruction[2] = 2;
  EXPECT_EQ(refusal(p), "instruction 2 belongs to node 2 of 2");
}

TEST(Check, Placements) {
  auto with = [](auto change) {
    Program p = sampleProgram();
    change(p.dumps[0]);
    return refusal(p);
  };
  EXPECT_EQ(with([](TensorPlacement &p) { p.afterInstruction = 4; }),
            "tensor 't1' is complete after instruction 4 of 4");
  EXPECT_EQ(with([](TensorPlacement &p) { p.mantissa = 17; }),
            "tensor 't1' has the format w=17,block=16,range=7");
  EXPECT_EQ(with([](TensorPlacement &p) { p.blockAxis = 3; }),
            "tensor 't1' has block axis 3 and rank 3");
  EXPECT_NE(with([](TensorPlacement &p) {
              p.xr = 1 << 20;
            }).find("tensor 't1' uses register 1048576 of"),
            std::string::npos);
  EXPECT_EQ(with([](TensorPlacement &p) { p.strides = {1}; }),
            "tensor 't1' has rank 3 and 1 strides");
  EXPECT_EQ(with([](TensorPlacement &p) { p.basePartition = 8; }),
            "tensor 't1' starts at partition 8 of 8");
  EXPECT_EQ(with([](TensorPlacement &p) { p.channelAxis = 3; }),
            "tensor 't1' has channel axis 3 and rank 3");
  EXPECT_EQ(with([](TensorPlacement &p) { p.tileStride = 65536; }),
            "tensor 't1' reaches outside its memory of 65536 bytes");
  EXPECT_EQ(with([](TensorPlacement &p) { p.strides[2] = -1; }),
            "tensor 't1' reaches outside its memory of 65536 bytes");
  EXPECT_EQ(with([](TensorPlacement &p) {
              p.strides[2] = std::numeric_limits<int64_t>::min();
            }),
            "tensor 't1' has a stride of -9223372036854775808");
}

TEST(Check, LanePlacements) {
  auto with = [](uint32_t lanes, uint32_t pitch) {
    Program p = sampleProgram();
    p.dumps[0].lanes = lanes, p.dumps[0].lanePitch = pitch;
    return refusal(p);
  };
  // 12 channels on 8 partitions: three blocks of 4, two of 8 in one lane more
  // than fits, and blocks that would cross a channel tile.
  EXPECT_EQ(with(2, 4), "accepted");
  EXPECT_EQ(with(2, 8), "tensor 't1' lies in 2 lanes of 8 partitions, 12 of 8");
  EXPECT_EQ(with(2, 3), "tensor 't1' lies in 2 lanes of 3 partitions, 12 of 8");
  EXPECT_EQ(with(2, 0), "tensor 't1' lies in 2 lanes of 0 partitions, 12 of 8");
  TensorPlacement p = sampleProgram().dumps[0];
  EXPECT_EQ(p.channelBlocks(), 1u);
  EXPECT_EQ(p.partitionsSpanned(), 12u);
  p.lanes = 2, p.lanePitch = 8;
  EXPECT_EQ(p.channelBlocks(), 2u);
  EXPECT_EQ(p.partitionOf(7), 7u);
  EXPECT_EQ(p.partitionOf(9), 17u);
  EXPECT_EQ(p.partitionsSpanned(), 28u);
}

TEST(Check, CompressedPlacements) {
  auto with = [](auto change) {
    Program p = sampleProgram();
    change(p.dumps[2]);
    return refusal(p);
  };
  EXPECT_EQ(with([](TensorPlacement &p) { p.baseOffset = 4096 - 736; }),
            "accepted");
  EXPECT_EQ(with([](TensorPlacement &p) { p.baseOffset = 4096 - 735; }),
            "tensor 't3' reaches outside its memory of 4096 bytes");
  EXPECT_EQ(with([](TensorPlacement &p) { p.memory = PlacementMemory::Sb; }),
            "tensor 't3' has cells outside DRAM");
  const std::string cells = "tensor 't3' of rank 4 with elements of 1 bytes "
                            "lies in cells of ";
  EXPECT_EQ(with([](TensorPlacement &p) { p.cellChannels = 0; }),
            cells + "0 channels and 96 bytes, 128 bytes apart");
  EXPECT_EQ(with([](TensorPlacement &p) { p.cellBytes = 129; }),
            cells + "8 channels and 129 bytes, 128 bytes apart");
  EXPECT_EQ(with([](TensorPlacement &p) { p.cellPitch = ~uint64_t(0); }),
            cells + "8 channels and 96 bytes, 18446744073709551615 bytes "
                    "apart");
  EXPECT_EQ(with([](TensorPlacement &p) {
              p.shape = {96, 3}, p.strides = {3, 1};
            }).find("tensor 't3' of rank 2 with elements of 1 bytes"),
            0u);
}
} // namespace
