// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PE array: stationary loads, the swap, matmul. The product runs in the GEMM
// kernel of the table, exact in 64 bits.

#include "MovingOperand.h"
#include "WordArray.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::OperandMode;

//===- Stationary operand -------------------------------------------------===//

/// The cells of `cols` elements of one partition whose blocks run along it.
static void gatherFreeAxis(const Memory &memory, const isa::PeLoad &op,
                           unsigned bytes, uint64_t partition, uint64_t offset,
                           uint64_t cols, uint8_t *out) {
  auto at = static_cast<int64_t>(offset);
  for (uint64_t c = 0; c < cols; ++c, at += op.colStride)
    out[c] = static_cast<uint8_t>(
        *cellOf(memory, op.orientation, bytes, partition, at));
}

/// Leaves the first `terms` non-zero cells of every column of rows x cols
/// elements, in row order.
static void limitTerms(uint8_t *values, uint64_t elementBytes, uint64_t rows,
                       uint64_t cols, uint64_t terms) {
  for (uint64_t c = 0; c < cols; ++c) {
    uint64_t left = terms;
    for (uint64_t i = 0; i < rows; ++i) {
      uint8_t *cell = values + (i * cols + c) * elementBytes;
      const bool used = std::any_of(cell, cell + elementBytes,
                                    [](uint8_t byte) { return byte != 0; });
      if (used && left == 0)
        std::fill(cell, cell + elementBytes, uint8_t(0));
      left -= used && left > 0;
    }
  }
}

/// The first of `cols` columns of which more than N of M neighbouring rows are
/// not zero; `cols` if none is.
static uint64_t columnWithoutPattern(const uint8_t *values,
                                     uint64_t elementBytes, uint64_t rows,
                                     uint64_t cols,
                                     const machine::PeArray &pe) {
  uint64_t first = cols;
  for (uint64_t begin = 0; begin < rows; begin += pe.patternGroup)
    for (uint64_t c = 0; c < first; ++c) {
      uint64_t used = 0;
      for (uint64_t i = begin; i < std::min(begin + pe.patternGroup, rows);
           ++i) {
        const uint8_t *cell = values + (i * cols + c) * elementBytes;
        used += std::any_of(cell, cell + elementBytes,
                            [](uint8_t byte) { return byte != 0; });
      }
      if (used > pe.patternKept)
        first = c;
    }
  return first;
}

/// What the threads of a load find.
struct LoadFindings {
  uint64_t saturated = 0;
  uint64_t bad = ~uint64_t(0); ///< First column without the pattern.
};

/// Packs a part of the columns of a set straight from SB; false if it has to be
/// aligned first: it is not dense bytes with signs and with cells across the
/// rows, the set's values are asked for, or some of them may saturate.
static bool packPart(const Engine &engine, const isa::PeLoad &op,
                     const Fetch &fetch, uint64_t offset, uint64_t cols,
                     bool keepsValues, numerics::PackedStationary &packed) {
  if (!engine.kernels->packStoredStationary || keepsValues || op.terms ||
      op.pattern || op.colStride != 1 || fetch.bytes() != 1 ||
      fetch.type != isa::ElemType::Bfp || fetch.mode != OperandMode::Bfp ||
      op.orientation == isa::Orientation::F ||
      fetch.width() != numerics::OperandWidth::Int16)
    return false;
  const Memory &memory = engine.memory;
  const auto at = static_cast<int64_t>(offset);
  numerics::StoredMatrix values;
  values.mant = reinterpret_cast<const int8_t *>(memory.sb(op.part, at));
  values.cells = memory.cell(op.part, at);
  values.pitch = values.cellPitch = static_cast<ptrdiff_t>(memory.pitch());
  values.firstRows = groupRows(memory, op.part, op.rows);
  values.groupRows = memory.partitionsPerCell();
  values.alignment = fetch.alignment;
  return engine.kernels->packStoredStationary(values, op.rows, cols, packed);
}

