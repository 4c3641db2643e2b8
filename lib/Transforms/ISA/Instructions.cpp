// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Instructions.h"

#include "ashlar/Support/LargePages.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::isadialect {

void setQueue(isa::Instruction &inst, isa::Queue queue) {
  assert(isa::info(inst).queueMask >> static_cast<unsigned>(queue) & 1);
  std::visit(
      [queue](auto &x) {
        // Where one queue is legal, it is a constant of the struct.
        if constexpr (!std::is_const_v<
                          std::remove_reference_t<decltype((x.queue))>>)
          x.queue = queue;
      },
      inst);
}

FailureOr<ProgramInstructions> instructionsOf(ProgramOp program) {
  ProgramInstructions result;
  Block &body = program.getBody().front();
  const size_t count =
      llvm::count_if(body, [](Operation &op) { return isInstruction(&op); });
  result.operations.reserve(count);
  support::reserveInLargePages(result.instructions, count);
  for (Operation &op : body) {
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

Operation *firstSemaphore(const ProgramInstructions &read) {
  for (auto [instruction, op] :
       llvm::zip_equal(read.instructions, read.operations))
    if (std::holds_alternative<isa::SemWait>(instruction) ||
        std::holds_alternative<isa::SemSignal>(instruction))
      return op;
  return nullptr;
}

} // namespace ashlar::isadialect
