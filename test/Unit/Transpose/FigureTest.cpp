// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two worked examples of the identity transpose: the 4 x 4 one wave by
// wave, the 128 x 64 one at its first and last waves, both against tables
// written down by hand and against a cell-by-cell model of the array.

#include "Bench.h"
#include "ashlar/Machine/Transposes.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>

using namespace ashlar;
using namespace ashlar::test;
using emulator::ArrayEvent;
using emulator::ArrayEventKind;
using isa::DrainOrder;

namespace {

/// A transpose of one tile with its trace.
struct Traced {
  Bytes result;
  std::vector<ArrayEvent> enters, writes, drains;
  uint64_t streamStart = 0;
  machine::Description machine;
};

Traced trace(const std::string &machineName, const Bytes &matrix, uint64_t m,
             uint64_t n, DrainOrder order = DrainOrder::Block,
             isa::OperandMode mode = isa::OperandMode::Select,
             isa::ElemType type = isa::ElemType::U8) {
  Bench bench(machineName);
  const auto bytes = static_cast<unsigned>(matrix.size() / (m * n));
  TileOptions options;
  options.order = order;
  options.mode = mode;
  options.type = type;
  bench.load(bench.constant(matrix), m, n, bytes, 1024);
  bench.loadIdentity(0);
  bench.ready();
  bench.transpose(m, n, 1024, 4096, 0, options);
  bench.store(n, m, bytes, 4096);
  emulator::Options run;
  run.traceArray = true;
  emulator::RunResult result = bench.run(run);
  Traced traced;
  traced.result = result.outputs[0].data;
  traced.machine = bench.machine();
  for (const ArrayEvent &event : result.arrayTrace) {
    if (event.kind == ArrayEventKind::Enter)
      traced.enters.push_back(event);
    else if (event.kind == ArrayEventKind::Write)
      traced.writes.push_back(event);
    else
      traced.drains.push_back(event);
  }
  traced.streamStart = result.times[traced.enters[0].instruction].start;
  return traced;
}

/// 1, 2, 3, ... row after row, as words of two bytes.
Bytes counting(uint64_t n) {
  Bytes bytes;
  for (uint64_t i = 1; i <= n; ++i) {
    bytes.push_back(static_cast<uint8_t>(i));
    bytes.push_back(static_cast<uint8_t>(i >> 8));
  }
  return bytes;
}

/// A systolic array of R x C cells, register by register: row i gets its
/// element i cycles late, elements move right, sums move down. Gives, for every
/// (step, column), the cycle at whose end the bottom cell holds the sum.
std::map<std::pair<uint64_t, uint64_t>, std::pair<uint64_t, uint64_t>>
simulateCells(uint64_t arrayRows, uint64_t rows, uint64_t cols, uint64_t steps,
              const std::vector<uint64_t> &stationary) {
  std::map<std::pair<uint64_t, uint64_t>, std::pair<uint64_t, uint64_t>> sums;
  using Grid = std::vector<std::vector<uint64_t>>;
  Grid right(arrayRows, std::vector<uint64_t>(cols, 0)), down = right;
  std::vector<uint64_t> arrived(cols, 0);
  for (uint64_t cycle = 0; cycle < steps + arrayRows + cols; ++cycle) {
    Grid newRight = right, newDown = down;
    for (uint64_t i = 0; i < arrayRows; ++i)
      for (uint64_t c = 0; c < cols; ++c) {
        // An identity: element (i, t) is 1 where i = t.
        const bool entering = cycle >= i && cycle - i < steps;
        const uint64_t left =
            c == 0 ? (entering && i < rows && cycle - i == i) : right[i][c - 1];
        const uint64_t above = i == 0 ? 0 : down[i - 1][c];
        newRight[i][c] = left;
        newDown[i][c] =
            above + (i < rows ? left * stationary[i * cols + c] : 0);
      }
    right = newRight;
    down = newDown;
    for (uint64_t c = 0; c < cols; ++c)
      if (cycle >= arrayRows - 1 + c && arrived[c] < steps)
        sums[{arrived[c]++, c}] = {cycle, down[arrayRows - 1][c]};
  }
  return sums;
}

TEST(Figure, T1_SevenWavesOfTheFourByFourExample) {
  Bytes matrix;
  for (uint8_t i = 1; i <= 16; ++i)
    matrix.push_back(i);
  const Traced traced = trace("fig3-4x4", matrix, 4, 4);
  // The waves of the example: (PSUM partition, row, value), by hand.
  struct Cell {
    uint64_t wave, partition, row, value;
  };
  const std::vector<Cell> expected = {
      {1, 0, 0, 1},  {2, 1, 0, 2},  {2, 0, 1, 5},  {3, 2, 0, 3},
      {3, 1, 1, 6},  {3, 0, 2, 9},  {4, 3, 0, 4},  {4, 2, 1, 7},
      {4, 1, 2, 10}, {4, 0, 3, 13}, {5, 3, 1, 8},  {5, 2, 2, 11},
      {5, 1, 3, 14}, {6, 3, 2, 12}, {6, 2, 3, 15}, {7, 3, 3, 16}};
  ASSERT_EQ(traced.writes.size(), expected.size());
  uint64_t last = 0;
  for (const Cell &cell : expected) {
    const auto found = std::find_if(
        traced.writes.begin(), traced.writes.end(), [&](const ArrayEvent &e) {
          return e.column == cell.partition && e.entry == cell.row;
        });
    ASSERT_NE(found, traced.writes.end());
    EXPECT_EQ(found->wave, cell.wave);
    EXPECT_EQ(static_cast<uint64_t>(found->value), cell.value);
    // The skew of the array's rows: three cycles after the wave.
    EXPECT_EQ(found->cycle - traced.streamStart, cell.wave - 1 + 3);
    last = std::max(last, found->wave);
  }
  EXPECT_EQ(last, 7u);
  EXPECT_EQ(machine::peMatmul(traced.machine, 4, 1, 4).complete, 10u);
  EXPECT_EQ(traced.result,
            (Bytes{1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 4, 8, 12, 16}));
}

TEST(Figure, T2_FirstAndLastWavesOfThe128x64Example) {
  const uint64_t m = 128, n = 64;
  const Bytes matrix = counting(m * n);
  const Traced traced = trace("fig4-128x64", matrix, m, n, DrainOrder::Block,
                              isa::OperandMode::Select, isa::ElemType::U16);
  std::map<uint64_t, std::vector<ArrayEvent>> waves;
  for (const ArrayEvent &event : traced.writes)
    waves[event.wave].push_back(event);
  auto a = [&](uint64_t r, uint64_t c) {
    return static_cast<int64_t>(r * n + c + 1);
  };
  ASSERT_EQ(waves.size(), 191u);
  // Wave 1: a(0,0) to partition 0; wave 2: a(0,1) and a(1,0); wave 191:
  // a(127,63) to partition 63.
  ASSERT_EQ(waves[1].size(), 1u);
  EXPECT_EQ(waves[1][0].value, a(0, 0));
  ASSERT_EQ(waves[2].size(), 2u);
  for (const ArrayEvent &event : waves[2])
    EXPECT_EQ(event.value, event.column == 1 ? a(0, 1) : a(1, 0));
  ASSERT_EQ(waves[191].size(), 1u);
  EXPECT_EQ(waves[191][0].value, a(127, 63));
  EXPECT_EQ(waves[191][0].column, 63u);
  EXPECT_EQ(waves[191][0].entry, 127u);
  for (const auto &[wave, events] : waves)
    EXPECT_EQ(events.size(), std::min({wave, uint64_t(64), 192 - wave}));
  // 64 partitions of 128 elements.
  EXPECT_EQ(traced.result, transposed(matrix, m, n, 2));
  EXPECT_EQ(machine::peMatmul(traced.machine, m, 1, n).complete, 318u);
}

TEST(Figure, CellModelGivesTheSameCyclesAndValues) {
  struct Case {
    const char *machine;
    uint64_t rows, cols;
  };
  for (const Case &c :
       {Case{"fig3-4x4", 4, 4}, Case{"fig3-4x4", 3, 2}, Case{"a1-tiny", 8, 4},
        Case{"a1-tiny", 5, 3}, Case{"fig4-128x64", 100, 33}}) {
    const Bytes matrix = randomBytes(c.rows * c.cols, c.rows);
    const Traced traced = trace(c.machine, matrix, c.rows, c.cols);
    const auto sums = simulateCells(traced.machine.pe.rows, c.rows, c.cols,
                                    c.rows, {matrix.begin(), matrix.end()});
    ASSERT_EQ(traced.writes.size(), sums.size());
    for (const ArrayEvent &event : traced.writes) {
      const auto &[cycle, value] = sums.at({event.step, event.column});
      EXPECT_EQ(event.cycle - traced.streamStart, cycle);
      EXPECT_EQ(static_cast<uint64_t>(event.value), value);
    }
  }
}

TEST(Figure, DrainTables) {
  // 4 x 4: when entry t of column c leaves PSUM, in waves (row order takes row
  // t right after wave t + C, partition order column c right after wave R + c,
  // block order everything after the last wave).
  Bytes matrix = randomBytes(16, 1);
  const uint64_t rows = 4, columns = 4;
  for (DrainOrder order :
       {DrainOrder::Block, DrainOrder::Row, DrainOrder::Partition}) {
    const Traced traced = trace("fig3-4x4", matrix, 4, 4, order);
    ASSERT_EQ(traced.drains.size(), 16u);
    for (const ArrayEvent &event : traced.drains) {
      // Wave w ends with cycle w - 1 + (R - 1); what it wrote can be taken in
      // the next cycle, counted as wave w + 1.
      const uint64_t wave = event.cycle - traced.streamStart - (rows - 1) + 1;
      const uint64_t t = event.step, c = event.column;
      switch (order) {
      case DrainOrder::Block:
        EXPECT_EQ(wave, rows + columns - 1 + 1 + t);
        break;
      case DrainOrder::Row:
        EXPECT_EQ(wave, t + columns + 1);
        break;
      case DrainOrder::Partition:
        EXPECT_EQ(wave, rows + c + 1 + t);
        break;
      }
    }
  }
}

TEST(Figure, T20_OneIdentityColumnEntersPerCycle) {
  const Traced traced = trace("fig4-128x64", randomBytes(128 * 64, 3), 128, 64);
  ASSERT_EQ(traced.enters.size(), 128u);
  for (uint64_t t = 0; t < traced.enters.size(); ++t) {
    EXPECT_EQ(traced.enters[t].cycle, traced.streamStart + t);
    EXPECT_EQ(traced.enters[t].wave, t + 1);
  }
}

TEST(Figure, T7_RowOrderNeverOvertakesItsStream) {
  for (const char *name : {"fig3-4x4", "a1-tiny", "fig4-128x64"}) {
    const machine::Description machine = llvm::cantFail(machine::load(name));
    for (auto [rows, cols] :
         {std::pair(machine.pe.rows, machine.pe.columns),
          std::pair(machine.pe.rows / 2 + 1, machine.pe.columns / 2 + 1)}) {
      const Bytes matrix = randomBytes(rows * cols, 5);
      Bytes first;
      for (DrainOrder order :
           {DrainOrder::Block, DrainOrder::Row, DrainOrder::Partition}) {
        const Traced traced = trace(name, matrix, rows, cols, order);
        std::map<std::pair<uint32_t, uint32_t>, uint64_t> written;
        for (const ArrayEvent &event : traced.writes)
          written[{event.entry, event.column}] = event.cycle;
        for (const ArrayEvent &event : traced.drains)
          EXPECT_GT(event.cycle, written.at({event.entry, event.column}));
        if (first.empty())
          first = traced.result;
        EXPECT_EQ(traced.result, first);
      }
      EXPECT_EQ(first, transposed(matrix, rows, cols, 1));
    }
  }
}

} // namespace
