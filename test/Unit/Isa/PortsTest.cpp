// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What instructions take of the ports of SB: worked cases, and that every byte
// of a footprint is streamed and no other.

#include "ashlar/Isa/Ports.h"
#include "ashlar/Isa/Footprint.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace ashlar;
using namespace ashlar::isa;

namespace {

/// a1 with eight banks of 8,192 bytes and two ports of 16 bytes.
machine::Description banked() {
  machine::Description m;
  m.sb.banks = 8;
  m.sb.ports = 2;
  m.sb.portBytes = 16;
  return m;
}

BankClaims list(std::initializer_list<uint64_t> values) {
  BankClaims banks(values);
  banks.resize(8, 0);
  return banks;
}

/// A stream of 28 x 28 bytes in 64 partitions, under one tap.
PeMatmul stream() {
  PeMatmul op;
  op.rows = 64;
  op.cols = 64;
  op.type = ElemType::U8;
  op.n1 = op.n2 = 28;
  op.stride1 = 28;
  op.stride2 = 1;
  op.hi0 = 1;
  op.hi1 = op.hi2 = 28;
  return op;
}

} // namespace

TEST(SbPorts, MovingOperandsStreamTheirRows) {
  const machine::Description m = banked();
  PeMatmul op = stream();
  EXPECT_EQ(bankClaims(op, m), list({25}));    // 784 bytes: 49 accesses
  EXPECT_EQ(bankClaims(op, m, 3), list({74})); // three passes: 147
  op.lo2 = 1;                               // what a tap cuts off is not read
  EXPECT_EQ(bankClaims(op, m), list({28})); // 28 runs of 27 bytes: 56
  op.lo2 = 0, op.n1 = op.hi1 = 14, op.stride2 = 2, op.n2 = op.hi2 = 14;
  EXPECT_EQ(bankClaims(op, m), list({98})); // a stride: 196
  op.offset = 8192 * 3 - 28 * 7;
  EXPECT_EQ(bankClaims(op, m), list({0, 0, 49, 49}));
  op.hi0 = 0; // nothing but padding
  EXPECT_EQ(bankClaims(op, m), BankClaims());
  EXPECT_EQ(bankClaims(stream(), machine::Description()), BankClaims());
}

TEST(SbPorts, RowGroupsReadPartitionsOfTheirOwn) {
  PeMatmul op = stream();
  op.rows = 16;
  op.groups = 8;
  op.validW = 28;
  op.n2 = 4;
  op.shift = 0;
  op.hi2 = 28;
  op.stride1 = 4;
  // Each lane of 16 partitions has 28 rows of 4 bytes. Four lanes read 4
  // pixels of a row, dense: 112 bytes, 7 accesses; the others 3, 28 accesses.
  EXPECT_EQ(bankClaims(op, banked()), list({14}));
  op.validW = op.hi2 = 32;
  EXPECT_EQ(bankClaims(op, banked()), list({4}));
  // Every second pixel: four of the lanes, all of their 28 rows of 4 bytes.
  op.validW = 16;
  op.skip = 1;
  EXPECT_EQ(bankClaims(op, banked()), list({4}));
  // Every third: all lanes, of three of them 2 pixels 3 bytes apart in each
  // row.
  op.validW = 11;
  op.skip = 2;
  EXPECT_EQ(bankClaims(op, banked()), list({28}));
}

TEST(SbPorts, OperandsOfOnePartitionAddUp) {
  const machine::Description m = banked();
  VecMap op;
  op.channels = 64;
  op.n2 = 100;
  op.aStride2 = 4;
  op.dstStride2 = 4;
  op.dstOffset = 4096;
  EXPECT_EQ(bankClaims(op, m), list({25})); // 25 reads and 25 writes
  op.dstPart = 64;
  EXPECT_EQ(bankClaims(op, m), list({13})); // the busier partition
  op.dstPart = 32;
  EXPECT_EQ(bankClaims(op, m), list({25})); // some do both
  op.dstOffset = 8192;
  EXPECT_EQ(bankClaims(op, m), list({13, 13}));
  // Three tiles of channels in a partition; four of some.
  op.channels = 128 * 3 + 10;
  op.dstPart = 0;
  op.aTileStride = op.dstTileStride = 400;
  op.dstOffset = 32768;
  EXPECT_EQ(bankClaims(op, m), list({50, 0, 0, 0, 50}));
}

