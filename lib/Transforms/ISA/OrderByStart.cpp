// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the instructions of a program into the order that the emulator's
// scheduler finds.

#include "ashlar/Codegen/Assemble.h"
#include "ashlar/Emulator/Order.h"
#include "ashlar/Transforms/ISA/Passes.h"

using namespace mlir;

namespace ashlar::isadialect {

#define GEN_PASS_DEF_ORDERBYSTART
#include "ashlar/Transforms/ISA/Passes.h.inc"

namespace {

struct OrderByStart : impl::OrderByStartBase<OrderByStart> {
protected:
  void runOnOperation() override;

private:
  void apply(ProgramOp program, const emulator::ProgramOrder &order);
};

} // namespace

void OrderByStart::apply(ProgramOp program,
                         const emulator::ProgramOrder &order) {
  SmallVector<Operation *, 0> instructions, planned;
  for (Operation &op : program.getBody().front())
    if (isInstruction(&op))
      instructions.push_back(&op);
    else if (llvm::isa<PlannedOp>(op))
      planned.push_back(&op);
  // The tensors that are complete after each instruction.
  std::vector<SmallVector<Operation *, 1>> complete(instructions.size());
  for (auto [op, after] : llvm::zip(planned, order.dumps))
    complete[after].push_back(op);
  Block &block = program.getBody().front();
  for (auto [place, index] : llvm::enumerate(order.instructions)) {
    numMoved += place != index;
    instructions[index]->moveBefore(&block, block.end());
    for (Operation *op : complete[place])
      op->moveBefore(&block, block.end());
  }
}

void OrderByStart::runOnOperation() {
  auto programs = getOperation().getOps<ProgramOp>();
  if (programs.empty())
    return;
  llvm::Expected<container::Program> program =
      codegen::assemble(getOperation());
  if (!program) {
    getOperation().emitError() << llvm::toString(program.takeError());
    return signalPassFailure();
  }
  if (auto order = emulator::orderByStart(*program))
    apply(*programs.begin(), *order);
}

} // namespace ashlar::isadialect
