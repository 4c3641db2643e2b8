// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The examples of docs/Machine.md, and the promise that a better machine never
// needs more cycles.

#include "ashlar/Machine/Transposes.h"
#include "gtest/gtest.h"
#include <functional>
#include <random>

using namespace ashlar::machine;

namespace {

Description a1() { return Description(); }

DmaSide dram(llvm::ArrayRef<uint64_t> counts, llvm::ArrayRef<int64_t> strides,
             uint64_t bytes) {
  return {true, counts, strides, bytes};
}

DmaSide onChip(llvm::ArrayRef<uint64_t> counts, llvm::ArrayRef<int64_t> strides,
               uint64_t bytes) {
  return {false, counts, strides, bytes};
}

} // namespace

TEST(Cycles, DramRuns) {
  const Description m = a1();
  const uint64_t counts[] = {3, 4, 10};
  const int64_t whole[] = {40, 10, 1};
  EXPECT_EQ(dramTraffic(m, dram(counts, whole, 1)).runs, 1u);
  EXPECT_EQ(dramTraffic(m, dram(counts, whole, 1)).burstBytes, 128u);
  const int64_t rows[] = {400, 100, 1};
  const DramTraffic split = dramTraffic(m, dram(counts, rows, 1));
  EXPECT_EQ(split.runs, 12u);
  EXPECT_EQ(split.usefulBytes, 120u);
  EXPECT_EQ(split.burstBytes, 12u * 64);
  const int64_t strided[] = {400, 100, 2};
  EXPECT_EQ(dramTraffic(m, dram(counts, strided, 1)).runs, 120u);
  const int64_t repeated[] = {10, 1, 0};
  EXPECT_EQ(dramTraffic(m, dram(counts, repeated, 1)).runs, 3u);
  const int64_t backwards[] = {40, 10, -1};
  EXPECT_EQ(dramTraffic(m, dram(counts, backwards, 1)).runs, 120u);
  EXPECT_EQ(dramTraffic(m, onChip(counts, whole, 1)).runs, 0u);
}

TEST(Cycles, DmaExamples) {
  const Description m = a1();
  const uint64_t counts[] = {4096};
  const int64_t strides[] = {1};
  const DmaSide far = dram(counts, strides, 1);
  const DmaSide near = onChip(counts, strides, 1);
  EXPECT_EQ(dmaCopy(m, far, near), (Timing{64, 264, 64}));
  EXPECT_EQ(dmaCopy(m, near, near), (Timing{32, 32, 0}));
  EXPECT_EQ(dmaCopy(m, far, far), (Timing{128, 528, 128}));
  EXPECT_EQ(dmaContiguous(m, 4096), (Timing{64, 264, 64}));
  EXPECT_EQ(dmaFill(m, near), (Timing{32, 32, 0}));
}

TEST(Cycles, GatherCountsWholeRowsAndTheIndices) {
  const Description m = a1();
  // 16 rows of 1,024 bytes: 256 bursts; 16,384 bytes and 16 indices on chip.
  const uint64_t counts[] = {16, 256};
  const int64_t strides[] = {0, 4}, moves[] = {8, 0};
  const DmaSide rows = dram(counts, strides, 4);
  const int64_t dense[] = {1024, 4};
  const DmaSide result = onChip(counts, dense, 4);
  EXPECT_EQ(dmaGather(m, rows, {moves, 8}, result), (Timing{256, 456, 256}));
  EXPECT_EQ(gatherTraffic(m, rows, {moves, 8}).usefulBytes, 16384u);
  // Rows that follow each other in memory are fetched one by one all the same.
  const int64_t follow[] = {40, 4};
  const uint64_t narrow[] = {16, 10};
  EXPECT_EQ(gatherTraffic(m, dram(narrow, follow, 4), {moves, 8}).burstBytes,
            16u * 64);
  // An index of its own for each element: 64 elements, a burst each; an index
  // that nothing moves: one row.
  const int64_t both[] = {32, 4}, none[] = {0, 0};
  const uint64_t few[] = {8, 8};
  const DmaSide square = onChip(few, both, 4);
  EXPECT_EQ(dmaGather(m, dram(few, both, 4), {both, 4}, square),
            (Timing{64, 264, 64}));
  EXPECT_EQ(dmaGather(m, dram(few, both, 4), {none, 4}, square),
            (Timing{4, 204, 4}));
  // Indices can be the longer part: 4,096 of 8 bytes for one byte each.
  const uint64_t many[] = {4096};
  const int64_t step[] = {8};
  Description fast = a1();
  fast.dram.bytesPerCycle = 1 << 20;
  const int64_t bytes[] = {1};
  EXPECT_EQ(
      dmaGather(fast, dram(many, strides, 1), {step, 8}, onChip(many, bytes, 1))
          .issue,
      4096u * 9 / 128);
}