TEST(SbPorts, DrainsReadParametersAndResiduals) {
  const machine::Description m = banked();
  ActDrain op;
  op.cols = 64;
  op.n1 = 14, op.n2 = 14;
  op.dstType = ElemType::U8;
  op.dstStride1 = 14, op.dstStride2 = 1;
  EXPECT_EQ(bankClaims(op, m), list({7})); // 196 bytes: 13
  op.hasBias = true;
  op.paramOffset = 8192;
  EXPECT_EQ(bankClaims(op, m), list({7, 1}));
  op.resMode = static_cast<decltype(op.resMode)>(1);
  op.resType = ElemType::F32;
  op.resStride1 = 56, op.resStride2 = 4;
  EXPECT_EQ(bankClaims(op, m), list({31, 1})); // 13 and 49
}

TEST(SbPorts, PoolsStreamTheirWindows) {
  const machine::Description m = banked();
  VecPool op;
  op.kind = PoolKind::Sum;
  op.channels = 64;
  op.srcType = op.dstType = ElemType::F32;
  op.inD = op.inH = 1, op.inW = 16;
  op.srcStrideW = 4;
  op.kW = 3, op.outW = 14;
  op.dstOffset = 8192, op.dstStrideW = 4;
  // Three taps of 14 elements, 56 bytes: 4 accesses each.
  EXPECT_EQ(bankClaims(op, m), list({6, 2}));
  // Padded by one: the outer taps lose an element, the results are 16.
  op.outW = 16, op.pW = 1;
  EXPECT_EQ(bankClaims(op, m), list({6, 2}));
  // A maximum of 5 x 5 takes rows first: every line once under five taps.
  op.kind = PoolKind::Max;
  op.pW = 0;
  op.inH = op.inW = 20, op.outH = op.outW = 16, op.kH = op.kW = 5;
  op.srcStrideH = 80, op.dstStrideH = 64;
  EXPECT_EQ(bankClaims(op, m), list({5 * 20 * 4 / 2, 16 * 16 / 4 / 2}));
}

TEST(SbPorts, CopiesCountTheBusiestPartition) {
  const machine::Description m = banked();
  DmaCopy op;
  op.srcMem = Memory::Sb, op.dstMem = Memory::Sb;
  op.dstBase = 8192;
  op.n3 = 128, op.n4 = 100;
  op.srcStride3 = 65536, op.srcStride4 = 1;
  op.dstStride3 = 1, op.dstStride4 = 65536;
  // 100 bytes of each partition; turned 128 bytes, one by one.
  EXPECT_EQ(bankClaims(op, m), list({4, 64}));
  op.srcMem = Memory::Dram;
  EXPECT_EQ(bankClaims(op, m), list({0, 64}));
  op.dstMem = Memory::Xm;
  EXPECT_EQ(bankClaims(op, m), BankClaims());
}

TEST(SbPorts, GatheredElementsMayBeAnywhere) {
  VecGather op;
  op.type = ElemType::F32;
  op.indexType = ElemType::I64;
  op.n2 = 10;
  op.size = 3000, op.axisStride = 4;
  op.indexOffset = 16384, op.indexStride2 = 8;
  op.dstOffset = 32768, op.dstStride2 = 4;
  EXPECT_EQ(bankClaims(op, banked()), list({5, 5, 3, 0, 2}));
}