/// Aligns and packs one part of the columns of a set.
static void loadPart(Engine &engine, const isa::PeLoad &op, const Fetch &fetch,
                     StationarySet &set, size_t part, LoadFindings &found) {
  Scratch &scratch = Scratch::ofThisThread();
  const Memory &memory = engine.memory;
  const unsigned bytes = fetch.bytes();
  const uint64_t elementBytes = widthBytes(fetch.width());
  const uint64_t cols = set.colsOf(part);
  const uint64_t offset =
      op.offset +
      static_cast<uint64_t>(static_cast<int64_t>(set.parts[part].first) *
                            op.colStride);
  if (packPart(engine, op, fetch, offset, cols, !set.values.empty(),
               set.parts[part].packed))
    return;
  auto *values =
      scratch.get<uint8_t>(Scratch::Moving, op.rows * cols * elementBytes);
  Pattern columns{{1, 1, cols}, {0, 0, op.colStride}};
  auto *raw = scratch.get<uint8_t>(Scratch::GatherA, cols * bytes);
  auto *cells = scratch.get<uint8_t>(Scratch::GatherB, cols);
  const bool dense = op.colStride == static_cast<int64_t>(bytes);
  const bool encoded = fetch.mode == OperandMode::Bfp;
  const bool along = encoded && op.orientation == isa::Orientation::F;
  for (uint64_t i = 0, rows; i < op.rows; i += rows) {
    const uint64_t p = op.part + i;
    const uint8_t *row = memory.sb(p, offset);
    rows = dense && !along ? groupRows(memory, p, op.rows - i) : 1;
    if (!dense) {
      gatherElements(*engine.kernels, row, columns, bytes, 0, cols, raw);
      row = raw;
    }
    const auto *exponents =
        reinterpret_cast<const uint8_t *>(memory.cell(p, offset));
    if (along)
      gatherFreeAxis(memory, op, bytes, p, offset, cols, cells);
    else if (op.colStride != 1 && encoded)
      gatherElements(*engine.kernels, exponents, columns, 1, 0, cols, cells);
    if (along || (op.colStride != 1 && encoded))
      exponents = cells;
    fetchRows(*engine.kernels, fetch,
              {row, memory.pitch(), rows,
               reinterpret_cast<const int8_t *>(exponents)},
              cols,
              {values + i * cols * elementBytes, static_cast<ptrdiff_t>(cols)},
              found.saturated);
  }
  if (op.terms)
    limitTerms(values, elementBytes, op.rows, cols, op.terms);
  if (op.pattern)
    if (const uint64_t c = columnWithoutPattern(values, elementBytes, op.rows,
                                                cols, engine.machine->pe);
        c < cols)
      found.bad = std::min(found.bad, set.parts[part].first + c);
  engine.kernels->packStationary({fetch.width(), values, cols}, op.rows, cols,
                                 set.parts[part].packed);
  for (uint64_t i = 0; !set.values.empty() && i < op.rows; ++i)
    std::memcpy(&set.values[i * op.cols + set.parts[part].first],
                values + i * cols * elementBytes, cols * elementBytes);
}

void Engine::execute(const isa::PeLoad &op) {
  Fetch fetch = fetchOf(op, memory);
  StationarySet &shadow = sets.shadow();
  shadow.setShape(op.rows, op.cols, columnSharers);
  shadow.values.clear();
  if (holdsWords(op.mode))
    return loadWords(*this, op);
  fetched += uint64_t(op.rows) * op.cols;
  if (fetch.width() == numerics::OperandWidth::Int16 &&
      op.rows <= mergedRows / 2)
    shadow.values.resize(op.rows * op.cols);
  uint64_t bad = ~uint64_t(0);
  split(shadow.parts.size(), op.rows * op.cols,
        [&](uint64_t begin, uint64_t end) {
          LoadFindings found;
          for (uint64_t part = begin; part < end; ++part)
            loadPart(*this, op, fetch, shadow, part, found);
          if (found.saturated == 0 && found.bad >= op.cols)
            return;
          std::lock_guard<std::mutex> lock(mutex);
          counters.saturated += found.saturated;
          bad = std::min(bad, found.bad);
        });
  if (bad < op.cols)
    reject(fmt::format("column {} has more than {} cells in {} neighbouring "
                       "rows that are not zero, which is not {}:{} weights",
                       bad, machine->pe.patternKept, machine->pe.patternGroup,
                       machine->pe.patternKept, machine->pe.patternGroup));
}

void Engine::execute(const isa::PeSwap &) {
  sets.swap();
  sets.recycle();
}

//===- Matmul -------------------------------------------------------------===//

/// Units of steps that threads take.
static constexpr uint64_t packSteps = 64;

