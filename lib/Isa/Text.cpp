// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembly text, driven by the generated field tables.

#include "ashlar/Isa/Text.h"

#include "FieldAccess.h"
#include "ashlar/Support/Error.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include <cmath>
#include <fmt/format.h>

namespace ashlar::isa {

/// A word of a file as messages show it: not longer than a line, printable.
static std::string shown(llvm::StringRef word) {
  constexpr size_t longest = 40;
  std::string text;
  for (char c : word.take_front(longest))
    text += llvm::isPrint(c) ? c : '?';
  return word.size() > longest ? text + "..." : text;
}

std::string printValue(const FieldInfo &field, int64_t value) {
  switch (field.kind) {
  case FieldKind::Enum:
    return field.enumInfo->nameOf(value).str();
  case FieldKind::Bits:
    return fmt::format("{:#x}", static_cast<uint64_t>(value));
  case FieldKind::Float: {
    float number = floatFromBits(value);
    // Decimals cannot tell NaNs apart.
    if (!std::isfinite(number))
      return fmt::format("{:#010x}", static_cast<uint32_t>(value));
    return fmt::format("{}", number);
  }
  case FieldKind::Unsigned:
  case FieldKind::Signed:
  case FieldKind::Flag:
    return std::to_string(value);
  }
  llvm_unreachable("every kind is handled");
}

std::string print(const Instruction &inst) {
  const InstructionInfo &table = info(inst);
  llvm::SmallVector<int64_t, 64> values;
  toFields(inst, values);
  std::string text = table.mnemonic.str();
  for (auto [field, value] : llvm::zip_equal(table.fields, values))
    if (value != field.defaultValue)
      text += fmt::format(" {}={}", field.name.str(), printValue(field, value));
  return text;
}

static llvm::Error illegal(std::string message) {
  return support::makeErrorFromText(ErrorClass::Malformed, std::move(message));
}

static llvm::Expected<int64_t> parseFloat(const FieldInfo &field,
                                          llvm::StringRef text) {
  uint32_t bits;
  if (text.starts_with("0x")) {
    if (!text.drop_front(2).getAsInteger(16, bits))
      return bits;
  } else {
    // APFloat accepts words like "inf"; a number starts with digit, sign, dot.
    llvm::APFloat number(llvm::APFloat::IEEEsingle());
    bool numeric = llvm::all_of(text, [](char c) {
      return llvm::isDigit(c) || llvm::StringRef("+-.eE").contains(c);
    });
    if (numeric && llvm::any_of(text, llvm::isDigit)) {
      auto status =
          number.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
      if (!status) {
        llvm::consumeError(status.takeError());
      } else if (number.isFinite()) {
        return number.bitcastToAPInt().getZExtValue();
      }
    }
  }
  return illegal(fmt::format("field '{}' is '{}', expected a binary32 number "
                             "or its bits as 0x...",
                             field.name.str(), shown(text)));
}

/// The number in \p text for an integer-like field, without range check.
static llvm::Expected<int64_t> parseInteger(const FieldInfo &field,
                                            llvm::StringRef text) {
  bool hex = text.starts_with("0x");
  llvm::StringRef digits = hex ? text.drop_front(2) : text;
  unsigned radix = hex ? 16 : 10;
  int64_t value;
  uint64_t raw;
  // A sign after "0x" is not a number, though getAsInteger would take it.
  bool plain = !digits.empty() && (llvm::isHexDigit(digits[0]) || !hex);
  if (plain && field.kind == FieldKind::Bits &&
      !digits.getAsInteger(radix, raw))
    return static_cast<int64_t>(raw);
  if (plain && field.kind != FieldKind::Bits &&
      !digits.getAsInteger(radix, value))
    return value;
  return illegal(fmt::format("field '{}' is '{}', expected an integer",
                             field.name.str(), shown(text)));
}

llvm::Expected<int64_t> parseValue(const InstructionInfo &inst,
                                   const FieldInfo &field,
                                   llvm::StringRef text) {
  if (field.kind == FieldKind::Float)
    return parseFloat(field, text);
  if (field.kind == FieldKind::Enum) {
    const EnumCaseInfo *found = field.enumInfo->find(text);
    if (!found)
      return illegal(fmt::format("field '{}' is '{}', which is not a valid {}",
                                 field.name.str(), shown(text),
                                 field.enumInfo->name.str()));
    std::string wrong = field.word == 0
                            ? describeIllegalQueue(inst, found->value)
                            : describeIllegal(inst, field, found->value);
    if (!wrong.empty())
      return illegal(std::move(wrong));
    return found->value;
  }
  llvm::Expected<int64_t> value = parseInteger(field, text);
  if (!value)
    return value.takeError();
  std::string wrong = describeIllegal(inst, field, *value);
  if (!wrong.empty())
    return illegal(std::move(wrong));
  return value;
}

namespace {
/// Blank-separated tokens of one line with their columns.
class LineScanner {
public:
  LineScanner(llvm::StringRef line, llvm::StringRef where)
      : line(line.take_until([](char c) { return c == ';'; })), where(where) {}

