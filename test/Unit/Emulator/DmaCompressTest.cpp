// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dma.compress and dma.expand: random maps against the naive machine and back
// again, stored bytes, counts in the headers, time by bytes, and faults of
// cells that are none.

#include "NaiveMachine.h"
#include "TestSupport.h"
#include "ashlar/Emulator/Fault.h"
#include "ashlar/Isa/Text.h"
#include "ashlar/Partition/Compress.h"

#include <fmt/format.h>
#include <random>

using namespace ashlar;
using namespace ashlar::test;
using emulator::FaultKind;
using isa::MapForm;

namespace {

constexpr const char *machineText = ".machine name=a1-tiny\n"
                                    ".memory dram=262144\n";
/// Data at 0 of DRAM and of each of 8 partitions; cells from 65536 on; what was
/// expanded goes to byte 4096 of the partitions and leaves at 131072.
constexpr uint64_t partition = 65536, cellsAt = 65536, expandedAt = 4096;
constexpr uint64_t outAt = 131072, dataBytes = 1024, outBytes = 8 * dataBytes;

/// A feature map and the instructions that store it and bring it back.
struct Case {
  std::vector<uint8_t> data; ///< 8 partitions of dataBytes.
  isa::DmaCompress store;
  isa::DmaExpand load;
};

std::string hexOf(llvm::ArrayRef<uint8_t> bytes) {
  std::string text;
  for (uint8_t byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

std::string program(const Case &c) {
  std::string text = machineText;
  text += fmt::format(".data at=0 hex={}\n", hexOf(c.data));
  text +=
      fmt::format(".output name=y type=u8 shape=[{}] at={}\n", outBytes, outAt);
  text +=
      fmt::format(".output name=cells type=u8 shape=[65536] at={}\n", cellsAt);
  text += fmt::format("dma.fill dstMem=dram dstBase={} n4=65536 dstStride4=1\n",
                      cellsAt);
  // A pattern that leaves its partitions may read anything.
  if (c.store.srcStride3 != partition)
    text += "dma.fill dstMem=sb n4=524288 dstStride4=1\n";
  text += fmt::format("dma.copy dstMem=sb n3=8 n4={0} srcStride3={0} "
                      "srcStride4=1 dstStride3=65536 dstStride4=1\n",
                      dataBytes);
  text += fmt::format("dma.fill dstMem=sb dstBase={} n3=8 n4={} "
                      "dstStride3=65536 dstStride4=1 value=0xee\n",
                      expandedAt, dataBytes);
  text += isa::print(c.store) + "\n" + isa::print(c.load) + "\n";
  text += fmt::format("dma.copy srcMem=sb srcBase={1} dstBase={2} n3=8 n4={0} "
                      "srcStride3=65536 srcStride4=1 dstStride3={0} "
                      "dstStride4=1\n",
                      dataBytes, expandedAt, outAt);
  return text;
}

/// The load that undoes a store, to the other place.
isa::DmaExpand inverse(const isa::DmaCompress &op) {
  isa::DmaExpand load;
  load.elemBytes = op.elemBytes;
  load.dstBase = op.srcBase + expandedAt;
  load.srcBase = op.dstBase;
  load.n0 = op.n0, load.n1 = op.n1, load.n2 = op.n2;
  load.n3 = op.n3, load.n4 = op.n4;
  load.dstStride0 = op.srcStride0, load.dstStride1 = op.srcStride1;
  load.dstStride2 = op.srcStride2, load.dstStride3 = op.srcStride3;
  load.dstStride4 = op.srcStride4;
  load.srcStride0 = op.dstStride0, load.srcStride1 = op.dstStride1;
  load.cellBytes = op.cellBytes;
  return load;
}

/// Rows of a feature map of `channels` partitions: one cell for each, columns
/// of `width` elements.
Case rowsOf(uint32_t channels, uint32_t rows, uint32_t width, unsigned bytes,
            MapForm form, unsigned levels, double density, unsigned seed) {
  std::mt19937 random(seed);
  Case c;
  c.data.resize(8 * dataBytes);
  std::bernoulli_distribution set(density);
  for (size_t i = 0; i < c.data.size(); i += bytes)
    if (set(random))
      for (unsigned b = 0; b < bytes; ++b)
        c.data[i + b] = static_cast<uint8_t>(random() % 256);
  isa::DmaCompress &op = c.store;
  op.elemBytes = bytes, op.form = form, op.levels = levels;
  op.dstBase = cellsAt;
  op.n1 = rows, op.n3 = channels, op.n4 = width;
  op.srcStride1 = int64_t(width) * bytes, op.srcStride3 = partition;
  op.srcStride4 = bytes;
  op.cellBytes = static_cast<uint32_t>(partition::largestBytes(
      static_cast<partition::Format>(form), levels, channels, width, bytes));
  op.dstStride1 = op.cellBytes + 5;
  c.load = inverse(op);
  return c;
}

Case randomCase(unsigned seed) {
  std::mt19937 random(seed);
  auto between = [&](uint32_t low, uint32_t high) {
    return low + uint32_t(random()) % (high - low + 1);
  };
  const double densities[] = {0, 0.05, 0.4, 1};
  const auto form = static_cast<MapForm>(seed % 4);
  const unsigned bytes = 1u << between(0, 2);
  Case c = rowsOf(between(1, 8), between(1, 6), between(1, 17), bytes, form,
                  form == MapForm::Quadtree ? between(0, 5) : 0,
                  densities[between(0, 3)], seed);
  isa::DmaCompress &op = c.store;
  if (between(0, 2) == 0) {
    // Rows of several strides; channel tiles.
    op.n2 = between(1, 3), op.srcStride2 = 300;
    op.n0 = between(1, 2), op.srcStride0 = 128;
    op.n1 = 1, op.n4 = std::min<uint32_t>(op.n4, 128 / bytes);
  } else if (between(0, 3) == 0) {
    // From the end of one partition into the next.
    op.srcBase = 700, op.srcStride3 = partition - 16;
    op.n3 = std::min<uint32_t>(op.n3, 4);
    op.srcStride1 = int64_t(op.n4) * bytes;
  }
  op.cellBytes = static_cast<uint32_t>(
      partition::largestBytes(static_cast<partition::Format>(op.form),
                              op.levels, int64_t(op.n2) * op.n3, op.n4, bytes));
  op.dstStride1 = op.cellBytes, op.dstStride0 = op.cellBytes * 6;
  op.queue = static_cast<isa::Queue>(between(0, 3));
  c.load = inverse(op);
  return c;
}

TEST(DmaCompress, RandomAgainstTheNaiveMachineAndBack) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Case c = randomCase(seed);
    const std::string text = program(c);
    const container::Program assembled = assembleText(text, true);
    NaiveMachine naive(assembled.machine, assembled.dramBytes);
    for (const container::Segment &segment : assembled.constants)
      std::copy(segment.bytes.begin(), segment.bytes.end(),
                naive.dram.begin() + int64_t(segment.dramOffset));
    for (size_t at = 0; at < assembled.code.size();)
      naive.execute(llvm::cantFail(isa::decode(assembled.code, at)));
    for (unsigned threads : {1u, 2u}) {
      emulator::Options options;
      options.threads = threads;
      const emulator::RunResult result = runText(text, options);
      auto same = [&](size_t output, uint64_t at) {
        const auto &found = result.outputs[output].data;
        return std::equal(found.begin(), found.end(),
                          naive.dram.begin() + int64_t(at));
      };
      EXPECT_TRUE(same(0, outAt)) << seed << ": " << isa::print(c.load);
      EXPECT_TRUE(same(1, cellsAt)) << seed << ": " << isa::print(c.store);
    }
    // What was stored has come back: compare byte by byte where it was put.
    const auto &back = naive.sb;
    const isa::DmaCompress &op = c.store;
    for (uint64_t a = 0; a < op.n0; ++a)
      for (uint64_t b = 0; b < op.n1; ++b)
        for (uint64_t d = 0; d < op.n2 * op.n3; ++d)
          for (uint64_t e = 0; e < op.n4; ++e) {
            const uint64_t at = op.srcBase + a * op.srcStride0 +
                                b * op.srcStride1 + d / op.n3 * op.srcStride2 +
                                d % op.n3 * op.srcStride3 + e * op.srcStride4;
            ASSERT_EQ(back[at], back[at + expandedAt]) << seed;
          }
  }
}

TEST(DmaCompress, GoldenBytes) {
  // Two channels of 2 x 4: 1 0 2 0 / 0 0 0 3 and 0 0 0 0 / 4 5 6 7, row 0.
  Case c = rowsOf(2, 2, 4, 1, MapForm::Bitmap, 0, 0, 0);
  const uint8_t first[] = {1, 0, 2, 0, 0, 0, 0, 3};
  const uint8_t second[] = {0, 0, 0, 0, 4, 5, 6, 7};
  std::copy(first, first + 8, c.data.begin());
  std::copy(second, second + 8, c.data.begin() + dataBytes);
  auto stored = runText(program(c)).outputs[1].data;
  const std::vector<uint8_t> row0{1, 1, 0, 0, 2, 0, 0,  0, 4, 0, 0,    0, 0, 0,
                                  0, 0, 2, 0, 0, 0, 27, 0, 0, 0, 0x05, 1, 2};
  EXPECT_EQ(std::vector<uint8_t>(stored.begin(), stored.begin() + 27), row0);
  const int64_t pitch = c.store.dstStride1;
  const std::vector<uint8_t> tail{5, 0, 0, 0, 30, 0, 0, 0, 0xf8, 3, 4, 5, 6, 7};
  EXPECT_EQ(std::vector<uint8_t>(stored.begin() + pitch + 16,
                                 stored.begin() + pitch + 30),
            tail);
  // Row and column take one and two bits: 0 0 / 1, 0 2 / 2.
  c.store.form = MapForm::Coo;
  c.store.cellBytes = c.load.cellBytes = 35;
  stored = runText(program(c)).outputs[1].data;
  EXPECT_EQ(std::vector<uint8_t>(stored.begin() + 16, stored.begin() + 27),
            (std::vector<uint8_t>{2, 0, 0, 0, 27, 0, 0, 0, 0x08, 0xa0, 0x00}));
}

TEST(DmaCompress, CountsAreReadFromTheHeaders) {
  // A strided copy of the counts is the row histogram of the feature map.
  const Case c = rowsOf(8, 6, 16, 1, MapForm::Quadtree, 2, 0.3, 5);
  std::string text = program(c);
  text += fmt::format("dma.copy elemBytes=4 srcBase={} dstMem=sb n4=6 "
                      "srcStride4={} dstStride4=4\n",
                      cellsAt + partition::PlaneHeader::kNonZerosAt,
                      c.store.dstStride1);
  text += fmt::format("dma.copy elemBytes=4 srcMem=sb dstBase={} n4=6 "
                      "srcStride4=4 dstStride4=4\n",
                      outAt);
  const auto y = runText(text).outputs[0].data;
  for (uint32_t row = 0; row < 6; ++row) {
    uint32_t count = 0;
    for (uint32_t channel = 0; channel < 8; ++channel)
      for (uint32_t column = 0; column < 16; ++column)
        count += c.data[channel * dataBytes + row * 16 + column] != 0;
    EXPECT_EQ(y[4 * row] + 256u * y[4 * row + 1], count);
  }
}

TEST(DmaCompress, PlannedTensorsAreExpanded) {
  const Case c = rowsOf(8, 6, 16, 1, MapForm::Coo, 0, 0.3, 6);
  std::string text = program(c);
  text += fmt::format(
      ".dump name=t type=i8 shape=[1,8,6,16] strides=[768,96,16,1] memory=dram "
      "at={} cellPitch={} cellBytes={} cellChannels=8 after=3\n",
      cellsAt, c.store.dstStride1, c.store.cellBytes);
  emulator::Options options;
  options.dumpTensors = true;
  const auto result = runText(text, options);
  ASSERT_EQ(result.dumps.size(), 1u);
  for (uint32_t channel = 0; channel < 8; ++channel)
    for (uint32_t i = 0; i < 96; ++i)
      ASSERT_EQ(result.dumps[0].data[channel * 96 + i],
                c.data[channel * dataBytes + i]);
  // What was stored is told, too.
  ASSERT_EQ(result.maps.size(), 1u);
  EXPECT_EQ(result.maps[0].cells, 6u);
  EXPECT_EQ(result.maps[0].denseBytes, 768u);
  uint64_t nonZeros = 0;
  for (uint8_t value : result.dumps[0].data)
    nonZeros += value != 0;
  EXPECT_EQ(result.maps[0].nonZeros, nonZeros);
  EXPECT_LT(result.maps[0].bytes, 768u);
}

uint64_t cyclesOf(const Case &c) { return runText(program(c)).totalCycles; }

TEST(DmaCompress, MoreZerosNeverTakeMoreCycles) {
  for (MapForm form : {MapForm::Bitmap, MapForm::Coo, MapForm::Quadtree}) {
    const unsigned levels = form == MapForm::Quadtree ? 3 : 0;
    Case c = rowsOf(8, 6, 100, 1, form, levels, 1, 3);
    uint64_t before = cyclesOf(c);
    const uint64_t dense = before;
    std::mt19937 random(1);
    for (int step = 0; step < 8; ++step) {
      for (int i = 0; i < 1000; ++i)
        c.data[random() % c.data.size()] = 0;
      const uint64_t now = cyclesOf(c);
      EXPECT_LE(now, before);
      before = now;
    }
    EXPECT_LT(before, dense);
  }
}

TEST(DmaCompress, TimeIsThatOfTheBursts) {
  // a1-tiny: 8 bytes a cycle, bursts of 16, latency 20. Six cells of 800 zeros:
  // 24 + 100 bytes each, 128 of bursts; the feature map has 4800 bytes.
  const Case zeros = rowsOf(8, 6, 100, 1, MapForm::Bitmap, 0, 0, 1);
  emulator::Options options;
  options.recordTimes = true;
  auto result = runText(program(zeros), options);
  auto timed = [&](const char *mnemonic) {
    const container::Program assembled = assembleText(program(zeros), true);
    size_t index = 0;
    for (size_t at = 0; at < assembled.code.size(); ++index) {
      auto inst = llvm::cantFail(isa::decode(assembled.code, at));
      if (isa::print(inst).find(mnemonic) == 0)
        return result.times[index];
    }
    return emulator::InstructionTime();
  };
  auto store = timed("dma.compress"), load = timed("dma.expand");
  EXPECT_EQ(store.issueEnd - store.start, 600u);
  EXPECT_EQ(store.complete - store.start, 620u);
  EXPECT_EQ(load.issueEnd - load.start, 600u);
  EXPECT_EQ(load.complete - load.start, 640u);
  EXPECT_EQ(result.dramBusy, runText(program(zeros)).dramBusy);
}

void expectRefused(const isa::Instruction &op, const std::string &message) {
  emulator::Fault fault =
      faultOf(std::string(machineText) + isa::print(op) + "\n");
  EXPECT_EQ(fault.message, message);
}

TEST(DmaCompress, RefusesWhatItCannotMean) {
  const Case c = rowsOf(8, 2, 10, 1, MapForm::Bitmap, 0, 0.5, 1);
  isa::DmaCompress op = c.store;
  op.cellBytes = 113;
  expectRefused(op, "cells of up to 114 bytes have room for 113");
  op = c.store;
  op.levels = 1;
  expectRefused(op, "1 levels of form bitmap");
  op = c.store;
  op.dstStride1 = op.cellBytes - 1;
  expectRefused(op, "the strides of the cells let them overlap");
  op = c.store;
  op.typicalBytes = op.cellBytes + 1;
  expectRefused(op, "cells of typically 115 bytes have room for 114");
  op = c.store;
  op.n2 = 2097152 / 2, op.n3 = 17, op.n4 = 1;
  op.n2 = 1048575;
  expectRefused(op,
                "cells of 17825775 x 1 elements, at most 16777216 together");
  op = c.store;
  op.dstBase = 262144 - 2 * 119 + 6;
  EXPECT_EQ(faultOf(std::string(machineText) + isa::print(op) + "\n").kind,
            FaultKind::OutOfRange);
  isa::DmaExpand load = c.load;
  load.cellBytes = 23;
  expectRefused(load, "cells of 23 bytes, their header has 24");
  load = c.load;
  load.dstStride3 = 0;
  expectRefused(load,
                "the strides of the destination let its elements overlap");
  load = c.load;
  expectRefused(load, "reads dram[0..1)[65536..65769), of which "
                      "unit 65536 has not been written");
}

TEST(DmaCompress, CellsRaceWithTheirRoom) {
  // One byte after what the cell takes, inside its room.
  const Case c = rowsOf(1, 1, 8, 1, MapForm::Bitmap, 0, 0, 1);
  const std::string before = std::string(machineText) +
                             "dma.fill dstMem=sb n4=8 dstStride4=1\n" +
                             isa::print(c.store) + "\n";
  emulator::Fault fault =
      faultOf(before + fmt::format("dma.fill queue=dma1 dstBase={}\n",
                                   cellsAt + c.store.cellBytes - 1));
  EXPECT_EQ(fault.kind, FaultKind::Race) << fault.message;
  EXPECT_EQ(fault.instruction, 2u);
}

/// What a run of c.load says about cells of any bytes.
std::string expandError(const Case &c, llvm::ArrayRef<uint8_t> cells,
                        unsigned threads) {
  std::string text = machineText;
  text += fmt::format(".data at={} hex={}\n", cellsAt, hexOf(cells));
  text += isa::print(c.load) + "\n";
  return gatherError(text, "dma.expand", threads);
}

TEST(DmaExpand, AnyBytesAreAFaultOrAPlane) {
  for (unsigned form = 0; form < 4; ++form) {
    const Case c = rowsOf(8, 3, 12, 1, static_cast<MapForm>(form),
                          form == 3 ? 2 : 0, 0.4, form);
    auto stored = runText(program(c)).outputs[1].data;
    const auto pitch = static_cast<size_t>(c.store.dstStride1);
    stored.resize(3 * pitch);
    EXPECT_EQ(expandError(c, stored, 1), "");
    std::mt19937 random(form);
    for (int trial = 0; trial < 60; ++trial) {
      auto bad = stored;
      for (int flips = 0; flips < 3; ++flips)
        bad[random() % bad.size()] ^= uint8_t(1 << random() % 8);
      expandError(c, bad, 1); // either way: no crash, no sanitizer report
    }
    // The first bad cell is named, whatever the number of threads.
    auto bad = stored;
    bad[pitch] = 9;
    bad[2 * pitch] = 9;
    for (unsigned threads : {1u, 2u})
      EXPECT_NE(expandError(c, bad, threads)
                    .find(fmt::format("bad data fault at instruction 0 (node "
                                      "'Gather_7'): cell 1 at dram address {}: "
                                      "compressed plane: unknown format",
                                      cellsAt + pitch)),
                std::string::npos)
          << expandError(c, bad, threads);
    // A plane of another size, or one that says it is longer than its room.
    bad = stored;
    bad[4] = 7;
    EXPECT_NE(expandError(c, bad, 1), "");
    bad = stored;
    bad[21] = 0x40;
    EXPECT_NE(expandError(c, bad, 1).find("expected 8 x 12 of 1"),
              std::string::npos);
  }
}

} // namespace
