// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Instructions.h"

using namespace mlir;

namespace ashlar::isadialect {

FailureOr<ProgramInstructions> instructionsOf(ProgramOp program) {
  ProgramInstructions result;
  for (Operation &op : program.getBody().front()) {
    if (!isInstruction(&op))
      continue;
    llvm::Expected<isa::Instruction> instruction = toInstruction(&op);
    if (!instruction)
      return op.emitOpError() << llvm::toString(instruction.takeError());
    result.operations.push_back(&op);
    result.instructions.push_back(std::move(*instruction));
  }
  return result;
}

} // namespace ashlar::isadialect