/// a1 whose copies are no longer free of set-up, latency and byte shuffles.
static Description priced() {
  Description m = a1();
  m.dma.setupCycles = 8;
  m.dma.onchipLatency = 32;
  m.dma.runsPerCycle = 4;
  return m;
}

/// A side in SB: rows in partitions.
static DmaSide inSb(llvm::ArrayRef<uint64_t> counts,
                    llvm::ArrayRef<int64_t> strides, uint64_t bytes) {
  return {false, counts, strides, bytes, 65536};
}

TEST(Cycles, RunsOnChipEndWherePartitionsEnd) {
  const uint64_t counts[] = {3, 4, 10};
  const int64_t whole[] = {40, 10, 1}, partitions[] = {65536, 10, 1};
  EXPECT_EQ(onchipRuns(inSb(counts, whole, 1)), 1u);
  EXPECT_EQ(onchipRuns(inSb(counts, partitions, 1)), 3u);
  EXPECT_EQ(onchipRuns(dram(counts, whole, 1)), 0u);
  const int64_t turned[] = {4, 12, 65536};
  EXPECT_EQ(onchipRuns(inSb(counts, turned, 4)), 120u);
  const int64_t repeated[] = {40, 10, 0};
  EXPECT_EQ(onchipRuns(inSb(counts, repeated, 1)), 12u);
  // Whole partitions follow each other in address, not in memory; a run over
  // the end of a partition is two.
  const uint64_t full[] = {2, 65536}, over[] = {65536 + 10};
  const int64_t next[] = {65536, 1}, one[] = {1};
  EXPECT_EQ(onchipRuns(inSb(full, next, 1)), 2u);
  EXPECT_EQ(onchipRuns(inSb(over, one, 1)), 2u);
  EXPECT_EQ(onchipRuns(onChip(full, next, 1)), 1u);
}

TEST(Cycles, CopiesPayForSetUpLatencyAndRuns) {
  const Description m = priced();
  const uint64_t counts[] = {64, 64};
  const int64_t lies[] = {65536, 1}, turned[] = {1, 65536}, dense[] = {64, 1};
  const DmaSide rows = inSb(counts, lies, 1), columns = inSb(counts, turned, 1);
  const DmaSide far = dram(counts, dense, 1);
  // 4,096 bytes: 32 cycles, and 64 runs of 64 bytes 16.
  EXPECT_EQ(dmaCopy(m, rows, rows), (Timing{40, 72, 0, 8}));
  // Turned every byte is a run: 4,096 / 4.
  EXPECT_EQ(dmaCopy(m, rows, columns), (Timing{1032, 1064, 0, 8}));
  // DRAM works 64 cycles from the end of the set-up on; its latency hides
  // nothing of the chip's.
  EXPECT_EQ(dmaCopy(m, far, rows), (Timing{72, 272, 64, 8}));
  EXPECT_EQ(dmaCopy(m, far, columns), (Timing{1032, 1232, 64, 8}));
  EXPECT_EQ(dmaCopy(m, far, far), (Timing{136, 536, 128, 8}));
  EXPECT_EQ(dmaFill(m, columns), (Timing{1032, 1064, 0, 8}));
  EXPECT_EQ(dmaUnpack(m, {2560}, rows), (Timing{48, 248, 40, 8}));
  EXPECT_EQ(dmaCompress(m, 6400, {10000, 640}, 1), (Timing{168, 368, 100, 8}));
  EXPECT_EQ(dmaCompress(m, 6400, {10000, 640}, 2), (Timing{328, 528, 100, 8}));
  EXPECT_EQ(tileLoad(m, 23328, 2592, 0), (Timing{656, 688, 0, 8}));
  EXPECT_EQ(dmaInside(m, 4096, 64), 40u);
  EXPECT_EQ(dmaInside(m, 4096, 64, 3), 56u);
}

