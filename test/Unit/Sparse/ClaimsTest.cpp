// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ten claims of the zero-skipping specification (section 11) as statements
// about the events in the units.

#include "../Emulator/TestSupport.h"
#include "Convolution.h"
#include "ashlar/Emulator/SparseObserver.h"
#include <map>
#include <set>
#include <tuple>

using namespace ashlar;
using namespace ashlar::test;

namespace {
/// An event in a unit, in order.
struct Event {
  enum Kind { Write, Issue, Line, End } kind;
  uint32_t instruction, unit, channel = 0;
  isa::Coefficient coefficient = {};
  emulator::TileWrite write = {};
  emulator::CoefficientLine line = {};
};

class Trace : public emulator::SparseObserver {
public:
  void tileWrite(const emulator::TileWrite &write) override {
    Event event{Event::Write, write.instruction, write.unit};
    event.write = write;
    events.push_back(event);
  }
  void issue(uint32_t instruction, uint32_t unit, uint32_t channel,
             const isa::Coefficient &coefficient) override {
    events.push_back(
        {Event::Issue, instruction, unit, channel, coefficient, {}, {}});
  }
  void line(const emulator::CoefficientLine &line) override {
    Event event{Event::Line, line.instruction, line.unit, line.channel,
                line.coefficient};
    event.line = line;
    events.push_back(event);
  }
  void endChannel(uint32_t instruction, uint32_t unit,
                  uint32_t channel) override {
    events.push_back({Event::End, instruction, unit, channel, {}, {}, {}});
  }
  std::vector<Event> events;
};

/// A convolution of two results groups deep enough for every claim: 3 x 3,
/// stride 1, padding, 12 channels of which some are dead, tiles with halo.
class Claims : public ::testing::Test {
protected:
  void SetUp() override { run(0.15); }

  void run(double density) {
    std::mt19937_64 random(11);
    conv = {};
    conv.channels = 12;
    conv.results = 6;
    conv.height = conv.width = 13;
    conv.kH = conv.kW = 3;
    conv.padTop = conv.padLeft = conv.padBottom = conv.padRight = 1;
    conv.mantissa = 8;
    conv.range = 7;
    conv.shiftBits = 3;
    conv.fill(random, density, machine);
    for (int64_t o = 0; o < conv.results; ++o)
      for (int64_t k = 0; k < 9; ++k)
        for (int64_t c : {4, 9}) // dead channels
          conv.weights[static_cast<size_t>((o * 12 + c) * 9 + k)] = {};
    plan = {};
    plan.tileH = 4;
    plan.tileW = 13;
    plan.regions = 6;
    plan.channelsPerLoad = 4;
    program = buildTiles(conv, plan, machine, random);
    trace.events.clear();
    emulator::Options options;
    options.observer = &trace;
    sums = sumsOf(program.program, options);
  }
  uint64_t count(Event::Kind kind) const {
    uint64_t found = 0;
    for (const Event &event : trace.events)
      found += event.kind == kind;
    return found;
  }
  int64_t numTiles() const { return 4; } // rows 0, 4, 8, 12

  machine::Description machine = llvm::cantFail(machine::load("a1"));
  Convolution conv;
  TilePlan plan;
  TileProgram program;
  Trace trace;
  std::vector<int64_t> sums;
};
} // namespace

/// Tile, then channel, then coefficients one after another; each tile of each
/// channel is loaded once, and the sums are the convolution.
TEST_F(Claims, Claim1OneLoadPerTileAndChannelThenCoefficientsInSequence) {
  EXPECT_TRUE(sums == conv.direct());
  std::set<std::pair<uint32_t, uint64_t>> loaded;
  for (const Event &event : trace.events)
    if (event.kind == Event::Write)
      EXPECT_TRUE(loaded.insert({event.unit, event.write.channel}).second);
  EXPECT_EQ(loaded.size(), static_cast<size_t>(numTiles() * 10));
  // A line belongs to the coefficient issued last in its unit: no two at once.
  const Event *current = nullptr;
  for (const Event &event : trace.events) {
    if (event.kind == Event::Issue)
      current = &event;
    if (event.kind == Event::Line) {
      ASSERT_NE(current, nullptr);
      EXPECT_EQ(current->unit, event.unit);
      EXPECT_EQ(current->channel, event.channel);
      EXPECT_EQ(current->coefficient, event.coefficient);
    }
  }
}

TEST_F(Claims, Claim2NoTileBufferWriteInsideAChannel) {
  // Between the first coefficient of a channel and its end the unit's memory
  // receives nothing.
  std::map<uint32_t, bool> inside;
  uint64_t writesInside = 0;
  for (const Event &event : trace.events) {
    if (event.kind == Event::Issue)
      inside[event.unit] = true;
    if (event.kind == Event::End)
      inside[event.unit] = false;
    if (event.kind == Event::Write)
      writesInside += inside[event.unit];
  }
  EXPECT_EQ(writesInside, 0u);
  EXPECT_GT(count(Event::Write), 0u);
}

TEST_F(Claims, Claim3OnlyNonZeroCoefficientsAreIssued) {
  EXPECT_EQ(count(Event::Issue),
            conv.nonZeros() * static_cast<uint64_t>(numTiles()));
  for (const Event &event : trace.events)
    if (event.kind == Event::Issue)
      EXPECT_NE(event.coefficient.mantissa, 0);
}

