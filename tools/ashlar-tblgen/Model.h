// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction set as ashlar-tblgen's backends see it: plain structs read
// from the TableGen records. Reading checks every record (Check.cpp), so a
// backend may assume a consistent instruction set.

#ifndef ASHLAR_TOOLS_TBLGEN_MODEL_H
#define ASHLAR_TOOLS_TBLGEN_MODEL_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TableGen/Record.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::tblgen {

/// One enumerator.
struct EnumCase {
  std::string name;
  int64_t value;
  std::string description;
};

/// One enum of the instruction set.
struct EnumType {
  const llvm::Record *record;
  std::string name;
  int64_t width;
  std::string description;
  std::vector<EnumCase> cases;
};

enum class FieldKind { Unsigned, Signed, Bits, Float, Flag, Enum };

/// One field of an instruction. Limits are signed 64-bit; `Bits` has none.
struct Field {
  std::string name;
  FieldKind kind;
  int64_t width, word, lsb;
  std::string unit, description;
  int64_t minimum, maximum, defaultValue;
  std::vector<int64_t> allowed;
  /// Index into InstructionSet::enums, only for FieldKind::Enum.
  unsigned enumIndex;
  int64_t since;
};

struct ReservedBits {
  int64_t word, lsb, width;
};

/// An expression over the fields of an instruction.
struct Expression {
  std::string text; ///< As the record says it, for pages.
  std::string code; ///< C++ over the struct `x`.
  std::vector<const Field *> fields;
};

/// A loop of an access pattern.
struct Loop {
  Expression count, stride;
};

/// What an instruction reads or writes (dialects/ISA/ISAOperands.td).
struct Operand {
  const llvm::Record *record;
  std::string kind, cppType, name, prefix, effect, what, via;
  std::optional<Expression> when;
  /// Members of the C++ description and what they are.
  std::vector<std::pair<std::string, Expression>> roles;
  std::vector<Loop> loops;
};

/// One instruction.
struct Instruction {
  const llvm::Record *record;
  std::string mnemonic;
  /// Name of the C++ struct, CamelCase of the mnemonic.
  std::string structName;
  int64_t opcode, words, since;
  /// Enumerators of `Queue` it may be issued to, in declaration order.
  std::vector<std::string> queues;
  std::vector<Field> fields;
  std::vector<ReservedBits> reserved;
  std::vector<Operand> operands;
  std::string summary, description;

  /// True if the header's queue is a field of the struct.
  bool hasQueueField() const { return queues.size() > 1; }
  /// The field of that name or null.
  const Field *find(llvm::StringRef field) const;
};

struct InstructionSet {
  int64_t major = 0, minor = 0;
  std::vector<EnumType> enums;
  /// Ordered by opcode.
  std::vector<Instruction> instructions;

  const EnumType &enumOf(const Field &field) const {
    return enums[field.enumIndex];
  }
};

/// Reads and checks the records; ends the process with a message that points at
/// the record if they are inconsistent.
InstructionSet readInstructionSet(const llvm::RecordKeeper &records);

/// Reads the operands of an instruction (Operands.cpp).
void readOperands(Instruction &inst);

/// The checks of one instruction and of the set as a whole (Check.cpp).
void checkEnum(const EnumType &type);
void checkInstruction(const InstructionSet &set, const Instruction &inst);
void checkSet(const InstructionSet &set);

/// Ends the process with a message that points at the record of \p inst.
[[noreturn]] void fail(const Instruction &inst, const llvm::Twine &message);

/// "leakyRelu" -> "LeakyRelu"; "vec.reduce_channels" -> "VecReduceChannels".
std::string camelCase(llvm::StringRef name);

/// C++ type of the struct member of a field.
std::string memberType(const InstructionSet &set, const Field &field);

/// `text` as a C++ string literal.
std::string quote(llvm::StringRef text);

/// A 64-bit literal that is valid for every value, INT64_MIN included.
std::string literal(int64_t value);

/// Writes the comment that starts every generated file.
void emitHeader(llvm::raw_ostream &os, llvm::StringRef what);

// The backends, one per output.
void emitEnums(const InstructionSet &set, llvm::raw_ostream &os);
void emitStructs(const InstructionSet &set, llvm::raw_ostream &os);
void emitDispatch(const InstructionSet &set, llvm::raw_ostream &os);
void emitEncode(const InstructionSet &set, llvm::raw_ostream &os);
void emitDecode(const InstructionSet &set, llvm::raw_ostream &os);
void emitVerify(const InstructionSet &set, llvm::raw_ostream &os);
void emitTables(const InstructionSet &set, llvm::raw_ostream &os);
void emitDialect(const InstructionSet &set, llvm::raw_ostream &os);
void emitDocs(const InstructionSet &set, llvm::raw_ostream &os);
void emitJson(const InstructionSet &set, llvm::raw_ostream &os);
void emitOperands(const InstructionSet &set, llvm::raw_ostream &os);
void emitSystemVerilog(const InstructionSet &set, llvm::raw_ostream &os);

} // namespace ashlar::tblgen

#endif // ASHLAR_TOOLS_TBLGEN_MODEL_H
