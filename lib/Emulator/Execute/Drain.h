// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One drain with its operands resolved, and the rows that it produces.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_DRAIN_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_DRAIN_H

#include "../State/RunTimeCuts.h"
#include "Engine.h"
#include "TensorRows.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

namespace ashlar::emulator {

/// The parameter record of one lane, 16 bytes in SB.
struct LaneRecord {
  float scale = 1;
  float bias = 0;
  int32_t exponent = 0; ///< EW of the output channel.
  float alpha = 0;
};
static_assert(sizeof(LaneRecord) == 16);

/// What an element of a drain takes, in units of Engine::split's work: 0.9 ns
/// from its sum to its byte. A fork and its join take 0.7 microseconds; with
/// this factor drains of 2.5 microseconds and more are worth one.
inline constexpr uint64_t drainCost = 3;

/// The scale exponent that a drain takes from a register. A cleared one means
/// that every block was zero; so is every accumulator. The least exponent that
/// a step can have lets what is added to it keep its bits.
inline int scaleOf(Memory &memory, unsigned xr) {
  constexpr int least = -142;
  const int16_t scale = memory.xr(xr);
  return scale == clearedScale ? least : scale;
}

/// Where lanes are those of several results, one of which a drain takes: its
/// place among the columns and entries that all of them drain.
struct DrainGroup {
  uint64_t column = 0; ///< Of lane 0.
  uint64_t columns = 0, steps = 0;
  bool isLast = true;
};

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
  DrainGroup group = {};

  /// Records of the steps where they follow them.
  std::vector<int32_t> stepExponents = {};
  std::vector<float> stepScales = {}, stepBiases = {};

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

  /// Accumulators [k0, k1) of a lane without gaps, in units of exponentOf().
  const int64_t *accumulators(uint64_t lane, uint64_t k0, uint64_t k1) const {
    const int64_t *acc = entryRow(lane, k0, k1);
    if (!op.hasBias || (op.mode != isa::DrainMode::Int && !op.biasAligned))
      return acc;
    auto *out = Scratch::ofThisThread().get<int64_t>(Scratch::RowB, k1 - k0);
    LaneRecord known = record(lane, k0);
    for (uint64_t k = k0; k < k1; ++k) {
      if (op.paramAlongSteps)
        known = record(lane, k);
      out[k - k0] = op.mode == isa::DrainMode::Int
                        ? acc[k - k0] + std::bit_cast<int32_t>(known.bias)
                        : alignedSum(acc[k - k0], known, {}).value;
    }
    return out;
  }

  /// Power of two of an entry. EW comes from memory: limited, so that no record
  /// can overflow the sum.
  int entryExponent(const LaneRecord &record) const {
    constexpr int32_t limit = 1 << 20;
    return exponent +
           (op.hasExp ? std::clamp(record.exponent, -limit, limit) : 0);
  }

  /// The bias that is added as an integer; zero without one.
  numerics::ScaledInteger biasOf(const LaneRecord &record) const {
    if (!op.biasAligned)
      return {};
    const auto word = std::bit_cast<int32_t>(record.bias);
    return {static_cast<int16_t>(word), word >> 16};
  }

  /// Power of two of an accumulator's unit, after an aligned bias.
  int exponentOf(const LaneRecord &record) const {
    return numerics::addendExponent(entryExponent(record), biasOf(record));
  }

  /// An entry plus the aligned bias of its record and \p residual.
  numerics::ScaledInteger alignedSum(int64_t entry, const LaneRecord &record,
                                     numerics::ScaledInteger residual) const {
    return numerics::alignedSum({entry, entryExponent(record)},
                                {biasOf(record), residual});
  }

  /// The lane whose accumulators a lane takes: drainUnits() has checked it.
  uint64_t sourceOf(uint64_t lane) const {
    return op.mapped ? std::bit_cast<uint32_t>(record(lane, 0).alpha) : lane;
  }

  /// Entry 0 of the lane whose sums a lane takes.
  const int64_t *entryColumn(uint64_t lane) const {
    lane = sourceOf(lane);
    if (planes)
      return planes + lane * op.regionStride;
    if (!op.fromTcu)
      return engine.memory.psum(group.column + lane, op.psum);
    const uint64_t own = lanesOfGroup(op);
    return engine.memory.acc(units[lane / own],
                             op.psum + lane % own * op.regionStride);
  }
  /// Whether the entries of a lane lie one after another.
  bool hasDenseEntries() const {
    return entries.count[0] == 1 && entries.count[1] == 1 &&
           (entries.count[2] == 1 || entries.stride[2] == 1);
  }
  void gatherEntries(const int64_t *column, uint64_t k0, uint64_t k1,
                     int64_t *out) const {
    entries.forRuns(k0, k1, [&](uint64_t, int64_t offset, uint64_t n) {
      for (uint64_t i = 0; i < n; ++i)
        *out++ = column[offset + static_cast<int64_t>(i) * entries.stride[2]];
    });
  }

