// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits through the array: every type, special values, ragged tiles, several
// tiles, stacked tiles, functions on the drain. The oracle moves bytes.

#include "Bench.h"
#include "ashlar/Machine/Transposes.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace ashlar;
using namespace ashlar::test;
using isa::ElemType;
using isa::OperandMode;

namespace {

unsigned bytesOf(ElemType type) {
  switch (type) {
  case ElemType::F16:
  case ElemType::Bf16:
  case ElemType::I16:
  case ElemType::U16:
    return 2;
  case ElemType::F32:
  case ElemType::I32:
  case ElemType::U32:
    return 4;
  case ElemType::F64:
  case ElemType::I64:
  case ElemType::U64:
    return 8;
  default:
    return 1;
  }
}

constexpr ElemType plainTypes[] = {
    ElemType::F32, ElemType::F16,  ElemType::Bf16, ElemType::I8,  ElemType::U8,
    ElemType::I16, ElemType::U16,  ElemType::I32,  ElemType::U32, ElemType::I64,
    ElemType::U64, ElemType::Bool, ElemType::F64};

Bytes floats(const std::vector<float> &values) {
  Bytes bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<uint32_t> words(const Bytes &bytes) {
  std::vector<uint32_t> result(bytes.size() / 4);
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

Bytes fromWords(const std::vector<uint32_t> &values) {
  Bytes bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Movement, T10_AllTypesRandomBitsSelect) {
  for (ElemType type : plainTypes)
    for (const char *machine : {"fig3-4x4", "a1-tiny"}) {
      const unsigned bytes = bytesOf(type);
      const uint64_t m = 19, n = 13;
      const Bytes matrix =
          randomBytes(m * n * bytes, static_cast<uint64_t>(type) + 7);
      TileOptions options;
      options.type = type;
      EXPECT_EQ(transposeOnArray(machine, matrix, m, n, bytes, options),
                transposed(matrix, m, n, bytes))
          << isa::name(type).str();
    }
}

TEST(Movement, T10_AllTypesRandomBitsBytePlanes) {
  for (ElemType type : plainTypes) {
    const unsigned bytes = bytesOf(type);
    const uint64_t m = 11, n = 9;
    const Bytes matrix =
        randomBytes(m * n * bytes, static_cast<uint64_t>(type) + 70);
    TileOptions options;
    options.type = type;
    options.mode = OperandMode::Int;
    options.bytePlanes = true;
    EXPECT_EQ(transposeOnArray("a1-tiny", matrix, m, n, bytes, options),
              transposed(matrix, m, n, bytes))
        << isa::name(type).str();
  }
}

TEST(Movement, T11_SpecialValuesExactInSelectAndBytePlanes) {
  const uint32_t special[] = {0x7fc00001, 0x7f800001, 0xffc12345, 0xff800001,
                              0x7f800000, 0xff800000, 0x80000000, 0x00000000,
                              0x00000001, 0x807fffff, 0x7f7fffff, 0xff7fffff};
  std::vector<uint32_t> values;
  for (int i = 0; i < 4; ++i)
    values.insert(values.end(), std::begin(special), std::end(special));
  const Bytes matrix = fromWords(values);
  for (bool planes : {false, true}) {
    TileOptions options;
    options.type = ElemType::F32;
    options.bytePlanes = planes;
    options.mode = planes ? OperandMode::Int : OperandMode::Select;
    EXPECT_EQ(transposeOnArray("fig3-4x4", matrix, 8, 6, 4, options),
              transposed(matrix, 8, 6, 4));
  }
}

TEST(Movement, T11_PlainArithmeticOnFloatsFailsAsDocumented) {
  TileOptions options;
  options.type = ElemType::F32;
  options.mode = OperandMode::Float;
  // Finite values but -0 are exact, denormals and the limits too.
  const Bytes finite = floats({1.5F, -2.25F, 1e-45F, 3e38F, -1e-40F, 0.0F, 7.0F,
                               -3e38F, 0.1F, 1e20F, -5.0F, 2.0F});
  EXPECT_EQ(transposeOnArray("fig3-4x4", finite, 4, 3, 4, options),
            transposed(finite, 4, 3, 4));
  // -0 becomes +0, an infinity survives at its place and turns the others of
  // its column into NaN, a NaN all of them; NaN is canonical.
  const float inf = std::numeric_limits<float>::infinity();
  const float sNaN = std::bit_cast<float>(0x7f800001U);
  const Bytes special = floats({1, inf, 3, -0.0F,  //
                                5, 6, sNaN, -0.0F, //
                                9, 10, 11, -0.0F,  //
                                13, 14, 15, -0.0F});
  const uint32_t nan = 0x7fc00000;
  auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  const std::vector<uint32_t> expected = {
      bits(1),   bits(5), bits(9), bits(13), //
      bits(inf), nan,     nan,     nan,      //
      nan,       nan,     nan,     nan,      //
      0,         0,       0,       0};
  EXPECT_EQ(words(transposeOnArray("fig3-4x4", special, 4, 4, 4, options)),
            expected);
}

TEST(Movement, T11_PlainArithmeticOnHalvesIsExactForFiniteValues) {
  for (ElemType type : {ElemType::F16, ElemType::Bf16}) {
    Bytes matrix = randomBytes(std::size_t(24) * 2, 3);
    // No exponent of all ones, and no -0.
    for (size_t i = 0; i < matrix.size(); i += 2) {
      matrix[i + 1] &= type == ElemType::F16 ? 0xbb : 0xbf;
      matrix[i] |= 1;
    }
    TileOptions options;
    options.type = type;
    options.mode = OperandMode::Float;
    EXPECT_EQ(transposeOnArray("a1-tiny", matrix, 6, 4, 2, options),
              transposed(matrix, 6, 4, 2));
  }
}

TEST(Movement, T11_IntegersAreExactUnlessTheNarrowSaturates) {
  const Bytes matrix = randomBytes(64, 9);
  TileOptions options;
  options.mode = OperandMode::Int;
  for (ElemType type : {ElemType::I8, ElemType::U8}) {
    options.type = type;
    EXPECT_EQ(transposeOnArray("a1-tiny", matrix, 8, 8, 1, options),
              transposed(matrix, 8, 8, 1));
  }
  for (ElemType type : {ElemType::I16, ElemType::U16}) {
    options.type = type;
    EXPECT_EQ(transposeOnArray("a1-tiny", matrix, 8, 4, 2, options),
              transposed(matrix, 8, 4, 2));
  }
  // An unsigned byte that a signed, saturating narrow stores: 200 gives 127.
  Bench bench("fig3-4x4");
  bench.load(bench.constant({200, 100, 1, 255}), 2, 2, 1, 64);
  bench.loadIdentity(0);
  bench.ready();
  isa::PeLoad load;
  load.rows = load.cols = 2;
  load.offset = 64;
  load.colStride = 1;
  load.type = ElemType::U8;
  load.mode = OperandMode::Int;
  isa::PeMatmul matmul;
  matmul.rows = matmul.cols = matmul.n2 = 2;
  matmul.type = ElemType::U8;
  matmul.mode = OperandMode::Int;
  matmul.stride2 = matmul.psumStride2 = 1;
  matmul.hi0 = matmul.hi1 = 1;
  matmul.hi2 = 2;
  isa::ActDrain drain;
  drain.mode = isa::DrainMode::Int;
  drain.cols = drain.n2 = 2;
  drain.psumStride2 = drain.dstStride2 = 1;
  drain.dstType = ElemType::I8;
  drain.dstOffset = 128;
  drain.overflow = isa::Overflow::Saturate;
  bench.tile(load, matmul, drain);
  bench.store(2, 2, 1, 128);
  EXPECT_EQ(bench.run().outputs[0].data, (Bytes{127, 1, 100, 127}));
}

TEST(Movement, T3_SwappedRolesCopy) {
  // The identity stationary, the data moving: no transpose.
  Bench bench("fig3-4x4");
  const Bytes matrix = randomBytes(16, 2);
  bench.load(bench.constant(matrix), 4, 4, 1, 64);
  bench.loadIdentity(0);
  bench.ready();
  isa::PeLoad load;
  load.rows = load.cols = 4;
  load.colStride = 1;
  load.type = ElemType::U8;
  load.mode = OperandMode::Int;
  isa::PeMatmul matmul;
  matmul.rows = matmul.cols = matmul.n2 = 4;
  matmul.offset = 64;
  matmul.type = ElemType::U8;
  matmul.mode = OperandMode::Int;
  matmul.stride2 = matmul.psumStride2 = 1;
  matmul.hi0 = matmul.hi1 = 1;
  matmul.hi2 = 4;
  isa::ActDrain drain;
  drain.mode = isa::DrainMode::Int;
  drain.cols = drain.n2 = 4;
  drain.psumStride2 = drain.dstStride2 = 1;
  drain.dstType = ElemType::U8;
  drain.dstOffset = 128;
  bench.tile(load, matmul, drain);
  bench.store(4, 4, 1, 128);
  EXPECT_EQ(bench.run().outputs[0].data, matrix);
}

TEST(Movement, T6_RaggedTilesLeaveNothingStale) {
  // The first transpose fills cells and accumulators with NaN patterns; the
  // second, ragged one must not see them.
  for (uint64_t m : {1, 2, 63, 64, 65, 127, 128, 129, 200, 300})
    for (uint64_t n : {1, 2, 63, 64, 65, 127, 128, 129, 200, 300}) {
      if ((m * 7 + n) % 3 != 0 && m != n)
        continue; // a third of the pairs keeps the test short
      Bench bench("fig4-128x64");
      const uint64_t source = 1024, target = 16384, poison = 256;
      Bytes nan(128 * 64 * 4, 0xff);
      const Bytes matrix = randomBytes(m * n * 4, m * 1000 + n);
      bench.loadIdentity(0);
      bench.load(bench.constant(nan), 128, 64, 4, poison);
      bench.load(bench.constant(matrix), m, n, 4, source);
      bench.ready();
      TileOptions options;
      options.type = ElemType::F32;
      bench.transpose(128, 64, poison, 60000, 0, options);
      bench.transpose(m, n, source, target, 0, options);
      bench.store(n, m, 4, target);
      EXPECT_EQ(bench.run().outputs[0].data, transposed(matrix, m, n, 4))
          << m << " x " << n;
    }
}

TEST(Movement, T6_UnusedColumnsOfPsumKeepTheirContents) {
  Bench bench("fig3-4x4");
  const Bytes first = randomBytes(16, 1), second = randomBytes(4, 2);
  bench.load(bench.constant(first), 4, 4, 1, 64);
  bench.load(bench.constant(second), 4, 1, 1, 128);
  bench.loadIdentity(0);
  bench.ready();
  TileOptions options;
  bench.transpose(4, 4, 64, 256, 0, options);
  bench.transpose(4, 1, 128, 512, 0, options);
  emulator::Options run;
  run.traceArray = true;
  const emulator::RunResult result = bench.run(run);
  // The second stream writes column 0 only.
  for (const emulator::ArrayEvent &event : result.arrayTrace)
    if (event.kind == emulator::ArrayEventKind::Write &&
        event.instruction > result.arrayTrace[0].instruction) {
      EXPECT_EQ(event.column, 0u);
    }
}

TEST(Movement, T8_SecondSubBlockLandsInTheUpperPartitions) {
  const Bytes matrix = randomBytes(std::size_t(128) * 128 * 2, 8);
  TileOptions options;
  options.type = ElemType::F16;
  EXPECT_EQ(transposeOnArray("a1", matrix, 128, 128, 2, options),
            transposed(matrix, 128, 128, 2));
  // The same with the tiles' destinations looked at: columns 64 on go to
  // partitions 64 on.
  Bench bench("a1");
  bench.transpose(128, 128, 1024, 4096, 0, options);
  std::vector<uint32_t> parts;
  for (const isa::Instruction &inst : bench.code)
    if (const auto *drain = std::get_if<isa::ActDrain>(&inst))
      parts.push_back(drain->dstPart);
  EXPECT_EQ(parts, (std::vector<uint32_t>{0, 64}));
}

TEST(Movement, StackedTilesShareOnePass) {
  // Two patterns of 3 x 4 and 5 x 4 elements lie below each other; the drain
  // sends each to its own address.
  Bench bench("a1-tiny");
  const Bytes matrix = randomBytes(32, 4);
  bench.load(bench.constant(matrix), 8, 4, 1, 64);
  bench.loadIdentity(0);
  bench.ready();
  isa::PeLoad load;
  load.rows = 8;
  load.cols = 4;
  load.offset = 64;
  load.colStride = 1;
  load.type = ElemType::U8;
  load.mode = OperandMode::Select;
  isa::PeMatmul matmul;
  matmul.rows = matmul.n2 = 8;
  matmul.cols = 4;
  matmul.type = ElemType::U8;
  matmul.mode = OperandMode::Select;
  matmul.window = isa::Window::Identity;
  matmul.stride2 = matmul.psumStride2 = 1;
  matmul.hi0 = matmul.hi1 = 1;
  matmul.hi2 = 8;
  isa::ActDrain drain;
  drain.mode = isa::DrainMode::Raw64;
  drain.cols = 4;
  drain.n2 = 3;
  drain.psumStride2 = drain.dstStride2 = 1;
  drain.dstType = ElemType::U8;
  drain.dstOffset = 128;
  bench.tile(load, matmul, drain);
  drain.psum = 3;
  drain.n2 = 5;
  drain.dstOffset = 192;
  bench.add(drain);
  bench.store(4, 3, 1, 128);
  bench.store(4, 5, 1, 192);
  const emulator::RunResult result = bench.run();
  const Bytes upper(matrix.begin(), matrix.begin() + 12);
  const Bytes lower(matrix.begin() + 12, matrix.end());
  EXPECT_EQ(result.outputs[0].data, transposed(upper, 3, 4, 1));
  EXPECT_EQ(result.outputs[1].data, transposed(lower, 5, 4, 1));
}

TEST(Movement, PermutedWindowPermutesRows) {
  // A permutation instead of the identity: transpose and row permutation.
  Bench bench("fig3-4x4");
  const Bytes matrix = randomBytes(16, 6);
  bench.load(bench.constant(matrix), 4, 4, 1, 64);
  // Step t selects row 3 - t.
  bench.load(bench.constant({0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0}),
             4, 4, 1, 0);
  bench.ready();
  TileOptions options;
  options.window = isa::Window::Free;
  bench.transpose(4, 4, 64, 128, 0, options);
  bench.store(4, 4, 1, 128);
  Bytes reversed;
  for (int i = 3; i >= 0; --i)
    reversed.insert(reversed.end(), matrix.begin() + 4 * i,
                    matrix.begin() + 4 * i + 4);
  EXPECT_EQ(bench.run().outputs[0].data, transposed(reversed, 4, 4, 1));
}

TEST(Movement, T16_FunctionOfAFollowingOpOnTheDrain) {
  std::vector<float> values(std::size_t(7) * 5);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i) * 0.5F - 8;
  std::vector<float> expected(values.size());
  for (size_t i = 0; i < 7; ++i)
    for (size_t j = 0; j < 5; ++j)
      expected[j * 7 + i] = std::max(values[i * 5 + j], 0.0F);
  TileOptions options;
  options.type = ElemType::F32;
  options.function = isa::Function::Relu;
  EXPECT_EQ(transposeOnArray("a1-tiny", floats(values), 7, 5, 4, options),
            floats(expected));
}

TEST(Movement, T12_TwiceIsTheIdentity) {
  for (unsigned bytes : {1U, 2U, 4U, 8U}) {
    TileOptions options;
    options.type = bytes == 1   ? ElemType::U8
                   : bytes == 2 ? ElemType::F16
                   : bytes == 4 ? ElemType::F32
                                : ElemType::F64;
    const Bytes matrix = randomBytes(std::size_t(21) * 10 * bytes, bytes);
    Bench bench("a1-tiny");
    bench.load(bench.constant(matrix), 21, 10, bytes, 1024);
    bench.loadIdentity(0);
    bench.ready();
    bench.transpose(21, 10, 1024, 4096, 0, options);
    bench.order(isa::Queue::Act, isa::Queue::Peload);
    bench.transpose(10, 21, 4096, 8192, 0, options);
    bench.store(21, 10, bytes, 8192);
    EXPECT_EQ(bench.run().outputs[0].data, matrix);
  }
}

TEST(Movement, T13_NothingLeavesTheChip) {
  Bench bench("a1");
  const Bytes matrix = randomBytes(std::size_t(256) * 128 * 4, 1);
  bench.node("before");
  bench.load(bench.constant(matrix), 256, 128, 4, 1024);
  bench.loadIdentity(0);
  bench.ready();
  bench.node("transpose");
  TileOptions options;
  options.type = ElemType::F32;
  bench.transpose(256, 128, 1024, 8192, 0, options);
  bench.node("after");
  bench.store(128, 256, 4, 8192);
  const emulator::RunResult result = bench.run();
  EXPECT_EQ(result.outputs[0].data, transposed(matrix, 256, 128, 4));
  const emulator::NodeStats &node = result.nodes[1];
  EXPECT_EQ(node.dramRead, 0u);
  EXPECT_EQ(node.dramWrite, 0u);
  for (unsigned queue : {0, 1, 2, 3, 9})
    EXPECT_EQ(node.busy[queue], 0u) << emulator::queueName(queue).str();
  EXPECT_EQ(result.queues[9].instructions, 0u);
  for (size_t i = 0; i < bench.code.size(); ++i)
    if (bench.program.nodeOfInstruction[i] == 1) {
      EXPECT_FALSE(std::holds_alternative<isa::DmaCopy>(bench.code[i]));
    }
}

} // namespace
