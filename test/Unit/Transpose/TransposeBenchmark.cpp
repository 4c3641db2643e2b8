// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures transposes on the emulator: the identity multiply against copies
// through DRAM, against a transposing load and against one on-chip copy. Prints
// a table in Markdown with the parameters that decide it. Every measured
// program also has to give the right bytes.

#include "Bench.h"
#include "ashlar/Machine/Transposes.h"
#include <cstdlib>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::test;
using isa::Queue;

namespace {

struct Size {
  uint64_t m, n;
  unsigned bytes;
};

/// Places of source and result in SB.
struct Places {
  uint64_t identity = 0, source = 0, target = 0;
};

Places placesOf(const Bench &bench, const Size &size) {
  const uint64_t p = bench.partitions();
  Places places;
  places.source = p;
  places.target = places.source + (size.m + p - 1) / p * size.n * size.bytes;
  return places;
}

/// Cycles from the first instruction of node 1 to the last one's results.
uint64_t cyclesOf(const Bench &bench, const Bytes &expected) {
  emulator::Options options;
  options.recordTimes = true;
  const emulator::RunResult result = bench.run(options);
  if (result.outputs[0].data != expected) {
    fmt::print(stderr, "a transpose gives wrong bytes\n");
    std::exit(1);
  }
  uint64_t begin = ~uint64_t(0), end = 0;
  for (size_t i = 0; i < bench.code.size(); ++i) {
    const bool sync = std::holds_alternative<isa::SemWait>(bench.code[i]) ||
                      std::holds_alternative<isa::SemSignal>(bench.code[i]);
    if (bench.program.nodeOfInstruction[i] != 1 || sync)
      continue;
    begin = std::min(begin, result.times[i].start);
    end = std::max(end, result.times[i].complete);
  }
  return end - begin;
}

isa::ElemType typeOf(unsigned bytes) {
  return bytes == 1   ? isa::ElemType::U8
         : bytes == 2 ? isa::ElemType::U16
         : bytes == 4 ? isa::ElemType::U32
                      : isa::ElemType::U64;
}

uint64_t onArray(const std::string &machine, const Size &size,
                 isa::DrainOrder order, bool planes) {
  Bench bench(machine);
  const Places at = placesOf(bench, size);
  const Bytes matrix = randomBytes(size.m * size.n * size.bytes, 1);
  bench.node("before");
  bench.load(bench.constant(matrix), size.m, size.n, size.bytes, at.source);
  bench.loadIdentity(at.identity);
  bench.ready();
  bench.node("transpose");
  TileOptions options;
  options.type = typeOf(size.bytes);
  options.order = order;
  options.bytePlanes = planes;
  if (planes)
    options.mode = isa::OperandMode::Int;
  bench.transpose(size.m, size.n, at.source, at.target, at.identity, options);
  bench.node("after");
  bench.store(size.n, size.m, size.bytes, at.target);
  return cyclesOf(bench, transposed(matrix, size.m, size.n, size.bytes));
}

/// Copies from the layout of the matrix to that of its transpose, or between
/// one of them and row after row in DRAM at `dram`. One copy for each pair of
/// blocks of partitions, `queues` queues by turns.
struct Copies {
  Bench &bench;
  Size size;
  Places at;
  unsigned queues = 1;

