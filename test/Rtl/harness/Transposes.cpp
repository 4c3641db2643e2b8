// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The worked transposes, 4 x 4 and 128 x 64: PSUM cell (row r, partition c)
// gets the sum of identity column r in array column c, one row per cycle. The
// document counts a column's multiplications as one wave, r + c + 1; the cells
// of the array are skewed, so the hardware writes in cycle r + c + R - 1 after
// the stream's start and ACT can read in cycle r + c + R.

#include "Transposes.h"
#include "Compare.h"
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::rtl;

namespace {

struct Example {
  const char *size;
  isa::DrainOrder order;
};

class Transpose {
public:
  explicit Transpose(const Example &example)
      : example(example), chip(makeChip(example.size)),
        rows(chip->sizes().rows), cols(chip->sizes().columns) {}
  bool run();

private:
  Draft draft() const;
  void expect(bool holds, const std::string &what) {
    if (holds)
      return;
    good = false;
    fmt::print("WRONG {} {}: {}\n", example.size,
               isa::name(example.order).str(), what);
  }
  void checkWrites(const Record &record, uint64_t start);
  void checkDrains(const Record &record, uint64_t start);
  void checkResult(const Record &record);
  uint8_t value(unsigned r, unsigned c) const {
    return static_cast<uint8_t>(r * cols + c + 1);
  }

  Example example;
  std::unique_ptr<Chip> chip;
  unsigned rows, cols;
  bool good = true;
};

} // namespace

/// Bytes of a partition: source, identity, result.
static constexpr unsigned identityAt = 128, resultAt = 256;

Draft Transpose::draft() const {
  const Sizes &sizes = chip->sizes();
  Draft draft;
  draft.machine = llvm::cantFail(machine::load(
      example.size == std::string("4x4") ? "fig3-4x4" : "fig4-128x64"));
  draft.machine.sb.bytesPerPartition = sizes.bytes;
  draft.machine.xr.registers = sizes.scales;
  draft.machine.xmGroup = sizes.group;
  draft.machine.psum.banks = 2;
  draft.machine.psum.entriesPerBank = sizes.entries / 2;
  draft.image.assign(sizes.dram, 0);
  for (unsigned r = 0; r < rows; ++r) {
    for (unsigned c = 0; c < cols; ++c)
      draft.image[size_t(r) * 256 + c] = value(r, c);
    draft.image[size_t(r) * 256 + 128 + r] = 1;
  }
  isa::DmaCopy copy;
  copy.dstMem = isa::Memory::Sb;
  copy.n3 = rows;
  copy.n4 = 256;
  copy.srcStride3 = 256;
  copy.dstStride3 = sizes.bytes;
  copy.srcStride4 = copy.dstStride4 = 1;
  isa::PeLoad load;
  load.mode = isa::OperandMode::Select;
  load.type = isa::ElemType::U8;
  load.rows = rows;
  load.cols = cols;
  load.colStride = 1;
  isa::PeMatmul stream;
  stream.mode = isa::OperandMode::Select;
  stream.type = isa::ElemType::U8;
  stream.window = isa::Window::Identity;
  stream.rows = stream.n2 = rows;
  stream.cols = cols;
  stream.offset = identityAt;
  stream.stride2 = stream.psumStride2 = 1;
  stream.hi0 = stream.hi1 = 1;
  stream.hi2 = static_cast<int32_t>(rows);
  isa::ActDrain drain;
  drain.mode = isa::DrainMode::Raw64;
  drain.dstType = isa::ElemType::U8;
  drain.n2 = rows;
  drain.cols = cols;
  drain.psumStride2 = drain.dstStride2 = 1;
  drain.dstOffset = resultAt;
  drain.order = example.order;
  draft.operations = {copy, load, isa::PeSwap{}, stream, drain};
  return draft;
}

