// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles of a compute unit in scatter mode that do not depend on where the
// non-zeros lie (docs/SparseTiles.md 3). The compiler predicts with them, the
// emulator uses them where they are exact.

#ifndef ASHLAR_MACHINE_SCATTERCYCLES_H
#define ASHLAR_MACHINE_SCATTERCYCLES_H

#include "ashlar/Machine/Description.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace ashlar::machine {

/// What stands between the multipliers and the results of a unit.
enum class ScatterVariant : uint8_t {
  A, ///< one weight per step, a window of accumulators over a register bank
  B, ///< one weight per step, an index per product, result registers
  C, ///< U weights per step, an arbiter with queues for equal indices
  D, ///< U weights per step, products of equal index added to their neighbour
};

/// True if the queues of a unit hold all products that may wait in it. Of
/// products that meet, C sends one on per cycle, and so does D where more than
/// two weights meet; then as many may wait as there are multipliers.
bool queuesHold(const Description &machine, ScatterVariant variant);

/// Cycles of a block of \p data non-zero data under \p weights non-zero
/// weights on \p multipliers multipliers. A, B: weights * ceil(data / P). C, D:
/// the stream of products, P at a time under at most \p weightsPerStep weights
/// per cycle; exact for D with two weights per step, and for C if no two
/// products of a cycle share an index, else a lower bound.
uint64_t scatterCycles(ScatterVariant variant, uint64_t multipliers,
                       uint64_t weightsPerStep, uint64_t data,
                       uint64_t weights);

/// Cycles of a block of \p data non-zero data under the \p weights non-zero
/// coefficients that all kernels of one tap have for its channel: no two
/// products share a result, so every multiplier takes the next product with a
/// weight of its own, ceil(data * weights / P) in all variants.
uint64_t scatterPointCycles(uint64_t multipliers, uint64_t data,
                            uint64_t weights);

//===- Prices -------------------------------------------------------------===//

/// Cycles in which a unit finds the non-zeros of \p positions positions.
uint64_t scanCycles(const Description &machine, uint64_t positions);

/// Cycles between the first sum of an entry and the last of \p weights weights
/// of one kernel, those of a step added before the accumulator, when kernels
/// take turns as well as can be; 0 if sums are ready in the next cycle.
uint64_t scatterLatency(const Description &machine, ScatterVariant variant,
                        uint64_t weights);

/// Cycles that the window of variant A needs beyond the steps of its weights to
/// move \p distance positions, rows and columns together, from one weight of a
/// kernel to the next: the registers shift with the last sum of a step, and
/// once more for every further sparse.window_shift positions. 0 in the other
/// variants, which have no window.
uint64_t windowMove(const Description &machine, ScatterVariant variant,
                    uint64_t distance);

/// Cycles of a kernel over a block: the products, which the fullest bank of the
/// accumulators holds up with \p bankSums sums. Variant A sums in registers
/// instead, which \p window accumulators are loaded into before and stored from
/// after.
uint64_t scatterSlice(const Description &machine, ScatterVariant variant,
                      uint64_t products, uint64_t bankSums, uint64_t window);

/// Sums by the bank of their accumulator.
class BankCounts {
public:
  explicit BankCounts(const Description &machine)
      : counts(machine.sparse.accumulatorBanks) {}

  /// A sum of accumulator \p entry.
  void add(uint64_t entry) { ++counts[entry % counts.size()]; }
  /// All sums of \p other, \p offset entries further on.
  void add(const BankCounts &other, uint64_t offset = 0);
  void clear() { counts.assign(counts.size(), 0); }
  /// Sums of the fullest bank.
  uint64_t fullest() const;

private:
  std::vector<uint32_t> counts;
};

/// Sums to expect in the fullest bank: sums of \p data of \p positions
/// neighbouring entries under each of \p weights weights of one kernel, whose
/// offsets differ by little. The sums lie in u = min(banks, positions) banks;
/// with l = data * weights / u the largest is about l + sqrt(2 * ln u * l * (1
/// - data / positions)), u rounded down to a power of two for the logarithm, at
/// most weights * ceil(positions / banks). 0 without banks.
uint64_t expectedBankSums(const Description &machine, uint64_t data,
                          uint64_t positions, uint64_t weights);

/// The same for weights of kernels whose accumulators are \p stride entries
/// apart: as many offsets differ as the banks have multiples of it, and the
/// sums lie in min(banks, positions * offsets) banks.
uint64_t expectedPointSums(const Description &machine, uint64_t data,
                           uint64_t positions, uint64_t weights,
                           uint64_t stride);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_SCATTERCYCLES_H
