// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of the functions of the host.

#include "Costs.h"
#include "ashlar/Isa/Operands.h"
#include "ashlar/Machine/Host.h"

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

/// Adds up what a call moves.
struct Traffic : isa::OperandVisitor<Traffic> {
  const machine::Description &machine;
  machine::HostWork work = {};
  uint64_t read = 0, written = 0;

  explicit Traffic(const machine::Description &machine) : machine(machine) {}

  void linear(const isa::LinearOperand &operand) {
    const llvm::SmallVector<uint64_t, 5> counts = operand.counts();
    const llvm::SmallVector<int64_t, 5> strides = operand.strides();
    const machine::DramTraffic traffic = machine::dramTraffic(
        machine, {true, counts, strides, operand.bytes, 0, operand.base});
    work.bytes += traffic.usefulBytes;
    work.burstBytes += traffic.burstBytes;
    work.rows += traffic.rows;
    (operand.writes() ? written : read) += traffic.burstBytes;
  }
};

template <typename Op>
Cost hostCost(const machine::Description &machine, const Op &op,
              uint64_t steps) {
  Traffic traffic(machine);
  isa::visitOperands(op, traffic);
  traffic.work.steps = steps;
  Cost cost;
  cost.timing = machine::hostCall(machine, traffic.work);
  // A step takes at least a cycle.
  cost.work = std::min(steps, cost.timing.issue);
  cost.dramRead = traffic.read;
  cost.dramWrite = traffic.written;
  cost.dramUseful = traffic.work.bytes;
  return cost;
}

} // namespace

Cost CostModel::of(const isa::HostNonzero &op) {
  return hostCost(
      machine, op,
      machine::nonzeroSteps(operandX(op).loops.front().count, op.rank));
}

Cost CostModel::of(const isa::HostSort &op) {
  return hostCost(machine, op,
                  machine::hostSortSteps(uint64_t(op.outer) * op.inner,
                                         op.extent, op.keep));
}

Cost CostModel::of(const isa::HostUnique &op) {
  return hostCost(machine, op, machine::uniqueSteps(op.rows, op.length));
}

Cost CostModel::of(const isa::HostNms &op) {
  return nmsCost(
      machine, op,
      machine::nmsSteps(uint64_t(op.batches) * op.classes, op.boxes, op.keep));
}

Cost emulator::nmsCost(const machine::Description &machine,
                       const isa::HostNms &op, uint64_t steps) {
  return hostCost(machine, op, steps);
}
