// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ACT: PSUM -> SB, a lane per column, with the epilogue of docs/Numerics.md 6.

#include "../State/RunTimeCuts.h"
#include "Engine.h"
#include "TensorRows.h"
#include "WordArray.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <optional>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::DrainMode;
using isa::ElemType;

namespace {

/// The parameter record of one lane, 16 bytes in SB.
struct LaneRecord {
  float scale = 1;
  float bias = 0;
  int32_t exponent = 0; ///< EW of the output channel.
  float alpha = 0;
};
static_assert(sizeof(LaneRecord) == 16);

/// One drain with its operands resolved.
struct Drain {
  Engine &engine;
  const isa::ActDrain &op;
  Pattern entries; ///< PSUM entries.
  TensorView residual, result;
  int exponent = 0; ///< Without EW.
  /// Of the sparse cluster, with op.fromTcu: the unit of each group.
  llvm::ArrayRef<uint64_t> units = {};
  /// Sums of all units of a group, lanes op.regionStride apart, instead.
  const int64_t *planes = nullptr;

  /// Steps whose accumulators and results are transposed at a time.
  static constexpr uint64_t tileSteps = 16;

  /// The record of a lane, or of step `k` when records follow the steps.
  LaneRecord record(uint64_t lane, uint64_t k) const {
    LaneRecord record;
    if (op.hasScale || op.hasBias || op.hasExp || op.alphaFromParam ||
        op.mapped)
      std::memcpy(&record,
                  op.paramAlongSteps
                      ? engine.memory.sb(op.paramPart, op.paramOffset + 16 * k)
                      : engine.memory.sb(op.paramPart + lane, op.paramOffset),
                  sizeof(record));
    return record;
  }

  /// Accumulators [k0, k1) of a lane without gaps.
  const int64_t *accumulators(uint64_t lane, uint64_t k0, uint64_t k1) const {
    const int64_t *acc = entryRow(lane, k0, k1);
    if (!op.hasBias || (op.mode != DrainMode::Int && !op.biasAligned))
      return acc;
    auto *out = Scratch::ofThisThread().get<int64_t>(Scratch::RowB, k1 - k0);
    LaneRecord known = record(lane, k0);
    for (uint64_t k = k0; k < k1; ++k) {
      if (op.paramAlongSteps)
        known = record(lane, k);
      out[k - k0] = acc[k - k0] + integerBias(known);
    }
    return out;
  }

  /// Power of two of an accumulator's unit. EW comes from memory: limited, so
  /// that no record can overflow the sum.
  int exponentOf(const LaneRecord &record) const {
    constexpr int32_t limit = 1 << 20;
    return exponent +
           (op.hasExp ? std::clamp(record.exponent, -limit, limit) : 0);
  }

  /// The bias in units of the accumulator. Both stay below 2^62 (the loader's
  /// bound and this limit), their sum in 64 bits.
  int64_t integerBias(const LaneRecord &record) const {
    constexpr int64_t limit = int64_t(1) << 62;
    const auto word = std::bit_cast<int32_t>(record.bias);
    if (op.mode == DrainMode::Int)
      return word;
    const auto mantissa = static_cast<int16_t>(word);
    const std::optional<int64_t> bias =
        numerics::alignedBias(mantissa, word >> 16, exponentOf(record));
    return std::clamp(bias.value_or(mantissa < 0 ? -limit : limit), -limit,
                      limit);
  }

  /// The lane whose accumulators a lane takes: drainUnits() has checked it.
  uint64_t sourceOf(uint64_t lane) const {
    return op.mapped ? std::bit_cast<uint32_t>(record(lane, 0).alpha) : lane;
  }

  /// The entries themselves.
  const int64_t *entryRow(uint64_t lane, uint64_t k0, uint64_t k1) const {
    lane = sourceOf(lane);
    const uint64_t own = op.fromTcu ? lanesOfGroup(op) : op.cols;
    const int64_t *column =
        planes       ? planes + lane * op.regionStride
        : op.fromTcu ? engine.memory.acc(units[lane / own],
                                         op.psum + lane % own * op.regionStride)
                     : engine.memory.psum(lane, op.psum);
    if (entries.count[0] == 1 && entries.count[1] == 1 &&
        entries.stride[2] == 1)
      return column + k0;
    auto *out = Scratch::ofThisThread().get<int64_t>(Scratch::Accums, k1 - k0);
    int64_t *to = out;
    entries.forRuns(k0, k1, [&](uint64_t, int64_t offset, uint64_t n) {
      for (uint64_t i = 0; i < n; ++i)
        *to++ = column[offset + static_cast<int64_t>(i) * entries.stride[2]];
    });
    return out;
  }