  /// The entries themselves.
  const int64_t *entryRow(uint64_t lane, uint64_t k0, uint64_t k1) const {
    const int64_t *column = entryColumn(lane);
    if (hasDenseEntries())
      return column + k0;
    auto *out = Scratch::ofThisThread().get<int64_t>(Scratch::Accums, k1 - k0);
    gatherEntries(column, k0, k1, out);
    return out;
  }

  numerics::EpilogueRow epilogue(const LaneRecord &record) const {
    numerics::EpilogueRow row;
    row.exponent = exponentOf(record);
    row.hasScale = op.hasScale;
    row.hasBias =
        op.hasBias && !op.biasAligned && op.mode != isa::DrainMode::Int;
    row.scale = record.scale;
    row.bias = record.bias;
    row.function = static_cast<numerics::Function>(op.function);
    row.alpha = op.alphaFromParam ? record.alpha : op.alpha;
    row.beta = op.beta;
    return row;
  }

  /// The results of a lane before they are stored.
  void floatRow(uint64_t lane, uint64_t k0, uint64_t k1, float *out) const;
  /// The value of every entry of a lane that the residual adds, or null.
  const float *addendRow(uint64_t lane, uint64_t k0, uint64_t k1,
                         float *buffer) const {
    return op.resMode ? loadFloats(engine, residual, lane, k0, k1, buffer)
                      : nullptr;
  }
  /// Reads the records that follow the steps.
  void loadStepRecords();

  /// Blocks along the free axis: consecutive steps of a lane.
  void encodeAlong() const;
  void encodeLane(uint64_t lane, const EncodeTarget &target,
                  numerics::EncodeStats &stats) const;
  /// Whether encodeBlocks() can do what the drain asks for.
  bool hasShortBlocks(const EncodeTarget &target) const;
  /// Blocks across the lanes, from sums to bytes in one kernel.
  void encodeBlocks(const EncodeTarget &target) const;
  void encodeBlock(uint64_t first, uint64_t count, uint64_t k0, uint64_t k1,
                   numerics::EncodeStats &stats) const;
  /// The parameters of the lanes of a block for steps [k0, k1), in scratch.
  numerics::EpilogueRow *blockRows(uint64_t first, uint64_t count, uint64_t k0,
                                   uint64_t k1) const;
  /// Whether blocks of the columns can go from the registers of the products to
  /// their bytes.
  bool takesSums(const MatmulBatch::Target &products, uint64_t block) const;
  /// The products that wait for this drain, if encodeProducts() can compute
  /// them: otherwise they have to be flushed first.
  MatmulBatch::Target *openProducts(const EncodeTarget &target) const;
  /// Those products, and then encodeBlocks(), part by part.
  void encodeProducts(const EncodeTarget &target,
                      MatmulBatch::Target &products) const;
  /// A part of those products from registers to bytes, lanes [first, last) in
  /// blocks; false if they need a place in PSUM.
  bool drainSums(const MatmulBatch::Target &products, size_t part,
                 uint64_t last, uint64_t block, uint64_t k0, uint64_t k1,
                 numerics::EncodeStats &stats) const;

  /// Exact values for a drain of mode block.
  void exactRow(uint64_t lane, uint64_t k0, uint64_t k1,
                numerics::WideValue *out) const;

  /// Integer drains with a scale: one rounding to binary32, the epilogue, one
  /// rounding to an integer.
  void requantised(uint64_t lane, uint64_t k0, uint64_t k1,
                   int64_t *out) const {
    Scratch &scratch = Scratch::ofThisThread();
    auto *floats = scratch.get<float>(Scratch::Block, k1 - k0);
    floatRow(lane, k0, k1, floats);
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
  }

  /// Integer drains: limited, or the low bytes of the integer.
  void integers(uint64_t lane, uint64_t k0, uint64_t k1, int64_t *out) const {
    if (op.hasScale)
      return requantised(lane, k0, k1, out);
    const int64_t *acc = accumulators(lane, k0, k1);
    const int bits = static_cast<int>(8 * storedBytes(op.dstType, 0));
    const bool isSigned =
        support::isSignedInteger(static_cast<ElementType>(op.dstType));
    // The low bytes of an integer are the integer wrapped.
    const bool saturates = op.overflow == isa::Overflow::Saturate;
    for (uint64_t i = 0; i < k1 - k0; ++i)
      out[i] =
          saturates ? numerics::saturateTo(acc[i], bits, isSigned) : acc[i];
  }

  void integerRow(uint64_t lane, uint64_t k0, uint64_t k1) const {
    auto *out = Scratch::ofThisThread().get<int64_t>(Scratch::RowA, k1 - k0);
    integers(lane, k0, k1, out);
    storeIntegers(engine, result, lane, k0, k1, out);
  }
};

/// What is wrong with the lanes that the records of a mapped drain name.
std::string checkMap(Engine &engine, const isa::ActDrain &op);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_DRAIN_H
