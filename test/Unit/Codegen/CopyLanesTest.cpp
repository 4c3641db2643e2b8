// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of random regions between feature maps that lie in random lane folds,
// executed by the naive machine and judged by the definition of a fold, index
// by index.

#include "../Emulator/NaiveMachine.h"
#include "TestSupport.h"
#include "lib/Conversion/NPUToISA/Copy.h"
#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::codegen;
using namespace ashlar::test;
using analysis::Lanes;

namespace {

constexpr int64_t dramBytes = 1 << 19;
constexpr int64_t sourceBase = 512, resultBase = 8192;

class CopyLanesTest : public ::testing::Test {
protected:
  CopyLanesTest() : machine(smallMachine(16384)) {}

  /// A fold of rows or columns of a feature map of `shape`, or none.
  Lanes fold(Random &random, const Shape &shape) const {
    const int64_t axis = random.between(2, 3);
    const int64_t count = random.between(1, 5);
    if (count == 1 || shape[axis] % count != 0)
      return {};
    return {count, shape[1], axis, 1};
  }

  /// Memory for a feature map: DRAM, or the state buffer in `lanes`.
  FoldedMap place(Random &random, const StorageType &type, const Shape &shape,
                  const Lanes &lanes, bool second) {
    FoldedMap map;
    map.lanes = lanes;
    const int64_t base = second ? resultBase : sourceBase;
    const int64_t inDram = second ? dramBytes / 2 : 0;
    map.view =
        !lanes.folded() && random.chance(30)
            ? analysis::denseDramView(type, shape, inDram + 64,
                                      inDram + dramBytes / 4, machine)
            : analysis::denseBufferView(
                  type, analysis::storedShape(shape, lanes), 1, base, machine);
    return map;
  }

  /// Where an index of the feature map is, by the definition of a fold.
  static Shape stored(const Lanes &lanes, Shape index, int64_t lane) {
    if (!lanes.folded())
      return index;
    if (!lanes.repeated) {
      lane = index[lanes.axis] % lanes.count;
      index[lanes.axis] /= lanes.count;
    }
    index[lanes.across] += lane * lanes.pitch;
    return index;
  }

  void check(const FoldedMap &source, const FoldedMap &result,
             const Shape &size, uint64_t seed) {
    machine.dma.runsPerCycle = seed % 3;
    ProgramBuilder builder(machine);
    emitRelaid(builder, source, result, size);
    NaiveMachine real(machine, dramBytes), expected(machine, dramBytes);
    std::mt19937_64 engine(seed);
    for (uint8_t &byte : real.dram)
      byte = engine();
    for (uint8_t &byte : real.sb)
      byte = engine();
    for (int8_t &cell : real.xm)
      cell = static_cast<int8_t>(engine());
    expected.dram = real.dram, expected.sb = real.sb, expected.xm = real.xm;
    for (const Entry &entry : builder.entries)
      real.execute(entry.instruction);
    forEachIndex(size, [&](const Shape &at) {
      const int64_t copies = result.lanes.repeated ? result.lanes.count : 1;
      for (int64_t lane = 0; lane < copies; ++lane)
        copyElement(expected, source, result, at, lane);
    });
    EXPECT_EQ(real.dram, expected.dram);
    EXPECT_EQ(real.sb, expected.sb);
    EXPECT_EQ(real.xm, expected.xm);
  }

  void copyElement(NaiveMachine &naive, const FoldedMap &source,
                   const FoldedMap &result, const Shape &at, int64_t lane) {
    Shape from(at), to(at);
    for (size_t i = 0; i < at.size(); ++i)
      from[i] += source.start[i], to[i] += result.start[i];
    from = stored(source.lanes, from, 0);
    to = stored(result.lanes, to, lane);
    auto byteAt = [&](Address address) -> uint8_t & {
      return address.memory == View::Memory::Dram
                 ? naive.dram.at(address.address)
                 : naive.sb.at(address.address);
    };
    auto cellAt = [&](Address address) -> uint8_t & {
      return address.memory == View::Memory::Dram
                 ? naive.dram.at(address.address)
                 : reinterpret_cast<uint8_t &>(naive.xm.at(address.address));
    };
    Address a = elementAddress(source.view, from, machine);
    Address b = elementAddress(result.view, to, machine);
    for (int64_t byte = 0; byte < source.view.type.bytes();
         ++byte, ++a.address, ++b.address)
      byteAt(b) = byteAt(a);
    if (source.view.type.encoded)
      cellAt(cellAddress(result.view, to, machine)) =
          cellAt(cellAddress(source.view, from, machine));
  }

  machine::Description machine;
};

TEST_F(CopyLanesTest, RandomRegions) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool encoded = random.chance(30);
    const StorageType type =
        encoded ? encodedType(8, 1) : plainType(random.pick({1, 4}));
    Shape shape{random.between(1, 2),
                encoded ? random.pick<int64_t>({8, 16, 24})
                        : random.between(1, 20),
                random.between(1, 12), random.between(1, 12)};
    FoldedMap source =
        place(random, type, shape, fold(random, shape), /*second=*/false);
    FoldedMap result =
        place(random, type, shape, fold(random, shape), /*second=*/true);
    source.start = result.start = Shape(4, 0);
    Shape size(shape);
    for (size_t axis : {size_t(2), size_t(3)}) {
      size[axis] = random.between(1, shape[axis]);
      source.start[axis] = random.between(0, shape[axis] - size[axis]);
      result.start[axis] = random.between(0, shape[axis] - size[axis]);
    }
    check(source, result, size, seed);
  }
}

/// One number of each channel goes to every lane.
TEST_F(CopyLanesTest, RepeatedChannels) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int64_t channels = random.between(1, 20);
    Lanes lanes{random.between(2, 6), channels, 0, 1};
    lanes.repeated = true;
    const Shape shape{1, channels, 1, 1};
    FoldedMap source =
        place(random, plainType(4), shape, Lanes(), /*second=*/false);
    FoldedMap result = place(random, plainType(4), shape, lanes,
                             /*second=*/true);
    source.start = result.start = Shape(4, 0);
    check(source, result, shape, seed);
  }
}

} // namespace
