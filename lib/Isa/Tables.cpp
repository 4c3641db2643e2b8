// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generated tables and the look-ups in them.

#include "ashlar/Isa/Instruction.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include <array>

namespace ashlar::isa {

#include "ashlar/Isa/Tables.cpp.inc"

llvm::StringRef EnumInfo::nameOf(int64_t value) const {
  for (const EnumCaseInfo &entry : cases)
    if (entry.value == value)
      return entry.name;
  return {};
}

const EnumCaseInfo *EnumInfo::find(llvm::StringRef caseName) const {
  for (const EnumCaseInfo &entry : cases)
    if (entry.name == caseName)
      return &entry;
  return nullptr;
}

llvm::ArrayRef<InstructionInfo> instructions() { return instructionTable; }

/// Opcode -> table entry; null where there is no instruction.
static std::array<const InstructionInfo *, 256> makeOpcodeIndex() {
  std::array<const InstructionInfo *, 256> index = {};
  for (const InstructionInfo &inst : instructionTable)
    index[static_cast<uint8_t>(inst.opcode)] = &inst;
  return index;
}

const InstructionInfo *findOpcode(uint8_t opcode) {
  static const std::array<const InstructionInfo *, 256> index =
      makeOpcodeIndex();
  return index[opcode];
}

const InstructionInfo &info(Opcode opcode) {
  const InstructionInfo *found = findOpcode(static_cast<uint8_t>(opcode));
  if (!found)
    llvm_unreachable("Opcode values come from structs or checked numbers");
  return *found;
}

const InstructionInfo *findMnemonic(llvm::StringRef mnemonic) {
  for (const InstructionInfo &inst : instructionTable)
    if (inst.mnemonic == mnemonic)
      return &inst;
  return nullptr;
}

Opcode opcodeOf(const Instruction &inst) {
  return std::visit([](const auto &x) { return x.opcode; }, inst);
}

Queue queueOf(const Instruction &inst) {
  return std::visit([](const auto &x) { return x.queue; }, inst);
}

} // namespace ashlar::isa
