// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains of the sparse cluster that take the maxima of windows (act.pool):
// bits against a drain of the same sums and against the naive machine, cycles,
// and what the loader refuses.

#include "../Emulator/TestSupport.h"
#include "Convolution.h"
#include "ashlar/Machine/Cycles.h"
#include <algorithm>
#include <cstring>

using namespace ashlar;
using namespace ashlar::test;
using emulator::FaultKind;

namespace {

/// Windows of two entries by one along both axes, one of padding in front: as
/// many results as entries.
isa::ActPool poolOf(const isa::ActDrain &drain) {
  isa::ActPool pool;
  pool.psum = drain.psum;
  pool.psumStride = drain.psumStride1;
  pool.cols = drain.cols;
  pool.mode = drain.mode;
  pool.hasScale = drain.hasScale, pool.hasBias = drain.hasBias;
  pool.hasExp = drain.hasExp, pool.mapped = drain.mapped;
  pool.function = drain.function;
  pool.alpha = drain.alpha, pool.beta = drain.beta;
  pool.table = drain.table;
  pool.group = drain.group, pool.groupLanes = drain.groupLanes;
  pool.regionStride = drain.regionStride;
  pool.shift = drain.shift;
  pool.xrA = drain.xrA, pool.xrS = drain.xrS;
  pool.paramPart = drain.paramPart, pool.paramOffset = drain.paramOffset;
  pool.inH = pool.outH = drain.n1;
  pool.inW = pool.outW = drain.n2;
  pool.kH = pool.kW = 2;
  pool.pH = pool.pW = 1;
  pool.srcType = pool.dstType = drain.dstType;
  pool.srcMantissa = pool.dstMantissa = drain.dstMantissa;
  pool.srcBlock = pool.dstBlock = drain.dstBlock;
  pool.dstPart = drain.dstPart, pool.dstOffset = drain.dstOffset;
  pool.dstXr = drain.dstXr, pool.dstXrClear = drain.dstXrClear;
  pool.dstStrideH = drain.dstStride1, pool.dstStrideW = drain.dstStride2;
  return pool;
}

/// The program with a pool in place of each drain.
template <typename Fn>
container::Program pooled(container::Program program, Fn change) {
  return withCode(std::move(program), [&](isa::Instruction &inst) {
    if (const auto *drain = std::get_if<isa::ActDrain>(&inst)) {
      isa::ActPool pool = poolOf(*drain);
      change(pool);
      inst = pool;
    }
  });
}

container::Program pooled(container::Program program) {
  return pooled(std::move(program), [](isa::ActPool &) {});
}

std::vector<float> floatsOf(const container::Program &program,
                            emulator::RunResult *result = nullptr) {
  const std::vector<uint8_t> bytes = bytesOf(program, {}, result);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty())
    std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// An image of eight rows and columns in four tiles, two of which each of two
/// groups of units has.
struct PooledDrain : testing::Test {
  PooledDrain() {
    conv.channels = conv.results = conv.height = conv.width = 8;
    conv.epilogue = Epilogue::Float;
    plan.tileH = 3;
    plan.tileW = 5;
    plan.channelsPerLoad = 8;
    plan.copies = 2;
    plan.regions = 4;
    plan.drainTogether = true;
  }
  container::Program build() {
    std::mt19937_64 random(31);
    conv.fill(random, 0.5, machine);
    return buildTiles(conv, plan, machine, random).program;
  }

