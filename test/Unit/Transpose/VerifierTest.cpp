// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the loader refuses: wrong identities, overlaps, early reuse of PSUM,
// missing semaphores, words used as integers, drains without their stream.

#include "Bench.h"
#include "ashlar/Container/Assembly.h"
#include "ashlar/Isa/Text.h"
#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::test;
using emulator::FaultKind;
using isa::Queue;

namespace {

/// One 4 x 4 tile of bytes at 64, identity at 0, result at 128.
struct Tile {
  isa::PeLoad load;
  isa::PeMatmul matmul;
  isa::ActDrain drain;
  Tile() {
    load.rows = load.cols = 4;
    load.offset = 64;
    load.colStride = 1;
    load.type = isa::ElemType::U8;
    load.mode = isa::OperandMode::Select;
    matmul.rows = matmul.cols = matmul.n2 = 4;
    matmul.type = isa::ElemType::U8;
    matmul.mode = isa::OperandMode::Select;
    matmul.window = isa::Window::Identity;
    matmul.stride2 = matmul.psumStride2 = 1;
    matmul.hi0 = matmul.hi1 = 1;
    matmul.hi2 = 4;
    drain.mode = isa::DrainMode::Raw64;
    drain.cols = drain.n2 = 4;
    drain.psumStride2 = drain.dstStride2 = 1;
    drain.dstType = isa::ElemType::U8;
    drain.dstOffset = 128;
  }
};

/// The anti-diagonal identity of the figures.
const Bytes antiDiagonal = {0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0};

Bench loaded(const Bytes &identity) {
  Bench bench("fig3-4x4");
  bench.load(bench.constant(identity), 4, 4, 1, 0);
  bench.load(bench.constant(randomBytes(16, 1)), 4, 4, 1, 64);
  bench.ready();
  return bench;
}

const Bytes trueIdentity = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

TEST(Verifier, T4_AntiDiagonalFirstColumnFirstIsFlagged) {
  Bench bench = loaded(antiDiagonal);
  const Tile tile;
  bench.tile(tile.load, tile.matmul, tile.drain);
  const emulator::Fault fault = bench.fault();
  EXPECT_EQ(fault.kind, FaultKind::BadField);
  EXPECT_NE(fault.message.find("not an identity window"), std::string::npos)
      << fault.message;
}

TEST(Verifier, T4_TrueIdentityLastColumnFirstIsFlagged) {
  Bench bench = loaded(trueIdentity);
  Tile tile;
  tile.matmul.offset = 3;
  tile.matmul.stride2 = -1;
  bench.tile(tile.load, tile.matmul, tile.drain);
  EXPECT_EQ(bench.fault().kind, FaultKind::BadField);
}

TEST(Verifier, T4_AntiDiagonalLastColumnFirstIsAnIdentity) {
  Bench bench = loaded(antiDiagonal);
  Tile tile;
  tile.matmul.offset = 3;
  tile.matmul.stride2 = -1;
  bench.tile(tile.load, tile.matmul, tile.drain);
  bench.store(4, 4, 1, 128);
  EXPECT_EQ(bench.run().outputs[0].data,
            transposed(randomBytes(16, 1), 4, 4, 1));
}

TEST(Verifier, T4_WithoutThePromiseTheRowsComeReversed) {
  Bench bench = loaded(antiDiagonal);
  Tile tile;
  tile.matmul.window = isa::Window::Free;
  bench.tile(tile.load, tile.matmul, tile.drain);
  bench.store(4, 4, 1, 128);
  const Bytes matrix = randomBytes(16, 1);
  Bytes reversed;
  for (int i = 3; i >= 0; --i)
    reversed.insert(reversed.end(), matrix.begin() + 4 * i,
                    matrix.begin() + 4 * i + 4);
  EXPECT_EQ(bench.run().outputs[0].data, transposed(reversed, 4, 4, 1));
}

/// A window that only the run can see, in a mode of the array.
void checkWindowAtUse(isa::OperandMode mode) {
  Bench bench("fig3-4x4");
  const uint64_t input = bench.space(16);
  bench.program.inputs.push_back({"x", support::ElementType::U8, {16}, input});
  bench.load(input, 4, 4, 1, 0);
  bench.load(bench.constant(randomBytes(16, 1)), 4, 4, 1, 64);
  bench.ready();
  Tile tile;
  tile.load.mode = tile.matmul.mode = mode;
  bench.tile(tile.load, tile.matmul, tile.drain);
  bench.store(4, 4, 1, 128);
  auto program = llvm::cantFail(emulator::load(bench.finish(), {}));
  support::HostTensor x;
  x.type = support::ElementType::U8;
  x.shape = {16};
  x.data = trueIdentity;
  EXPECT_TRUE(bool(emulator::run(program, {x}, {})));
  x.data = antiDiagonal;
  auto wrong = emulator::run(program, {x}, {});
  ASSERT_FALSE(bool(wrong));
  EXPECT_NE(llvm::toString(wrong.takeError()).find("not an identity window"),
            std::string::npos);
}

TEST(Verifier, T4_AWindowFromAnInputIsCheckedWhenItIsUsed) {
  checkWindowAtUse(isa::OperandMode::Select);
  checkWindowAtUse(isa::OperandMode::Int);
}

TEST(Verifier, T18_ResultOverItsOwnSource) {
  Bench bench = loaded(trueIdentity);
  Tile tile;
  tile.drain.dstOffset = 66;
  bench.tile(tile.load, tile.matmul, tile.drain);
  const emulator::Fault fault = bench.fault();
  EXPECT_EQ(fault.kind, FaultKind::BadField);
  EXPECT_NE(fault.message.find("transposed from"), std::string::npos);
}

TEST(Verifier, T18_MissingSemaphore) {
  // The drain does not wait for the stream.
  Bench bench = loaded(trueIdentity);
  const Tile tile;
  bench.add(tile.load);
  bench.order(Queue::Peload, Queue::Pe);
  bench.add(isa::PeSwap());
  bench.add(tile.matmul);
  bench.add(tile.drain);
  const emulator::Fault fault = bench.fault();
  EXPECT_EQ(fault.kind, FaultKind::Race);
  EXPECT_EQ(fault.space, "psum");
}

TEST(Verifier, T18_PsumReusedBeforeItsDrain) {
  Bench bench = loaded(trueIdentity);
  const Tile tile;
  bench.add(tile.load);
  bench.order(Queue::Peload, Queue::Pe);
  bench.add(isa::PeSwap());
  bench.add(tile.matmul);
  bench.add(tile.matmul);
  EXPECT_EQ(bench.fault().kind, FaultKind::PsumOverwrite);
}

TEST(Verifier, T18_PsumReusedWhileItDrains) {
  Bench bench = loaded(trueIdentity);
  const Tile tile;
  bench.add(tile.load);
  bench.order(Queue::Peload, Queue::Pe);
  bench.add(isa::PeSwap());
  bench.add(tile.matmul);
  bench.order(Queue::Pe, Queue::Act);
  bench.add(tile.drain);
  bench.add(tile.matmul);
  EXPECT_EQ(bench.fault().kind, FaultKind::Race);
}

TEST(Verifier, WordsAreNoSums) {
  Tile tile;
  tile.drain.mode = isa::DrainMode::Int;
  Bench asIntegers = loaded(trueIdentity);
  asIntegers.tile(tile.load, tile.matmul, tile.drain);
  EXPECT_NE(asIntegers.fault().message.find("drains words"), std::string::npos);
  // Words on top of sums.
  Tile sums;
  sums.load.mode = sums.matmul.mode = isa::OperandMode::Int;
  Bench mixed = loaded(trueIdentity);
  mixed.add(sums.load);
  mixed.order(Queue::Peload, Queue::Pe);
  mixed.add(isa::PeSwap());
  mixed.add(sums.matmul);
  mixed.order(Queue::Pe, Queue::Peload);
  mixed.add(tile.load);
  mixed.order(Queue::Peload, Queue::Pe);
  mixed.add(isa::PeSwap());
  tile.matmul.accumulate = true;
  mixed.add(tile.matmul);
  EXPECT_NE(mixed.fault().message.find("adds select"), std::string::npos)
      << mixed.fault().message;
}

TEST(Verifier, BlocksMustChangeTheirOrientation) {
  Bench bench = loaded(trueIdentity);
  isa::DmaFill cells;
  cells.dstMem = isa::Memory::Xm;
  cells.dstBase = 64;
  cells.n4 = 4;
  cells.dstStride4 = 1;
  bench.add(cells);
  bench.order(Queue::Dma0, Queue::Peload);
  Tile tile;
  tile.load.type = tile.drain.dstType = isa::ElemType::Bfp;
  tile.load.mantissa = tile.drain.dstMantissa = 8;
  Bench flipped = bench;
  bench.tile(tile.load, tile.matmul, tile.drain);
  EXPECT_NE(bench.fault().message.find("blocks move whole"), std::string::npos)
      << bench.fault().message;
  tile.drain.dstOrientation = isa::Orientation::F;
  flipped.tile(tile.load, tile.matmul, tile.drain);
  EXPECT_EQ(flipped.fault().message, "");
}

TEST(Verifier, EncodingAlongTheFreeAxisNeedsOneDenseRun) {
  Tile tile;
  tile.load.mode = tile.matmul.mode = isa::OperandMode::Int;
  tile.matmul.window = isa::Window::Free;
  tile.drain.mode = isa::DrainMode::F32;
  tile.drain.dstType = isa::ElemType::Bfp;
  tile.drain.dstMantissa = 8;
  tile.drain.dstBlock = 8;
  tile.drain.dstOrientation = isa::Orientation::F;
  auto message = [](const Tile &tile) {
    Bench bench = loaded(trueIdentity);
    isa::XrSet none;
    bench.add(none);
    bench.order(Queue::Vec, Queue::Act);
    bench.tile(tile.load, tile.matmul, tile.drain);
    return bench.fault().message;
  };
  EXPECT_EQ(message(tile), "");
  const std::string expected = "blocks along the free axis";
  Tile strided = tile, shifted = tile, whole = tile, given = tile;
  strided.drain.dstStride2 = 2;
  EXPECT_NE(message(strided).find(expected), std::string::npos);
  shifted.drain.dstOffset += 1;
  EXPECT_NE(message(shifted).find(expected), std::string::npos);
  whole.drain.dstBlock = 0;
  EXPECT_NE(message(whole).find(expected), std::string::npos);
  // A given exponent holds for blocks along either axis.
  given.drain.cellFromXr = true;
  EXPECT_EQ(message(given), "");
}

TEST(Verifier, ADrainFollowsItsOwnStreamOnly) {
  Tile tile;
  tile.drain.order = isa::DrainOrder::Row;
  Bench fine = loaded(trueIdentity);
  fine.tile(tile.load, tile.matmul, tile.drain);
  EXPECT_EQ(fine.fault().message, "");
  Bench part = loaded(trueIdentity);
  Tile shorter = tile;
  shorter.drain.n2 = 3;
  part.tile(shorter.load, shorter.matmul, shorter.drain);
  EXPECT_NE(part.fault().message.find("order row"), std::string::npos);
  // Over the identity that the stream still reads.
  Bench over = loaded(trueIdentity);
  tile.drain.dstOffset = 0;
  over.tile(tile.load, tile.matmul, tile.drain);
  EXPECT_NE(over.fault().message.find("while the stream"), std::string::npos);
}

TEST(Verifier, T19_TextAndBinaryAreTheSameProgram) {
  Bench bench = loaded(trueIdentity);
  Tile tile;
  tile.drain.order = isa::DrainOrder::Partition;
  bench.tile(tile.load, tile.matmul, tile.drain);
  bench.store(4, 4, 1, 128);
  const container::Program program = bench.finish();
  std::vector<uint64_t> again;
  for (const isa::Instruction &inst :
       llvm::cantFail(isa::decodeAll(program.code))) {
    llvm::SmallVector<uint64_t> words;
    llvm::cantFail(isa::encode(
        llvm::cantFail(isa::parse(isa::print(inst), "test")), words));
    again.insert(again.end(), words.begin(), words.end());
  }
  EXPECT_EQ(again, program.code);
  // A drain order that does not exist.
  llvm::SmallVector<uint64_t> words;
  llvm::cantFail(isa::encode(tile.drain, words));
  words[4] |= uint64_t(3) << 62;
  size_t position = 0;
  auto bad = isa::decode(words, position);
  ASSERT_FALSE(bool(bad));
  llvm::consumeError(bad.takeError());
}

} // namespace
