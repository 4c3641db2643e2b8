// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the operands of an instruction: what every part of an operand is in
// terms of the fields. Everything that an operand names must exist; test/Tblgen
// has one test per message.

#include "Model.h"

#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace llvm;

namespace ashlar::tblgen {

const Field *Instruction::find(StringRef field) const {
  for (const Field &candidate : fields)
    if (candidate.name == field)
      return &candidate;
  return nullptr;
}

/// The text name of a part of an operand: "aStride" of part "stride", "stride"
/// of an operand without prefix.
static std::string fieldName(const Operand &operand, StringRef part) {
  if (operand.prefix.empty())
    return part.str();
  return operand.prefix + toUpper(part.front()) + part.drop_front().str();
}

/// Replaces every `$name` by the field of that name.
static Expression parse(const Instruction &inst, StringRef text) {
  Expression result;
  while (!text.empty()) {
    const size_t at = text.find('$');
    result.text += text.take_front(at).str();
    result.code += text.take_front(at).str();
    if (at == StringRef::npos)
      break;
    text = text.drop_front(at + 1);
    const StringRef name = text.take_while(isAlnum);
    const Field *field = inst.find(name);
    if (!field)
      fail(inst, "an operand names the unknown field '" + name + "'");
    result.text += name;
    result.code += "x." + field->name;
    result.fields.push_back(field);
    text = text.drop_front(name.size());
  }
  return result;
}

static void readRoles(const Instruction &inst, Operand &operand) {
  for (const Record *role : operand.record->getValueAsListOfDefs("roles")) {
    const StringRef member = role->getValueAsString("member");
    StringRef value = role->getValueAsString("value");
    const std::string field = "$" + fieldName(operand, member);
    if (value.empty() && inst.find(StringRef(field).drop_front()))
      value = field;
    if (!value.empty())
      operand.roles.push_back({member.str(), parse(inst, value)});
    else if (role->getValueAsBit("required"))
      fail(inst, operand.kind + " operand '" + operand.name +
                     "' needs the field '" + field.substr(1) + "'");
  }
}

static void readLoops(const Instruction &inst, Operand &operand) {
  const Record *loops = operand.record->getValueAsDef("loops");
  const std::vector<StringRef> counts =
      loops->getValueAsListOfStrings("counts");
  std::vector<std::string> strides;
  for (StringRef stride : loops->getValueAsListOfStrings("strides"))
    strides.push_back(stride.str());
  for (StringRef suffix : loops->getValueAsListOfStrings("suffixes"))
    strides.push_back("$" + fieldName(operand, "stride") + suffix.str());
  // A stream of codes is dense: it has counts alone.
  if (operand.kind == "codes")
    strides.assign(counts.size(), "1");
  if (counts.size() != strides.size())
    fail(inst, "operand '" + operand.name + "' has " + Twine(counts.size()) +
                   " counts and " + Twine(strides.size()) + " strides");
  for (size_t i = 0; i < counts.size(); ++i)
    operand.loops.push_back({parse(inst, counts[i]), parse(inst, strides[i])});
}

static Operand readOperand(const Record *record) {
  auto text = [&](StringRef name) {
    return record->getValueAsString(name).str();
  };
  Operand operand;
  operand.record = record;
  operand.kind = text("kind");
  operand.cppType = text("cppType");
  operand.name = text("name");
  operand.prefix = text("prefix");
  operand.what = text("what");
  operand.via = text("via");
  operand.effect =
      record->getValueAsDef("effect")->getValueAsString("cppName").str();
  return operand;
}

/// A partition or register that no operand names would be missing in the
/// footprint, and no check would find the race.
static void checkNamed(const Instruction &inst) {
  std::set<const Field *> named;
  auto add = [&](const Expression &expression) {
    named.insert(expression.fields.begin(), expression.fields.end());
  };
  for (const Operand &operand : inst.operands) {
    for (const auto &[member, value] : operand.roles)
      add(value);
    for (const Loop &loop : operand.loops) {
      add(loop.count);
      add(loop.stride);
    }
  }
  for (const Field &field : inst.fields)
    if ((field.unit == "partition" || field.unit == "register") &&
        !named.count(&field))
      fail(inst, "field '" + field.name + "' is a " + field.unit +
                     " that no operand names");
}

void readOperands(Instruction &inst) {
  for (const Record *record :
       inst.record->getValueAsListOfDefs("isaOperands")) {
    Operand operand = readOperand(record);
    readRoles(inst, operand);
    readLoops(inst, operand);
    const StringRef when = record->getValueAsString("when");
    if (!when.empty())
      operand.when = parse(inst, when);
    inst.operands.push_back(std::move(operand));
  }
  checkNamed(inst);
}

} // namespace ashlar::tblgen
