// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host: random calls against the naive machine, their order with the
// queues that make operands and read results, times, and what is refused.

#include "ashlar/Machine/Host.h"
#include "NaiveMachine.h"
#include "TestSupport.h"
#include "ashlar/Emulator/Fault.h"
#include "ashlar/Isa/Text.h"

#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <random>

using namespace ashlar;
using namespace ashlar::test;
using emulator::FaultKind;
using isa::ElemType;

namespace {

constexpr uint64_t dataBytes = 4096, outAddress = 8192, outBytes = 16384;
constexpr const char *machineText = ".machine name=a1\n"
                                    ".memory dram=65536\n";

struct Random {
  explicit Random(unsigned seed) : engine(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  uint32_t extent(int64_t most) {
    return static_cast<uint32_t>(between(1, most));
  }
  std::mt19937 engine;
};

std::string hexOf(llvm::ArrayRef<uint8_t> bytes) {
  std::string text;
  for (uint8_t byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

/// Small numbers, so that many are equal or zero; floats with NaN, infinities
/// and both zeros.
std::vector<uint8_t> randomData(Random &random, ElemType type) {
  std::vector<uint8_t> bytes(dataBytes);
  if (type == ElemType::F32) {
    const float special[] = {0.0f, -0.0f,
                             std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()};
    for (size_t i = 0; i < bytes.size() / 4; ++i) {
      float value = static_cast<float>(random.between(-9, 9)) / 4;
      if (random.between(0, 5) == 0)
        value = special[random.between(0, 4)];
      std::memcpy(&bytes[4 * i], &value, 4);
    }
    return bytes;
  }
  const unsigned size = type == ElemType::I64 || type == ElemType::U64 ? 8
                        : type == ElemType::I32                        ? 4
                                                                       : 1;
  for (size_t i = 0; i < bytes.size() / size; ++i) {
    const int64_t value = type == ElemType::I64 || type == ElemType::I32
                              ? random.between(-3, 3)
                          : random.between(0, 7) == 0 && type == ElemType::U64
                              ? -random.between(1, 3)
                              : random.between(0, 3);
    std::memcpy(&bytes[size * i], &value, size);
  }
  return bytes;
}

constexpr ElemType types[] = {ElemType::F32, ElemType::I8,  ElemType::U8,
                              ElemType::I32, ElemType::I64, ElemType::U64};

/// A call on data at 0 with its result at `outAddress`.
template <typename Op>
std::string program(const Op &op, llvm::ArrayRef<uint8_t> data) {
  return fmt::format("{}.data at=0 hex={}\n.output name=y type=u8 shape=[{}] "
                     "at={}\ndma.fill dstMem=dram dstBase={} n3=16 n4=1024 "
                     "dstStride3=1024 dstStride4=1 value=0xee\n{}\n",
                     machineText, hexOf(data), outBytes, outAddress, outAddress,
                     isa::print(op));
}

template <typename Op>
void compareWithNaive(const Op &op, llvm::ArrayRef<uint8_t> data) {
  const std::string text = program(op, data);
  const container::Program assembled = assembleText(text, true);
  NaiveMachine naive(assembled.machine, assembled.dramBytes);
  for (const container::Segment &segment : assembled.constants)
    std::copy(segment.bytes.begin(), segment.bytes.end(),
              naive.dram.begin() + segment.dramOffset);
  for (size_t at = 0; at < assembled.code.size();)
    naive.execute(llvm::cantFail(isa::decode(assembled.code, at)));
  const std::vector<uint8_t> wanted(naive.dram.begin() + outAddress,
                                    naive.dram.begin() + outAddress + outBytes);
  EXPECT_EQ(runText(text).outputs[0].data, wanted) << isa::print(op);
}

TEST(Host, NonzeroAgainstTheNaiveMachine) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Random random(seed);
    isa::HostNonzero op;
    op.type = types[random.between(0, 5)];
    op.rank = random.extent(8);
    uint32_t *extents[] = {&op.n0, &op.n1, &op.n2, &op.n3,
                           &op.n4, &op.n5, &op.n6, &op.n7};
    for (unsigned d = 8 - op.rank; d < 8; ++d)
      *extents[d] = random.extent(op.rank > 4 ? 2 : 3);
    op.dstBase = outAddress;
    compareWithNaive(op, randomData(random, op.type));
  }
}

TEST(Host, SortAgainstTheNaiveMachine) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Random random(seed);
    isa::HostSort op;
    op.type = types[random.between(0, 5)];
    op.descending = random.between(0, 1);
    op.outer = random.extent(4), op.inner = random.extent(4);
    op.extent = random.extent(30), op.keep = random.extent(op.extent);
    op.dstBase = outAddress;
    compareWithNaive(op, randomData(random, op.type));
  }
}