/// Fetches a range of a matmul's operand and packs it from row `row` of
/// `packed` on.
static void packRange(Engine &engine, const isa::PeMatmul &op,
                      const Fetch &fetch, const numerics::MovingRange &range,
                      uint64_t row, numerics::PackedMoving &packed,
                      uint64_t &saturated) {
  isa::PeMatmul rows = op;
  rows.part = op.part + range.row;
  rows.rows = range.rows;
  packMoving(engine, rows, fetch, windowOf(rows, fetch.bytes()), range.first,
             range.first + range.steps, row + range.row, packed, saturated);
}

/// Fetches and packs the operand of a matmul: every thread the steps, or the
/// rows if there are few steps, that will be nearest to it. Returns how many
/// elements saturated.
static uint64_t packOperand(Engine &engine, const isa::PeMatmul &op,
                            const Fetch &fetch, uint64_t steps, uint64_t row,
                            numerics::PackedMoving &packed) {
  // Rows whose exponents share a cell stay together.
  constexpr uint64_t rowUnit = 16;
  const bool bySteps = steps >= splitSteps;
  const uint64_t unit = bySteps ? packSteps : rowUnit;
  const uint64_t size = bySteps ? steps : op.rows;
  uint64_t total = 0;
  engine.split((size + unit - 1) / unit, steps * op.rows,
               [&](uint64_t first, uint64_t last) {
                 uint64_t saturated = 0;
                 const uint64_t begin = first * unit;
                 const uint64_t count = std::min(size, last * unit) - begin;
                 const numerics::MovingRange range =
                     bySteps ? numerics::MovingRange{0, op.rows, begin, count}
                             : numerics::MovingRange{begin, count, 0, steps};
                 packRange(engine, op, fetch, range, row, packed, saturated);
                 if (saturated == 0)
                   return;
                 std::lock_guard<std::mutex> lock(engine.mutex);
                 total += saturated;
               });
  return total;
}

/// An empty slot for an operand. Those that wait for their product must not be
/// given up.
static OperandCache::Slot &newSlot(Engine &engine, uint32_t operand,
                                   uint32_t uses, uint64_t bytes) {
  if (engine.operands.isFull(bytes))
    engine.batch.flush(engine);
  return engine.operands.insert(operand, uses, bytes);
}

/// The packed moving operand of a matmul, fetched if no earlier matmul has
/// done so.
static OperandCache::Slot &packedOperand(Engine &engine,
                                         const isa::PeMatmul &op,
                                         const Fetch &fetch, uint64_t steps) {
  const uint32_t operand = engine.reuse.operandOf(engine.current);
  if (OperandCache::Slot *slot = engine.operands.find(operand))
    return *slot;
  OperandCache::Slot &slot =
      newSlot(engine, operand, engine.usesOf(operand),
              op.rows * steps * widthBytes(fetch.width()));
  if (engine.sets.active().isInBlocks() && packsBlocks(engine, op, fetch)) {
    engine.kernels->startBlocks(op.rows, steps, slot.packed);
    slot.saturated = packOperand(engine, op, fetch, steps, 0, slot.packed);
    if (slot.saturated == 0)
      return slot;
  }
  engine.kernels->startMoving(op.rows, steps, fetch.width(), slot.packed);
  slot.saturated = packOperand(engine, op, fetch, steps, 0, slot.packed);
  return slot;
}

/// Zeroes the rows after the last one of an operand, up to the next that may
/// start there. Their weights are zero, and so are those of the rows after
/// them, which nothing has packed.
static void clearRest(Engine &engine, uint64_t row, uint64_t rows,
                      uint64_t steps, numerics::PackedMoving &packed) {
  constexpr uint64_t unit = numerics::kMovingRowUnit;
  if (rows % unit == 0)
    return;
  auto *zeros = Scratch::ofThisThread().get<int16_t>(Scratch::Zeroed, steps);
  std::fill_n(zeros, steps, int16_t(0));
  engine.kernels->packMoving({numerics::OperandWidth::Int16, zeros, 0},
                             {row + rows - rows % unit, unit, 0, steps},
                             packed);
}

/// A matmul of few rows joins the one before it into the same entries.
static void mergeMatmul(Engine &engine, const isa::PeMatmul &op,
                        const Fetch &fetch, uint64_t steps) {
  const StationarySet &set = engine.sets.active();
  uint64_t row = 0;
  OperandCache::Slot *slot =
      op.accumulate ? engine.batch.merge(set, op.psum, steps, row) : nullptr;
  if (!slot) {
    if (!engine.batch.accepts(op.psum, steps))
      engine.batch.flush(engine);
    slot = &newSlot(engine, mergedOperand, 1,
                    mergedRows * steps * widthBytes(fetch.width()));
    engine.kernels->startMoving(mergedRows, steps, fetch.width(), slot->packed);
    engine.batch.addMerged(set, *slot, op.accumulate, op.psum, steps);
  }
  clearRest(engine, row, op.rows, steps, slot->packed);
  engine.counters.saturated +=
      packOperand(engine, op, fetch, steps, row, slot->packed);
}