  /// The next token, empty at the end of the line.
  llvm::StringRef next() {
    while (position < line.size() && llvm::isSpace(line[position]))
      ++position;
    start = position;
    while (position < line.size() && !llvm::isSpace(line[position]))
      ++position;
    return line.slice(start, position);
  }

  /// An error at \p offset characters into the last token.
  llvm::Error error(size_t offset, const std::string &message) const {
    return makeError(ErrorClass::Malformed, "{}:{}: {}", where.str(),
                     start + offset + 1, message);
  }

private:
  llvm::StringRef line, where;
  size_t position = 0, start = 0;
};
} // namespace

/// Parses `name=value` into values and marks the field as seen.
static llvm::Error parseAssignment(const InstructionInfo &inst,
                                   const LineScanner &scanner,
                                   llvm::StringRef token,
                                   llvm::MutableArrayRef<int64_t> values,
                                   llvm::MutableArrayRef<bool> seen) {
  auto [fieldName, text] = token.split('=');
  if (fieldName.size() == token.size())
    return scanner.error(
        0, fmt::format("'{}' found, expected field=value", shown(token)));
  const FieldInfo *field = llvm::find_if(
      inst.fields, [&](const FieldInfo &f) { return f.name == fieldName; });
  if (field == inst.fields.end())
    return scanner.error(0, fmt::format("{} has no field '{}'",
                                        inst.mnemonic.str(), shown(fieldName)));
  size_t index = field - inst.fields.begin();
  if (seen[index])
    return scanner.error(
        0, fmt::format("field '{}' is given twice", shown(fieldName)));
  seen[index] = true;
  llvm::Expected<int64_t> value = parseValue(inst, *field, text);
  if (!value)
    return scanner.error(fieldName.size() + 1,
                         llvm::toString(value.takeError()));
  values[index] = *value;
  return llvm::Error::success();
}

llvm::Expected<Instruction> parse(llvm::StringRef line, llvm::StringRef where) {
  LineScanner scanner(line, where);
  llvm::StringRef mnemonic = scanner.next();
  if (mnemonic.empty())
    return scanner.error(0, "instruction expected, the line is empty");
  const InstructionInfo *inst = findMnemonic(mnemonic);
  if (!inst)
    return scanner.error(
        0, fmt::format("unknown instruction '{}'", shown(mnemonic)));
  llvm::SmallVector<int64_t, 64> values;
  for (const FieldInfo &field : inst->fields)
    values.push_back(field.defaultValue);
  llvm::SmallVector<bool, 64> seen(inst->fields.size(), false);
  for (llvm::StringRef token = scanner.next(); !token.empty();
       token = scanner.next())
    if (llvm::Error error =
            parseAssignment(*inst, scanner, token, values, seen))
      return error;
  return fromFields(inst->opcode, values);
}

llvm::Expected<std::vector<Instruction>> parseAll(llvm::StringRef text,
                                                  llvm::StringRef name) {
  std::vector<Instruction> program;
  for (size_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (line.take_until([](char c) { return c == ';'; }).trim().empty())
      continue;
    llvm::Expected<Instruction> inst =
        parse(line, fmt::format("{}:{}", name.str(), number));
    if (!inst)
      return inst.takeError();
    program.push_back(std::move(*inst));
  }
  return program;
}

llvm::Expected<std::string> disassembleRaw(llvm::StringRef bytes,
                                           llvm::StringRef name) {
  if (bytes.size() % sizeof(uint64_t))
    return makeError(ErrorClass::Malformed,
                     "{}: has {} bytes, expected a multiple of {}", name.str(),
                     bytes.size(), sizeof(uint64_t));
  std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t));
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = llvm::support::endian::read64le(bytes.data() + 8 * i);
  llvm::Expected<std::vector<Instruction>> program = decodeAll(words);
  if (!program)
    return withContext(program.takeError(), name.str());
  std::string text;
  for (const Instruction &inst : *program)
    text += print(inst) + "\n";
  return text;
}

} // namespace ashlar::isa