TEST(Cycles, UnpackCountsPackedBytesInDram) {
  const Description m = a1();
  const uint64_t counts[] = {4096};
  const int64_t strides[] = {1};
  const DmaSide near = onChip(counts, strides, 1);
  // 4096 codes of 5 bits are 2560 bytes, 40 bursts; 4096 bytes on chip.
  EXPECT_EQ(dmaUnpack(m, {2560}, near), (Timing{40, 240, 40}));
  EXPECT_EQ(dmaUnpack(m, {4096}, near), (Timing{64, 264, 64}));
  // 3 bits: 24 bursts, less than the 32 cycles of the on-chip side.
  EXPECT_EQ(dmaUnpack(m, {1536}, near), (Timing{32, 232, 24}));
  EXPECT_EQ(dmaUnpack(m, {4096}, near),
            dmaCopy(m, dram(counts, strides, 1), near));
  EXPECT_EQ(streamTraffic(m, {113}).runBytes, 113u);
  EXPECT_EQ(streamTraffic(m, {113}).burstBytes, 128u);
}

TEST(Cycles, StreamsWithoutZerosAreDecoded) {
  Description m = a1();
  m.dma.setupCycles = 8;
  m.dma.decodedCodesPerCycle = 64;
  const uint64_t counts[] = {4096};
  const int64_t strides[] = {1};
  const DmaSide near = onChip(counts, strides, 1);
  // 410 of 4096 codes as runs of 4 + 8 bits: 615 bytes, 10 bursts; the queue
  // writes 4096 bytes.
  EXPECT_EQ(dmaUnpack(m, {615, 410}, near), (Timing{40, 240, 10, 8}));
  // A slow decoder takes ceil(410 / 4) cycles.
  m.dma.decodedCodesPerCycle = 4;
  EXPECT_EQ(dmaUnpack(m, {615, 410}, near), (Timing{111, 311, 10, 8}));
}

TEST(Cycles, CompressedMapsTakeTheirBursts) {
  const Description m = a1();
  EXPECT_EQ(wholeBursts(m, 0), 0u);
  EXPECT_EQ(wholeBursts(m, 65), 128u);
  // 6,400 bytes of bursts for a feature map of 10,000: DRAM takes 100 cycles,
  // the queue 79, or 157 in two passes; headers are read before what follows
  // them.
  EXPECT_EQ(dmaCompress(m, 6400, {10000}, 1), (Timing{100, 300, 100}));
  EXPECT_EQ(dmaCompress(m, 6400, {10000}, 2), (Timing{157, 357, 100}));
  EXPECT_EQ(dmaExpand(m, 6400, {10000}), (Timing{100, 500, 100}));
}

TEST(Cycles, PeExamples) {
  const Description m = a1();
  EXPECT_EQ(pePasses(m, 8, 8), 1u);
  EXPECT_EQ(pePasses(m, 16, 8), 2u);
  EXPECT_EQ(pePasses(m, 9, 16), 4u);
  // A magnitude of nothing still takes a pass.
  EXPECT_EQ(pePasses(m, 0, 8), 1u);
  EXPECT_EQ(peLoad(m, 128, 1), (Timing{128, 128, 0}));
  EXPECT_EQ(peLoad(m, 27, 2), (Timing{54, 54, 0}));
  EXPECT_EQ(peMatmul(m, 512, 1, 64), (Timing{512, 702, 0}));
  // The cell-level count of the 128 x 64 and 4 x 4 transposes.
  EXPECT_EQ(peMatmul(m, 128, 1, 64).complete, 318u);
  Description fig3 = m;
  fig3.pe.rows = fig3.pe.columns = 4;
  // Cell (row r, column c) of Fig. 3 appears at cycle r + c + R.
  EXPECT_EQ(peMatmul(fig3, 1, 1, 1).complete, 4u);
  EXPECT_EQ(peMatmul(fig3, 4, 1, 4).complete, 10u);
  // The next tile is loaded beside the stream, if the array has a second set.
  EXPECT_EQ(peTile(m, 512, 128), 512u);
  EXPECT_EQ(peTile(m, 100, 128), 128u);
  fig3.pe.shadowSet = false;
  EXPECT_EQ(peTile(fig3, 100, 128), 228u);
}