TEST(Host, UniqueAgainstTheNaiveMachine) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Random random(seed);
    isa::HostUnique op;
    op.type = types[random.between(0, 5)];
    op.sorted = random.between(0, 1);
    op.rows = random.extent(40), op.length = random.extent(3);
    op.dstBase = outAddress;
    compareWithNaive(op, randomData(random, op.type));
  }
}

/// Boxes at 0, scores at 2048, parameters at 4000.
isa::HostNms randomNms(Random &random) {
  isa::HostNms op;
  op.batches = random.extent(2), op.classes = random.extent(3);
  op.boxes = random.extent(20), op.keep = random.extent(op.boxes);
  op.center = random.between(0, 1), op.filtered = random.between(0, 1);
  op.scoresBase = 2048;
  op.mostBase = 4000, op.iouBase = 4008, op.leastBase = 4012;
  op.dstBase = outAddress;
  return op;
}

TEST(Host, NmsAgainstTheNaiveMachine) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const isa::HostNms op = randomNms(random);
    std::vector<uint8_t> data = randomData(random, ElemType::F32);
    const int64_t most = random.between(-1, 12);
    const float iou = static_cast<float>(random.between(0, 4)) / 4;
    const float least = static_cast<float>(random.between(-4, 4)) / 4;
    std::memcpy(&data[4000], &most, 8);
    std::memcpy(&data[4008], &iou, 4);
    std::memcpy(&data[4012], &least, 4);
    compareWithNaive(op, data);
  }
}

TEST(Host, TimeIsThatOfTheFormula) {
  isa::HostSort op;
  op.extent = 1000, op.keep = 10, op.dstBase = outAddress;
  const std::string text =
      fmt::format(".machine name=a1\n.memory dram=65536\n"
                  ".data at=0 hex={}\n{}\n",
                  hexOf(std::vector<uint8_t>(4000)), isa::print(op));
  auto result = runText(text);
  // 2 * 1000 + 10 * 4 steps of 5 cycles after 2000, then DRAM's latency; the
  // instruction has to arrive first.
  const uint64_t fetch = 2;
  EXPECT_EQ(result.totalCycles, fetch + 2000 + 5 * 2040 + 200);
  const auto &queue = result.queues[static_cast<unsigned>(isa::Queue::Host)];
  EXPECT_EQ(queue.busy, 2000u + 5 * 2040);
  EXPECT_EQ(queue.work, 2040u);
}

void expectRefused(const isa::Instruction &inst, const char *message) {
  EXPECT_EQ(faultOf(std::string(machineText) + isa::print(inst) + "\n").message,
            message);
}