  numerics::EpilogueRow epilogue(const LaneRecord &record) const {
    numerics::EpilogueRow row;
    row.exponent = exponentOf(record);
    row.hasScale = op.hasScale;
    row.hasBias = op.hasBias && !op.biasAligned && op.mode != DrainMode::Int;
    row.scale = record.scale;
    row.bias = record.bias;
    row.function = static_cast<numerics::Function>(op.function);
    row.alpha = op.alphaFromParam ? record.alpha : op.alpha;
    row.beta = op.beta;
    return row;
  }

  void floatRow(uint64_t lane, uint64_t k0, uint64_t k1, float *out) const {
    const float *addend = op.resMode
                              ? loadFloats(engine, residual, lane, k0, k1,
                                           Scratch::ofThisThread().get<float>(
                                               Scratch::RowA, k1 - k0))
                              : nullptr;
    const int64_t *acc = accumulators(lane, k0, k1);
    // Records that follow the steps make every step a row of its own.
    const uint64_t length = op.paramAlongSteps ? 1 : k1 - k0;
    for (uint64_t k = k0; k < k1; k += length) {
      numerics::EpilogueRow row = epilogue(record(lane, k));
      row.residual = addend ? addend + (k - k0) : nullptr;
      engine.kernels->epilogue(acc + (k - k0), length, row, out + (k - k0));
    }
  }

  /// Steps [k0, k1) of all lanes where the records follow the steps: with the
  /// lanes of a step side by side, the epilogue takes them as one row.
  const float *stepRows(uint64_t k0, uint64_t k1) const {
    Scratch &scratch = Scratch::ofThisThread();
    const uint64_t lanes = op.cols, steps = k1 - k0;
    auto *acc = scratch.get<int64_t>(Scratch::Column, lanes * steps);
    auto *addend = scratch.get<float>(Scratch::Zeroed, lanes * steps);
    auto *out = scratch.get<float>(Scratch::Block, lanes * steps);
    for (uint64_t lane = 0; lane < lanes; ++lane) {
      const int64_t *from = accumulators(lane, k0, k1);
      for (uint64_t k = 0; k < steps; ++k)
        acc[k * lanes + lane] = from[k];
      if (!op.resMode)
        continue;
      const float *row = loadFloats(engine, residual, lane, k0, k1,
                                    scratch.get<float>(Scratch::RowA, steps));
      for (uint64_t k = 0; k < steps; ++k)
        addend[k * lanes + lane] = row[k];
    }
    for (uint64_t k = 0; k < steps; ++k) {
      numerics::EpilogueRow row = epilogue(record(0, k0 + k));
      row.residual = op.resMode ? addend + k * lanes : nullptr;
      engine.kernels->epilogue(acc + k * lanes, lanes, row, out + k * lanes);
    }
    return out;
  }

  /// Stores at most tileSteps of them.
  void stepTile(uint64_t k0, uint64_t k1) const {
    const uint64_t lanes = op.cols, steps = k1 - k0;
    const float *out = stepRows(k0, k1);
    float values[tileSteps];
    for (uint64_t lane = 0; lane < lanes; ++lane) {
      float *direct = directRow(engine, result, lane, k0);
      float *to = direct ? direct : values;
      for (uint64_t k = 0; k < steps; ++k)
        to[k] = out[k * lanes + lane];
      if (!direct)
        storeFloats(engine, result, lane, k0, k1, to);
    }
  }

  /// The same values where the records belong to the lanes.
  const float *laneRows(uint64_t k0, uint64_t k1) const {
    Scratch &scratch = Scratch::ofThisThread();
    const uint64_t steps = k1 - k0;
    auto *out = scratch.get<float>(Scratch::Block, op.cols * steps);
    auto *row = scratch.get<float>(Scratch::Column, steps);
    for (uint64_t lane = 0; lane < op.cols; ++lane) {
      floatRow(lane, k0, k1, row);
      for (uint64_t k = 0; k < steps; ++k)
        out[k * op.cols + lane] = row[k];
    }
    return out;
  }

