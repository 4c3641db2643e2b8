// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random patterns between random layouts, executed by the naive machine: every
// element and every exponent cell arrives, and nothing else changes.

#include "lib/Conversion/NPUToISA/Copy.h"
#include "../Emulator/NaiveMachine.h"
#include "TestSupport.h"
#include "gtest/gtest.h"
#include <map>

using namespace ashlar;
using namespace ashlar::codegen;
using namespace ashlar::test;
using npu::AccessPattern;
using npu::PatternDim;

namespace {

constexpr unsigned partitionBytes = 16384;
constexpr int64_t dramBytes = 1 << 19;
constexpr int64_t sourceBase = 512, resultBase = 8192;

class CopyTest : public ::testing::Test {
protected:
  CopyTest() : machine(smallMachine(partitionBytes)) {}

  /// A dense view in DRAM or across a random axis of the state buffer; plain
  /// tensors may start in any partition that holds them in one tile.
  View view(Random &random, const StorageType &type, const Shape &shape,
            bool second) {
    int64_t base = second ? resultBase : sourceBase;
    if (random.chance(30)) {
      int64_t at = second ? dramBytes / 2 : 0;
      return analysis::denseDramView(type, shape, at + 64, at + dramBytes / 4,
                                     machine);
    }
    int64_t rank = shape.size();
    int64_t axis = type.encoded ? type.blockAxis : random.between(-1, rank - 1);
    View view = analysis::denseBufferView(type, shape, axis, base, machine);
    int64_t room = machine.sb.partitions - view.channels();
    if (!type.encoded && room > 0)
      view.part = random.between(0, room);
    return view;
  }

  /// Executes the copies of `pattern` and compares both memories with a copy
  /// element by element.
  void check(const View &source, const View &result,
             const AccessPattern &pattern, uint64_t seed) {
    // Where runs are paid for, loops come in other orders.
    machine.dma.runsPerCycle = seed % 3;
    ProgramBuilder builder(machine);
    emitPattern(builder, source, result, pattern);
    NaiveMachine real(machine, dramBytes), expected(machine, dramBytes);
    fill(real, seed);
    expected.dram = real.dram, expected.sb = real.sb, expected.xm = real.xm;
    for (const Entry &entry : builder.entries)
      real.execute(entry.instruction);
    copyNaively(real, expected, source, result, pattern);
    EXPECT_EQ(real.dram, expected.dram);
    EXPECT_EQ(real.sb, expected.sb);
    EXPECT_EQ(real.xm, expected.xm);
  }

  static void fill(NaiveMachine &naive, uint64_t seed) {
    std::mt19937_64 engine(seed);
    for (uint8_t &byte : naive.dram)
      byte = engine();
    for (uint8_t &byte : naive.sb)
      byte = engine();
    for (int8_t &cell : naive.xm)
      cell = static_cast<int8_t>(engine());
  }

  static uint8_t &elementByte(NaiveMachine &naive, Address at) {
    return at.memory == View::Memory::Dram ? naive.dram.at(at.address)
                                           : naive.sb.at(at.address);
  }
  static uint8_t &cellByte(NaiveMachine &naive, Address at) {
    if (at.memory == View::Memory::Dram)
      return naive.dram.at(at.address);
    return reinterpret_cast<uint8_t &>(naive.xm.at(at.address));
  }

  void copyNaively(NaiveMachine &from, NaiveMachine &to, const View &source,
                   const View &result, const AccessPattern &pattern) {
    Shape extents;
    for (const PatternDim &dim : pattern.dims)
      extents.push_back(dim.extent);
    forEachIndex(extents, [&](const Shape &at) {
      Shape s = Shape(pattern.sourceStart), r = Shape(pattern.resultStart);
      for (auto [dim, i] : llvm::zip(pattern.dims, at)) {
        if (dim.sourceAxis >= 0)
          s[dim.sourceAxis] += i * dim.sourceStep;
        r[dim.resultAxis] += i * dim.resultStep;
      }
      Address a = elementAddress(source, s, machine);
      Address b = elementAddress(result, r, machine);
      for (int64_t byte = 0; byte < source.type.bytes();
           ++byte, ++a.address, ++b.address)
        elementByte(to, b) = elementByte(from, a);
      if (source.type.encoded)
        cellByte(to, cellAddress(result, r, machine)) =
            cellByte(from, cellAddress(source, s, machine));
    });
  }

  machine::Description machine;
};

/// Strided, reversed and transposed parts of a tensor into parts of another.
struct RandomPattern {
  Shape source, result;
  AccessPattern pattern;
};

RandomPattern stridedPart(Random &random) {
  RandomPattern made;
  int64_t rank = random.between(1, 4);
  Shape order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random.engine);
  made.result.assign(rank, 0);
  made.pattern.resultStart.assign(rank, 0);
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t extent =
        random.chance(25) ? random.between(1, 60) : random.between(1, 6);
    int64_t step = random.pick<int64_t>({-2, -1, 1, 1, 1, 2, 3, 16});
    int64_t to = order[axis], toStep = random.pick<int64_t>({1, 1, 2, 3});
    int64_t reach = (extent - 1) * std::abs(step);
    int64_t before = random.between(0, 3), after = random.between(0, 3);
    made.source.push_back(before + reach + 1 + after);
    made.pattern.sourceStart.push_back(step < 0 ? before + reach : before);
    made.pattern.resultStart[to] = random.between(0, 5);
    made.result[to] = made.pattern.resultStart[to] + (extent - 1) * toStep + 1 +
                      random.between(0, 2);
    bool repeats = random.chance(10);
    made.pattern.dims.push_back(
        {extent, repeats ? -1 : axis, step, to, toStep});
  }
  return made;
}

