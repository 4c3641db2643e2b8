// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions as structs, their tables and their binary form. Everything
// specific to one instruction is generated from dialects/ISA by ashlar-tblgen;
// docs/Isa.md has the layouts.

#ifndef ASHLAR_ISA_INSTRUCTION_H
#define ASHLAR_ISA_INSTRUCTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <variant>
#include <vector>

namespace ashlar::isa {

#include "ashlar/Isa/Enums.h.inc"
#include "ashlar/Isa/Instructions.h.inc"

// Equality of all fields; floats compare by their bits.
#define ASHLAR_ISA_INSTRUCTION(Struct, mnemonic, opcode)                       \
  bool operator==(const Struct &a, const Struct &b);
#include "ashlar/Isa/Instructions.def"

/// One name of an enum.
struct EnumCaseInfo {
  llvm::StringLiteral name;
  int64_t value;
};

/// An enum of the instruction set.
struct EnumInfo {
  llvm::StringLiteral name;
  llvm::ArrayRef<EnumCaseInfo> cases;
  /// The enumerator's name, empty if \p value has none.
  llvm::StringRef nameOf(int64_t value) const;
  /// The case of that name or null.
  const EnumCaseInfo *find(llvm::StringRef caseName) const;
};

enum class FieldKind : uint8_t { Unsigned, Signed, Bits, Float, Flag, Enum };

/// Place, limits and meaning of one field. A field value is an int64_t: the
/// number itself; for Bits the raw 64 bits; for Float the bits of a binary32.
struct FieldInfo {
  llvm::StringLiteral name;
  FieldKind kind;
  uint8_t word, lsb, width;
  int64_t minimum, maximum, defaultValue;
  llvm::ArrayRef<int64_t> allowed; ///< Empty: all of [minimum, maximum].
  const EnumInfo *enumInfo;        ///< Only for FieldKind::Enum.
  llvm::StringLiteral unit, description;
};

/// One instruction of the set.
struct InstructionInfo {
  Opcode opcode;
  llvm::StringLiteral mnemonic;
  uint8_t words;      ///< Length, header included.
  uint16_t queueMask; ///< Bit q: may be issued to Queue q.
  llvm::ArrayRef<FieldInfo> fields;
  llvm::ArrayRef<uint64_t> reserved; ///< Per word: bits that must be zero.
  llvm::StringLiteral summary;
};

/// All instructions, ordered by opcode.
llvm::ArrayRef<InstructionInfo> instructions();
/// The instruction of a known opcode.
const InstructionInfo &info(Opcode opcode);
/// The instruction with that number or mnemonic, null if there is none.
const InstructionInfo *findOpcode(uint8_t opcode);
const InstructionInfo *findMnemonic(llvm::StringRef mnemonic);

/// Opcode and queue of any instruction.
Opcode opcodeOf(const Instruction &inst);
Queue queueOf(const Instruction &inst);
inline const InstructionInfo &info(const Instruction &inst) {
  return info(opcodeOf(inst));
}

/// Bytes of its words in a program.
inline uint64_t encodedBytes(const Instruction &inst) {
  return uint64_t(info(inst).words) * sizeof(uint64_t);
}

/// Whether \p value is legal for the field; the error names field, value and
/// limits (class Capacity).
llvm::Error checkField(const InstructionInfo &inst, const FieldInfo &field,
                       int64_t value);
/// The same for every field of an instruction, and for its queue.
llvm::Error verify(const Instruction &inst);

/// Field values in declaration order.
void toFields(const Instruction &inst, llvm::SmallVectorImpl<int64_t> &values);
/// The reverse; refuses a wrong count and illegal values.
llvm::Expected<Instruction> fromFields(Opcode opcode,
                                       llvm::ArrayRef<int64_t> values);

/// Appends the words of \p inst to \p out. A value that does not fit is refused
/// by name and \p out is left as it was; nothing is ever masked.
llvm::Error encode(const Instruction &inst,
                   llvm::SmallVectorImpl<uint64_t> &out);

/// Decodes the instruction at words[pos] and moves \p pos past it. Malformed:
/// unknown opcode, wrong length, wrong queue, non-zero reserved bits, illegal
/// field values, truncated input. Decoding then encoding gives the same words.
llvm::Expected<Instruction> decode(llvm::ArrayRef<uint64_t> words, size_t &pos);

/// How many instructions \p words have before the first header that is none.
size_t countInstructions(llvm::ArrayRef<uint64_t> words);

/// Decodes a whole program.
llvm::Expected<std::vector<Instruction>>
decodeAll(llvm::ArrayRef<uint64_t> words);

} // namespace ashlar::isa

#endif // ASHLAR_ISA_INSTRUCTION_H