  /// Encodes steps [k0, k1) of every lane as one block.
  template <typename T>
  void blockAlong(uint64_t k0, uint64_t k1,
                  numerics::EncodeStats &stats) const {
    const float *values =
        op.paramAlongSteps ? stepRows(k0, k1) : laneRows(k0, k1);
    Scratch &scratch = Scratch::ofThisThread();
    const uint64_t lanes = op.cols, steps = k1 - k0;
    auto **rows = scratch.get<const float *>(Scratch::Pointers2, steps);
    auto **mantissas = scratch.get<T *>(Scratch::Pointers, steps);
    auto *words = scratch.get<T>(Scratch::Mantissa, steps * lanes);
    auto *cells = scratch.get<int8_t>(Scratch::Cells, lanes);
    for (uint64_t k = 0; k < steps; ++k) {
      rows[k] = values + k * lanes;
      mantissas[k] = words + k * lanes;
    }
    const int width = static_cast<int>(op.dstMantissa);
    if (op.cellFromXr)
      encodeGivenLanes(engine, encodeTarget(op), width, {rows, steps}, lanes,
                       mantissas, cells, stats);
    else if constexpr (sizeof(T) == 1)
      engine.kernels->encode8(rows, steps, lanes, width, mantissas, cells,
                              &stats);
    else
      engine.kernels->encode16(rows, steps, lanes, width, mantissas, cells,
                               &stats);
    for (uint64_t lane = 0; lane < lanes; ++lane)
      for (uint64_t k = 0; k < steps; ++k) {
        const uint64_t offset = op.dstOffset + (k0 + k) * sizeof(T);
        std::memcpy(engine.memory.sb(op.dstPart + lane, offset),
                    &mantissas[k][lane], sizeof(T));
        *cellOf(engine.memory, isa::Orientation::F, sizeof(T),
                op.dstPart + lane, static_cast<int64_t>(offset)) = cells[lane];
      }
  }

  /// Blocks along the free axis: consecutive steps of a lane.
  void encodeAlong() const {
    const EncodeTarget target = encodeTarget(op);
    engine.beginEncode(target);
    const uint64_t size = entries.size(), block = op.dstBlock;
    engine.split(llvm::divideCeil(size, block), size * op.cols * 4,
                 [&](uint64_t begin, uint64_t end) {
                   numerics::EncodeStats stats;
                   for (uint64_t k = begin * block;
                        k < std::min(size, end * block); k += block) {
                     const uint64_t stop = std::min(size, k + block);
                     if (op.dstMantissa <= 8)
                       blockAlong<int8_t>(k, stop, stats);
                     else
                       blockAlong<int16_t>(k, stop, stats);
                   }
                   engine.finishEncode(stats, target);
                 });
  }

  /// Exact values for a drain of mode block.
  void exactRow(uint64_t lane, uint64_t k0, uint64_t k1,
                numerics::WideValue *out) const {
    const int64_t *acc = accumulators(lane, k0, k1);
    LaneRecord known = record(lane, k0);
    for (uint64_t k = k0; k < k1; ++k) {
      if (op.paramAlongSteps)
        known = record(lane, k);
      const bool cut = op.function == isa::Function::Relu && acc[k - k0] < 0;
      out[k - k0] =
          numerics::wideValue(cut ? 0 : acc[k - k0], exponentOf(known));
    }
  }

  /// Integer drains with a scale: one rounding to binary32, the epilogue, one
  /// rounding to an integer.
  void requantisedRow(uint64_t lane, uint64_t k0, uint64_t k1) const {
    Scratch &scratch = Scratch::ofThisThread();
    auto *floats = scratch.get<float>(Scratch::Block, k1 - k0);
    floatRow(lane, k0, k1, floats);
    auto *out = scratch.get<int64_t>(Scratch::RowA, k1 - k0);
    const int bits = static_cast<int>(8 * storedBytes(op.dstType, 0));
    const bool isSigned =
        support::isSignedInteger(static_cast<ElementType>(op.dstType));
    for (uint64_t i = 0; i < k1 - k0; ++i) {
      const double rounded =
          numerics::apply(numerics::Function::Round, floats[i]);
      const double value = rounded + op.shift;
      out[i] = isSigned
                   ? numerics::toSigned(value, bits)
                   : static_cast<int64_t>(numerics::toUnsigned(value, bits));
    }
    storeIntegers(engine, result, lane, k0, k1, out);
  }