/// A reshape: the same factors grouped into axes in two ways.
RandomPattern regrouped(Random &random) {
  RandomPattern made;
  Shape factors;
  for (int64_t i = random.between(1, 5); i > 0; --i)
    factors.push_back(random.pick<int64_t>({2, 2, 3, 4, 5, 8}));
  auto group = [&](Shape &shape, llvm::SmallVector<int64_t> &axis,
                   llvm::SmallVector<int64_t> &step) {
    axis.assign(factors.size(), 0), step.assign(factors.size(), 1);
    for (size_t i = 0; i < factors.size(); ++i) {
      if (i == 0 || random.chance(50))
        shape.push_back(1);
      axis[i] = shape.size() - 1;
      shape.back() *= factors[i];
    }
    for (size_t i = factors.size() - 1; i-- > 0;)
      step[i] = axis[i] == axis[i + 1] ? step[i + 1] * factors[i + 1] : 1;
  };
  llvm::SmallVector<int64_t> fromAxis, fromStep, toAxis, toStep;
  group(made.source, fromAxis, fromStep);
  group(made.result, toAxis, toStep);
  for (size_t i = 0; i < factors.size(); ++i)
    made.pattern.dims.push_back(
        {factors[i], fromAxis[i], fromStep[i], toAxis[i], toStep[i]});
  made.pattern.sourceStart.assign(made.source.size(), 0);
  made.pattern.resultStart.assign(made.result.size(), 0);
  return made;
}

/// Taps of a window as channels, as nn.im2col has them, without padding.
RandomPattern windowTaps(Random &random) {
  RandomPattern made;
  int64_t channels = random.between(1, 9), kernel = random.between(1, 3),
          stride = random.between(1, 2), width = random.between(kernel, 9);
  int64_t out = (width - kernel) / stride + 1;
  made.source = {1, channels, width, width};
  made.result = {1, channels * kernel * kernel, out, out};
  made.pattern.dims = {
      {1, 0, 1, 0, 1},           {channels, 1, 1, 1, kernel * kernel},
      {kernel, 2, 1, 1, kernel}, {kernel, 3, 1, 1, 1},
      {out, 2, stride, 2, 1},    {out, 3, stride, 3, 1}};
  made.pattern.sourceStart.assign(4, 0);
  made.pattern.resultStart.assign(4, 0);
  return made;
}

int64_t footprint(const Shape &shape, int64_t bytes) {
  return Region::whole(shape).elements() * bytes;
}

/// Elements that the instructions move, each of which has legal fields.
int64_t elementsMoved(llvm::ArrayRef<Entry> entries) {
  int64_t elements = 0;
  for (const Entry &entry : entries) {
    EXPECT_EQ(llvm::toString(isa::verify(entry.instruction)), "");
    const auto &copy = std::get<isa::DmaCopy>(entry.instruction);
    elements += int64_t(copy.n0) * copy.n1 * copy.n2 * copy.n3 * copy.n4;
  }
  return elements;
}

TEST_F(CopyTest, LoopsLongerThanAFieldAreCut) {
  const int64_t most = kMostCount;
  for (const Shape &shape :
       {Shape{most}, Shape{most + 1}, Shape{3, 2 * most + 7},
        Shape{2 * most + 7, 3}, Shape{2, 3, 2, 3, 2, most + 5}}) {
    SCOPED_TRACE(testing::PrintToString(shape));
    View source = analysis::denseDramView(plainType(4), shape, 0, 0, machine);
    View result = source;
    // Rows apart from each other: no two loops are one.
    for (int64_t &stride : result.strides)
      stride *= 2;
    result.base = int64_t(1) << 30;
    ProgramBuilder builder(machine);
    emitCopy(builder, source, result);
    EXPECT_EQ(elementsMoved(builder.entries), Region::whole(shape).elements());
  }
}

TEST_F(CopyTest, TheMostIterationsAreThoseOfTheInstructionSet) {
  for (isa::Opcode opcode :
       {isa::Opcode::DmaCopy, isa::Opcode::VecMap, isa::Opcode::VecReduce})
    for (const isa::FieldInfo &field : isa::info(opcode).fields)
      if (field.unit == "elements" && field.minimum == 1)
        EXPECT_EQ(field.maximum, kMostCount) << field.name.str();
}

