// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the instruction set for SystemVerilog: a package of opcodes and enums,
// and a macro for each field. Hardware models read the same words as the
// emulator and have no table of their own.

#include "Model.h"

#include <algorithm>
#include <fmt/format.h>

using namespace llvm;

namespace ashlar::tblgen {

/// "pe.matmul" -> "pe_matmul", "leakyRelu" -> "leakyRelu".
static std::string identifier(StringRef name) {
  std::string text = name.str();
  std::replace(text.begin(), text.end(), '.', '_');
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

/// The name of a constant: "PE_MATMUL", "ELEMTYPE_BF16".
static std::string constant(StringRef name) {
  return StringRef(identifier(name)).upper();
}

static void emitEnum(const EnumType &type, raw_ostream &os) {
  os << fmt::format("  // {}\n", type.name);
  for (const EnumCase &entry : type.cases)
    os << fmt::format("  localparam int {}_{} = {};\n", constant(type.name),
                      constant(entry.name), entry.value);
}

/// A macro per field: its bits of the words of an instruction, an unpacked
/// array of 64 bits each. No function, as simulators copy operands of
/// functions.
static void emitFields(const Instruction &inst, raw_ostream &os) {
  const std::string name = constant(inst.mnemonic);
  for (const Field &field : inst.fields) {
    const std::string bits = fmt::format(
        "w[{}][{}:{}]", field.word, field.lsb + field.width - 1, field.lsb);
    os << fmt::format("`define {}_{}(w) {}\n", name, field.name,
                      field.kind == FieldKind::Signed
                          ? fmt::format("$signed({})", bits)
                          : bits);
  }
}

void emitSystemVerilog(const InstructionSet &set, raw_ostream &os) {
  int64_t longest = 1;
  for (const Instruction &inst : set.instructions)
    longest = std::max(longest, inst.words);
  emitHeader(os, "the instruction set for hardware models");
  os << "package ashlar_isa;\n";
  os << fmt::format("  localparam int VERSION_MAJOR = {};\n", set.major);
  os << fmt::format("  localparam int VERSION_MINOR = {};\n", set.minor);
  os << fmt::format("  localparam int MAX_WORDS = {};\n", longest);
  for (const EnumType &type : set.enums)
    emitEnum(type, os);
  os << "  // Opcodes.\n";
  for (const Instruction &inst : set.instructions)
    os << fmt::format("  localparam logic [7:0] OP_{} = 8'd{};\n",
                      constant(inst.mnemonic), inst.opcode);
  os << "endpackage\n\n"
        "// Of the header, word 0.\n"
        "`define ISA_OPCODE(w) w[0][7:0]\n"
        "`define ISA_QUEUE(w) w[0][11:8]\n"
        "`define ISA_LENGTH(w) w[0][63:56]\n";
  for (const Instruction &inst : set.instructions)
    emitFields(inst, os);
}

} // namespace ashlar::tblgen