TEST(Cycles, DrainAndVecExamples) {
  const Description m = a1();
  EXPECT_EQ(actDrain(m, 64, 512), (Timing{512, 544, 0}));
  EXPECT_EQ(actDrain(m, 65, 10), (Timing{20, 52, 0}));
  EXPECT_EQ(vecMap(m, VecCost::Cheap, VecStore::Same, 130, 100).issue, 200u);
  EXPECT_EQ(vecElementCycles(m, VecCost::Cheap, VecStore::Encode), 2u);
  EXPECT_EQ(vecElementCycles(m, VecCost::Cheap, VecStore::Convert), 2u);
  EXPECT_EQ(vecElementCycles(m, VecCost::Expensive, VecStore::Encode), 5u);
  PoolShape pool;
  pool.in[1] = pool.in[2] = 113;
  pool.out[1] = pool.out[2] = 56;
  pool.kernel[1] = pool.kernel[2] = 3;
  // Stride 2: the direct 56 * 56 * 9 beats 113 * 56 * 3 + 56 * 56 * 3.
  EXPECT_EQ(vecPool(m, PoolKind::Max, VecStore::Same, 64, pool).issue, 28224u);
  EXPECT_EQ(vecPool(m, PoolKind::Sum, VecStore::Same, 64, pool).issue, 28224u);
  EXPECT_EQ(vecPool(m, PoolKind::Average, VecStore::Same, 64, pool).issue,
            28224u + 4 * 3136);
  EXPECT_EQ(
      vecReduce(m, VecCost::Cheap, VecStore::Same, 512, 1, 49, true).issue,
      4u * (49 + 4));
  EXPECT_EQ(
      vecReduceChannels(m, VecCost::Cheap, VecStore::Same, 128, 10, false),
      (Timing{10, 10 + 32 + 128, 0}));
  EXPECT_EQ(vecScan(m, 130, 100), (Timing{200, 232, 0}));
  EXPECT_EQ(vecSelect(m, 0), (Timing{8, 40, 0}));
  EXPECT_EQ(vecSelect(m, 16), (Timing{24, 56, 0}));
}

TEST(Cycles, PoolsThatDrainPsum) {
  Description m = llvm::cantFail(load("a1"));
  m.vec.psumLanes = 64;
  // 2 x 2 by 2: every entry once, a column per lane.
  PoolShape shape{{1, 8, 56}, {1, 4, 28}, {1, 2, 2}};
  auto cycles = [&](VecCost function, uint64_t columns) {
    return vecDrain(m, PoolKind::Max, VecStore::Same, function, columns, shape)
        .issue;
  };
  EXPECT_EQ(pooledEntries(PoolKind::Max, shape), 448u);
  EXPECT_EQ(cycles(VecCost::Cheap, 64), 448u);
  // The function is the slowest stage, PSUM's width the next one.
  EXPECT_EQ(cycles(VecCost::Expensive, 64), 4 * 448u);
  m.psum.readBytesPerCycle = 256;
  EXPECT_EQ(cycles(VecCost::Cheap, 64), 2 * 448u);
  m.vec.psumLanes = 16;
  EXPECT_EQ(cycles(VecCost::Cheap, 64), 4 * 448u);
  // 3 x 3 by 1, axis by axis: the first pass reads three taps of all rows.
  shape = {{1, 8, 20}, {1, 6, 18}, {1, 3, 3}};
  EXPECT_EQ(pooledEntries(PoolKind::Max, shape), 8 * 18 * 3u);
  EXPECT_EQ(pooledEntries(PoolKind::Average, shape), 6 * 18 * 9u);
  const Timing timing = vecDrain(m, PoolKind::Average, VecStore::Encode,
                                 VecCost::Cheap, 1, shape);
  EXPECT_EQ(timing.complete - timing.issue, m.vec.latency + m.act.latency);
}

TEST(Cycles, EveryOperationHasAClass) {
  for (const char *name : {"copy",        "neg",       "abs",
                           "sqrt",        "exp",       "log",
                           "reciprocal",  "relu",      "leakyRelu",
                           "clip",        "sigmoid",   "tanh",
                           "hardSigmoid", "hardSwish", "elu",
                           "selu",        "softplus",  "softsign",
                           "erf",         "gelu",      "geluTanh",
                           "sin",         "cos",       "tan",
                           "asin",        "acos",      "atan",
                           "sinh",        "cosh",      "asinh",
                           "acosh",       "atanh",     "swish",
                           "floor",       "ceil",      "round",
                           "sign",        "not",       "add",
                           "sub",         "mul",       "div",
                           "max",         "min",       "pow",
                           "prelu",       "equal",     "less",
                           "lessOrEqual", "greater",   "greaterOrEqual",
                           "and",         "or",        "xor",
                           "mod",         "sum",       "mean",
                           "prod",        "sumSquare", "l1",
                           "argmax",      "argmin",    "blockAdd",
                           "blockSub",    "blockMul",  "blockDiv"})
    EXPECT_TRUE(vecCostOf(name).has_value()) << name;
  EXPECT_FALSE(vecCostOf("conv").has_value());
}

