// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the instructions of a program into the order that the emulator's
// scheduler finds.

#include "Reorder.h"

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
};

} // namespace

void OrderByStart::runOnOperation() {
  auto programs = getOperation().getOps<ProgramOp>();
  if (programs.empty())
    return;
  llvm::Expected<container::Program> program =
      codegen::assemble(getOperation(), codegen::ConstantBytes::Shared);
  if (!program) {
    getOperation().emitError() << llvm::toString(program.takeError());
    return signalPassFailure();
  }
  if (auto order = emulator::orderByStart(*program))
    numMoved += reorder(*programs.begin(), *order);
}

} // namespace ashlar::isadialect
