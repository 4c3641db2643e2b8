// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits docs/Isa.md: one section per instruction with its bit layout.

#include "Model.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace llvm;

namespace ashlar::tblgen {

static std::string kindText(const InstructionSet &set, const Field &field) {
  switch (field.kind) {
  case FieldKind::Unsigned:
    return formatv("u{0}", field.width).str();
  case FieldKind::Signed:
    return formatv("s{0}", field.width).str();
  case FieldKind::Bits:
    return "64 bits";
  case FieldKind::Float:
    return "f32";
  case FieldKind::Flag:
    return "flag";
  case FieldKind::Enum:
    return "[" + set.enumOf(field).name + "](#" +
           StringRef(set.enumOf(field).name).lower() + ")";
  }
  llvm_unreachable("every kind is handled");
}

static std::string rangeText(const Field &field) {
  if (!field.allowed.empty()) {
    std::string text;
    for (int64_t value : field.allowed)
      text += (text.empty() ? "" : ", ") + std::to_string(value);
    return text;
  }
  if (field.kind == FieldKind::Unsigned || field.kind == FieldKind::Signed)
    return std::to_string(field.minimum) + " .. " +
           std::to_string(field.maximum);
  return "";
}

/// Removes the indentation that a code block has in the .td file; lists keep
/// that of their items.
static void emitParagraphs(StringRef text, raw_ostream &os) {
  SmallVector<StringRef> lines;
  text.trim().split(lines, '\n');
  size_t indent = StringRef::npos;
  for (StringRef line : ArrayRef(lines).drop_front())
    if (!line.trim().empty())
      indent = std::min(indent, line.find_first_not_of(' '));
  os << lines.front() << "\n";
  for (StringRef line : ArrayRef(lines).drop_front())
    os << line.drop_front(std::min(indent, line.size())).rtrim() << "\n";
  os << "\n";
}

static void emitFieldTable(const InstructionSet &set, const Instruction &inst,
                           raw_ostream &os) {
  if (inst.fields.empty())
    return;
  os << "| field | word | bits | type | legal | default | unit | meaning |\n"
     << "|---|---|---|---|---|---|---|---|\n";
  for (const Field &field : inst.fields) {
    std::string defaultText = std::to_string(field.defaultValue);
    if (field.kind == FieldKind::Enum)
      for (const EnumCase &entry : set.enumOf(field).cases)
        if (entry.value == field.defaultValue)
          defaultText = entry.name;
    os << formatv("| `{0}` | {1} | {2}-{3} | {4} | {5} | {6} | {7} | {8} |\n",
                  field.name, field.word, field.lsb,
                  field.lsb + field.width - 1, kindText(set, field),
                  rangeText(field), defaultText, field.unit, field.description);
  }
  os << "\n";
  if (inst.reserved.empty())
    return;
  os << "Reserved bits, which are zero:";
  for (size_t i = 0; i < inst.reserved.size(); ++i) {
    const ReservedBits &bits = inst.reserved[i];
    os << formatv("{0} word {1} bits {2}-{3}", i ? "," : "", bits.word,
                  bits.lsb, bits.lsb + bits.width - 1);
  }
  os << ".\n\n";
}

/// What an operand is: its parts and loops in terms of the fields.
static std::string operandText(const Operand &operand) {
  // A cell of a table must not end at an "or".
  auto code = [](StringRef text) {
    std::string quoted = "`";
    for (char c : text)
      quoted += c == '|' ? std::string("\\|") : std::string(1, c);
    return quoted + "`";
  };
  std::string text = operand.kind.empty() ? operand.via : operand.kind;
  for (const auto &[member, value] : operand.roles)
    text += ", " + member + " " + code(value.text);
  for (const Loop &loop : operand.loops) {
    text += &loop == &operand.loops.front() ? "; loops " : ", ";
    text += code(loop.count.text);
    if (operand.kind != "codes")
      text += " x " + code(loop.stride.text);
  }
  if (!operand.kind.empty() && !operand.via.empty())
    text += "; as " + operand.via + " reaches it";
  if (operand.when)
    text += "; if " + code(operand.when->text);
  return text;
}

static void emitOperandTable(const Instruction &inst, raw_ostream &os) {
  if (inst.operands.empty())
    return;
  os << "| operand | access | in terms of the fields |\n|---|---|---|\n";
  for (const Operand &operand : inst.operands)
    os << formatv("| {0} | {1} | {2} |\n", operand.what,
                  StringRef(operand.effect).lower(), operandText(operand));
  os << "\n";
}

static void emitInstruction(const InstructionSet &set, const Instruction &inst,
                            raw_ostream &os) {
  os << "### " << inst.mnemonic << "\n\n" << inst.summary << "\n\n";
  os << formatv("Opcode `{0:x2}`, {1} word{2}, queue {3}, since {4}.{5}.\n\n",
                static_cast<unsigned>(inst.opcode), inst.words,
                inst.words == 1 ? "" : "s", join(inst.queues, ", "), set.major,
                inst.since);
  emitParagraphs(inst.description, os);
  emitFieldTable(set, inst, os);
  emitOperandTable(inst, os);
}

void emitDocs(const InstructionSet &set, raw_ostream &os) {
  os << "<!-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->\n"
     << "<!-- Generated by ashlar-tblgen from dialects/ISA; do not edit. "
        "`ninja update-isa-doc` rewrites it. -->\n\n"
     << "# Instruction set, version " << set.major << "." << set.minor << "\n\n"
     << "The reference of every instruction: what it computes, its fields with "
        "their bits and legal values, and what it reads and writes. "
        "[Machine](Machine.md) has the cycles, [BinaryFormat](BinaryFormat.md) "
        "the file that holds a program, [Glossary](Glossary.md) the terms.\n\n"
     << "## Encoding\n\n"
     << "An instruction is a sequence of 64-bit little-endian words. Word 0 is "
        "the header:\n\n"
     << "| bits | meaning |\n|---|---|\n"
     << "| 0-7 | opcode |\n| 8-11 | queue |\n| 12-55 | zero |\n"
     << "| 56-63 | length in words, header included |\n\n"
     << "The encoder refuses values outside their legal range. The decoder "
        "also "
        "refuses unknown opcodes, wrong lengths, reserved bits that are not "
        "zero, and enum values without a name.\n\n"
     << "The text form is `mnemonic field=value ...`; a field with its default "
        "value may be omitted.\n\n"
     << "## How to read the tables\n\n"
     << "An instruction has two tables. The first lists its fields. The second "
        "lists its operands in the order of its footprint: the kind of operand "
        "(a method of the visitor in `include/ashlar/Isa/Operands.h`), its "
        "parts "
        "in terms of the fields, and its loops as count x stride, outermost "
        "first.\n\n"
     << "## Instructions\n\n";
  for (const Instruction &inst : set.instructions)
    emitInstruction(set, inst, os);
  os << "## Enums\n\n";
  for (const EnumType &type : set.enums) {
    os << "### " << type.name << "\n\n"
       << type.description << "\n\n| name | value | meaning |\n|---|---|---|\n";
    for (const EnumCase &entry : type.cases)
      os << formatv("| `{0}` | {1} | {2} |\n", entry.name, entry.value,
                    entry.description);
    if (&type != &set.enums.back())
      os << "\n";
  }
}

} // namespace ashlar::tblgen
