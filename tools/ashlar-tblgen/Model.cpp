// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the TableGen records of the instruction set into plain structs.

#include "Model.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TableGen/Error.h"
#include <algorithm>
#include <optional>

using namespace llvm;

namespace ashlar::tblgen {

static EnumType readEnum(const Record *record) {
  EnumType type;
  type.record = record;
  type.name = record->getValueAsString("cppName").str();
  type.width = record->getValueAsInt("width");
  type.description = record->getValueAsString("description").str();
  for (const Record *entry : record->getValueAsListOfDefs("cases"))
    type.cases.push_back({entry->getValueAsString("name").str(),
                          entry->getValueAsInt("value"),
                          entry->getValueAsString("description").str()});
  return type;
}

static FieldKind readKind(const Record *owner, const Record *record) {
  StringRef kind = record->getValueAsString("kind");
  auto found = StringSwitch<std::optional<FieldKind>>(kind)
                   .Case("unsigned", FieldKind::Unsigned)
                   .Case("signed", FieldKind::Signed)
                   .Case("bits", FieldKind::Bits)
                   .Case("float", FieldKind::Float)
                   .Case("flag", FieldKind::Flag)
                   .Case("enum", FieldKind::Enum)
                   .Default(std::nullopt);
  if (!found)
    PrintFatalError(owner->getLoc(),
                    "field '" + record->getValueAsString("name") +
                        "' has the unknown kind '" + kind + "'");
  return *found;
}

static unsigned readEnumIndex(const InstructionSet &set, const Record *owner,
                              const Record *record) {
  const Record *type = record->getValueAsOptionalDef("enumType");
  for (unsigned i = 0; i < set.enums.size(); ++i)
    if (set.enums[i].record == type)
      return i;
  PrintFatalError(owner->getLoc(), "field '" +
                                       record->getValueAsString("name") +
                                       "' is an enum field without enum type");
}

static Field readField(const InstructionSet &set, const Record *owner,
                       const Record *record) {
  Field field;
  field.name = record->getValueAsString("name").str();
  field.kind = readKind(owner, record);
  field.width = record->getValueAsInt("width");
  field.word = record->getValueAsInt("word");
  field.lsb = record->getValueAsInt("lsb");
  field.unit = record->getValueAsString("unit").str();
  field.description = record->getValueAsString("description").str();
  field.minimum = record->getValueAsInt("minimum");
  field.maximum = record->getValueAsInt("maximum");
  field.defaultValue = record->getValueAsInt("defaultValue");
  field.allowed = record->getValueAsListOfInts("allowed");
  field.since = record->getValueAsInt("since");
  field.enumIndex =
      field.kind == FieldKind::Enum ? readEnumIndex(set, owner, record) : 0;
  return field;
}

static Instruction readInstruction(const InstructionSet &set,
                                   const Record *record) {
  Instruction inst;
  inst.record = record;
  inst.mnemonic = record->getValueAsString("isaMnemonic").str();
  inst.structName = camelCase(inst.mnemonic);
  inst.opcode = record->getValueAsInt("isaOpcode");
  inst.words = record->getValueAsInt("isaWords");
  inst.since = record->getValueAsInt("isaSince");
  for (StringRef queue : record->getValueAsListOfStrings("isaQueues"))
    inst.queues.push_back(queue.str());
  for (const Record *field : record->getValueAsListOfDefs("isaFields"))
    inst.fields.push_back(readField(set, record, field));
  for (const Record *bits : record->getValueAsListOfDefs("isaReserved"))
    inst.reserved.push_back({bits->getValueAsInt("word"),
                             bits->getValueAsInt("lsb"),
                             bits->getValueAsInt("width")});
  inst.summary = record->getValueAsString("summary").str();
  inst.description = record->getValueAsString("description").str();
  return inst;
}

InstructionSet readInstructionSet(const RecordKeeper &records) {
  InstructionSet set;
  for (const Record *record : records.getAllDerivedDefinitions("ISA_Enum")) {
    set.enums.push_back(readEnum(record));
    checkEnum(set.enums.back());
  }
  for (const Record *record :
       records.getAllDerivedDefinitions("ISA_VersionBase")) {
    set.major = record->getValueAsInt("major");
    set.minor = record->getValueAsInt("minor");
  }
  for (const Record *record :
       records.getAllDerivedDefinitions("ISA_Encoding")) {
    set.instructions.push_back(readInstruction(set, record));
    checkInstruction(set, set.instructions.back());
    readOperands(set.instructions.back());
  }
  std::sort(set.instructions.begin(), set.instructions.end(),
            [](const Instruction &a, const Instruction &b) {
              return a.opcode < b.opcode;
            });
  checkSet(set);
  return set;
}

std::string camelCase(StringRef name) {
  std::string result;
  bool upper = true;
  for (char c : name) {
    if (c == '.' || c == '_') {
      upper = true;
      continue;
    }
    result += upper ? toUpper(c) : c;
    upper = false;
  }
  return result;
}

std::string memberType(const InstructionSet &set, const Field &field) {
  switch (field.kind) {
  case FieldKind::Unsigned:
    return field.width <= 32 ? "uint32_t" : "uint64_t";
  case FieldKind::Signed:
    return field.width <= 32 ? "int32_t" : "int64_t";
  case FieldKind::Bits:
    return "uint64_t";
  case FieldKind::Float:
    return "float";
  case FieldKind::Flag:
    return "bool";
  case FieldKind::Enum:
    return set.enumOf(field).name;
  }
  llvm_unreachable("every kind is handled");
}

std::string quote(StringRef text) {
  std::string result = "\"";
  raw_string_ostream os(result);
  os.write_escaped(text);
  return result + "\"";
}

std::string literal(int64_t value) {
  if (value == INT64_MIN)
    return "INT64_MIN";
  return "INT64_C(" + std::to_string(value) + ")";
}

void emitHeader(raw_ostream &os, StringRef what) {
  os << "// " << what << "\n"
     << "// Generated by ashlar-tblgen from dialects/ISA; do not edit.\n\n";
}

} // namespace ashlar::tblgen
