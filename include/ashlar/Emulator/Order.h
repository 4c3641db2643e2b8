// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of a program's instructions. Queues run side by side, but what they
// share - DRAM, the banks of SB, the instruction stream - is granted in program
// order: an instruction that comes early in the program and late in time holds
// all others up (docs/decisions, program order).

#ifndef ASHLAR_EMULATOR_ORDER_H
#define ASHLAR_EMULATOR_ORDER_H

#include "ashlar/Container/Container.h"
#include <optional>
#include <vector>

namespace ashlar::emulator {

/// Another order of the instructions of a program.
struct ProgramOrder {
  std::vector<uint32_t> instructions; ///< Old indices in the new order.
  /// Per Program::dumps, the new index of the instruction after which it is
  /// complete and unchanged.
  std::vector<uint32_t> dumps;
  uint64_t before = 0, after = 0; ///< Predicted cycles.
};

/// The order in which the instructions of \p program could start if whatever is
/// free served who comes first. Queues and semaphores keep their orders, and
/// what writes the memory of a planned tensor keeps its side of the moment in
/// which the tensor is copied out: the same results, bit by bit. Nothing if
/// that order takes as many cycles as the present one, or if the program is one
/// that load() would refuse. Times are those of the timing model, without
/// results in flight within a queue.
std::optional<ProgramOrder> orderByStart(const container::Program &program);

} // namespace ashlar::emulator

#endif // ASHLAR_EMULATOR_ORDER_H
