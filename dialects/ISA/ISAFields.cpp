// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/ISA/ISAFields.h"

#include "ashlar/Isa/Text.h"
#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::isadialect {

void printFields(OpAsmPrinter &printer, Operation *, isa::Opcode opcode,
                 DenseI64ArrayAttr fields) {
  const isa::InstructionInfo &info = isa::info(opcode);
  // Printing must survive ops that do not verify.
  if (fields.size() != static_cast<int64_t>(info.fields.size())) {
    printer << "(<" << fields.size() << " fields>)";
    return;
  }
  bool first = true;
  for (auto [field, value] :
       llvm::zip_equal(info.fields, fields.asArrayRef())) {
    if (value == field.defaultValue)
      continue;
    printer << (first ? "(" : ", ") << field.name.str() << " = ";
    first = false;
    std::string text = isa::printValue(field, value);
    bool plainNumber = field.kind == isa::FieldKind::Unsigned ||
                       field.kind == isa::FieldKind::Signed ||
                       field.kind == isa::FieldKind::Flag;
    // A value outside an enum has no name; floats are not MLIR integers.
    if (plainNumber || text.empty())
      printer << value;
    else if (field.kind == isa::FieldKind::Enum)
      printer.printKeywordOrString(text);
    else
      printer << '"' << text << '"';
  }
  if (!first)
    printer << ")";
}

/// One `name = value`; \p values and \p seen are indexed like info.fields.
static ParseResult parseField(OpAsmParser &parser,
                              const isa::InstructionInfo &info, StringRef name,
                              SMLoc nameLocation,
                              MutableArrayRef<int64_t> values,
                              MutableArrayRef<bool> seen) {
  const isa::FieldInfo *field = llvm::find_if(
      info.fields, [&](const isa::FieldInfo &f) { return f.name == name; });
  if (field == info.fields.end())
    return parser.emitError(nameLocation)
           << info.mnemonic << " has no field '" << name << "'";
  size_t index = field - info.fields.begin();
  if (seen[index])
    return parser.emitError(nameLocation)
           << "field '" << name << "' is given twice";
  seen[index] = true;
  if (parser.parseEqual())
    return failure();
  SMLoc location = parser.getCurrentLocation();
  std::string text;
  if (succeeded(parser.parseOptionalKeywordOrString(&text))) {
    llvm::Expected<int64_t> value = isa::parseValue(info, *field, text);
    if (!value)
      return parser.emitError(location) << llvm::toString(value.takeError());
    values[index] = *value;
    return success();
  }
  return parser.parseInteger(values[index]);
}

ParseResult parseFields(OpAsmParser &parser, isa::Opcode opcode,
                        DenseI64ArrayAttr &fields) {
  const isa::InstructionInfo *info = &isa::info(opcode);
  SmallVector<int64_t> values;
  for (const isa::FieldInfo &field : info->fields)
    values.push_back(field.defaultValue);
  SmallVector<bool> seen(values.size(), false);
  // Without brackets the next op's name would be taken for a field.
  auto parseOne = [&]() -> ParseResult {
    StringRef name;
    SMLoc location = parser.getCurrentLocation();
    return failure(parser.parseKeyword(&name) ||
                   parseField(parser, *info, name, location, values, seen));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalParen,
                                     parseOne))
    return failure();
  fields = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}

} // namespace ashlar::isadialect
