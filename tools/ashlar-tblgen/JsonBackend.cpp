// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the instruction set as JSON for tests and foreign tools.

#include "Model.h"

#include "llvm/Support/JSON.h"

using namespace llvm;

namespace ashlar::tblgen {

static StringRef kindText(FieldKind kind) {
  static constexpr StringRef names[] = {"unsigned", "signed", "bits",
                                        "float",    "flag",   "enum"};
  return names[static_cast<unsigned>(kind)];
}

static void emitField(const InstructionSet &set, const Field &field,
                      json::OStream &json) {
  json.object([&] {
    json.attribute("name", field.name);
    json.attribute("kind", kindText(field.kind));
    json.attribute("word", field.word);
    json.attribute("lsb", field.lsb);
    json.attribute("width", field.width);
    json.attribute("minimum", field.minimum);
    json.attribute("maximum", field.maximum);
    json.attribute("default", field.defaultValue);
    if (!field.allowed.empty())
      json.attribute("allowed", json::Array(field.allowed));
    if (field.kind == FieldKind::Enum)
      json.attribute("enum", set.enumOf(field).name);
    json.attribute("unit", field.unit);
    json.attribute("description", field.description);
  });
}

static void emitOperand(const Operand &operand, json::OStream &json) {
  json.object([&] {
    json.attribute("kind", operand.kind.empty() ? operand.via : operand.kind);
    json.attribute("effect", operand.effect);
    if (!operand.what.empty())
      json.attribute("what", operand.what);
    if (operand.when)
      json.attribute("when", operand.when->text);
    if (!operand.kind.empty() && !operand.via.empty())
      json.attribute("via", operand.via);
    for (const auto &[member, value] : operand.roles)
      json.attribute(member, value.text);
    if (operand.loops.empty())
      return;
    json.attributeArray("loops", [&] {
      for (const Loop &loop : operand.loops)
        json.value(json::Array{loop.count.text, loop.stride.text});
    });
  });
}

void emitJson(const InstructionSet &set, raw_ostream &os) {
  json::OStream json(os, 1);
  json.object([&] {
    json.attributeArray("version", [&] {
      json.value(set.major);
      json.value(set.minor);
    });
    json.attributeObject("enums", [&] {
      for (const EnumType &type : set.enums)
        json.attributeObject(type.name, [&] {
          for (const EnumCase &entry : type.cases)
            json.attribute(entry.name, entry.value);
        });
    });
    json.attributeArray("instructions", [&] {
      for (const Instruction &inst : set.instructions)
        json.object([&] {
          json.attribute("mnemonic", inst.mnemonic);
          json.attribute("opcode", inst.opcode);
          json.attribute("words", inst.words);
          json.attribute("queues", json::Array(inst.queues));
          json.attributeArray("fields", [&] {
            for (const Field &field : inst.fields)
              emitField(set, field, json);
          });
          json.attributeArray("operands", [&] {
            for (const Operand &operand : inst.operands)
              emitOperand(operand, json);
          });
        });
    });
  });
  os << "\n";
}

} // namespace ashlar::tblgen
