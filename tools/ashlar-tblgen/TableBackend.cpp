// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the tables behind encoder, decoder, assembler, disassembler and
// verifier: enumerator names, fields with place and limits, reserved bits.

#include "Model.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace ashlar::tblgen {

static void emitEnumTable(const EnumType &type, raw_ostream &os) {
  os << "static constexpr EnumCaseInfo cases" << type.name << "[] = {\n";
  for (const EnumCase &entry : type.cases)
    os << "    {" << quote(entry.name) << ", " << entry.value << "},\n";
  os << "};\n"
     << "static constexpr EnumInfo enum" << type.name << " = {"
     << quote(type.name) << ", cases" << type.name << "};\n"
     << "llvm::StringRef name(" << type.name << " value) {\n"
     << "  return enum" << type.name
     << ".nameOf(static_cast<int64_t>(value));\n}\n\n";
}

static StringRef kindName(FieldKind kind) {
  switch (kind) {
  case FieldKind::Unsigned:
    return "Unsigned";
  case FieldKind::Signed:
    return "Signed";
  case FieldKind::Bits:
    return "Bits";
  case FieldKind::Float:
    return "Float";
  case FieldKind::Flag:
    return "Flag";
  case FieldKind::Enum:
    return "Enum";
  }
  llvm_unreachable("every kind is handled");
}

static void emitFields(const InstructionSet &set, const Instruction &inst,
                       raw_ostream &os) {
  for (const Field &field : inst.fields) {
    if (field.allowed.empty())
      continue;
    os << "static constexpr int64_t allowed" << inst.structName << "_"
       << field.name << "[] = {";
    interleaveComma(field.allowed, os);
    os << "};\n";
  }
  if (inst.fields.empty())
    return;
  os << "static constexpr FieldInfo fields" << inst.structName << "[] = {\n";
  for (const Field &field : inst.fields) {
    std::string allowed = field.allowed.empty()
                              ? "{}"
                              : "allowed" + inst.structName + "_" + field.name;
    std::string type = field.kind == FieldKind::Enum
                           ? "&enum" + set.enumOf(field).name
                           : "nullptr";
    os << "    {" << quote(field.name)
       << ", FieldKind::" << kindName(field.kind) << ", " << field.word << ", "
       << field.lsb << ", " << field.width << ", " << literal(field.minimum)
       << ", " << literal(field.maximum) << ", " << literal(field.defaultValue)
       << ", " << allowed << ", " << type << ", " << quote(field.unit) << ", "
       << quote(field.description) << "},\n";
  }
  os << "};\n";
}

static void emitReserved(const Instruction &inst, raw_ostream &os) {
  std::vector<uint64_t> masks(inst.words, 0);
  // Bits 12-55 of the header are zero in every instruction.
  masks[0] = 0x00fffffffffff000;
  for (const ReservedBits &bits : inst.reserved)
    masks[bits.word] |= (~uint64_t(0) >> (64 - bits.width)) << bits.lsb;
  os << "static constexpr uint64_t reserved" << inst.structName << "[] = {\n";
  for (uint64_t mask : masks)
    os << formatv("    {0:x16},\n", mask);
  os << "};\n";
}

static unsigned queueMask(const InstructionSet &set, const Instruction &inst) {
  unsigned mask = 0;
  for (const EnumType &type : set.enums)
    if (type.name == "Queue")
      for (const EnumCase &entry : type.cases)
        if (is_contained(inst.queues, entry.name))
          mask |= 1u << entry.value;
  return mask;
}

void emitTables(const InstructionSet &set, raw_ostream &os) {
  emitHeader(os, "Tables of the instruction set.");
  for (const EnumType &type : set.enums)
    emitEnumTable(type, os);
  for (const Instruction &inst : set.instructions) {
    emitFields(set, inst, os);
    emitReserved(inst, os);
    os << "\n";
  }
  os << "static constexpr InstructionInfo instructionTable[] = {\n";
  for (const Instruction &inst : set.instructions)
    os << formatv("    {{Opcode::{0}, {1}, {2}, {3:x4}, {4}, reserved{0}, "
                  "{5}},\n",
                  inst.structName, quote(inst.mnemonic), inst.words,
                  queueMask(set, inst),
                  inst.fields.empty() ? "{}" : "fields" + inst.structName,
                  quote(inst.summary));
  os << "};\n";
}

} // namespace ashlar::tblgen