  /// Integer drains: limited, or the low bytes of the integer.
  void integerRow(uint64_t lane, uint64_t k0, uint64_t k1) const {
    if (op.hasScale)
      return requantisedRow(lane, k0, k1);
    const int64_t *acc = accumulators(lane, k0, k1);
    auto *out = Scratch::ofThisThread().get<int64_t>(Scratch::RowA, k1 - k0);
    const int bits = static_cast<int>(8 * storedBytes(op.dstType, 0));
    const bool isSigned =
        support::isSignedInteger(static_cast<ElementType>(op.dstType));
    // The low bytes of an integer are the integer wrapped.
    const bool saturates = op.overflow == isa::Overflow::Saturate;
    for (uint64_t i = 0; i < k1 - k0; ++i)
      out[i] =
          saturates ? numerics::saturateTo(acc[i], bits, isSigned) : acc[i];
    storeIntegers(engine, result, lane, k0, k1, out);
  }
};

} // namespace

/// A cleared register means that every block was zero; so is every
/// accumulator, and any exponent gives the same zero.
static int scaleOf(Memory &memory, unsigned xr) {
  int16_t scale = memory.xr(xr);
  return scale == clearedScale ? 0 : scale;
}

static void drainOnce(Engine &engine, const isa::ActDrain &op,
                      llvm::ArrayRef<uint64_t> units = {},
                      const int64_t *planes = nullptr) {
  Memory &memory = engine.memory;
  Drain drain{engine, op, {}, {}, {}, 0, units, planes};
  drain.entries = patternOf(operandPsum(op)).merged();
  drain.result = viewOf(operandDst(op));
  if (op.mode == DrainMode::Int || op.mode == DrainMode::Raw64) {
    engine.split(op.cols, op.cols * drain.entries.size(),
                 [&](uint64_t begin, uint64_t end) {
                   for (uint64_t lane = begin; lane < end; ++lane)
                     drain.integerRow(lane, 0, drain.entries.size());
                 });
    return;
  }
  drain.exponent = scaleOf(memory, op.xrA) + scaleOf(memory, op.xrS) + op.shift;
  const EncodeTarget target = encodeTarget(op);
  if (op.mode == DrainMode::Block)
    return produceExact(
        engine, drain.result, target, op.cols,
        [&](uint64_t lane, uint64_t k0, uint64_t k1, numerics::WideValue *out) {
          drain.exactRow(lane, k0, k1, out);
        });
  drain.residual = viewOf(operandRes(op));
  if (op.dstOrientation == isa::Orientation::F)
    return drain.encodeAlong();
  if (op.paramAlongSteps && op.dstType != ElemType::Bfp) {
    const uint64_t steps = drain.entries.size(), tile = Drain::tileSteps;
    engine.split(llvm::divideCeil(steps, tile), steps * op.cols * 4,
                 [&](uint64_t begin, uint64_t end) {
                   for (uint64_t k = begin * tile;
                        k < std::min(steps, end * tile); k += tile)
                     drain.stepTile(k, std::min(steps, k + tile));
                 });
    return;
  }
  produceFloats(engine, drain.result, target, op.cols, 1,
                [&](uint64_t lane, uint64_t k0, uint64_t k1, float *out) {
                  drain.floatRow(lane, k0, k1, out);
                });
}