/// Packs the operand now and leaves the product to the batch.
static void deferMatmul(Engine &engine, const isa::PeMatmul &op,
                        const Fetch &fetch) {
  const uint64_t steps = uint64_t(op.n0) * op.n1 * op.n2;
  StationarySet &set = engine.sets.active();
  if (!set.values.empty() && op.rows == set.rows &&
      fetch.width() == numerics::OperandWidth::Int16)
    return mergeMatmul(engine, op, fetch, steps);
  OperandCache::Slot &slot = packedOperand(engine, op, fetch, steps);
  if (!slot.packed.inBlocks)
    set.leaveBlocks(*engine.kernels);
  engine.counters.saturated += slot.saturated;
  if (!engine.batch.accepts(op.psum, steps))
    engine.batch.flush(engine);
  engine.batch.add(op.psum, steps, {&set, &slot, op.accumulate != 0});
}

/// Multiplies steps [begin, end) with the active set.
static void multiplySteps(Engine &engine, const isa::PeMatmul &op,
                          const Fetch &fetch, const Window &window,
                          const Pattern &target, uint64_t begin, uint64_t end,
                          uint64_t &saturated) {
  numerics::IntegerMatrix moving =
      buildMoving(engine, op, fetch, window, begin, end, saturated);
  const uint64_t elementBytes = widthBytes(fetch.width());
  const uint64_t columnPitch = engine.memory.columnPitch();
  target.forRuns(begin, end, [&](uint64_t k, int64_t offset, uint64_t n) {
    numerics::IntegerMatrix part = moving;
    part.data =
        static_cast<const uint8_t *>(moving.data) + (k - begin) * elementBytes;
    int64_t *out =
        engine.memory.psum(0, op.psum + static_cast<uint64_t>(offset));
    const StationarySet &set = engine.sets.active();
    if (target.stride[2] == 1 || n == 1) {
      for (const StationarySet::Part &columns : set.parts)
        engine.kernels->gemm(columns.packed, part, n,
                             out + columns.first * columnPitch, columnPitch,
                             op.accumulate);
      return;
    }
    // Strided entries: multiply into a buffer, then add one by one.
    const uint64_t cols = set.cols;
    auto *sums =
        Scratch::ofThisThread().get<int64_t>(Scratch::Accums, cols * n);
    for (const StationarySet::Part &columns : set.parts)
      engine.kernels->gemm(columns.packed, part, n, sums + columns.first * n, n,
                           false);
    for (uint64_t c = 0; c < cols; ++c)
      for (uint64_t t = 0; t < n; ++t) {
        int64_t &entry = out[static_cast<int64_t>(c * columnPitch) +
                             static_cast<int64_t>(t) * target.stride[2]];
        entry = sums[c * n + t] + (op.accumulate ? entry : 0);
      }
  });
}

void Engine::execute(const isa::PeMatmul &instruction) {
  const isa::PeMatmul op = perResult(instruction);
  Fetch fetch = fetchOf(op, memory);
  reject(brokenWindow(memory, op));
  if (holdsWords(op.mode)) {
    batch.flush(*this);
    multiplyWords(*this, op);
    return;
  }
  fetched += uint64_t(op.rows) * op.n0 * op.n1 * op.n2;
  Pattern target = Pattern{
      {op.n0, op.n1, op.n2},
      {op.psumStride0, op.psumStride1,
       op.psumStride2}}.merged();
  if (target.isDense(1))
    return deferMatmul(*this, op, fetch);
  batch.flush(*this);
  const Window window = windowOf(op, fetch.bytes());
  // Threads take step ranges in units that fill the kernels' registers.
  const uint64_t unit = window.steps >= 256 ? 64 : 16;
  const uint64_t units = (window.steps + unit - 1) / unit;
  split(units, window.steps * op.rows * 8, [&](uint64_t b, uint64_t e) {
    uint64_t saturated = 0;
    multiplySteps(*this, op, fetch, window, target, b * unit,
                  std::min(window.steps, e * unit), saturated);
    if (saturated == 0)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    counters.saturated += saturated;
  });
}