TEST_F(Claims, Claim4SeveralKernelsOfAChannelAreDecompressed) {
  // Within one channel the coefficients come kernel by kernel, each kernel
  // with a Z of its own.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<uint32_t>>
      kernels;
  for (const Event &event : trace.events) {
    if (event.kind != Event::Issue)
      continue;
    auto &list = kernels[{event.instruction, event.unit, event.channel}];
    if (list.empty() || list.back() != event.coefficient.z)
      list.push_back(event.coefficient.z);
  }
  size_t most = 0;
  for (const auto &[key, list] : kernels) {
    EXPECT_EQ(std::set<uint32_t>(list.begin(), list.end()).size(), list.size());
    most = std::max(most, list.size());
  }
  EXPECT_GT(most, 2u);
}

TEST_F(Claims, Claim5EntriesHoldCoefficientAndItsColumnAndRow) {
  // What is issued is what the convolution has at that place, once each.
  std::set<std::tuple<uint64_t, uint32_t, uint32_t, uint32_t>> seen;
  std::map<uint32_t, std::vector<uint64_t>> slots; // of the last load by unit
  uint32_t lastLoad = ~0u;
  for (const Event &event : trace.events) {
    if (event.kind == Event::Write) {
      if (event.instruction != lastLoad)
        slots.clear();
      lastLoad = event.instruction;
      slots[event.unit].push_back(event.write.channel);
    }
    if (event.kind != Event::Issue || event.unit != 0)
      continue;
    const uint64_t channel = slots[0][event.channel];
    const isa::Coefficient &c = event.coefficient;
    const isa::Coefficient &expected =
        conv.weight(c.z, static_cast<int64_t>(channel), c.ky, c.kx);
    EXPECT_EQ(c.mantissa, expected.mantissa);
    EXPECT_EQ(c.shift, expected.shift);
    EXPECT_TRUE(seen.insert({channel, c.z, c.ky, c.kx}).second);
  }
  EXPECT_EQ(seen.size(), conv.nonZeros());
}

TEST_F(Claims, Claim6NoEntryExistsForZero) {
  // The stream itself: bytes are those of the non-zero entries alone, and a
  // zero in a list is refused.
  isa::StreamShape shape;
  shape.kH = shape.kW = 3;
  auto bytes = [&](uint64_t entries) {
    return isa::streamBytes(shape, isa::StreamEncoding::List, 1, entries);
  };
  std::vector<isa::Coefficient> list = {{0, 0, 0, 5, 0}, {0, 1, 1, 0, 0}};
  std::vector<uint8_t> stream = llvm::cantFail(
      isa::encodeStream(shape, {list}, isa::StreamEncoding::List));
  EXPECT_EQ(stream.size(), bytes(1));
  // kernel count (4 bits), count (4 bits), value (8 bits): cleared by hand.
  stream[17] = 0;
  struct Ignore : isa::StreamVisitor {
    void coefficient(uint32_t, const isa::Coefficient &) override {}
  } ignore;
  llvm::Expected<uint64_t> taken = isa::decodeStream(stream, ignore);
  EXPECT_FALSE(!!taken);
  llvm::consumeError(taken.takeError());
}

TEST_F(Claims, Claim7RowShiftIsAnAddressAndColumnShiftFollowsTheRead) {
  // 13 + 2 columns of one byte: the address depends on the row alone.
  for (const Event &event : trace.events) {
    if (event.kind != Event::Line)
      continue;
    const emulator::CoefficientLine &line = event.line;
    EXPECT_EQ(line.startAddress % 15, 0u);
    EXPECT_EQ(line.columnShift, line.coefficient.kx);
    const uint64_t slot = line.channel * uint64_t(6 * 15);
    const uint64_t row = (line.startAddress - slot) / 15;
    EXPECT_GE(row, line.coefficient.ky);
    EXPECT_LT(row, line.coefficient.ky + 4);
  }
  EXPECT_GT(count(Event::Line), 0u);
}

TEST_F(Claims, Claim8EachRowIsMultipliedByTheCoefficientAtOnce) {
  // One event per row of the tile, of as many multiplications as columns.
  uint64_t multiplications = 0;
  for (const Event &event : trace.events)
    if (event.kind == Event::Line) {
      EXPECT_EQ(event.line.lanes, 13u);
      multiplications += event.line.lanes;
    }
  EXPECT_EQ(multiplications, conv.nonZeros() * 13 * 13);
}

TEST_F(Claims, Claim9TheCoefficientsDefineANetworkLayer) {
  // The array of coefficients is that of a convolution layer: with the drain
  // its sums are the layer's outputs, whatever the density.
  for (double density : {0.0, 0.5, 1.0}) {
    run(density);
    EXPECT_TRUE(sums == conv.direct()) << density;
  }
}

TEST_F(Claims, Claim10SumsOfAKernelChangeOnlyTheRegionOfItsZ) {
  const uint64_t region = 4 * 13;
  for (const Event &event : trace.events) {
    if (event.kind != Event::Line)
      continue;
    const uint64_t begin = event.coefficient.z * region;
    EXPECT_GE(event.line.sums, begin);
    EXPECT_LE(event.line.sums + event.line.lanes, begin + region);
  }
}