/// Units that hold parts of the operand: their sums for a result are added
/// before the epilogue. A result that none of them reaches is zero.
static void drainPartial(Engine &engine, const isa::ActDrain &op,
                         const TileTable &table) {
  isa::ActDrain whole = partialDrain(op, table);
  if (whole.n0 == 0)
    return;
  const uint64_t plane = uint64_t(whole.n1) * whole.n2;
  const uint64_t lane = plane * whole.n0;
  const uint32_t first = firstImage(op, table);
  std::vector<int64_t> planes(lane * op.cols);
  auto addUnit = [&](uint64_t unit, uint64_t c, uint64_t region) {
    const TileEntry &entry = table[unit];
    for (uint64_t n = 0; n < entry.images; ++n)
      for (uint64_t y = 0; y < entry.rows; ++y) {
        const int64_t *from = engine.memory.acc(
            unit, static_cast<uint64_t>(int64_t(op.psum) +
                                        int64_t(region) * op.regionStride +
                                        int64_t(n) * op.psumStride0 +
                                        int64_t(y) * op.psumStride1));
        int64_t *to = &planes[c * lane + (entry.n - first + n) * plane +
                              (entry.y + y) * whole.n2 + entry.x];
        for (uint64_t x = 0; x < entry.cols; ++x)
          to[x] += from[static_cast<int64_t>(x) * op.psumStride2];
      }
  };
  const uint64_t own = lanesOfGroup(op);
  for (auto [group, units] : llvm::enumerate(drainedUnits(op, table)))
    for (uint64_t unit : units)
      for (uint64_t region = 0; region < own && group * own + region < op.cols;
           ++region)
        addUnit(unit, group * own + region, region);
  whole.psum = 0;
  whole.regionStride = static_cast<uint32_t>(lane);
  whole.psumStride0 = static_cast<int32_t>(plane);
  whole.psumStride1 = static_cast<int32_t>(whole.n2);
  whole.psumStride2 = 1;
  whole.dstXrClear = false;
  drainOnce(engine, whole, {}, planes.data());
}

/// Clears the counters that a drain addresses.
static void clearCounters(Engine &engine, const isa::ActDrain &op) {
  Count count;
  const uint64_t steps[] = {op.n0, op.n1, op.n2};
  const uint64_t strides[] = {op.countStride0, op.countStride1,
                              op.countStride2};
  std::copy_n(steps, 3, count.count);
  std::copy_n(strides, 3, count.counter);
  count.clear(engine.nonZeros.data() + op.counts);
}

/// What is wrong with the lanes that the records of a mapped drain name.
static std::string checkMap(Engine &engine, const isa::ActDrain &op) {
  const Drain drain{engine, op, {}, {}, {}};
  for (uint64_t lane = 0; op.mapped && lane < op.cols; ++lane)
    if (uint64_t source = drain.sourceOf(lane); source >= op.cols)
      return fmt::format("lane {} takes the accumulators of lane {}, the drain "
                         "has {} lanes",
                         lane, source, op.cols);
  return "";
}

/// A drain of the sparse cluster.
static void drainUnits(Engine &engine, const isa::ActDrain &op) {
  engine.reject(checkMap(engine, op));
  if (engine.finding)
    return;
  // The register collects the exponents of all units.
  if (op.dstType == ElemType::Bfp)
    engine.beginEncode(encodeTarget(op));
  const TileTable &table = engine.tables[op.table];
  const bool partial =
      std::any_of(table.begin(), table.end(),
                  [](const TileEntry &entry) { return entry.operand.partial; });
  if (engine.cutTables[op.table])
    engine.measured[engine.current] =
        tileDrainCost(*engine.machine, op,
                      drainedResults(op, table) +
                          (partial ? unreachedResults(op, table) : 0));
  if (partial) {
    drainPartial(engine, op, table);
    return;
  }
  // The loader has seen that the groups have equal tiles.
  const std::vector<std::vector<uint64_t>> units = drainedUnits(op, table);
  std::vector<uint64_t> sources(units.size());
  for (size_t i = 0; i < units.front().size(); ++i) {
    for (auto [source, group] : llvm::zip(sources, units))
      source = group[i];
    isa::ActDrain part = unitDrain(op, table[sources.front()]);
    part.dstXrClear = false;
    drainOnce(engine, part, sources);
  }
}

void Engine::execute(const isa::ActDrain &op) {
  batch.flush(*this);
  if (op.fromTcu)
    drainUnits(*this, op);
  else if (op.mode == DrainMode::Raw64)
    drainWords(*this, op);
  else
    drainOnce(*this, op);
  if (!op.counted)
    return;
  if (op.countClear)
    clearCounters(*this, op);
  countDrained(op);
}
