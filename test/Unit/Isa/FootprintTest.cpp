// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Footprints against literal expectations, and conflict() against marking
// every unit.

#include "ashlar/Isa/Footprint.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace ashlar;
using namespace ashlar::isa;

namespace {
const machine::Description &tiny() {
  static const machine::Description description =
      llvm::cantFail(machine::load("a1-tiny"));
  return description;
}

std::vector<std::string> texts(const Instruction &inst) {
  llvm::SmallVector<Access> accesses;
  footprints(inst, tiny(), accesses);
  std::vector<std::string> result;
  for (const Access &access : accesses)
    result.push_back(describe(access));
  return result;
}
using Texts = std::vector<std::string>;

std::set<int64_t> units(const Access &access) {
  std::set<int64_t> result;
  std::array<uint64_t, Access::maxDims> index = {};
  while (true) {
    int64_t base = access.base;
    for (unsigned d = 0; d < access.numDims; ++d)
      base += int64_t(index[d]) * access.dims[d].stride;
    for (uint64_t i = 0; i < access.runLength; ++i)
      result.insert(base + int64_t(i));
    unsigned d = 0;
    while (d < access.numDims && ++index[d] == access.dims[d].count)
      index[d++] = 0;
    if (d == access.numDims)
      return result;
  }
}

TEST(Footprint, SynchronisationHasNone) {
  EXPECT_EQ(texts(SemWait()), Texts());
  EXPECT_EQ(texts(SemSignal()), Texts());
}

TEST(Footprint, ScaleRegisters) {
  XrMerge merge;
  merge.dst = 4;
  merge.src = 2;
  EXPECT_EQ(texts(merge),
            Texts({"reads xr[0..1)[2..3)", "merges into xr[0..1)[4..5)"}));
  merge.clear = true;
  EXPECT_EQ(texts(merge)[1], "writes xr[0..1)[4..5)");
}

TEST(Footprint, StatisticsAndSelectors) {
  VecStat stat;
  stat.type = ElemType::Bfp;
  stat.mantissa = 8;
  stat.sr = 3;
  EXPECT_EQ(texts(stat).back(), "merges into sr[0..1)[3..4)");
  stat.clear = true;
  EXPECT_EQ(texts(stat).back(), "writes sr[0..1)[3..4)");
  XrSelect select;
  select.dst = 5;
  select.sr = 3;
  EXPECT_EQ(texts(select),
            Texts({"reads sr[0..1)[3..4)", "writes xr[0..1)[5..6)"}));
  XrPick pick;
  pick.dst = 5;
  pick.preferred = 6;
  pick.fallback = 7;
  EXPECT_EQ(texts(pick), Texts({"reads xr[0..1)[6..7)", "reads xr[0..1)[7..8)",
                                "writes xr[0..1)[5..6)"}));
  XrPredict predict;
  predict.dst = 1;
  predict.observed = 2;
  predict.history = 10;
  predict.depth = 4;
  EXPECT_EQ(texts(predict),
            Texts({"reads sr[0..1)[0..1)", "reads xr[0..1)[2..3)",
                   "reads xr[0..1)[1..2)", "reads xr[0..1)[10..20)",
                   "writes xr[0..1)[1..2)", "writes xr[0..1)[10..20)"}));
  VecMeasure measure;
  measure.xr = 9;
  EXPECT_EQ(texts(measure).back(), "merges into xr[0..1)[9..10)");
}

TEST(Footprint, GatherReadsTheWholeAxis) {
  VecGather gather;
  gather.channels = 2;
  gather.n2 = 3;
  gather.type = ElemType::F32;
  gather.size = 16;
  gather.axisStride = 4;
  gather.indexType = ElemType::I64;
  gather.indexBroadcastPart = 1;
  gather.indexOffset = 64;
  gather.indexStride2 = 8;
  gather.dstOffset = 128;
  gather.dstStride2 = 4;
  EXPECT_EQ(texts(gather),
            Texts({"reads sb[0..2)[0..64)", "reads sb[0..1)[64..88)",
                   "writes sb[0..2)[128..140)"}));
}

TEST(Footprint, CompressedCellsTakeAllTheirRoom) {
  DmaCompress store;
  store.srcBase = 64, store.dstBase = 1000;
  store.n1 = 3, store.srcStride1 = 10, store.dstStride1 = 128;
  store.n3 = 2, store.srcStride3 = 65536;
  store.n4 = 10, store.srcStride4 = 1;
  store.cellBytes = 47;
  EXPECT_EQ(texts(store),
            Texts({"reads sb[0..2)[64..94)", "writes dram[0..1)[1000..1303)"}));
  DmaExpand load;
  load.srcBase = 1000, load.dstBase = 64;
  load.n1 = 2, load.srcStride1 = 47, load.dstStride1 = 10;
  load.n4 = 10, load.dstStride4 = 1;
  load.cellBytes = 47;
  EXPECT_EQ(texts(load),
            Texts({"reads dram[0..1)[1000..1094)", "writes sb[0..1)[64..84)"}));
}

TEST(Footprint, PutMayWriteEveryPlace) {
  DmaPut put;
  put.elemBytes = 4;
  put.indexType = ElemType::I64, put.indexBase = 8;
  put.size = 100, put.axisStride = 64;
  put.srcBase = 4096, put.dstBase = 65536;
  put.n3 = 2, put.srcStride3 = 64, put.dstStride3 = 6400;
  put.n4 = 16, put.srcStride4 = put.dstStride4 = 4;
  EXPECT_EQ(texts(put),
            Texts({"reads dram[0..1)[8..16)", "reads dram[0..1)[4096..4224)",
                   "writes dram[0..1)[65536..78336)"}));
}

TEST(Footprint, GatherFromDramReadsTheWholeTable) {
  DmaGather gather;
  gather.elemBytes = 4;
  gather.srcBase = 1000;
  gather.size = 30000;
  gather.axisStride = 1024;
  gather.indexType = ElemType::I64;
  gather.indexBase = 64;
  gather.dstBase = 128;
  gather.n3 = 5, gather.indexStride3 = 8, gather.dstStride3 = 4;
  gather.n4 = 2, gather.srcStride4 = 4, gather.dstStride4 = 65536;
  EXPECT_EQ(texts(gather),
            Texts({"reads dram[0..1)[1000..30719984)",
                   "reads sb[0..1)[64..104)", "writes sb[0..2)[128..148)"}));
  // Rows without gaps are the table; a negative stride lies below its base.
  gather.axisStride = -8;
  EXPECT_EQ(texts(gather)[0], "reads dram[0..1)[-238992..1008)");
  // The widest fields do not wrap.
  gather.size = 0xffffff, gather.axisStride = int64_t(1) << 35;
  gather.axisStride -= 1;
  gather.n0 = gather.n1 = gather.n2 = gather.n3 = gather.n4 = 0xfffff;
  gather.srcStride0 = gather.srcStride1 = gather.srcStride2 =
      gather.srcStride3 = gather.srcStride4 = (int64_t(1) << 39) - 1;
  llvm::SmallVector<Access> accesses;
  footprints(gather, tiny(), accesses);
  EXPECT_GT(accesses[0].end, int64_t(1) << 61);
}

TEST(Footprint, GivenExponentsAreRead) {
  VecMap map;
  map.dstType = ElemType::Bfp;
  map.dstMantissa = 8;
  map.dstXr = 6;
  EXPECT_EQ(texts(map).back(), "merges into xr[0..1)[6..7)");
  map.cellFromXr = true;
  EXPECT_EQ(texts(map).back(), "reads xr[0..1)[6..7)");
}

TEST(Footprint, PeLoadTakesCellsAlong) {
  PeLoad load;
  load.part = 4;
  load.rows = 2;
  load.cols = 3;
  load.colStride = 10;
  load.offset = 100;
  load.type = ElemType::Bfp;
  load.mantissa = 16;
  load.xr = 7;
  EXPECT_EQ(texts(load),
            Texts({"reads sb[4..6)[100..122)", "reads xm[1..2)[100..121)",
                   "reads xr[0..1)[7..8)", "writes shadow[0..1)[0..1)"}));
}

TEST(Footprint, MatmulReadsOnlyValidIndices) {
  PeMatmul matmul;
  matmul.rows = 8;
  matmul.cols = 4;
  matmul.offset = 1000;
  matmul.type = ElemType::I8;
  matmul.n1 = 4;
  matmul.n2 = 8;
  matmul.stride1 = 100;
  matmul.stride2 = 1;
  matmul.lo0 = 0, matmul.hi0 = 1;
  matmul.lo1 = 1, matmul.hi1 = 3;
  matmul.lo2 = -5, matmul.hi2 = 6;
  matmul.psum = 10;
  matmul.psumStride1 = 8, matmul.psumStride2 = 1;
  EXPECT_EQ(texts(matmul),
            Texts({"reads sb[0..8)[1100..1206)", "reads active[0..1)[0..1)",
                   "writes psum[0..4)[10..42)"}));
  matmul.hi1 = 1; // nothing valid: no memory is read
  matmul.accumulate = true;
  EXPECT_EQ(texts(matmul),
            Texts({"reads active[0..1)[0..1)", "reads psum[0..4)[10..42)",
                   "writes psum[0..4)[10..42)"}));
}

TEST(Footprint, ChannelTiles) {
  VecMap map;
  map.channels = 19; // 8 partitions: two whole tiles and three channels
  map.n2 = 2;
  map.aStride2 = 4;
  map.aTileStride = 64;
  map.aBroadcastPart = true;
  map.dstType = ElemType::Bfp;
  map.dstMantissa = 8;
  map.dstTileStride = 32;
  map.dstStride2 = 1;
  map.dstXr = 9;
  EXPECT_EQ(texts(map),
            Texts({"reads sb[0..1)[0..8)", "writes sb[0..8)[0..2)",
                   "writes xm[0..2)[0..2)", "writes sb[0..8)[32..34)",
                   "writes xm[0..2)[32..34)", "writes sb[0..3)[64..66)",
                   "writes xm[0..1)[64..66)", "merges into xr[0..1)[9..10)"}));
}

TEST(Footprint, PackedStreamAndRegisters) {
  DmaUnpack unpack;
  unpack.mantissa = 5;
  unpack.srcBase = 100;
  unpack.dstBase = 2 * 65536 + 16;
  unpack.n3 = 3, unpack.dstStride3 = 65536;
  unpack.n4 = 7, unpack.dstStride4 = 1;
  // 21 codes of 5 bits: 14 bytes.
  EXPECT_EQ(texts(unpack),
            Texts({"reads dram[0..1)[100..114)", "writes sb[2..5)[16..23)"}));
  // 21 flags and 4 codes of 5 bits: 6 bytes. Runs: 4 of 3 + 5 bits.
  unpack.form = CodeForm::Bitmap, unpack.unit = 1, unpack.stored = 4;
  EXPECT_EQ(texts(unpack),
            Texts({"reads dram[0..1)[100..106)", "writes sb[2..5)[16..23)"}));
  unpack.form = CodeForm::Runs, unpack.unit = 3;
  EXPECT_EQ(texts(unpack),
            Texts({"reads dram[0..1)[100..104)", "writes sb[2..5)[16..23)"}));
  unpack.form = CodeForm::Dense, unpack.unit = unpack.stored = 0;
  // A length that would wrap stays beyond every memory.
  unpack.n0 = unpack.n1 = unpack.n2 = unpack.n3 = unpack.n4 = 0xfffff;
  llvm::SmallVector<Access> accesses;
  footprints(unpack, tiny(), accesses);
  EXPECT_GT(accesses[0].end, int64_t(1) << 40);
  DmaCopy copy;
  copy.elemBytes = 2;
  copy.srcMem = Memory::Xr;
  copy.srcBase = 10;
  copy.dstMem = Memory::Dram;
  copy.n4 = 3, copy.srcStride4 = -4, copy.dstStride4 = 2;
  EXPECT_EQ(texts(copy),
            Texts({"reads xr[0..1)[1..6)", "writes dram[0..1)[0..6)"}));
}

TEST(Footprint, DmaByPartition) {
  DmaCopy copy;
  copy.elemBytes = 4;
  copy.srcMem = Memory::Dram;
  copy.srcBase = 1000;
  copy.dstMem = Memory::Sb;
  copy.dstBase = 2 * 65536 + 16;
  copy.n3 = 3;
  copy.srcStride3 = 400, copy.dstStride3 = 65536;
  copy.n4 = 5;
  copy.srcStride4 = -4, copy.dstStride4 = 4;
  EXPECT_EQ(texts(copy),
            Texts({"reads dram[0..1)[984..1804)", "writes sb[2..5)[16..36)"}));
  // Steps that change the place in the partition as well.
  copy.dstStride3 = 65536 - 8;
  copy.dstBase = 16;
  EXPECT_EQ(texts(copy),
            Texts({"reads dram[0..1)[984..1804)", "writes sb[0..1)[16..36)",
                   "writes sb[1..2)[8..28)", "writes sb[2..3)[0..20)"}));
  // Runs that cross the end of a partition, two bytes apart: whole partitions.
  copy.dstBase = 65536 - 6;
  copy.n4 = 300, copy.dstStride4 = 6;
  EXPECT_EQ(texts(copy)[1], "writes sb[0..4)[0..65536)");
  // One run of bytes over several partitions.
  copy.n3 = 1, copy.n4 = 40000, copy.dstStride4 = 4;
  EXPECT_EQ(
      texts(copy),
      Texts({"reads dram[0..1)[-158996..1004)", "writes sb[0..1)[65530..65536)",
             "writes sb[1..3)[0..65536)", "writes sb[3..4)[0..28922)"}));
}

TEST(Footprint, EverySecondPartitionOfAnyMachine) {
  machine::Description wide = llvm::cantFail(machine::load("a1"));
  for (unsigned partitions : {128, 1280, 4088}) {
    wide.sb.partitions = partitions;
    DmaFill fill;
    fill.elemBytes = 4;
    fill.dstMem = Memory::Sb;
    fill.n4 = partitions / 2;
    fill.dstStride4 = 2 * wide.sb.bytesPerPartition;
    llvm::SmallVector<Access> accesses;
    footprints(fill, wide, accesses);
    EXPECT_EQ(accesses.size(), partitions / 2);
    EXPECT_TRUE(llvm::all_of(accesses, [](const Access &a) { return a.exact; }))
        << partitions;
  }
}

TEST(Footprint, SupersetsAreNotExact) {
  const machine::Description a1 = llvm::cantFail(machine::load("a1"));
  auto exact = [&](const Instruction &inst) {
    llvm::SmallVector<Access> accesses;
    footprints(inst, a1, accesses);
    return llvm::all_of(accesses, [](const Access &a) { return a.exact; });
  };
  // Every third partition: one access for each.
  DmaFill fill;
  fill.elemBytes = 4;
  fill.dstMem = Memory::Sb;
  fill.n4 = 42;
  fill.dstStride4 = 3 * 65536;
  EXPECT_TRUE(exact(fill));
  // More runs of partitions than are told apart.
  fill.n4 = 2, fill.dstStride4 = 2 * 65536;
  fill.n3 = 300, fill.dstStride3 = 4 * 65536;
  EXPECT_FALSE(exact(fill));
  // Steps that change partition and place: one access for each.
  fill.n3 = 1;
  fill.n4 = 3, fill.dstStride4 = 65536 - 8, fill.dstBase = 16;
  EXPECT_TRUE(exact(fill));
  // An element that crosses the end of a partition is divided there.
  fill.dstBase = 14;
  EXPECT_TRUE(exact(fill));
  // Patterns that do are not.
  fill.n2 = 3, fill.dstStride2 = 6;
  EXPECT_FALSE(exact(fill));
  // Cells of tiles of 8 x 8 along the free axis: none is omitted by steps of
  // 6 bytes, some are by steps of 12.
  ActDrain drain;
  drain.cols = 8;
  drain.dstType = ElemType::Bfp, drain.dstMantissa = 8, drain.dstBlock = 8;
  drain.dstOrientation = Orientation::F;
  drain.n2 = 4, drain.dstStride2 = 6;
  EXPECT_TRUE(exact(drain));
  drain.dstStride2 = 12;
  EXPECT_FALSE(exact(drain));
}

TEST(Footprint, PoolWindow) {
  VecPool pool;
  pool.channels = 1;
  pool.srcStrideW = 4;
  pool.inD = pool.inH = 1;
  pool.inW = 10;
  pool.outW = 4, pool.kW = 3, pool.sW = 2, pool.pW = 1;
  pool.dstOffset = 100, pool.dstStrideW = 4;
  // Columns 0 .. (3*2 - 1 + 2) = 7.
  EXPECT_EQ(texts(pool),
            Texts({"reads sb[0..1)[0..32)", "writes sb[0..1)[100..116)"}));
}

TEST(Footprint, FarPartitionsStayOutside) {
  VecMap map;
  map.channels = 1048575;
  map.dstPart = 4095;
  llvm::SmallVector<Access> accesses;
  footprints(map, tiny(), accesses);
  EXPECT_GE(accesses.back().partEnd, tiny().sb.partitions);
}

TEST(Conflict, KindsOfAccess) {
  Access a, b;
  EXPECT_FALSE(conflict(a, b)) << "two reads";
  b.write = true;
  EXPECT_TRUE(conflict(a, b));
  b.space = Space::Psum;
  EXPECT_FALSE(conflict(a, b)) << "different memories";
  a.space = b.space = Space::Xr;
  a.write = a.merge = b.merge = true;
  EXPECT_FALSE(conflict(a, b)) << "two merges";
  b.merge = false;
  EXPECT_TRUE(conflict(a, b));
}

TEST(Conflict, AgainstMarkingEveryUnit) {
  std::mt19937_64 random(6);
  unsigned exact = 0, both = 0, rounds = 20000;
  for (unsigned round = 0; round < rounds; ++round) {
    Access accesses[2];
    for (Access &access : accesses) {
      DmaFill fill;
      fill.elemBytes = 1u << (random() % 3);
      fill.dstMem = Memory::Dram;
      fill.dstBase = 2000 + random() % 64;
      fill.n2 = 1 + random() % 4, fill.n3 = 1 + random() % 4,
      fill.n4 = 1 + random() % 4;
      fill.dstStride2 = int64_t(random() % 65) - 32;
      fill.dstStride3 = int64_t(random() % 33) - 16;
      fill.dstStride4 = int64_t(random() % 17) - 8;
      llvm::SmallVector<Access> out;
      footprints(fill, tiny(), out);
      access = out.front();
      // The pattern covers every byte that the definition names.
      std::set<int64_t> marked = units(access);
      for (unsigned i = 0; i < fill.n2; ++i)
        for (unsigned j = 0; j < fill.n3; ++j)
          for (unsigned k = 0; k < fill.n4; ++k)
            for (unsigned byte = 0; byte < fill.elemBytes; ++byte)
              ASSERT_TRUE(marked.count(
                  int64_t(fill.dstBase) + i * fill.dstStride2 +
                  j * fill.dstStride3 + k * fill.dstStride4 + byte));
      ASSERT_EQ(access.begin, *marked.begin());
      ASSERT_EQ(access.end, *marked.rbegin() + 1);
    }
    std::set<int64_t> left = units(accesses[0]), right = units(accesses[1]);
    bool meet = false;
    for (int64_t unit : left)
      meet = meet || right.count(unit);
    bool found = conflict(accesses[0], accesses[1]);
    if (meet)
      ASSERT_TRUE(found) << "a conflict is never missed";
    exact += meet == found;
    both += meet;
  }
  EXPECT_EQ(exact, rounds) << "small patterns are decided exactly";
  EXPECT_GT(both, rounds / 10);
}

TEST(Conflict, LargeInterleavedPatternsAreApart) {
  Access even, odd;
  even.write = true;
  even.dims[0] = odd.dims[0] = {1u << 20, 64};
  even.numDims = odd.numDims = 1;
  even.runLength = odd.runLength = 32;
  odd.base = 32;
  even.end = 64 << 20, odd.begin = 32, odd.end = even.end + 32;
  EXPECT_FALSE(conflict(even, odd));
  odd.base = 31;
  EXPECT_TRUE(conflict(even, odd));
}
} // namespace