  machine::Description machine = llvm::cantFail(machine::load("a1"));
  Convolution conv;
  TilePlan plan;
};

TEST_F(PooledDrain, MaximaOfWhatADrainStores) {
  for (const bool mapped : {false, true}) {
    plan.mapped = mapped;
    const container::Program program = build();
    emulator::RunResult apart, together;
    const std::vector<float> map = floatsOf(program, &apart);
    const std::vector<float> found = floatsOf(pooled(program), &together);
    ASSERT_EQ(map.size(), 8u * 8 * 8);
    ASSERT_EQ(found.size(), map.size());
    for (size_t i = 0; i < map.size(); ++i) {
      float most = map[i];
      const bool row = i / 8 % 8 > 0, column = i % 8 > 0;
      most = row ? std::max(most, map[i - 8]) : most;
      most = column ? std::max(most, map[i - 1]) : most;
      most = row && column ? std::max(most, map[i - 9]) : most;
      EXPECT_EQ(found[i], most) << i;
    }
    // One result ends with each entry.
    const auto act = static_cast<size_t>(isa::Queue::Act);
    EXPECT_EQ(together.queues[act].busy, apart.queues[act].busy);
  }
}

TEST_F(PooledDrain, EncodedMapsAreThoseOfTheNaiveMachine) {
  conv.epilogue = Epilogue::Encoded;
  const container::Program program = pooled(build());
  EXPECT_EQ(bytesOf(program), naiveBytesOf(program));
  conv.epilogue = Epilogue::Float;
  const container::Program floats = pooled(build());
  EXPECT_EQ(bytesOf(floats), naiveBytesOf(floats));
}

TEST_F(PooledDrain, FieldsAreChecked) {
  const container::Program program = build();
  auto fault = [&](auto change) {
    const emulator::Fault fault = faultOf(pooled(program, change));
    EXPECT_FALSE(fault.message.empty()) << "the program loads";
    return fault.kind;
  };
  // An entry in three windows, a window without an entry.
  EXPECT_EQ(fault([](auto &op) { op.kH = 3; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.kW = 3; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.pH = 2; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.pW = -1; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.sH = 4095; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.mode = isa::DrainMode::Raw64; }),
            FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.groupLanes = 3; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.regionStride = 0; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.dstStrideW = 0; }), FaultKind::BadField);
  // Entries that no tile has, and tiles beyond the entries.
  EXPECT_EQ(fault([](auto &op) { op.inH = 9; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.inW = 7, op.outW = 7; }),
            FaultKind::OutOfRange);
  // Sums that nothing made.
  EXPECT_NE(fault([](auto &op) { op.psum = 1000; }), FaultKind::BadField);
  machine.act.poolColumns = 7;
  EXPECT_EQ(faultOf(pooled(build())).kind, FaultKind::BadField);
  machine.act.poolColumns = 0;
  EXPECT_EQ(faultOf(pooled(build())).kind, FaultKind::BadField);
}

TEST_F(PooledDrain, TilesThatTheProgramCutsAreRefused) {
  plan.copies = 1;
  plan.drainTogether = false;
  plan.tileH = plan.tileW = 8;
  plan.regions = 8;
  plan.cut = TileCut{2};
  for (const bool disjoint : {false, true}) {
    plan.cut->disjoint = disjoint;
    plan.cut->runTime = !disjoint;
    const emulator::Fault fault = faultOf(pooled(build()));
    EXPECT_NE(fault.message.find("a pool of tiles that the program cuts"),
              std::string::npos)
        << fault.message;
  }
}

/// Steps of windows that end together, entry by entry.
TEST(TilePool, StepsAreThoseOfAWalk) {
  std::mt19937 random(5);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 500; ++i) {
    machine::PoolShape shape;
    std::array<uint64_t, 2> stride;
    std::array<int64_t, 2> pad;
    std::vector<int64_t> ends[2];
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t in = pick(1, 12);
      stride[axis] = static_cast<uint64_t>(pick(1, 4));
      const int64_t kernel = pick(1, 2 * static_cast<int64_t>(stride[axis]));
      pad[axis] = pick(0, kernel - 1);
      const int64_t step = static_cast<int64_t>(stride[axis]);
      const int64_t out = pick(1, (in - 1 + pad[axis]) / step + 1);
      shape.in[axis + 1] = static_cast<uint64_t>(in);
      shape.out[axis + 1] = static_cast<uint64_t>(out);
      shape.kernel[axis + 1] = static_cast<uint64_t>(kernel);
      ends[axis].assign(static_cast<size_t>(in), 0);
      for (int64_t o = 0; o < out; ++o)
        ++ends[axis][static_cast<size_t>(
            std::min(o * step - pad[axis] + kernel, in) - 1)];
    }
    uint64_t steps = 0;
    for (int64_t row : ends[0])
      for (int64_t column : ends[1])
        steps += static_cast<uint64_t>(std::max<int64_t>(row * column, 1));
    EXPECT_EQ(machine::tilePoolSteps(shape, stride, pad), steps);
  }
}

} // namespace
