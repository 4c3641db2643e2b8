// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured cycles of transposes against the closed forms of docs/Machine.md 8,
// term by term.

#include "Bench.h"
#include "ashlar/Machine/Transposes.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::test;

namespace {

struct Measured {
  uint64_t load = 0, stream = 0, cells = 0, drain = 0, total = 0;
};

/// A transpose of m x n elements of so many bytes on the array: the terms of
/// its first tile, and all cycles from the first load to the last drain.
Measured measure(const machine::Description &machine, uint64_t m, uint64_t n,
                 isa::ElemType type, unsigned bytes,
                 isa::DrainOrder order = isa::DrainOrder::Block,
                 bool bytePlanes = false) {
  Bench bench(machine);
  bench.load(bench.constant(randomBytes(m * n * bytes, 1)), m, n, bytes, 1024);
  bench.loadIdentity(0);
  bench.ready();
  TileOptions options;
  options.type = type;
  options.order = order;
  options.bytePlanes = bytePlanes;
  if (bytePlanes)
    options.mode = isa::OperandMode::Int;
  const size_t first = bench.code.size();
  bench.transpose(m, n, 1024, 32768, 0, options);
  emulator::Options run;
  run.recordTimes = true;
  const emulator::RunResult result = bench.run(run);
  Measured measured;
  uint64_t begin = ~uint64_t(0), end = 0;
  for (size_t i = first; i < bench.code.size(); ++i) {
    const emulator::InstructionTime &time = result.times[i];
    const uint64_t issue = time.issueEnd - time.start;
    const uint64_t complete = time.complete - time.start;
    if (std::holds_alternative<isa::PeLoad>(bench.code[i])) {
      begin = std::min(begin, time.start);
      measured.load = measured.load ? measured.load : complete;
    } else if (std::holds_alternative<isa::PeMatmul>(bench.code[i])) {
      measured.stream = measured.stream ? measured.stream : issue;
      measured.cells = measured.cells ? measured.cells : complete;
    } else if (std::holds_alternative<isa::ActDrain>(bench.code[i])) {
      measured.drain = measured.drain ? measured.drain : issue;
      end = std::max(end, time.complete);
    }
  }
  measured.total = end - begin;
  return measured;
}

machine::Description machineOf(const char *name) {
  return llvm::cantFail(machine::load(name));
}

TEST(Cost, T14_TermsOfOneTile) {
  for (auto [m, n] :
       {std::pair<uint64_t, uint64_t>(128, 64), {100, 33}, {1, 64}, {128, 1}})
    for (auto [type, bytes] : {std::pair(isa::ElemType::U8, 1U),
                               {isa::ElemType::F16, 2U},
                               {isa::ElemType::F32, 4U},
                               {isa::ElemType::F64, 8U}}) {
      const machine::Description machine = machineOf("fig4-128x64");
      const Measured measured = measure(machine, m, n, type, bytes);
      const machine::TransposeTerms terms =
          machine::transposeTile(machine, m, n, bytes);
      EXPECT_EQ(measured.load, terms.load);
      EXPECT_EQ(measured.cells, terms.cells);
      EXPECT_EQ(measured.cells, m + 127 + n - 1);
      EXPECT_EQ(measured.drain, terms.drain);
      EXPECT_EQ(measured.total, terms.total());
      // What the array adds to the waves is the skew of its rows.
      EXPECT_EQ(measured.cells - 127, m + n - 1);
    }
}

/// A matrix in tiles of the whole array.
uint64_t transposeMatrix(const machine::Description &machine, uint64_t m,
                         uint64_t n, uint64_t elementBytes) {
  auto parts = [](uint64_t extent, uint64_t most) {
    std::vector<uint64_t> sizes;
    for (uint64_t i = 0; i < extent; i += most)
      sizes.push_back(std::min(most, extent - i));
    return sizes;
  };
  return machine::transposeTiles(machine,
                                 parts(m, machine::transposeRows(machine)),
                                 parts(n, machine.pe.columns), elementBytes);
}

/// Measured cycles of matrices against their prediction, and of whole tiles
/// against the closed form.
void expectPredicted(const machine::Description &machine) {
  for (auto [m, n] : {std::pair<uint64_t, uint64_t>(128, 128),
                      {256, 128},
                      {384, 192},
                      {512, 512},
                      {300, 200},
                      {129, 65}})
    for (auto [type, bytes] : {std::pair(isa::ElemType::U8, 1U),
                               {isa::ElemType::F16, 2U},
                               {isa::ElemType::F32, 4U}}) {
      const Measured measured = measure(machine, m, n, type, bytes);
      EXPECT_EQ(measured.total, transposeMatrix(machine, m, n, bytes))
          << m << " x " << n << " x " << bytes;
      if (m % 128 != 0 || n % 64 != 0)
        continue;
      const machine::TransposeTerms terms =
          machine::transposeTile(machine, 128, 64, bytes);
      const uint64_t tiles = blockCount(m, n, 128, 64);
      const uint64_t slowest =
          std::max({terms.load, uint64_t(128), terms.drain});
      EXPECT_EQ(measured.total, (tiles - 1) * slowest + terms.total());
    }
}

TEST(Cost, T14_MatrixInAPipelineOfTiles) {
  expectPredicted(machineOf("a1-ideal"));
  // The prediction knows every price but the fetch of instructions and the
  // waits where two tiles meet in a bank.
  machine::Description priced = machineOf("a1");
  priced.fetch = {};
  priced.sb.banks = 0;
  expectPredicted(priced);
}

TEST(Cost, BytePlanesInAPipelineOfTiles) {
  // Smaller cells make several passes over each byte.
  for (unsigned digits : {8, 4, 3}) {
    machine::Description machine = machineOf("a1-ideal");
    machine.pe.cellDigitBits = digits;
    for (auto [m, n] : {std::pair<uint64_t, uint64_t>(128, 64), {300, 200}})
      for (auto [type, bytes] : {std::pair(isa::ElemType::U8, 1U),
                                 {isa::ElemType::I16, 2U},
                                 {isa::ElemType::F32, 4U},
                                 {isa::ElemType::F64, 8U}}) {
        const Measured measured =
            measure(machine, m, n, type, bytes, isa::DrainOrder::Block, true);
        const std::vector<uint64_t> rows =
            m == 128 ? std::vector<uint64_t>{128}
                     : std::vector<uint64_t>{128, 128, 44};
        const std::vector<uint64_t> cols =
            n == 64 ? std::vector<uint64_t>{64}
                    : std::vector<uint64_t>{64, 64, 64, 8};
        EXPECT_EQ(measured.total,
                  machine::transposeTiles(machine, rows, cols, bytes,
                                          /*planes=*/1, {.byPlanes = true}))
            << m << " x " << n << " x " << bytes << ", " << digits;
        EXPECT_EQ(measured.stream,
                  machine::transposeTile(machine, std::min<uint64_t>(m, 128),
                                         std::min<uint64_t>(n, 64), bytes,
                                         {.byPlanes = true})
                      .stream);
      }
  }
}

TEST(Cost, DrainsThatFollowTheStreamEndEarlier) {
  const Measured block =
      measure(machineOf("fig4-128x64"), 128, 64, isa::ElemType::U8, 1);
  const Measured row = measure(machineOf("fig4-128x64"), 128, 64,
                               isa::ElemType::U8, 1, isa::DrainOrder::Row);
  const Measured partition =
      measure(machineOf("fig4-128x64"), 128, 64, isa::ElemType::U8, 1,
              isa::DrainOrder::Partition);
  // Row order starts T - 1 cycles earlier; partition order C - 1, but its lanes
  // also start one after the other.
  EXPECT_EQ(block.total - row.total, machine::rowLead(128));
  EXPECT_EQ(block.total, partition.total);
}

TEST(Cost, ThroughDramItTakesLongerTheLargerTheMatrix) {
  // The array against the round trip: once it wins, it keeps winning.
  const machine::Description machine = machineOf("a1");
  for (uint64_t bytes : {1, 2, 4}) {
    bool wins = false;
    for (uint64_t size : {128, 256, 384, 512, 640, 768, 896, 1024}) {
      const bool now = transposeMatrix(machine, size, size, bytes) <
                       machine::transposeRoundTrip(machine, size, size, bytes);
      EXPECT_TRUE(now || !wins) << size << " x " << bytes;
      wins |= now;
    }
    EXPECT_TRUE(wins);
  }
}

TEST(Cost, RoundTripThroughDramAsMeasured) {
  for (auto [m, n, bytes] :
       {std::tuple<uint64_t, uint64_t, unsigned>(128, 64, 1), {128, 128, 4}}) {
    Bench bench("a1");
    const Bytes matrix = randomBytes(m * n * bytes, 1);
    bench.load(bench.constant(matrix), m, n, bytes, 0);
    // Written row after row, read back in the same order to its new place.
    const uint64_t at = bench.space(m * n * bytes);
    const auto partition =
        static_cast<int64_t>(bench.machine().sb.bytesPerPartition);
    isa::DmaCopy out;
    out.elemBytes = bytes;
    out.srcMem = isa::Memory::Sb;
    out.dstMem = isa::Memory::Dram;
    out.dstBase = at;
    out.n3 = static_cast<uint32_t>(m);
    out.n4 = static_cast<uint32_t>(n);
    out.srcStride3 = partition;
    out.dstStride3 = static_cast<int64_t>(n * bytes);
    out.srcStride4 = out.dstStride4 = bytes;
    isa::DmaCopy in = out;
    in.srcMem = isa::Memory::Dram;
    in.dstMem = isa::Memory::Sb;
    in.srcBase = at;
    in.dstBase = 4096;
    in.srcStride3 = out.dstStride3;
    in.dstStride3 = bytes;
    in.dstStride4 = partition;
    const size_t first = bench.code.size();
    bench.order(isa::Queue::Dma0, isa::Queue::Dma1);
    out.queue = in.queue = isa::Queue::Dma1;
    bench.add(out);
    bench.order(isa::Queue::Dma1, isa::Queue::Dma1);
    bench.add(in);
    bench.order(isa::Queue::Dma1, isa::Queue::Act);
    bench.store(n, m, bytes, 4096);
    emulator::Options run;
    run.recordTimes = true;
    const emulator::RunResult result = bench.run(run);
    EXPECT_EQ(result.outputs[0].data, transposed(matrix, m, n, bytes));
    EXPECT_EQ(result.times[first + 5].complete - result.times[first + 2].start,
              machine::transposeRoundTrip(bench.machine(), m, n, bytes));
  }
}

} // namespace
