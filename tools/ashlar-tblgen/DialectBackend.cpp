// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the bodies that tie the ops of the `isa` dialect to their structs.

#include "Model.h"

using namespace llvm;

namespace ashlar::tblgen {

void emitDialect(const InstructionSet &set, raw_ostream &os) {
  emitHeader(os, "ASHLAR_ISA_OP(op class, struct) for every instruction.");
  os << "#ifndef ASHLAR_ISA_OP\n"
     << "#error \"define ASHLAR_ISA_OP before including this file\"\n"
     << "#endif\n\n";
  for (const Instruction &inst : set.instructions) {
    // ODS names the class after the record, without its prefix.
    StringRef name = inst.record->getName();
    os << "ASHLAR_ISA_OP(" << name.substr(name.find('_') + 1) << ", "
       << inst.structName << ")\n";
  }
  os << "\n#undef ASHLAR_ISA_OP\n";
}

} // namespace ashlar::tblgen
