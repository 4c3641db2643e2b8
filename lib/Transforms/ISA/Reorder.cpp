// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reorder.h"

#include "Instructions.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::isadialect {

/// Issues an instruction to another queue.
static Operation *moveTo(isa::Queue queue, Operation *op) {
  isa::Instruction instruction = llvm::cantFail(toInstruction(op));
  if (isa::queueOf(instruction) == queue)
    return op;
  setQueue(instruction, queue);
  OpBuilder builder(op);
  Operation *changed = createOp(builder, op->getLoc(), instruction);
  op->erase();
  return changed;
}

unsigned reorder(ProgramOp program, const emulator::ProgramOrder &order) {
  SmallVector<Operation *, 0> instructions, planned;
  for (Operation &op : program.getBody().front())
    if (isInstruction(&op))
      instructions.push_back(&op);
    else if (llvm::isa<PlannedOp>(op))
      planned.push_back(&op);
  for (auto [op, queue] : llvm::zip(instructions, order.queues))
    op = moveTo(queue, op);
  // The tensors that are complete after each instruction.
  std::vector<SmallVector<Operation *, 1>> complete(instructions.size());
  for (auto [op, after] : llvm::zip(planned, order.dumps))
    complete[after].push_back(op);
  Block &block = program.getBody().front();
  unsigned moved = 0;
  for (auto [place, index] : llvm::enumerate(order.instructions)) {
    moved += place != index;
    instructions[index]->moveBefore(&block, block.end());
    for (Operation *op : complete[place])
      op->moveBefore(&block, block.end());
  }
  return moved;
}

} // namespace ashlar::isadialect