TEST_F(CopyTest, AProgramHasAnEnd) {
  ProgramBuilder builder(machine);
  builder.mostEntries = 100;
  for (size_t i = 0; i < 100; ++i)
    builder.emit(isa::XrSet{});
  EXPECT_FALSE(builder.full());
  builder.emit(isa::XrSet{});
  EXPECT_TRUE(builder.full());
  EXPECT_EQ(builder.entries.size(), 100U);
}

} // namespace

TEST_F(CopyTest, RandomPatternsOfPlainTensors) {
  int done = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Random random(seed);
    RandomPattern made = seed % 3 == 0   ? stridedPart(random)
                         : seed % 3 == 1 ? regrouped(random)
                                         : windowTaps(random);
    StorageType type = plainType(random.pick<int64_t>({1, 2, 4, 8}));
    // All of a tensor may land in one partition.
    if (std::max(footprint(made.source, type.bytes()),
                 footprint(made.result, type.bytes())) > 7000)
      continue;
    View source = view(random, type, made.source, false);
    View result = view(random, type, made.result, true);
    check(source, result, made.pattern, seed);
    ++done;
    if (HasFailure()) {
      FAIL() << "seed " << seed;
    }
  }
  EXPECT_GT(done, 300);
}

TEST_F(CopyTest, RandomPartsOfEncodedTensorsTakeTheirCells) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    int64_t rank = random.between(1, 4), axis = random.between(0, rank - 1);
    Shape order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random.engine);
    Shape source, result(rank, 0);
    AccessPattern pattern;
    pattern.resultStart.assign(rank, 0);
    for (int64_t i = 0; i < rank; ++i) {
      // Along the block axis parts begin at blocks of 8.
      int64_t unit = i == axis ? 8 : 1;
      int64_t extent = random.between(1, i == axis ? 50 : 5);
      int64_t from = random.between(0, 3) * unit,
              to = random.between(0, 3) * unit;
      source.push_back(from + extent);
      pattern.sourceStart.push_back(from);
      result[order[i]] = to + extent;
      pattern.resultStart[order[i]] = to;
      pattern.dims.push_back({extent, i, 1, order[i], 1});
    }
    int mantissa = random.pick({5, 8, 16});
    View a = view(random, encodedType(mantissa, axis), source, false);
    View b = view(random, encodedType(mantissa, order[axis]), result, true);
    check(a, b, pattern, seed);
    if (HasFailure()) {
      FAIL() << "seed " << seed;
    }
  }
}

TEST_F(CopyTest, SlicedViewsCopyWhole) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    StorageType type = seed % 2 ? encodedType(8, 1) : plainType(2);
    Shape whole{2, 72, 3, 4};
    Region from{{random.between(0, 1), random.between(0, 4) * 8,
                 random.between(0, 1), 0},
                {1, random.between(1, 40), 2, 4}};
    Region to = from;
    to.start[1] = random.between(0, 4) * 8;
    View a = view(random, type, whole, false).slice(from, machine);
    View b = view(random, type, whole, true).slice(to, machine);
    check(a, b, identityPattern(b.shape), seed);
    if (HasFailure()) {
      FAIL() << "seed " << seed;
    }
  }
}

TEST_F(CopyTest, CopiesAcrossChannelTilesAreFew) {
  // 64 channels are 4 tiles of 16: whole tiles are one more DMA dimension.
  StorageType type = plainType(4);
  Shape shape{1, 64, 3, 5};
  View source = analysis::denseDramView(type, shape, 64, 0, machine);
  View result = analysis::denseBufferView(type, shape, 1, 0, machine);
  ProgramBuilder builder(machine);
  emitCopy(builder, source, result);
  EXPECT_EQ(builder.entries.size(), 1u);
}

TEST_F(CopyTest, FillsReachEveryElementAndCell) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    StorageType type = seed % 2 ? encodedType(random.pick({8, 16}), 1)
                                : plainType(random.pick<int64_t>({1, 4, 8}));
    Shape whole{2, 40, 3, 4};
    Region region{{0, random.between(0, 2) * 8, random.between(0, 1), 1},
                  {2, random.between(1, 24), 2, 3}};
    View target = view(random, type, whole, true).slice(region, machine);
    uint64_t bits = random.engine() >> (64 - 8 * type.bytes());
    ProgramBuilder builder(machine);
    emitFill(builder, target, bits);
    NaiveMachine real(machine, dramBytes), expected(machine, dramBytes);
    fill(real, seed);
    expected.dram = real.dram, expected.sb = real.sb, expected.xm = real.xm;
    for (const Entry &entry : builder.entries)
      real.execute(entry.instruction);
    forEachIndex(target.shape, [&](const Shape &index) {
      Address at = elementAddress(target, index, machine);
      for (int64_t byte = 0; byte < type.bytes(); ++byte, ++at.address)
        elementByte(expected, at) = bits >> (8 * byte);
      if (type.encoded)
        cellByte(expected, cellAddress(target, index, machine)) = 0x80;
    });
    ASSERT_EQ(real.dram, expected.dram) << "seed " << seed;
    ASSERT_EQ(real.sb, expected.sb) << "seed " << seed;
    ASSERT_EQ(real.xm, expected.xm) << "seed " << seed;
  }
}
