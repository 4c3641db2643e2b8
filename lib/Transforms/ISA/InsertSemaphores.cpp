// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the semaphores that Synchroniser finds into the program.

#include "Instructions.h"
#include "Synchroniser.h"

#include "ashlar/Transforms/ISA/Passes.h"
#include "ashlar/Transforms/NPU/Passes.h"

using namespace mlir;

namespace ashlar::isadialect {

#define GEN_PASS_DEF_INSERTSEMAPHORES
#include "ashlar/Transforms/ISA/Passes.h.inc"

namespace {
struct InsertSemaphores : impl::InsertSemaphoresBase<InsertSemaphores> {
protected:
  void runOnOperation() override;

private:
  LogicalResult synchronise(ProgramOp program,
                            const machine::Description &machine);
};
} // namespace

LogicalResult
InsertSemaphores::synchronise(ProgramOp program,
                              const machine::Description &machine) {
  FailureOr<ProgramInstructions> read = instructionsOf(program);
  if (failed(read))
    return failure();
  if (Operation *own = firstSemaphore(*read))
    return own->emitOpError("is in the program already, expected a program "
                            "without semaphores");
  const auto &[instructions, ops] = *read;
  SemaphorePlan plan = planSemaphores(instructions, machine);
  OpBuilder builder(program.getContext());
  for (auto [i, op] : llvm::enumerate(ops)) {
    isa::Queue queue = isa::queueOf(instructions[i]);
    builder.setInsertionPoint(op);
    for (uint32_t semaphore : plan.waits[i]) {
      isa::SemWait wait{};
      wait.queue = queue, wait.sem = semaphore;
      createOp(builder, op->getLoc(), wait);
      ++numWaits;
    }
    builder.setInsertionPointAfter(op);
    for (uint32_t semaphore : plan.signals[i]) {
      isa::SemSignal signal{};
      signal.queue = queue, signal.sem = semaphore;
      createOp(builder, op->getLoc(), signal);
    }
  }
  numSemaphores = plan.semaphores;
  program.setSemaphores(plan.semaphores);
  return success();
}

void InsertSemaphores::runOnOperation() {
  FailureOr<machine::Description> machine = records::machineOf(getOperation());
  if (failed(machine))
    return signalPassFailure();
  for (auto program : getOperation().getOps<ProgramOp>())
    if (failed(synchronise(program, *machine)))
      return signalPassFailure();
}

} // namespace ashlar::isadialect