/// Cell (row r, partition c) is written in wave r + c + 1, and nothing else is.
void Transpose::checkWrites(const Record &record, uint64_t start) {
  std::vector<unsigned> active(rows + cols, 0);
  unsigned writes = 0;
  for (const Event &event : record.events) {
    if (event.kind != Event::Write)
      continue;
    ++writes;
    const auto r = static_cast<unsigned>(event.step);
    const auto c = static_cast<unsigned>(event.column);
    const uint64_t cycle = event.cycle - start;
    const uint64_t wave = cycle - (rows - 1) + 1;
    ++active[wave];
    expect(wave == r + c + 1 && event.value == value(r, c),
           fmt::format("P{}.{} = {} in wave {}", c, r, event.value, wave));
    if (rows == 4)
      fmt::print("wave {}: I{}*PE{} -> P{}.{} = {}, cell cycle {}\n", wave,
                 rows - 1 - r, c, c, r, event.value, cycle + 1);
  }
  expect(writes == rows * cols, fmt::format("{} writes", writes));
  for (unsigned w = 1; w < rows + cols; ++w)
    expect(active[w] == std::min({w, cols, rows + cols - w}),
           fmt::format("{} active columns in wave {}", active[w], w));
}

/// No entry is taken before it can be read; row order takes row t of all
/// partitions, partition order column c, as soon as it is complete.
void Transpose::checkDrains(const Record &record, uint64_t start) {
  uint64_t first = ~uint64_t(0), last = 0;
  for (const Event &event : record.events) {
    if (event.kind != Event::Drain)
      continue;
    const auto r = static_cast<uint64_t>(event.step);
    const auto c = static_cast<uint64_t>(event.column);
    const uint64_t cycle = event.cycle - start;
    first = std::min(first, cycle);
    last = std::max(last, cycle);
    expect(cycle >= r + c + rows,
           fmt::format("P{}.{} read in {}", c, r, cycle));
    uint64_t due = rows + cols - 1 + rows - 1 + r; // After the stream.
    if (example.order == isa::DrainOrder::Row)
      due = rows + cols - 1 + r;
    if (example.order == isa::DrainOrder::Partition)
      due = rows + rows - 1 + c + r;
    expect(cycle == due,
           fmt::format("P{}.{} taken in {}, expected {}", c, r, cycle, due));
  }
  fmt::print("{} {}: drained in cycles {} to {}\n", example.size,
             isa::name(example.order).str(), first, last);
}

void Transpose::checkResult(const Record &record) {
  for (unsigned c = 0; c < cols; ++c)
    for (unsigned t = 0; t < rows; ++t)
      expect(record.sb[size_t(c) * chip->sizes().bytes + resultAt + t] ==
                 value(t, c),
             fmt::format("SB[{}][N + {}]", c, t));
}

bool Transpose::run() {
  const Draft program = draft();
  Tally tally;
  for (const std::string &text : compare(*chip, program, tally))
    expect(false, text);
  const Coded coded = encodeDraft(program);
  const Record record = chip->run(program.machine, coded.words, program.image,
                                  coded.instructions.size(), 100000);
  uint64_t start = 0, complete = 0;
  for (size_t i = 0; i < coded.instructions.size(); ++i)
    if (std::holds_alternative<isa::PeMatmul>(coded.instructions[i])) {
      start = static_cast<uint64_t>(record.times[i].start);
      complete = static_cast<uint64_t>(record.times[i].complete);
    }
  checkWrites(record, start);
  checkDrains(record, start);
  checkResult(record);
  fmt::print("{} {}: {} waves, complete after {} cycles\n", example.size,
             isa::name(example.order).str(), rows + cols - 1, complete - start);
  return good;
}

bool rtl::runTransposes() {
  bool good = true;
  for (const char *size : {"4x4", "128x64"})
    for (isa::DrainOrder order : {isa::DrainOrder::Block, isa::DrainOrder::Row,
                                  isa::DrainOrder::Partition})
      good &= Transpose({size, order}).run();
  return good;
}
