// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closed forms of scatter mode.

#include "ashlar/Machine/ScatterCycles.h"

#include "ashlar/Support/CheckedMath.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

using namespace ashlar;
using namespace ashlar::machine;
using support::ceilDiv;

bool ashlar::machine::queuesHold(const Description &machine,
                                 ScatterVariant variant) {
  const bool waits =
      variant == ScatterVariant::C ||
      (variant == ScatterVariant::D && machine.sparse.coefficientsPerStep > 2);
  return !waits || machine.sparse.queueDepth == 0 ||
         machine.sparse.queueDepth >= machine.sparse.lanes;
}

uint64_t ashlar::machine::scatterCycles(ScatterVariant variant,
                                        uint64_t multipliers,
                                        uint64_t weightsPerStep, uint64_t data,
                                        uint64_t weights) {
  if (data == 0 || weights == 0)
    return 0;
  const uint64_t p = multipliers;
  if (variant <= ScatterVariant::B)
    return weights * ((data + p - 1) / p);
  const uint64_t total = data * weights;
  // P products in a row touch at most floor((P - 2) / data) + 2 weights.
  if (p == 1 || (p - 2) / data + 2 <= weightsPerStep)
    return (total + p - 1) / p;
  uint64_t cycles = 0;
  for (uint64_t next = 0; next < total; ++cycles)
    next = std::min({next + p, (next / data + weightsPerStep) * data, total});
  return cycles;
}

uint64_t ashlar::machine::scatterPointCycles(uint64_t multipliers,
                                             uint64_t data, uint64_t weights) {
  return (data * weights + multipliers - 1) / multipliers;
}

//===- Prices -------------------------------------------------------------===//

uint64_t machine::scanCycles(const Description &machine, uint64_t positions) {
  const uint64_t rate = machine.sparse.scanPositions;
  return rate == 0 ? 0 : ceilDiv(positions, rate);
}

uint64_t machine::scatterLatency(const Description &machine,
                                 ScatterVariant variant, uint64_t weights) {
  const uint64_t latency = machine.sparse.accumulateLatency;
  // The registers of a window add in the cycle in which a product arrives.
  if (latency <= 1 || variant == ScatterVariant::A)
    return 0;
  const uint64_t together =
      variant == ScatterVariant::B ? 1 : machine.sparse.coefficientsPerStep;
  return ceilDiv(weights, together) * latency;
}

uint64_t machine::windowMove(const Description &machine, ScatterVariant variant,
                             uint64_t distance) {
  const uint64_t shift = machine.sparse.windowShift;
  if (variant != ScatterVariant::A || shift == 0 || distance <= shift)
    return 0;
  return ceilDiv(distance, shift) - 1;
}

uint64_t machine::scatterSlice(const Description &machine,
                               ScatterVariant variant, uint64_t products,
                               uint64_t bankSums, uint64_t window) {
  const uint64_t banks = machine.sparse.accumulatorBanks;
  if (banks == 0 || products == 0)
    return products;
  if (variant == ScatterVariant::A)
    return products + 2 * ceilDiv(window, banks);
  return std::max(products, bankSums);
}

void BankCounts::add(const BankCounts &other, uint64_t offset) {
  const size_t banks = counts.size(), turn = offset % banks;
  for (size_t b = turn; b < banks; ++b)
    counts[b] += other.counts[b - turn];
  for (size_t b = 0; b < turn; ++b)
    counts[b] += other.counts[b + banks - turn];
}

uint64_t BankCounts::fullest() const {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

/// Sums to expect in the fullest of `used` banks that the sums lie in.
static uint64_t expectedSums(const Description &machine, uint64_t data,
                             uint64_t positions, uint64_t weights,
                             uint64_t used) {
  const uint64_t banks = machine.sparse.accumulatorBanks;
  // Of a power of two: no logarithm that differs between hosts.
  const double logarithm =
      0.6931471805599453 * static_cast<double>(std::bit_width(used) - 1);
  const double load = static_cast<double>(data) * static_cast<double>(weights) /
                      static_cast<double>(used);
  const double share =
      static_cast<double>(data) / static_cast<double>(positions);
  const double largest =
      load + std::sqrt(2 * logarithm * load * std::max(1 - share, 0.0));
  const uint64_t least = ceilDiv(data * weights, banks);
  return std::clamp(static_cast<uint64_t>(largest + 0.5), least,
                    std::max(weights * ceilDiv(positions, banks), least));
}

uint64_t machine::expectedBankSums(const Description &machine, uint64_t data,
                                   uint64_t positions, uint64_t weights) {
  const uint64_t banks = machine.sparse.accumulatorBanks;
  if (banks == 0 || data == 0 || weights == 0)
    return 0;
  return expectedSums(machine, data, std::max(positions, data), weights,
                      std::min(banks, std::max(positions, data)));
}

uint64_t machine::expectedPointSums(const Description &machine, uint64_t data,
                                    uint64_t positions, uint64_t weights,
                                    uint64_t stride) {
  const uint64_t banks = machine.sparse.accumulatorBanks;
  if (banks == 0 || data == 0 || weights == 0)
    return 0;
  positions = std::max(positions, data);
  const uint64_t offsets =
      std::min(weights, banks / std::gcd(banks, std::max<uint64_t>(stride, 1)));
  return ceilDiv(weights, offsets) *
         expectedSums(machine, data, positions, offsets,
                      std::min(banks, positions * offsets));
}
