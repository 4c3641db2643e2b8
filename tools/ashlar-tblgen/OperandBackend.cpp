// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the operands of the instructions: a function that gives each operand
// of SB, of PSUM or of an address, and visitOperands(), one call of a visitor
// for each operand in the order of the record (include/ashlar/Isa/Operands.h).

#include "Model.h"

#include <set>

using namespace llvm;

namespace ashlar::tblgen {

/// Whether an operand has a function of its own: "operandSrc".
static bool hasAccessor(const Operand &operand) {
  return operand.kind == "tensor" || operand.kind == "rows" ||
         operand.kind == "linear" || operand.kind == "codes" ||
         operand.kind == "psum";
}

static std::string accessor(const Operand &operand) {
  return operand.name.empty() ? "operandOf"
                              : "operand" + camelCase(operand.name);
}

/// Statements that describe an operand as `o`.
static void emitDescription(const Operand &operand, StringRef indent,
                            raw_ostream &os) {
  os << indent << operand.cppType << " o;\n"
     << indent << "o.effect = Effect::" << operand.effect << ";\n";
  if (!operand.what.empty())
    os << indent << "o.what = " << quote(operand.what) << ";\n";
  for (const auto &[member, value] : operand.roles)
    os << indent << "o." << member << " = " << value.code << ";\n";
  for (const Loop &loop : operand.loops)
    os << indent << "o.loops.push_back({static_cast<uint64_t>("
       << loop.count.code << "), static_cast<int64_t>(" << loop.stride.code
       << ")});\n";
}

static void emitAccessors(const Instruction &inst, raw_ostream &os) {
  // Of entries that are read and written, what is read.
  std::set<std::string> names;
  for (const Operand &operand : inst.operands) {
    if (!hasAccessor(operand) || !names.insert(accessor(operand)).second)
      continue;
    os << "inline " << operand.cppType << " " << accessor(operand) << "(const "
       << inst.structName << " &x) {\n";
    emitDescription(operand, "  ", os);
    os << "  return o;\n}\n\n";
  }
}

/// The call of the visitor with one operand.
static void emitVisit(const Operand &operand, raw_ostream &os) {
  const std::string method =
      "v." + (operand.via.empty() ? operand.kind + "(" : operand.via + "(x, ");
  const std::string when =
      operand.when ? "if (" + operand.when->code + ") " : "";
  if (operand.kind.empty()) {
    os << "  " << when << method << "Effect::" << operand.effect << ");\n";
  } else if (hasAccessor(operand) && operand.kind != "psum") {
    os << "  " << when << method << accessor(operand) << "(x));\n";
  } else {
    os << "  " << when << "{\n";
    emitDescription(operand, "    ", os);
    os << "    " << method << "o);\n  }\n";
  }
}

void emitOperands(const InstructionSet &set, raw_ostream &os) {
  emitHeader(os, "The operands of every instruction.");
  for (const Instruction &inst : set.instructions) {
    emitAccessors(inst, os);
    os << "template <typename Visitor>\n"
       << "void visitOperands([[maybe_unused]] const " << inst.structName
       << " &x, [[maybe_unused]] Visitor &v) {\n";
    for (const Operand &operand : inst.operands)
      emitVisit(operand, os);
    os << "}\n\n";
  }
}

} // namespace ashlar::tblgen
