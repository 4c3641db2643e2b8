// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the enums, the instruction structs with their variant, and the X-macro
// list from which visitors are made.

#include "Model.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace ashlar::tblgen {

void emitEnums(const InstructionSet &set, raw_ostream &os) {
  emitHeader(os, "Enums of the instruction set.");
  os << "/// Version of the instruction set.\n"
     << "inline constexpr uint16_t versionMajor = " << set.major << ";\n"
     << "inline constexpr uint16_t versionMinor = " << set.minor << ";\n\n";
  for (const EnumType &type : set.enums) {
    os << "/// " << type.description << "\n"
       << "enum class " << type.name << " : "
       << (type.width <= 8 ? "uint8_t" : "uint16_t") << " {\n";
    for (const EnumCase &entry : type.cases)
      os << "  " << camelCase(entry.name) << " = " << entry.value << ", ///< "
         << entry.description << "\n";
    os << "};\n\n"
       << "/// The name in text, empty for a value without enumerator.\n"
       << "llvm::StringRef name(" << type.name << " value);\n\n";
  }
  os << "/// First byte of an instruction.\n"
     << "enum class Opcode : uint8_t {\n";
  for (const Instruction &inst : set.instructions)
    os << formatv("  {0} = {1:x2}, ///< {2}\n", inst.structName,
                  static_cast<unsigned>(inst.opcode), inst.mnemonic);
  os << "};\n";
}

static std::string initializer(const InstructionSet &set, const Field &field) {
  if (field.kind == FieldKind::Flag)
    return field.defaultValue ? "true" : "false";
  if (field.kind == FieldKind::Float)
    return "0.0f";
  if (field.kind != FieldKind::Enum)
    return std::to_string(field.defaultValue);
  const EnumType &type = set.enumOf(field);
  for (const EnumCase &entry : type.cases)
    if (entry.value == field.defaultValue)
      return type.name + "::" + camelCase(entry.name);
  llvm_unreachable("checkEnum asks for a case of value 0");
}

static void emitStruct(const InstructionSet &set, const Instruction &inst,
                       raw_ostream &os) {
  os << "/// " << inst.mnemonic << ": " << inst.summary << "\n"
     << "struct " << inst.structName << " {\n"
     << "  static constexpr Opcode opcode = Opcode::" << inst.structName
     << ";\n"
     << "  static constexpr unsigned words = " << inst.words << ";\n";
  if (!inst.hasQueueField())
    os << "  static constexpr Queue queue = Queue::"
       << camelCase(inst.queues.front()) << ";\n";
  for (const Field &field : inst.fields)
    os << "  " << memberType(set, field) << " " << field.name << " = "
       << initializer(set, field) << "; ///< " << field.description << " ("
       << field.unit << ")\n";
  os << "};\n\n";
}

void emitStructs(const InstructionSet &set, raw_ostream &os) {
  emitHeader(os, "Instruction structs.");
  for (const Instruction &inst : set.instructions)
    emitStruct(set, inst, os);
  os << "/// Any instruction.\nusing Instruction = std::variant<";
  for (size_t i = 0; i < set.instructions.size(); ++i)
    os << (i ? ", " : "") << set.instructions[i].structName;
  os << ">;\n";
}

void emitDispatch(const InstructionSet &set, raw_ostream &os) {
  emitHeader(os, "ASHLAR_ISA_INSTRUCTION(struct, mnemonic, opcode) for every "
                 "instruction.");
  os << "#ifndef ASHLAR_ISA_INSTRUCTION\n"
     << "#error \"define ASHLAR_ISA_INSTRUCTION before including this file\"\n"
     << "#endif\n\n";
  for (const Instruction &inst : set.instructions)
    os << formatv("ASHLAR_ISA_INSTRUCTION({0}, \"{1}\", {2:x2})\n",
                  inst.structName, inst.mnemonic,
                  static_cast<unsigned>(inst.opcode));
  os << "\n#undef ASHLAR_ISA_INSTRUCTION\n";
}

} // namespace ashlar::tblgen