namespace {

using Bytes = std::set<std::pair<uint64_t, int64_t>>;

/// Calls fn(offset) for every element of a pattern.
template <typename Fn>
void forElements(const machine::PortPattern &pattern, Fn fn) {
  std::vector<uint64_t> index(pattern.counts.size(), 0);
  for (;;) {
    int64_t at = pattern.base;
    for (size_t d = 0; d < index.size(); ++d)
      at += static_cast<int64_t>(index[d]) * pattern.strides[d];
    for (uint64_t i = 0; i < pattern.elementBytes; ++i)
      fn(at + static_cast<int64_t>(i));
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == pattern.counts[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

Bytes streamed(const Instruction &inst, const machine::Description &m) {
  llvm::SmallVector<SbStream, 4> streams;
  sbStreams(inst, m, streams);
  Bytes bytes;
  const auto row = static_cast<int64_t>(m.sb.bytesPerPartition);
  for (const SbStream &stream : streams)
    forElements(stream.pattern, [&](int64_t at) {
      if (stream.linear)
        bytes.insert({static_cast<uint64_t>(at / row), at % row});
      else
        for (uint64_t p = stream.partBegin; p < stream.partEnd; ++p)
          bytes.insert({p, at});
    });
  return bytes;
}

/// The bytes of a footprint, or nothing if it is not an exact one.
std::optional<Bytes> touched(const Instruction &inst,
                             const machine::Description &m) {
  llvm::SmallVector<Access> accesses;
  footprints(inst, m, accesses);
  Bytes bytes;
  for (const Access &access : accesses) {
    if (access.space != Space::Sb)
      continue;
    if (!access.exact)
      return std::nullopt;
    machine::PortPattern pattern;
    pattern.base = access.base;
    pattern.elementBytes = access.runLength;
    for (unsigned d = 0; d < access.numDims; ++d)
      pattern.add(access.dims[d].count, access.dims[d].stride);
    forElements(pattern, [&](int64_t at) {
      for (uint64_t p = access.partBegin; p < access.partEnd; ++p)
        bytes.insert({p, at});
    });
  }
  return bytes;
}

/// Small enough to be written down byte by byte.
template <typename Op>
void shrink(std::mt19937 &random, Op &op) {
  auto count = [&](auto &field) { field = 1 + random() % 4; };
  auto stride = [&](auto &field) {
    field = static_cast<int64_t>(random() % 50);
  };
  if constexpr (requires { op.n4; })
    count(op.n0), count(op.n1), count(op.n2), count(op.n3), count(op.n4);
  else if constexpr (requires { op.n2; })
    count(op.n0), count(op.n1), count(op.n2);
  if constexpr (requires { op.channels; })
    op.channels = 1 + random() % 20;
  if constexpr (requires { op.srcStride4; })
    stride(op.srcStride0), stride(op.srcStride1), stride(op.srcStride2),
        stride(op.srcStride3), stride(op.srcStride4);
  if constexpr (requires { op.dstStride4; })
    stride(op.dstStride0), stride(op.dstStride1), stride(op.dstStride2),
        stride(op.dstStride3), stride(op.dstStride4);
}

} // namespace

TEST(SbPorts, WhatIsTouchedIsStreamed) {
  const machine::Description m = llvm::cantFail(machine::load("a1-tiny"));
  std::mt19937 random(5);
  auto pick = [&](uint64_t limit) { return random() % limit; };
  unsigned compared = 0;
  for (int i = 0; i < 3000; ++i) {
    Instruction inst;
    if (i % 4 == 0) {
      DmaCopy op;
      shrink(random, op);
      op.srcMem = op.dstMem = Memory::Sb;
      op.srcBase = pick(4) * 65536 + pick(1000);
      op.dstBase = pick(4) * 65536 + pick(1000);
      op.srcStride2 = static_cast<int64_t>(pick(2) * 65536 + pick(3));
      inst = op;
    } else if (i % 4 == 1) {
      VecMap op;
      shrink(random, op);
      op.aPart = pick(4), op.dstPart = pick(4);
      op.aOffset = pick(100), op.dstOffset = pick(100);
      op.aTileStride = 300, op.dstTileStride = 200;
      op.aStride0 = pick(90), op.aStride1 = pick(40), op.aStride2 = pick(9);
      op.dstStride1 = pick(40), op.dstStride2 = pick(9);
      inst = op;
    } else if (i % 4 == 2) {
      PeMatmul op;
      shrink(random, op);
      op.rows = 1 + pick(4), op.cols = 4;
      op.type = ElemType::U8;
      op.offset = 100;
      op.groups = 1 << pick(2);
      op.validW = 1 + pick(op.n2 * op.groups);
      op.shift = static_cast<int64_t>(pick(3)) - 1;
      op.skip = op.groups > 1 ? pick(4) : 0;
      op.lo1 = static_cast<int64_t>(pick(3)) - 1, op.lo2 = pick(2);
      op.hi0 = 1 + pick(4), op.hi1 = pick(5), op.hi2 = pick(9);
      op.stride0 = pick(50), op.stride1 = pick(20), op.stride2 = 1 + pick(3);
      inst = op;
    } else {
      VecPool op;
      op.channels = 1 + pick(20);
      op.kind = pick(2) ? PoolKind::Max : PoolKind::Sum;
      op.srcOffset = 500;
      op.inD = 1 + pick(2), op.inH = 1 + pick(5), op.inW = 1 + pick(9);
      op.outD = 1, op.outH = 1 + pick(4), op.outW = 1 + pick(5);
      op.kH = 1 + pick(3), op.kW = 1 + pick(3);
      op.sH = 1, op.sW = 1;
      op.pH = pick(2), op.pW = pick(2);
      op.srcStrideD = 400, op.srcStrideH = 36, op.srcStrideW = 4;
      op.srcTileStride = 900, op.dstTileStride = 300;
      op.dstOffset = 20000, op.dstStrideH = 20, op.dstStrideW = 4;
      inst = op;
    }
    const std::optional<Bytes> expected = touched(inst, m);
    if (!expected)
      continue;
    ++compared;
    const Bytes actual = streamed(inst, m);
    // A footprint of a strided window is the whole box.
    if (i % 4 == 3)
      ASSERT_TRUE(std::includes(expected->begin(), expected->end(),
                                actual.begin(), actual.end()))
          << i;
    else
      ASSERT_EQ(*expected, actual) << i;
  }
  EXPECT_GT(compared, 2000u);
}
