// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The readable form of instructions: one per line, `pe.load rows=16 cols=4`.
// Fields with their default value are omitted; a comment starts with ';'.
// Printing then parsing gives the same instruction, bit for bit.

#ifndef ASHLAR_ISA_TEXT_H
#define ASHLAR_ISA_TEXT_H

#include "ashlar/Isa/Instruction.h"

#include <string>
#include <vector>

namespace ashlar::isa {

/// The instruction as one line without line end.
std::string print(const Instruction &inst);

/// Parses one instruction; comments and blanks around it are allowed. Malformed
/// errors start with "\p where:COLUMN: ", where \p where is "file:line".
llvm::Expected<Instruction> parse(llvm::StringRef line, llvm::StringRef where);

/// Parses a text of one instruction per line. Malformed errors start with
/// "\p name:LINE:COLUMN: ".
llvm::Expected<std::vector<Instruction>> parseAll(llvm::StringRef text,
                                                  llvm::StringRef name);

/// The text of raw code: little-endian words as in a file. Malformed errors
/// start with "\p name: ".
llvm::Expected<std::string> disassembleRaw(llvm::StringRef bytes,
                                           llvm::StringRef name);

/// One field value as text and back. Floats are shortest decimals, or the bits
/// in hexadecimal where decimals do not say which NaN it is. The error says
/// what was expected, without a position.
std::string printValue(const FieldInfo &field, int64_t value);
llvm::Expected<int64_t> parseValue(const InstructionInfo &inst,
                                   const FieldInfo &field,
                                   llvm::StringRef text);

} // namespace ashlar::isa

#endif // ASHLAR_ISA_TEXT_H
