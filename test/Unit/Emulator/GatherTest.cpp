// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vec.gather: random indices against the naive machine, each kind of operand,
// and the fault of a run that an index outside its axis is.

#include "NaiveMachine.h"
#include "TestSupport.h"
#include "ashlar/Emulator/Fault.h"
#include "ashlar/Isa/Text.h"
#include "ashlar/Machine/Cycles.h"

#include <cstring>
#include <fmt/format.h>
#include <random>

using namespace ashlar;
using namespace ashlar::test;
using emulator::FaultKind;
using isa::ElemType;

namespace {

constexpr const char *machineText = ".machine name=a1-tiny\n"
                                    ".memory dram=32768\n";

/// Eight partitions: the source at 0, indices at 1024, the result at 4096.
struct Layout {
  unsigned bytes = 1024; ///< Of the source, indices and result, each.
  unsigned indices = 1024, result = 4096;
};

std::string hexOf(const std::vector<uint8_t> &bytes) {
  std::string text;
  for (uint8_t byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

/// Loads source and indices, gathers, and stores the result.
std::string program(const isa::VecGather &op,
                    const std::vector<uint8_t> &source,
                    const std::vector<uint8_t> &indices) {
  const Layout layout;
  std::string text = machineText;
  text += fmt::format(".data at=0 hex={}\n.data at=8192 hex={}\n",
                      hexOf(source), hexOf(indices));
  text += fmt::format(".output name=y type=u8 shape=[8,{}] at=16384\n",
                      layout.bytes);
  for (auto [from, to] : {std::pair(0u, 0u), {8192u, layout.indices}})
    text += fmt::format("dma.copy srcBase={} dstMem=sb dstBase={} n3=8 n4={} "
                        "srcStride3={} srcStride4=1 dstStride3=65536 "
                        "dstStride4=1\n",
                        from, to, layout.bytes, layout.bytes);
  text += fmt::format("dma.fill dstMem=sb dstBase={} n3=8 n4={} "
                      "dstStride3=65536 dstStride4=1\n",
                      layout.result, layout.bytes);
  text += isa::print(op) + "\n";
  text += fmt::format("dma.copy srcMem=sb srcBase={} dstBase=16384 n3=8 n4={} "
                      "srcStride3=65536 srcStride4=1 dstStride3={} "
                      "dstStride4=1\n",
                      layout.result, layout.bytes, layout.bytes);
  return text;
}

struct Random {
  explicit Random(unsigned seed) : engine(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  std::mt19937 engine;
};

/// A legal gather with strides without gaps, in one of its many forms.
isa::VecGather randomGather(Random &random) {
  const Layout layout;
  isa::VecGather op;
  op.channels = static_cast<uint32_t>(random.between(1, 20));
  op.n0 = static_cast<uint32_t>(random.between(1, 3));
  op.n1 = static_cast<uint32_t>(random.between(1, 3));
  op.n2 = static_cast<uint32_t>(random.between(1, 3));
  op.size = static_cast<uint32_t>(random.between(1, 6));
  op.type = random.between(0, 1) ? ElemType::F32 : ElemType::U8;
  op.indexType = random.between(0, 1) ? ElemType::I64 : ElemType::I32;
  const int bytes = op.type == ElemType::F32 ? 4 : 1;
  const int wide = op.indexType == ElemType::I64 ? 8 : 4;
  // The source lacks a random dimension: what the indices choose from.
  const int64_t gathered = random.between(0, 2);
  const int32_t outer = static_cast<int32_t>(op.size) * bytes;
  op.axisStride = bytes;
  op.srcStride2 = gathered == 2 ? 0 : outer;
  op.srcStride1 = gathered == 1 ? 0 : outer * 3;
  op.srcStride0 = gathered == 0 ? 0 : outer * 3;
  op.srcTileStride = 160;
  op.srcBroadcastPart = random.between(0, 3) == 0;
  op.indexBroadcastPart = random.between(0, 1);
  op.indexOffset = layout.indices;
  op.indexStride2 = wide;
  op.indexStride1 = random.between(0, 1) ? 0 : 3 * wide;
  op.indexStride0 = 3 * wide;
  op.indexTileStride = 40;
  op.dstOffset = layout.result;
  op.dstStride2 = bytes;
  op.dstStride1 = bytes * 3;
  op.dstStride0 = bytes * 9;
  op.dstTileStride = bytes * 27;
  return op;
}

/// Indices in [-size, size) of the width that the instruction reads.
std::vector<uint8_t> randomIndices(Random &random, const isa::VecGather &op) {
  const Layout layout;
  std::vector<uint8_t> bytes(8 * layout.bytes);
  const size_t wide = op.indexType == ElemType::I64 ? 8 : 4;
  for (size_t at = 0; at + wide <= bytes.size(); at += wide) {
    int64_t value = random.between(-int64_t(op.size), int64_t(op.size) - 1);
    std::memcpy(bytes.data() + at, &value, wide);
  }
  return bytes;
}

TEST(Gather, RandomAgainstTheNaiveMachine) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random random(seed);
    isa::VecGather op = randomGather(random);
    std::vector<uint8_t> source(8 * Layout().bytes);
    for (uint8_t &byte : source)
      byte = static_cast<uint8_t>(random.between(0, 255));
    std::vector<uint8_t> indices = randomIndices(random, op);
    container::Program assembled =
        assembleText(program(op, source, indices), true);
    NaiveMachine naive(assembled.machine, assembled.dramBytes);
    for (const container::Segment &segment : assembled.constants)
      std::copy(segment.bytes.begin(), segment.bytes.end(),
                naive.dram.begin() + segment.dramOffset);
    for (size_t at = 0; at < assembled.code.size();)
      naive.execute(llvm::cantFail(isa::decode(assembled.code, at)));
    for (unsigned threads : {1u, 2u}) {
      emulator::Options options;
      options.threads = threads;
      emulator::RunResult result =
          runText(program(op, source, indices), options);
      std::vector<uint8_t> wanted(naive.dram.begin() + 16384,
                                  naive.dram.begin() + 16384 +
                                      8 * Layout().bytes);
      EXPECT_EQ(result.outputs[0].data, wanted)
          << "seed " << seed << ": " << isa::print(op);
    }
  }
}

/// Three numbers chosen by the first three indices of partition 0.
isa::VecGather threeOf(uint32_t size) {
  isa::VecGather op;
  op.n2 = 3;
  op.size = size;
  op.type = ElemType::U8;
  op.indexType = ElemType::I32;
  op.axisStride = 1;
  op.indexOffset = Layout().indices;
  op.indexStride2 = 4;
  op.dstOffset = Layout().result;
  op.dstStride2 = 1;
  return op;
}

std::vector<uint8_t> indexBytes(const std::vector<int32_t> &values) {
  std::vector<uint8_t> bytes(8 * Layout().bytes);
  std::memcpy(bytes.data(), values.data(), 4 * values.size());
  return bytes;
}

TEST(Gather, NegativeIndicesCountFromTheEnd) {
  std::vector<uint8_t> source(8 * Layout().bytes);
  for (size_t i = 0; i < 10; ++i)
    source[i] = static_cast<uint8_t>(100 + i);
  emulator::RunResult result =
      runText(program(threeOf(10), source, indexBytes({-1, 0, -10})));
  EXPECT_EQ(values(result)[0], 109);
  EXPECT_EQ(values(result)[1], 100);
  EXPECT_EQ(values(result)[2], 100);
}

/// What a run of three indices into ten elements says.
std::string runError(const std::vector<int32_t> &indices, unsigned threads) {
  std::vector<uint8_t> source(8 * Layout().bytes);
  return gatherError(program(threeOf(10), source, indexBytes(indices)),
                     "dma.copy", threads);
}

TEST(Gather, IndexOutsideTheAxisIsAFaultOfTheRun) {
  EXPECT_EQ(runError({9, -10, 0}, 1), "");
  for (unsigned threads : {1u, 2u}) {
    std::string text = runError({0, 10, -11}, threads);
    EXPECT_TRUE(llvm::StringRef(text).contains("(node 'Gather_7'), sb address "
                                               "1024: index 10 at position 1, "
                                               "expected -10 to 9 in "
                                               "'vec.gather "))
        << text;
    EXPECT_TRUE(llvm::StringRef(runError({0, 0, -11}, threads))
                    .contains("index -11 at position 2, expected -10 to 9"));
  }
}

void expectRefused(const isa::VecGather &op, const char *message) {
  emulator::Fault fault =
      faultOf(std::string(machineText) + isa::print(op) + "\n");
  EXPECT_EQ(fault.message, message);
}

TEST(Gather, RefusesWhatItCannotMean) {
  isa::VecGather op = threeOf(10);
  op.type = ElemType::Bfp;
  expectRefused(op, "gather of encoded elements");
  op = threeOf(10);
  op.indexType = ElemType::F32;
  expectRefused(op, "indices of type f32, expected i32 or i64");
  op = threeOf(10);
  op.dstStride2 = 0;
  expectRefused(op, "the strides of the result let its elements overlap");
  op = threeOf(10);
  op.srcPart = 8;
  expectRefused(op, "the source starts at partition 8, the machine has 8");
  op = threeOf(10);
  op.channels = 4, op.indexPart = 6;
  expectRefused(op, "the indices has 4 channels from partition 6: a tensor of "
                    "several channel tiles must start at partition 0");
  op = threeOf(10);
  op.axisStride = 65536;
  EXPECT_EQ(faultOf(std::string(machineText) + isa::print(op) + "\n").kind,
            FaultKind::OutOfRange);
  op = threeOf(4098);
  expectRefused(op, "source and destination overlap: reads sb[0..1)[0..4098), "
                    "writes sb[0..1)[4096..4099)");
}

TEST(Gather, CyclesAreTwoFetchesForEachElement) {
  machine::Description a1 = llvm::cantFail(machine::load("a1"));
  EXPECT_EQ(machine::vecGather(a1, 130, 100).issue, 2u * 2 * 100);
  EXPECT_EQ(machine::vecGather(a1, 1, 7).issue, 14u);
}

} // namespace