  void add(bool fromDram, bool toDram, uint64_t dram) {
    const uint64_t p = bench.partitions();
    const auto pitch =
        static_cast<int64_t>(bench.machine().sb.bytesPerPartition);
    const auto [m, n, bytes] = size;
    unsigned turn = 0;
    for (uint64_t i = 0; i < m; i += p)
      for (uint64_t j = 0; j < n; j += toDram ? n : p) {
        isa::DmaCopy op;
        op.queue = static_cast<Queue>(turn++ % queues);
        op.elemBytes = bytes;
        op.n3 = static_cast<uint32_t>(std::min(p, m - i));
        op.n4 = static_cast<uint32_t>(toDram ? n : std::min(p, n - j));
        const auto width = static_cast<int64_t>(bytes);
        const auto row = static_cast<int64_t>(n * bytes);
        op.srcMem = fromDram ? isa::Memory::Dram : isa::Memory::Sb;
        op.srcBase = fromDram ? dram + (i * n + j) * bytes
                              : at.source + (i / p * n + j) * bytes;
        op.srcStride3 = fromDram ? row : pitch;
        op.srcStride4 = width;
        op.dstMem = toDram ? isa::Memory::Dram : isa::Memory::Sb;
        op.dstBase =
            toDram ? dram + i * n * bytes : at.target + (j / p * m + i) * bytes;
        op.dstStride3 = toDram ? row : width;
        op.dstStride4 = toDram ? width : pitch;
        bench.add(op);
      }
  }
  /// All queues wait for all of them.
  void barrier(unsigned from, unsigned to) {
    for (unsigned a = 0; a < from; ++a)
      for (unsigned b = 0; b < to; ++b)
        bench.order(static_cast<Queue>(a), static_cast<Queue>(b));
  }
};

enum class Way { RoundTrip, OnLoad, OnChip };

uint64_t byCopies(const std::string &machine, const Size &size, Way way,
                  unsigned queues) {
  Bench bench(machine);
  const Bytes matrix = randomBytes(size.m * size.n * size.bytes, 1);
  const uint64_t bytes = size.m * size.n * size.bytes;
  Copies copies{bench, size, placesOf(bench, size), queues};
  bench.node("before");
  const uint64_t dram = bench.constant(matrix);
  bench.load(dram, size.m, size.n, size.bytes, copies.at.source);
  copies.barrier(1, queues);
  bench.node("transpose");
  if (way == Way::RoundTrip) {
    const uint64_t between = bench.space(bytes);
    copies.add(false, true, between);
    copies.barrier(queues, queues);
    copies.add(true, false, between);
  } else {
    copies.add(way == Way::OnLoad, false, dram);
  }
  bench.node("after");
  for (unsigned q = 0; q < queues; ++q)
    bench.order(static_cast<Queue>(q), Queue::Act);
  bench.store(size.n, size.m, size.bytes, copies.at.target);
  return cyclesOf(bench, transposed(matrix, size.m, size.n, size.bytes));
}

/// The cost of one tile, term by term, next to what the emulator measures.
void printTerms(const std::string &name, const machine::Description &m) {
  fmt::print(
      "| tile | bytes | load | waves | skew of the rows | drain | ACT "
      "latency | sum | measured |\n|---|---|---|---|---|---|---|---|---|\n");
  for (auto [rows, cols] :
       {std::pair<uint64_t, uint64_t>(m.pe.rows, m.pe.columns),
        {m.pe.rows, 1},
        {1, m.pe.columns}})
    for (unsigned bytes : {1U, 2U, 4U, 8U}) {
      const machine::TransposeTerms terms =
          machine::transposeTile(m, rows, cols, bytes);
      const uint64_t waves = rows + cols - 1;
      fmt::print(
          "| {} x {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", rows, cols,
          bytes, terms.load, waves, terms.cells - waves, terms.drain,
          terms.latency, terms.total(),
          onArray(name, {rows, cols, bytes}, isa::DrainOrder::Block, false));
    }
  fmt::print("\n");
}

} // namespace

int main(int argc, char **argv) {
  const std::string machine = argc > 1 ? argv[1] : "a1";
  const machine::Description m = llvm::cantFail(machine::load(machine));
  fmt::print("{}: array {} x {}, load {} rows/cycle, DRAM {} B/cycle, latency "
             "{}, bursts of {} B, DMA {} B/cycle on chip\n\n",
             machine, m.pe.rows, m.pe.columns, m.pe.loadRowsPerCycle,
             m.dram.bytesPerCycle, m.dram.latency, m.dram.burstBytes,
             m.dma.onchipBytesPerCycle);
  printTerms(machine, m);
  fmt::print(
      "| matrix | bytes | array | array, row order | byte planes | round "
      "trip | on load | on-chip copy, 1 queue | 4 queues | round trip / "
      "array | on-chip copy / array |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (auto [rows, cols] : {std::pair<uint64_t, uint64_t>(128, 64),
                            {128, 128},
                            {256, 256},
                            {512, 512},
                            {1000, 1000},
                            {1024, 1024}})
    for (unsigned bytes : {1U, 2U, 4U}) {
      const Size size{rows, cols, bytes};
      // Source, result and identity have to fit a partition.
      if (2 * ((rows + m.sb.partitions - 1) / m.sb.partitions * cols * bytes) +
              m.sb.partitions >
          m.sb.bytesPerPartition)
        continue;
      const uint64_t array =
          onArray(machine, size, isa::DrainOrder::Block, false);
      const uint64_t row = onArray(machine, size, isa::DrainOrder::Row, false);
      const uint64_t planes =
          onArray(machine, size, isa::DrainOrder::Block, true);
      const uint64_t trip = byCopies(machine, size, Way::RoundTrip, 1);
      const uint64_t load = byCopies(machine, size, Way::OnLoad, 1);
      const uint64_t chip = byCopies(machine, size, Way::OnChip, 1);
      const uint64_t four = byCopies(machine, size, Way::OnChip, 4);
      auto ratio = [&](uint64_t other) {
        return static_cast<double>(other) / static_cast<double>(array);
      };
      fmt::print("| {} x {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.2f} | "
                 "{:.2f} |\n",
                 rows, cols, bytes, array, row, planes, trip, load, chip, four,
                 ratio(trip), ratio(chip));
    }
  return 0;
}