TEST(Host, RefusesWhatItCannotMean) {
  isa::HostNonzero nonzero;
  nonzero.n0 = 2, nonzero.n7 = 3;
  expectRefused(nonzero, "n0 is 2, of rank 1 only the last extents may differ "
                         "from 1");
  isa::HostSort sort;
  sort.keep = 2;
  expectRefused(sort, "2 elements kept of 1");
  sort.keep = 1, sort.type = ElemType::Bfp;
  expectRefused(sort, "the host reads no encoded elements");
  isa::HostNms nms;
  nms.keep = 3;
  expectRefused(nms, "room for 3 of 1 boxes");
  nms.boxes = nms.keep = 1u << 20;
  EXPECT_EQ(faultOf(std::string(machineText) + isa::print(nms) + "\n").kind,
            FaultKind::BadField);
  // Beyond DRAM, whatever the extents multiply to.
  isa::HostUnique unique;
  unique.rows = ~0u;
  EXPECT_EQ(faultOf(std::string(machineText) + isa::print(unique) + "\n").kind,
            FaultKind::BadField);
  sort = {};
  sort.outer = sort.extent = sort.inner = ~0u;
  EXPECT_EQ(faultOf(std::string(machineText) + isa::print(sort) + "\n").kind,
            FaultKind::OutOfRange);
}

/// Operands have to be there, and a result may not be read before it is.
TEST(Host, IsInTheProofs) {
  isa::HostSort op;
  op.extent = 4, op.dstBase = outAddress;
  emulator::Fault fault =
      faultOf(std::string(machineText) + isa::print(op) + "\n");
  EXPECT_EQ(fault.kind, FaultKind::UndefinedRead) << fault.message;
  const std::string defined = std::string(machineText) +
                              ".semaphores count=1\n"
                              "dma.fill dstMem=dram n4=16 dstStride4=1\n";
  fault = faultOf(defined + isa::print(op) + "\n");
  EXPECT_EQ(fault.kind, FaultKind::Race) << fault.message;
  const std::string ordered = defined +
                              "sem.signal queue=dma0 sem=0\n"
                              "sem.wait queue=host sem=0\n" +
                              isa::print(op) + "\n";
  llvm::cantFail(
      emulator::load(assembleText(ordered, false), emulator::Options()));
  fault = faultOf(ordered + "dma.copy queue=dma1 srcBase=8192 dstMem=sb n4=8 "
                            "srcStride4=1 dstStride4=1\n");
  EXPECT_EQ(fault.kind, FaultKind::Race) << fault.message;
  op.dstBase = 8;
  fault = faultOf(defined +
                  "sem.signal queue=dma0 sem=0\n"
                  "sem.wait queue=host sem=0\n" +
                  isa::print(op) + "\n");
  EXPECT_TRUE(llvm::StringRef(fault.message)
                  .starts_with("source and destination overlap"));
}

/// An output with a data-dependent extent is as long as in this run.
TEST(Host, OutputsHaveTheExtentOfTheRun) {
  auto text = [](int64_t extent) {
    return fmt::format(".machine name=a1\n.memory dram=64\n"
                       ".output name=y type=u8 shape=[2, 3] at=0 extentAxis=1 "
                       "extentAt=8\n"
                       ".data at=0 hex=010203040506\n.data at=8 hex={:016x}\n"
                       "dma.fill dstMem=dram dstBase=32\n",
                       __builtin_bswap64(static_cast<uint64_t>(extent)));
  };
  auto two = runText(text(2)).outputs[0];
  EXPECT_EQ(two.shape, (llvm::SmallVector<int64_t>{2, 2}));
  EXPECT_EQ(two.data, (std::vector<uint8_t>{1, 2, 4, 5}));
  EXPECT_EQ(runText(text(0)).outputs[0].shape,
            (llvm::SmallVector<int64_t>{2, 0}));
  for (int64_t extent : {int64_t(4), int64_t(-1)}) {
    auto program = llvm::cantFail(
        emulator::load(assembleText(text(extent), true), emulator::Options()));
    auto run = emulator::run(program, {}, emulator::Options());
    ASSERT_FALSE(run);
    EXPECT_TRUE(llvm::StringRef(llvm::toString(run.takeError()))
                    .contains("output 'y' ends with an extent of"));
  }
}

} // namespace
