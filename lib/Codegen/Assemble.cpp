// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoding of the instruction stream.

#include "ashlar/Codegen/Assemble.h"

#include "ashlar/Support/Error.h"

namespace ashlar::codegen {

llvm::Expected<container::Program> assemble(GeneratedProgram generated) {
  container::Program program = std::move(generated.program);
  llvm::SmallVector<uint64_t, 0> words;
  for (size_t i = 0; i < generated.instructions.size(); ++i)
    if (llvm::Error error = isa::encode(generated.instructions[i], words)) {
      uint32_t node = program.nodeOfInstruction[i];
      std::string name = node < program.nodes.size() ? program.nodes[node].name
                                                     : std::string("?");
      return withContext(
          std::move(error),
          fmt::format("node '{}', instruction {} ({})", name, i,
                      isa::info(generated.instructions[i]).mnemonic.str()));
    }
  program.code.assign(words.begin(), words.end());
  return program;
}

} // namespace ashlar::codegen