namespace {

/// One random sample of every formula, as a flat list of numbers.
std::vector<uint64_t> sample(const Description &m, uint32_t seed) {
  std::mt19937 rng(seed);
  auto pick = [&](uint64_t limit) { return 1 + rng() % limit; };
  std::vector<uint64_t> list;
  auto put = [&](const Timing &t) {
    list.insert(list.end(), {t.issue, t.complete, t.dram});
    // DRAM's turn ends no earlier on a worse machine.
    list.push_back(t.setup + t.dram);
  };
  const uint64_t counts[] = {pick(5), pick(9), pick(100)};
  const int64_t strides[] = {static_cast<int64_t>(pick(4000)),
                             static_cast<int64_t>(pick(400)),
                             static_cast<int64_t>(pick(4)) - 1};
  const DmaSide far = dram(counts, strides, 1);
  const DmaSide near =
      rng() & 1 ? onChip(counts, strides, 1) : inSb(counts, strides, 1);
  put(dmaCopy(m, far, near));
  put(dmaCopy(m, near, far));
  put(dmaGather(m, far, {strides, 4}, near));
  put(dmaCompress(m, pick(100000), {pick(100000), pick(1000)}, 1 + rng() % 2));
  put(dmaExpand(m, pick(100000), {pick(100000), pick(1000)}));
  put(tileLoad(m, pick(100000), pick(10000), pick(5000)));
  put(dmaCopy(m, near, near));
  put(dmaFill(m, far));
  put(dmaUnpack(m, {pick(5000), pick(5000)}, near));
  put(dmaContiguous(m, pick(100000)));
  put(peLoad(m, pick(128), pick(2)));
  put(peMatmul(m, pick(1000), pePasses(m, pick(16), pick(16)), pick(64),
               pick(16)));
  const VecCost cost = static_cast<VecCost>(rng() % 4);
  put(actDrain(m, pick(64), pick(1000), cost));
  put(actDrainColumns(m, pick(64), pick(1000), cost));
  put(tileDrain(m, pick(64), pick(1000), cost));
  const VecStore store = static_cast<VecStore>(rng() % 3);
  put(vecMap(m, cost, store, pick(2000), pick(5000)));
  PoolShape shape;
  for (int axis = 0; axis < 3; ++axis) {
    shape.in[axis] = pick(30);
    shape.out[axis] = pick(30);
    shape.kernel[axis] = pick(4);
  }
  put(vecPool(m, static_cast<PoolKind>(rng() % 3), store, pick(300), shape));
  put(vecReduce(m, cost, store, pick(300), pick(50), pick(50), rng() & 1));
  put(vecReduceChannels(m, cost, store, pick(300), pick(50), rng() & 1));
  put(vecScan(m, pick(2000), pick(5000)));
  put(vecSelect(m, pick(16)));
  return list;
}

struct Improvement {
  const char *what;
  std::function<void(Description &)> apply;
};

const Improvement improvements[] = {
    {"dram bandwidth", [](Description &m) { m.dram.bytesPerCycle += 7; }},
    {"dram latency", [](Description &m) { m.dram.latency -= 3; }},
    {"on-chip bandwidth",
     [](Description &m) { m.dma.onchipBytesPerCycle += 5; }},
    {"set-up", [](Description &m) { m.dma.setupCycles -= 1; }},
    {"on-chip latency", [](Description &m) { m.dma.onchipLatency -= 1; }},
    {"runs", [](Description &m) { m.dma.runsPerCycle += 1; }},
    {"decoder", [](Description &m) { m.dma.decodedCodesPerCycle += 1; }},
    {"any runs", [](Description &m) { m.dma.runsPerCycle = 0; }},
    {"load rate", [](Description &m) { m.pe.loadRowsPerCycle += 1; }},
    {"digit bits", [](Description &m) { m.pe.cellDigitBits += 1; }},
    {"act lanes", [](Description &m) { m.act.lanes += 1; }},
    {"act latency", [](Description &m) { m.act.latency -= 1; }},
    {"act costs",
     [](Description &m) {
       m.act.costVeryExpensive -= 1;
       m.act.costExpensive -= 1;
     }},
    {"psum write ports", [](Description &m) { m.psum.writePorts += 1; }},
    {"any psum write ports", [](Description &m) { m.psum.writePorts = 0; }},
    {"psum read width", [](Description &m) { m.psum.readBytesPerCycle += 9; }},
    {"any psum read width",
     [](Description &m) { m.psum.readBytesPerCycle = 0; }},
    {"vec lanes", [](Description &m) { m.vec.lanes += 3; }},
    {"vec latency", [](Description &m) { m.vec.latency -= 1; }},
    {"very expensive", [](Description &m) { m.vec.costVeryExpensive -= 1; }},
    {"cheaper everything",
     [](Description &m) {
       m.vec.costMedium = m.vec.costExpensive = m.vec.costVeryExpensive = 1;
     }},
};

} // namespace

