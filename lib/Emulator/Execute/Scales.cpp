// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scale exponents from data: statistics registers, the range of a tensor, and
// the selectors of docs/Numerics.md 5.

#include "Engine.h"
#include "TensorRows.h"
#include "ashlar/Numerics/BlockArithmetic.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;

template <typename Op>
static TensorView sourceOf(const Op &op) {
  TensorView view;
  view.type = op.type;
  view.mantissa = op.mantissa;
  view.part = op.part;
  view.offset = op.offset;
  view.tileStride = op.tileStride;
  view.pattern = Pattern{
      {op.n0, op.n1, op.n2},
      {op.stride0, op.stride1,
       op.stride2}}.merged();
  return view;
}

/// Calls fn(channel, k0, k1) for pieces of rows that stay in cache.
static void
forPieces(uint64_t channels, uint64_t size,
          llvm::function_ref<void(uint64_t, uint64_t, uint64_t)> fn) {
  constexpr uint64_t piece = 4096;
  for (uint64_t channel = 0; channel < channels; ++channel)
    for (uint64_t k0 = 0; k0 < size; k0 += piece)
      fn(channel, k0, std::min(size, k0 + piece));
}

void Engine::execute(const isa::XrPick &op) {
  const int16_t preferred = memory.xr(op.preferred);
  memory.xr(op.dst) =
      preferred == clearedScale ? memory.xr(op.fallback) : preferred;
}

void Engine::execute(const isa::XrSelect &op) {
  const numerics::Statistics &samples = statistics[op.sr];
  const auto lead = static_cast<numerics::Lead>(op.lead);
  const auto mantissa = static_cast<int>(op.mantissa);
  int16_t &scale = memory.xr(op.dst);
  if (op.rule == isa::SelectRule::Stats)
    scale = numerics::selectSpread(samples, op.k, mantissa, lead);
  else if (op.rule == isa::SelectRule::Error)
    scale = numerics::selectError(samples, scale, op.k, mantissa, lead);
  else
    scale = numerics::selectMaximum(samples, mantissa, lead);
}

void Engine::execute(const isa::XrPredict &op) {
  const numerics::PredictRule rule = {static_cast<int>(op.mantissa),
                                      static_cast<int>(op.range), op.k,
                                      numerics::Lead::Floor};
  int16_t &scale = memory.xr(op.dst);
  scale = numerics::predictScale(
              {&memory.xr(op.history), numerics::historyRegisters(op.depth)},
              statistics[op.sr], scale, memory.xr(op.observed), rule)
              .next;
}

void Engine::execute(const isa::VecStat &op) {
  const TensorView view = sourceOf(op);
  numerics::Statistics &samples = statistics[op.sr];
  if (op.clear)
    samples.clear();
  forPieces(op.channels, view.pattern.size(),
            [&](uint64_t channel, uint64_t k0, uint64_t k1) {
              auto *row = Scratch::ofThisThread().get<EncodedElement>(
                  Scratch::RowA, k1 - k0);
              loadEncoded(*this, view, channel, k0, k1, row);
              for (uint64_t i = 0; i < k1 - k0; ++i)
                samples.add(row[i].mantissa, row[i].exponent);
            });
}

/// The largest finite magnitude of a row, or 0.
static float largestFinite(const float *row, uint64_t n) {
  constexpr uint32_t infinity = 0x7f800000;
  uint32_t largest = 0; // magnitudes order as their bits do
  for (uint64_t i = 0; i < n; ++i) {
    const uint32_t bits = numerics::floatBits(row[i]) & 0x7fffffff;
    largest = std::max(largest, bits < infinity ? bits : 0);
  }
  return numerics::floatFromBits(largest);
}

void Engine::execute(const isa::VecMeasure &op) {
  const TensorView view = sourceOf(op);
  float largest = 0;
  forPieces(op.channels, view.pattern.size(),
            [&](uint64_t channel, uint64_t k0, uint64_t k1) {
              const float *row = loadFloats(
                  *this, view, channel, k0, k1,
                  Scratch::ofThisThread().get<float>(Scratch::RowA, k1 - k0));
              largest = std::max(largest, largestFinite(row, k1 - k0));
            });
  if (op.clear)
    clearScale(op.xr);
  if (largest == 0)
    return;
  // Blocks under this exponent have the cell nearest to it: E must not lie
  // below what the cell says.
  const auto mantissa = static_cast<int>(op.mantissa);
  const int cell = numerics::fixedCell(
      numerics::measureExponent(largest, mantissa,
                                static_cast<numerics::Lead>(op.lead)),
      mantissa);
  const auto step =
      static_cast<int16_t>(numerics::stepExponent(cell, mantissa));
  numerics::EncodeCounters ignored;
  if (numerics::encodeFixed(numerics::wideValue(largest), {mantissa, step},
                            ignored) != 0)
    memory.mergeScale(op.xr, step);
}
