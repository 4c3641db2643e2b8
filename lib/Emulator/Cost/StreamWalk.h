// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the coefficients of one group of units: the magnitude of its sums,
// and the cycles that they take on given tiles.

#ifndef ASHLAR_LIB_EMULATOR_COST_STREAMWALK_H
#define ASHLAR_LIB_EMULATOR_COST_STREAMWALK_H

#include "../State/Tiles.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Machine/Cycles.h"

namespace ashlar::emulator {

/// Passes of the digit multipliers for a product of \p op whose coefficients
/// have \p weightBits bits in their stream.
uint64_t clusterPasses(const machine::Description &machine,
                       const isa::TccRun &op, uint64_t weightBits);

class StreamWalk : public isa::StreamVisitor {
public:
  /// Units of \p group in \p table; weights have \p weightBits bits.
  StreamWalk(const machine::Description &machine, const isa::TccRun &op,
             const TileTable &table, uint32_t group, uint64_t weightBits);

  void coefficient(uint32_t channel, const isa::Coefficient &entry) override;
  void endChannel(uint32_t channel) override;

  /// Of the slowest unit, or of reading the stream.
  uint64_t cycles() const;
  /// Products of all units of the group.
  uint64_t macs() const { return issued * results; }
  /// Passes of the digit multipliers for one of them.
  uint64_t passes() const { return digitPasses; }
  /// Sum of the magnitudes of the coefficients, per region.
  const std::vector<double> &bounds() const { return sums; }
  /// A region beyond the instruction's, or 0.
  uint32_t outside() const { return beyond; }

private:
  const machine::Description &machine;
  const isa::TccRun &op;
  std::vector<machine::TileIssue> units; ///< One per shape of tiles.
  std::vector<double> sums;
  uint64_t digitPasses;
  uint64_t results = 0; ///< Of all units of the group.
  uint64_t entries = 0; ///< Decoded, zeros of dense streams included.
  uint64_t issued = 0;
  uint32_t beyond = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_COST_STREAMWALK_H