TEST(Cycles, BetterMachinesAreNeverSlower) {
  for (const Improvement &improvement : improvements) {
    Description worse = priced();
    worse.vec.lanes = 20; // below P, so that lanes matter
    worse.act.lanes = 10;
    worse.act.costExpensive = 5;
    worse.act.costVeryExpensive = 9;
    worse.psum.writePorts = 2;
    worse.psum.readBytesPerCycle = 40;
    for (int step = 0; step < 3; ++step) {
      Description better = worse;
      improvement.apply(better);
      for (uint32_t seed = 0; seed < 200; ++seed) {
        const auto slow = sample(worse, seed), fast = sample(better, seed);
        for (size_t i = 0; i < slow.size(); ++i)
          ASSERT_LE(fast[i], slow[i]) << improvement.what << " value " << i;
      }
      worse = better;
      if (worse.psum.writePorts == 0 || worse.psum.readBytesPerCycle == 0)
        break;
      if (improvement.what == std::string("very expensive") && step == 2)
        break;
    }
  }
}

/// One unit of the sparse cluster on a random tile and stream.
static uint64_t tileCycles(const Description &m, uint32_t seed) {
  std::mt19937 random(seed);
  const uint64_t cols = 1 + random() % 300, pitch = cols + random() % 4;
  const uint64_t lines = 1 + random() % 20, passes = 1 + random() % 4;
  const uint64_t regions = 1 + random() % 5;
  TileIssue unit(m, tileStep(m, m.sparse.lanes, lines, cols, pitch), passes,
                 regions, lines * pitch);
  uint64_t entries = 0;
  for (uint64_t channel = 0; channel < 4; ++channel) {
    for (uint64_t n = random() % 20; n > 0; --n, ++entries)
      unit.issue(static_cast<uint32_t>(random() % regions));
    unit.endChannel();
  }
  return std::max(unit.cycles(), tileDecode(m, entries));
}

TEST(Cycles, BetterSparseClustersAreNeverSlower) {
  for (uint32_t seed = 0; seed < 500; ++seed)
    for (uint64_t latency : {1u, 3u, 8u})
      for (uint64_t lanes : {1u, 16u, 100u, 128u}) {
        Description m = a1();
        m.sparse.accumulateLatency = latency;
        m.sparse.lanes = lanes;
        m.sparse.coefficientsPerStep = 1 + seed % 4;
        const uint64_t cycles = tileCycles(m, seed);
        auto better = [&](auto change) {
          Description fast = m;
          change(fast.sparse);
          ASSERT_LE(tileCycles(fast, seed), cycles) << seed;
        };
        better([](Sparse &s) { s.lanes += 1; });
        better([](Sparse &s) { s.lanes *= 2; });
        better([](Sparse &s) { s.coefficientsPerStep += 1; });
        better([](Sparse &s) { s.wmBroadcast += 1; });
        better([](Sparse &s) { s.accumulateLatency = 1; });
      }
}

