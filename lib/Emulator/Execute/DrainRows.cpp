// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of a drain with binary32 epilogues, and their encoding.

#include "../State/Words.h"
#include "Drain.h"
#include "llvm/Support/MathExtras.h"

using namespace ashlar;
using namespace ashlar::emulator;

void Drain::loadStepRecords() {
  // A function's parameter that goes by step is no row's: floatRow() takes
  // such steps one by one.
  if (!op.paramAlongSteps || op.alphaFromParam)
    return;
  const uint64_t steps = entries.size();
  stepExponents.resize(steps);
  stepScales.resize(op.hasScale ? steps : 0);
  const bool hasBias = epilogue({}).hasBias;
  stepBiases.resize(hasBias ? steps : 0);
  for (uint64_t k = 0; k < steps; ++k) {
    const LaneRecord known = record(0, k);
    stepExponents[k] = exponentOf(known);
    if (op.hasScale)
      stepScales[k] = known.scale;
    if (hasBias)
      stepBiases[k] = known.bias;
  }
}

void Drain::floatRow(uint64_t lane, uint64_t k0, uint64_t k1,
                     float *out) const {
  const float *addend = addendRow(
      lane, k0, k1, Scratch::ofThisThread().get<float>(Scratch::RowA, k1 - k0));
  const int64_t *acc = accumulators(lane, k0, k1);
  if (!stepExponents.empty()) {
    const numerics::EpilogueRow any = epilogue({});
    numerics::EpilogueSteps steps;
    steps.exponents = stepExponents.data() + k0;
    steps.scales = stepScales.empty() ? nullptr : stepScales.data() + k0;
    steps.biases = stepBiases.empty() ? nullptr : stepBiases.data() + k0;
    steps.residual = addend;
    steps.function = any.function;
    steps.alpha = any.alpha;
    steps.beta = any.beta;
    return engine.kernels->epilogueSteps(acc, k1 - k0, steps, out);
  }
  const uint64_t length = op.paramAlongSteps ? 1 : k1 - k0;
  for (uint64_t k = k0; k < k1; k += length) {
    numerics::EpilogueRow row = epilogue(record(lane, k));
    row.residual = addend ? addend + (k - k0) : nullptr;
    engine.kernels->epilogue(acc + (k - k0), length, row, out + (k - k0));
  }
}

//===- Mode block ---------------------------------------------------------===//

/// The function of a drain of mode block on a sum of integers.
static int64_t applyExact(const isa::ActDrain &op,
                          const numerics::ScaledInteger &sum) {
  if (op.function == isa::Function::Relu)
    return std::max<int64_t>(sum.value, 0);
  if (op.function != isa::Function::Clip)
    return sum.value;
  const int64_t low = numerics::limitInUnits(op.alpha, sum.exponent);
  const int64_t high = numerics::limitInUnits(op.beta, sum.exponent);
  return std::min(std::max(sum.value, low), high);
}

void Drain::exactRow(uint64_t lane, uint64_t k0, uint64_t k1,
                     numerics::WideValue *out) const {
  Scratch &scratch = Scratch::ofThisThread();
  const int64_t *entries = entryRow(lane, k0, k1);
  EncodedElement *addends = nullptr;
  if (op.resMode) {
    addends = scratch.get<EncodedElement>(Scratch::RowA, k1 - k0);
    loadEncoded(engine, residual, lane, k0, k1, addends);
  }
  LaneRecord known = record(lane, k0);
  for (uint64_t k = k0; k < k1; ++k) {
    if (op.paramAlongSteps)
      known = record(lane, k);
    numerics::ScaledInteger addend;
    if (addends)
      addend = {addends[k - k0].mantissa, addends[k - k0].exponent};
    const numerics::ScaledInteger sum =
        alignedSum(entries[k - k0], known, addend);
    out[k - k0] = numerics::wideValue(applyExact(op, sum), sum.exponent);
  }
}

//===- Blocks along the steps ---------------------------------------------===//

/// Gives elements [offset, offset + bytes) of a partition one exponent cell.
static void fillCells(Memory &memory, unsigned width, uint64_t partition,
                      uint64_t offset, uint64_t bytes, int8_t cell) {
  // Elements of a tile share their place.
  const uint64_t tile = memory.partitionsPerCell() * width;
  for (uint64_t at = offset; at < offset + bytes; at = (at / tile + 1) * tile)
    *cellOf(memory, isa::Orientation::F, width, partition,
            static_cast<int64_t>(at)) = cell;
}

