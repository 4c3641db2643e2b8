// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dma.gather: random rows against the naive machine, indices that straddle
// partitions, races with whatever writes the table, and the fault of a run that
// an index outside its axis is.

#include "NaiveMachine.h"
#include "TestSupport.h"
#include "ashlar/Emulator/Fault.h"
#include "ashlar/Isa/Text.h"

#include <cstring>
#include <fmt/format.h>
#include <random>

using namespace ashlar;
using namespace ashlar::test;
using emulator::FaultKind;
using isa::ElemType;

namespace {

constexpr const char *machineText = ".machine name=a1-tiny\n"
                                    ".memory dram=65536\n";
/// The table at 0, indices at 8192 of DRAM; results are made in partitions 4 to
/// 7 and leave at 16384.
constexpr uint64_t tableBytes = 8192, indexAddress = 8192, outAddress = 16384;
constexpr uint64_t outBytes = 8192, partition = 65536;
constexpr uint64_t resultBase = 4 * partition + 4096;

struct Random {
  explicit Random(unsigned seed) : engine(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  std::mt19937 engine;
};

std::string hexOf(llvm::ArrayRef<uint8_t> bytes) {
  std::string text;
  for (uint8_t byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

/// Loads the indices to `at`, clears the result, gathers, stores 2 KiB of each
/// of four partitions.
std::string program(const isa::DmaGather &op, uint64_t at,
                    llvm::ArrayRef<uint8_t> table,
                    llvm::ArrayRef<uint8_t> indices) {
  std::string text = machineText;
  text += fmt::format(".data at=0 hex={}\n.data at={} hex={}\n", hexOf(table),
                      indexAddress, hexOf(indices));
  text += fmt::format(".output name=y type=u8 shape=[{}] at={}\n", outBytes,
                      outAddress);
  text += fmt::format("dma.fill dstMem=sb dstBase={} n3=4 n4=2048 "
                      "dstStride3=65536 dstStride4=1 value=0xee\n",
                      resultBase);
  text += fmt::format("dma.copy srcBase={} dstMem=sb dstBase={} n4={} "
                      "srcStride4=1 dstStride4=1\n",
                      indexAddress, at, indices.size());
  text += isa::print(op) + "\n";
  text += fmt::format("dma.copy srcMem=sb srcBase={} dstBase={} n3=4 n4=2048 "
                      "srcStride3=65536 srcStride4=1 dstStride3=2048 "
                      "dstStride4=1\n",
                      resultBase, outAddress);
  return text;
}

/// Outer dimensions take indices, inner ones are the row; the result lies along
/// partitions, inside one, or crosses from one into the next.
isa::DmaGather randomGather(Random &random, uint64_t at) {
  isa::DmaGather op;
  op.queue = static_cast<isa::Queue>(random.between(0, 3));
  op.elemBytes = 1u << random.between(0, 3);
  op.size = static_cast<uint32_t>(random.between(1, 40));
  op.indexType = random.between(0, 1) ? ElemType::I64 : ElemType::I32;
  const int64_t wide = op.indexType == ElemType::I64 ? 8 : 4;
  const auto bytes = static_cast<int64_t>(op.elemBytes);
  op.n1 = static_cast<uint32_t>(random.between(1, 3));
  op.n2 = static_cast<uint32_t>(random.between(1, 4));
  op.n3 = static_cast<uint32_t>(random.between(1, 3));
  op.n4 = static_cast<uint32_t>(random.between(1, 4));
  const bool outerFirst = random.between(0, 3) != 0;
  (outerFirst ? op.indexStride1 : op.indexStride4) = wide;
  (outerFirst ? op.indexStride2 : op.indexStride1) = 4 * wide;
  op.indexBase = at;
  const bool down = random.between(0, 3) == 0;
  op.axisStride = (down ? -1 : 1) * bytes * random.between(1, 16);
  op.srcBase = static_cast<uint64_t>(random.between(0, 7)) +
               (down ? static_cast<uint64_t>(-op.axisStride) * op.size : 0);
  op.srcStride4 = random.between(0, 4) ? bytes : 0;
  op.srcStride3 = random.between(0, 1) ? bytes * op.n4 : random.between(0, 60);
  op.srcStride2 = random.between(0, 20);
  op.srcStride1 = random.between(0, 20);
  op.dstStride4 = random.between(0, 1) ? bytes : partition;
  op.dstStride3 = op.dstStride4 == bytes ? bytes * op.n4 : bytes;
  op.dstStride2 = 128;
  op.dstStride1 = 512;
  op.dstBase = resultBase;
  if (random.between(0, 3) == 0 && op.dstStride4 == bytes)
    // The outer steps end up a little before the same place of the next
    // partition: no address is affine on the host.
    op.dstStride1 = partition + 1000 - 3 * random.between(0, 300);
  return op;
}

std::vector<uint8_t> randomBytes(Random &random, size_t count) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(random.between(0, 255));
  return bytes;
}

std::vector<uint8_t> randomIndices(Random &random, const isa::DmaGather &op) {
  std::vector<uint8_t> bytes(512);
  const size_t wide = op.indexType == ElemType::I64 ? 8 : 4;
  for (size_t at = 0; at + wide <= bytes.size(); at += wide) {
    int64_t value = random.between(-int64_t(op.size), int64_t(op.size) - 1);
    std::memcpy(bytes.data() + at, &value, wide);
  }
  return bytes;
}

std::vector<uint8_t> naiveOutput(const container::Program &assembled) {
  NaiveMachine naive(assembled.machine, assembled.dramBytes);
  for (const container::Segment &segment : assembled.constants)
    std::copy(segment.bytes.begin(), segment.bytes.end(),
              naive.dram.begin() + segment.dramOffset);
  for (size_t at = 0; at < assembled.code.size();)
    naive.execute(llvm::cantFail(isa::decode(assembled.code, at)));
  return {naive.dram.begin() + outAddress,
          naive.dram.begin() + outAddress + outBytes};
}

TEST(DmaGather, RandomAgainstTheNaiveMachine) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    Random random(seed);
    // The last two start a few bytes before the end of a partition.
    const uint64_t places[] = {0, 1024, partition - 4, 2 * partition - 30};
    const uint64_t at = places[random.between(0, 3)];
    isa::DmaGather op = randomGather(random, at);
    auto table = randomBytes(random, tableBytes);
    std::string text = program(op, at, table, randomIndices(random, op));
    std::vector<uint8_t> wanted = naiveOutput(assembleText(text, true));
    for (unsigned threads : {1u, 2u}) {
      emulator::Options options;
      options.threads = threads;
      EXPECT_EQ(runText(text, options).outputs[0].data, wanted)
          << "seed " << seed << ": " << isa::print(op);
    }
  }
}

/// Three rows of two bytes chosen from ten, for partitions 0 and 1.
isa::DmaGather threeRows() {
  isa::DmaGather op;
  op.size = 10;
  op.indexType = ElemType::I32;
  op.axisStride = 2;
  op.n3 = 3, op.indexStride3 = 4, op.dstStride3 = 1;
  op.n4 = 2, op.srcStride4 = 1, op.dstStride4 = partition;
  op.dstBase = resultBase;
  return op;
}

std::vector<uint8_t> indexBytes(const std::vector<int32_t> &values) {
  std::vector<uint8_t> bytes(4 * values.size());
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<uint8_t> countingTable() {
  std::vector<uint8_t> table(20);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<uint8_t>(100 + i);
  return table;
}

TEST(DmaGather, NegativeIndicesCountFromTheEnd) {
  auto result = runText(
      program(threeRows(), 0, countingTable(), indexBytes({-1, 0, -10})));
  auto y = values(result);
  EXPECT_EQ(std::vector<double>(y.begin(), y.begin() + 4),
            (std::vector<double>{118, 100, 100, 0xee}));
  EXPECT_EQ(std::vector<double>(y.begin() + 2048, y.begin() + 2052),
            (std::vector<double>{119, 101, 101, 0xee}));
}

/// What a run of three indices into ten rows says.
std::string runError(const std::vector<int32_t> &indices, unsigned threads) {
  return gatherError(
      program(threeRows(), 0, countingTable(), indexBytes(indices)), "dma.fill",
      threads);
}

TEST(DmaGather, IndexOutsideTheAxisIsAFaultOfTheRun) {
  EXPECT_EQ(runError({9, -10, 0}, 1), "");
  for (unsigned threads : {1u, 2u}) {
    EXPECT_TRUE(llvm::StringRef(runError({0, 10, -11}, threads))
                    .contains("(node 'Gather_7'), sb address 4: index 10 at "
                              "position 2, expected -10 to 9 in "
                              "'dma.gather "));
    EXPECT_TRUE(llvm::StringRef(runError({0, 0, -11}, threads))
                    .contains("index -11 at position 4, expected -10 to 9"));
  }
}

void expectRefused(const isa::DmaGather &op, const char *message) {
  emulator::Fault fault =
      faultOf(std::string(machineText) + isa::print(op) + "\n");
  EXPECT_EQ(fault.message, message);
}

TEST(DmaGather, RefusesWhatItCannotMean) {
  isa::DmaGather op = threeRows();
  op.indexType = ElemType::F32;
  expectRefused(op, "indices of type f32, expected i32 or i64");
  op = threeRows();
  op.dstStride3 = 0;
  expectRefused(op, "the strides of the destination let its elements overlap");
  op = threeRows();
  op.size = 32768, op.axisStride = 2, op.srcBase = 1;
  expectRefused(op, "reads dram[0..1)[1..65537) but dram ends at [1)[65536)");
  op = threeRows();
  op.axisStride = -2;
  EXPECT_EQ(faultOf(std::string(machineText) + isa::print(op) + "\n").kind,
            FaultKind::OutOfRange);
  op = threeRows();
  op.indexBase = resultBase - 8;
  expectRefused(op, "source and destination overlap: reads "
                    "sb[4..5)[4088..4100), writes sb[4..6)[4096..4099)");
}

/// Whichever row the indices choose, the whole table has to be there.
TEST(DmaGather, RacesWithAWriteToAnyRow) {
  isa::DmaGather op = threeRows();
  const std::string before = std::string(machineText) +
                             "dma.fill dstMem=dram n4=19 dstStride4=1\n"
                             "dma.fill dstMem=sb n4=12 dstStride4=1\n";
  const std::string store = "dma.fill queue=dma1 dstMem=dram dstBase=";
  emulator::Fault fault =
      faultOf(before + store + "19\n" + isa::print(op) + "\n");
  EXPECT_EQ(fault.kind, FaultKind::Race) << fault.message;
  EXPECT_EQ(fault.instruction, 3u);
}

} // namespace
