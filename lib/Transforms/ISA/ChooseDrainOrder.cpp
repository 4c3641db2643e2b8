// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets drains follow their streams, in the order that ends first.

#include "Instructions.h"

#include "ashlar/Emulator/DrainOrder.h"
#include "ashlar/Transforms/ISA/Passes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/ISA/ISADialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace ashlar::isadialect {

#define GEN_PASS_DEF_CHOOSEDRAINORDER
#include "ashlar/Transforms/ISA/Passes.h.inc"

namespace {

struct ChooseDrainOrder : impl::ChooseDrainOrderBase<ChooseDrainOrder> {
protected:
  void runOnOperation() override;

private:
  LogicalResult choose(ProgramOp program, const machine::Description &machine);
};

} // namespace

LogicalResult ChooseDrainOrder::choose(ProgramOp program,
                                       const machine::Description &machine) {
  FailureOr<ProgramInstructions> read = instructionsOf(program);
  if (failed(read))
    return failure();
  const auto &[instructions, ops] = *read;
  for (const emulator::FollowingDrain &drain :
       emulator::followingDrains(instructions, machine)) {
    Operation *op = ops[drain.instruction];
    auto changed = std::get<isa::ActDrain>(instructions[drain.instruction]);
    changed.order = drain.order;
    OpBuilder builder(op);
    createOp(builder, op->getLoc(), changed);
    op->erase();
    numRows += drain.order == isa::DrainOrder::Row;
    numPartitions += drain.order == isa::DrainOrder::Partition;
  }
  return success();
}

void ChooseDrainOrder::runOnOperation() {
  FailureOr<machine::Description> machine = records::machineOf(getOperation());
  if (failed(machine))
    return signalPassFailure();
  for (auto program : getOperation().getOps<ProgramOp>())
    if (failed(choose(program, *machine)))
      return signalPassFailure();
}

} // namespace ashlar::isadialect