void Drain::encodeLane(uint64_t lane, const EncodeTarget &target,
                       numerics::EncodeStats &stats) const {
  Scratch &scratch = Scratch::ofThisThread();
  const uint64_t steps = entries.size(), block = op.dstBlock;
  const auto width = static_cast<int>(op.dstMantissa);
  const unsigned bytes = storedBytes(op.dstType, op.dstMantissa);
  const bool hasSigns = op.dstType == isa::ElemType::Bfp;
  auto *words = scratch.get<int16_t>(Scratch::Mantissa, steps);
  auto *cells =
      scratch.get<int8_t>(Scratch::Cells, llvm::divideCeil(steps, block));
  if (op.mode == isa::DrainMode::Block) {
    auto *row = scratch.get<numerics::WideValue>(Scratch::Block, steps);
    exactRow(lane, 0, steps, row);
    encodeLine<numerics::WideValue>(engine, target, width, {row, steps}, block,
                                    words, cells, stats);
  } else {
    auto *row = scratch.get<float>(Scratch::Block, steps);
    floatRow(lane, 0, steps, row);
    if (target.given)
      encodeLine<float>(engine, target, width, {row, steps}, block, words,
                        cells, stats);
    else
      engine.kernels->encodeLine(row, steps, block, width, words, cells,
                                 &stats);
  }
  const uint64_t partition = op.dstPart + lane;
  uint8_t *to = engine.memory.sb(partition, op.dstOffset);
  if (bytes == 2)
    std::memcpy(to, words, steps * sizeof(int16_t));
  for (uint64_t k = 0; bytes == 1 && k < steps; ++k)
    to[k] = hasSigns ? static_cast<uint8_t>(words[k])
                     : numerics::withoutSign(words[k]);
  for (uint64_t k = 0; k < steps; k += block)
    fillCells(engine.memory, bytes, partition, op.dstOffset + k * bytes,
              std::min(block, steps - k) * bytes, cells[k / block]);
}

void Drain::encodeAlong() const {
  const EncodeTarget target = encodeTarget(op);
  engine.beginEncode(target);
  // Lanes of a group write into the same row of cells, at places of their own.
  engine.split(op.cols, entries.size() * op.cols * 4,
               [&](uint64_t begin, uint64_t end) {
                 numerics::EncodeStats stats;
                 for (uint64_t lane = begin; lane < end; ++lane)
                   encodeLane(lane, target, stats);
                 engine.finishEncode(stats, target);
               });
}

//===- Blocks across the lanes --------------------------------------------===//

bool Drain::hasShortBlocks(const EncodeTarget &target) const {
  const uint64_t block = target.block ? target.block : op.cols;
  return op.dstType == isa::ElemType::Bfp && op.dstMantissa <= 8 &&
         !target.given && !op.paramAlongSteps &&
         !(op.hasBias && op.biasAligned) &&
         std::min<uint64_t>(block, op.cols) <= numerics::kDrainRows;
}

numerics::EpilogueRow *Drain::blockRows(uint64_t first, uint64_t count,
                                        uint64_t k0, uint64_t k1) const {
  Scratch &scratch = Scratch::ofThisThread();
  const uint64_t n = k1 - k0;
  auto *addends =
      op.resMode ? scratch.get<float>(Scratch::RowA, count * n) : nullptr;
  auto *rows = scratch.get<numerics::EpilogueRow>(Scratch::Epilogues, count);
  for (uint64_t i = 0; i < count; ++i) {
    rows[i] = epilogue(record(first + i, k0));
    rows[i].residual = addendRow(first + i, k0, k1, addends + i * n);
  }
  return rows;
}

void Drain::encodeBlock(uint64_t first, uint64_t count, uint64_t k0,
                        uint64_t k1, numerics::EncodeStats &stats) const {
  Scratch &scratch = Scratch::ofThisThread();
  const uint64_t n = k1 - k0;
  const bool dense = hasDenseEntries();
  auto *gathered =
      dense ? nullptr : scratch.get<int64_t>(Scratch::Column, count * n);
  const int64_t *sums[numerics::kDrainRows];
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t *column = entryColumn(first + i);
    sums[i] = dense ? column + k0 : gathered + i * n;
    if (!dense)
      gatherEntries(column, k0, k1, gathered + i * n);
  }
  const numerics::EpilogueRow *rows = blockRows(first, count, k0, k1);
  const BlockRows<int8_t> to =
      startBlock<int8_t>(engine, result, first, count, k0, k1);
  engine.kernels->drain8(sums, rows, n,
                         {count, static_cast<int>(op.dstMantissa), to.mantissas,
                          to.cells, &stats});
  finishBlock(engine, result, first, count, k0, k1, to);
}

void Drain::encodeBlocks(const EncodeTarget &target) const {
  // Steps whose gathered sums and addends stay in a host L2 cache.
  constexpr uint64_t mostSteps = 512;
  forBlocks(engine, result, target, op.cols, drainCost, mostSteps,
            [&](uint64_t first, uint64_t count, uint64_t k0, uint64_t k1,
                numerics::EncodeStats &stats) {
              encodeBlock(first, count, k0, k1, stats);
            });
}
