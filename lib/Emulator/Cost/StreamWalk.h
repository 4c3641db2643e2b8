// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the coefficients of one group of units: the magnitude of its sums,
// and the cycles that they take on given tiles.

#ifndef ASHLAR_LIB_EMULATOR_COST_STREAMWALK_H
#define ASHLAR_LIB_EMULATOR_COST_STREAMWALK_H

#include "../State/Tiles.h"
#include "LatestStreams.h"
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

  /// All that decides what a stream of known bytes gives.
  struct Form {
    std::vector<machine::TileStep> shapes; ///< Of the tiles, each once.
    uint64_t results = 0;                  ///< Of all units of the group.
    uint64_t passes = 1; ///< Of the digit multipliers for a product.
    uint32_t regions = 0;
    int64_t regionStride = 0;
    bool issueZeros = false;
    bool operator==(const Form &) const = default;
  };
  /// What following a stream to its end gives.
  struct Facts {
    uint64_t cycles = 0; ///< Of the slowest unit, or of reading the stream.
    uint64_t macs = 0;   ///< Products of all units of the group.
    uint64_t taken = 0;  ///< Bytes of the stream.
    /// Sum of the magnitudes of the coefficients, per region.
    std::vector<double> bounds;
  };

  const Form &form() const { return streamForm; }
  /// After \p taken bytes were decoded.
  Facts facts(uint64_t taken) const;
  /// A region beyond the instruction's, or 0.
  uint32_t outside() const { return beyond; }

private:
  const machine::Description &machine;
  Form streamForm;
  std::vector<machine::TileIssue> units; ///< One per shape of tiles.
  std::vector<double> sums;
  uint64_t entries = 0; ///< Decoded, zeros of dense streams included.
  uint64_t issued = 0;
  uint32_t beyond = 0;
};

/// Streams that were followed.
using FollowedStreams = LatestStreams<StreamWalk::Form, StreamWalk::Facts>;

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_COST_STREAMWALK_H
