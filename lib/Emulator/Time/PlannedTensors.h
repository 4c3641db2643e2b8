// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planned tensors while instructions change places: a tensor can be copied out
// after the last of the instructions that had written its memory, and before
// the first that writes it again.

#ifndef ASHLAR_LIB_EMULATOR_TIME_PLANNEDTENSORS_H
#define ASHLAR_LIB_EMULATOR_TIME_PLANNEDTENSORS_H

#include "../Impl.h"

namespace ashlar::emulator {

class PlannedTensors {
public:
  /// Of a decoded program whose instructions are inside their memories.
  explicit PlannedTensors(const LoadedProgram::Impl &impl);

  /// Whether every tensor that instruction \p index overwrites is complete.
  bool mayRun(uint32_t index) const;
  /// Instruction \p index is the one with number \p place now.
  void ran(uint32_t index, uint32_t place);
  /// Per tensor the number of the last instruction that it waited for.
  std::vector<uint32_t> take() { return std::move(places); }

private:
  /// Pairs of instruction and tensor, ascending.
  using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;
  Pairs makers, overwriters;
  std::vector<uint32_t> missing; ///< Per tensor, makers that have not run.
  std::vector<uint32_t> places;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_PLANNEDTENSORS_H
