// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits encoders, decoders and range verifiers. The generated functions name
// each field once; what a field may hold is in the tables (TableBackend.cpp),
// and FieldWriter and FieldReader (lib/Isa/FieldAccess.h) do the checks.

#include "Model.h"

using namespace llvm;

namespace ashlar::tblgen {

/// The expression that turns a member into the int64_t of its field.
static std::string toInteger(const Field &field) {
  std::string member = "x." + field.name;
  if (field.kind == FieldKind::Float)
    return "floatBits(" + member + ")";
  return "static_cast<int64_t>(" + member + ")";
}

/// The expression that turns the int64_t `value` of a field into its member.
static std::string fromInteger(const InstructionSet &set, const Field &field,
                               const std::string &value) {
  if (field.kind == FieldKind::Float)
    return "floatFromBits(" + value + ")";
  if (field.kind == FieldKind::Flag)
    return value + " != 0";
  return "static_cast<" + memberType(set, field) + ">(" + value + ")";
}

void emitEncode(const InstructionSet &set, raw_ostream &os) {
  emitHeader(os, "Encoders.");
  for (const Instruction &inst : set.instructions) {
    os << "static llvm::Error encodeOne(const " << inst.structName
       << " &x, llvm::SmallVectorImpl<uint64_t> &out) {\n"
       << "  FieldWriter writer(info(" << inst.structName
       << "::opcode), x.queue, out);\n";
    unsigned index = 0;
    for (const Field &field : inst.fields)
      os << "  writer.put(" << index++ << ", " << toInteger(field) << "); // "
         << field.name << "\n";
    os << "  return writer.finish();\n}\n\n";
  }
}

void emitDecode(const InstructionSet &set, raw_ostream &os) {
  emitHeader(os, "Decoders; the reader has checked header and length.");
  for (const Instruction &inst : set.instructions) {
    os << "static Instruction decode" << inst.structName
       << "(FieldReader &reader) {\n"
       << "  " << inst.structName << " x;\n";
    if (inst.fields.empty())
      os << "  (void)reader;\n";
    unsigned index = 0;
    for (const Field &field : inst.fields)
      os << "  x." << field.name << " = "
         << fromInteger(set, field,
                        "reader.get(" + std::to_string(index++) + ")")
         << ";\n";
    os << "  return x;\n}\n\n";
  }
  os << "static Instruction decodeFields(FieldReader &reader) {\n"
     << "  switch (reader.opcode()) {\n";
  for (const Instruction &inst : set.instructions)
    os << "  case Opcode::" << inst.structName << ":\n    return decode"
       << inst.structName << "(reader);\n";
  os << "  }\n  llvm_unreachable(\"the reader knows the opcode\");\n}\n";
}

void emitVerify(const InstructionSet &set, raw_ostream &os) {
  emitHeader(os, "Conversion between structs and field values, and equality.");
  for (const Instruction &inst : set.instructions) {
    os << "static void fieldsOf(const " << inst.structName
       << " &x, llvm::SmallVectorImpl<int64_t> &out) {\n";
    if (inst.fields.empty())
      os << "  (void)x;\n  (void)out;\n";
    for (const Field &field : inst.fields)
      os << "  out.push_back(" << toInteger(field) << "); // " << field.name
         << "\n";
    os << "}\n\n";
    os << "bool operator==(const " << inst.structName << " &a, const "
       << inst.structName << " &b) {\n"
       << "  llvm::SmallVector<int64_t, 64> left, right;\n"
       << "  fieldsOf(a, left);\n  fieldsOf(b, right);\n"
       << "  return left == right;\n}\n\n";
  }
  os << "static Instruction fromFieldsUnchecked(Opcode opcode, "
     << "llvm::ArrayRef<int64_t> values) {\n"
     << "  switch (opcode) {\n";
  for (const Instruction &inst : set.instructions) {
    os << "  case Opcode::" << inst.structName << ": {\n    " << inst.structName
       << " x;\n";
    unsigned index = 0;
    for (const Field &field : inst.fields)
      os << "    x." << field.name << " = "
         << fromInteger(set, field, "values[" + std::to_string(index++) + "]")
         << ";\n";
    os << "    return x;\n  }\n";
  }
  os << "  }\n  llvm_unreachable(\"the caller checked the opcode\");\n}\n";
}

} // namespace ashlar::tblgen
