// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The four statements about tiles balanced by sparsity, on programs of the
// machine: tiles are cut while the program runs. Their dependents and the model
// without instructions are in test/Unit/Claims/SparseTilesTest.cpp.

#include "../Emulator/TestSupport.h"
#include "Convolution.h"
#include "ashlar/Container/Container.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <numeric>

using namespace ashlar;
using namespace ashlar::test;

namespace {

/// A layer of 64 x 64 positions whose zeros follow a ramp, and its plan.
struct Layer {
  explicit Layer(bool mirrored = false) {
    conv.channels = 8;
    conv.results = 4;
    conv.height = conv.width = 64;
    conv.kH = conv.kW = 3;
    conv.padTop = conv.padLeft = conv.padBottom = conv.padRight = 1;
    conv.fill(random, 0.4, machine);
    makeSparse(conv, random, 0.15);
    if (mirrored)
      for (size_t row = 0; row < conv.stored.size(); row += 64) {
        std::reverse(conv.stored.begin() + row, conv.stored.begin() + row + 64);
        std::reverse(conv.values.begin() + row, conv.values.begin() + row + 64);
      }
    plan.tileH = 32;
    plan.tileW = 48;
    plan.regions = 4;
    plan.channelsPerLoad = 8;
    plan.cut = TileCut{16};
    plan.cut->runTime = true;
  }

  TileProgram program() { return buildTiles(conv, plan, machine, random); }

  machine::Description machine = llvm::cantFail(machine::load("a1"));
  std::mt19937_64 random{51};
  Convolution conv;
  TilePlan plan;
};

emulator::RunResult run(const container::Program &program) {
  emulator::Options options;
  options.recordTimes = true;
  emulator::RunResult result;
  sumsOf(program, options, &result);
  return result;
}

uint64_t runCycles(const container::Program &program) {
  const emulator::RunResult result = run(program);
  uint64_t cycles = 0;
  const auto code = llvm::cantFail(isa::decodeAll(program.code));
  for (size_t i = 0; i < code.size(); ++i)
    if (std::holds_alternative<isa::TccRun>(code[i]))
      cycles += result.times[i].issueEnd - result.times[i].start;
  return cycles;
}

} // namespace

/// Several compute and memory units; a circuit cuts until every tile's metric
/// is within the threshold; each tile has one unit of each kind, and they work
/// in parallel.
TEST(Statements, S1_UnitsMemoriesAndACircuitThatCutsWithinTheThreshold) {
  Layer layer;
  EXPECT_GE(layer.machine.sparse.tcus, 2u);
  EXPECT_GE(layer.machine.sparse.fmuSets, 2u);
  const TileProgram program = layer.program();
  const emulator::RunResult result = run(program.program);
  ASSERT_EQ(result.cuts.size(), 1u);
  EXPECT_TRUE(result.cuts[0].met);
  EXPECT_LE(result.cuts[0].spread, 0.03);
  // Every position of the result in exactly one tile, a unit for each.
  std::vector<int> owners(64 * 64);
  for (const partition::Tile &tile : program.cut.tiles)
    for (int64_t y = tile.core.y0; y < tile.core.y0 + tile.core.rows; ++y)
      for (int64_t x = tile.core.x0; x < tile.core.x0 + tile.core.cols; ++x)
        ++owners[static_cast<size_t>(y * 64 + x)];
  EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), 64 * 64);
  EXPECT_EQ(program.cut.tiles.size(), layer.machine.sparse.tcus);
  // One unit alone takes longer than sixteen side by side, though their largest
  // tile makes them leave lanes unused.
  layer.plan.cut->units = 1;
  layer.plan.tileH = layer.plan.tileW = 64;
  layer.plan.regions = 2;
  EXPECT_GT(runCycles(layer.program().program), 2 * runCycles(program.program));
}

/// Cut, assign, compute, join: the bits of the layer in one piece.
TEST(Statements, S2_CutAssignComputeJoin) {
  Layer layer;
  const std::vector<int64_t> whole = layer.conv.direct();
  EXPECT_TRUE(sumsOf(layer.program().program) == whole);
  layer.plan.cut->disjoint = true;
  EXPECT_TRUE(sumsOf(layer.program().program) == whole);
}

/// A program on a medium: written to bytes, read back, executed.
TEST(Statements, S3_AStoredProgramCutsIntoSubstantiallySimilarTiles) {
  Layer layer;
  const std::vector<uint8_t> bytes =
      llvm::cantFail(container::serialize(layer.program().program));
  const container::Program read = llvm::cantFail(container::parse(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(
          reinterpret_cast<const char *>(bytes.data()), bytes.size())),
      "program"));
  const emulator::RunResult result = run(read);
  ASSERT_EQ(result.cuts.size(), 1u);
  EXPECT_LE(result.cuts[0].spread, 0.10);
}

/// The zeros decide: a mirrored map gives mirrored tiles, an even one others.
TEST(Statements, S4_TilesAreCutBySparsity) {
  Layer layer, mirrored(true);
  const auto columns = [](Layer &of) {
    const TileProgram program = of.program();
    EXPECT_TRUE(sumsOf(program.program) == of.conv.direct());
    int64_t left = 0, right = 0;
    for (const partition::Tile &tile : program.cut.tiles)
      (tile.core.x0 + tile.core.cols <= 32 ? left : right) += 1;
    return std::pair(left, right);
  };
  const auto [left, right] = columns(layer);
  const auto [mirroredLeft, mirroredRight] = columns(mirrored);
  EXPECT_LT(left, right);
  EXPECT_GT(mirroredLeft, left);
  EXPECT_LT(mirroredRight, right);
}

/// T11: cut anew for its own zeros, a layer has the same sums, and less work in
/// its largest tile.
TEST(Statements, T11_RebalancingKeepsTheSums) {
  Layer layer;
  layer.plan.cut->algorithm = isa::Cut::Uniform;
  const TileProgram stay = layer.program();
  layer.plan.cut->algorithm = isa::Cut::P2;
  const TileProgram again = layer.program();
  const std::vector<int64_t> whole = layer.conv.direct();
  EXPECT_TRUE(sumsOf(stay.program) == whole);
  EXPECT_TRUE(sumsOf(again.program) == whole);
  EXPECT_LT(again.cut.maxWork(), stay.cut.maxWork());
}