TEST(Cycles, TileExamples) {
  const Description m = a1();
  // 14 rows of 14 in 128 lanes: 9 and 5 at a time; 7 x 7 twice side by side.
  EXPECT_EQ(tileStep(m, 128, 14, 14, 14), (TileStep{2, 1, 126}));
  EXPECT_EQ(tileStep(m, 128, 3, 300, 300), (TileStep{9, 1, 128}));
  EXPECT_EQ(tileStep(m, 128, 7, 7, 7), (TileStep{1, 2, 49}));
  EXPECT_EQ(tileLoad(m, 23328, 2592, 23328), (Timing{183, 183, 0}));
  EXPECT_EQ(tileInit(m, 16, 49, false), (Timing{1, 1, 0}));
  EXPECT_EQ(tileInit(m, 16, 196, true), (Timing{32, 32, 0}));
}

TEST(Cycles, PortsOfPsumAndFunctionsOfAct) {
  Description m = a1();
  // Free: all groups at once, any function.
  EXPECT_EQ(peMatmul(m, 7, 1, 64, 16).issue, 7u);
  EXPECT_EQ(actDrain(m, 64, 512, VecCost::VeryExpensive).issue, 512u);
  EXPECT_EQ(psumReadCycles(m, 64, 512), 0u);
  m.psum.writePorts = 4;
  EXPECT_EQ(peMatmul(m, 7, 1, 64), (Timing{7, 7 + 63 + 127, 0}));
  EXPECT_EQ(peMatmul(m, 7, 1, 64, 4).issue, 7u);
  EXPECT_EQ(peMatmul(m, 7, 2, 64, 5).issue, 28u);
  EXPECT_EQ(peMatmul(m, 7, 1, 64, 16), (Timing{28, 28 + 63 + 127, 0}));
  // A partition gives one element per cycle, PSUM takes four results.
  EXPECT_EQ(peMatmul(m, 7, 1, 64, 4, 2).issue, 14u);
  EXPECT_EQ(peMatmul(m, 7, 1, 64, 4, 3).issue, 7u);
  EXPECT_EQ(peMatmul(m, 7, 1, 64, 8, 2).issue, 14u);
  EXPECT_EQ(peMatmul(m, 7, 1, 64, 4, 4).issue, 28u);
  m.psum.readBytesPerCycle = 512;
  EXPECT_EQ(actDrain(m, 64, 512), (Timing{512, 544, 0}));
  m.psum.readBytesPerCycle = 100;
  EXPECT_EQ(actDrain(m, 64, 512), (Timing{2622, 2654, 0}));
  EXPECT_EQ(actDrainColumns(m, 64, 512), (Timing{2622, 2654, 0}));
  EXPECT_EQ(tileDrain(m, 64, 512), (Timing{512, 544, 0}));
  m.act.costExpensive = 4;
  m.act.costVeryExpensive = 8;
  EXPECT_EQ(actDrain(m, 64, 512, VecCost::Medium).issue, 2622u);
  EXPECT_EQ(actDrain(m, 64, 512, VecCost::VeryExpensive),
            (Timing{4096, 4128, 0}));
  EXPECT_EQ(tileDrain(m, 65, 10, VecCost::Expensive), (Timing{80, 112, 0}));
  // A lane ends its column before it takes the next: 63 columns start later.
  EXPECT_EQ(actDrainColumns(m, 64, 512, VecCost::VeryExpensive).issue,
            4096u + 63);
}

TEST(Cycles, BiggerArraysNeverStreamLonger) {
  for (uint64_t rows : {8u, 64u, 128u, 512u}) {
    Description m = a1();
    m.pe.rows = rows;
    EXPECT_EQ(peMatmul(m, 100, 2, 16).issue, 200u);
    EXPECT_EQ(peMatmul(m, 100, 2, 16).complete, 200 + 15 + rows - 1);
  }
}

TEST(Cycles, NothingWraps) {
  const Description m = a1();
  const uint64_t huge[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
  const int64_t strides[] = {INT64_MAX, INT64_MIN, 1};
  EXPECT_EQ(dmaCopy(m, dram(huge, strides, 8), dram(huge, strides, 8)).issue,
            maxCycles / 64);
  EXPECT_EQ(vecMap(m, VecCost::VeryExpensive, VecStore::Encode, UINT64_MAX,
                   UINT64_MAX)
                .complete,
            maxCycles);
  EXPECT_EQ(peMatmul(m, UINT64_MAX, UINT64_MAX, UINT64_MAX).complete,
            maxCycles);
}
