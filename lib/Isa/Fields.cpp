// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Field values: their limits, and the way between structs and value lists.

#include "FieldAccess.h"

#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace ashlar::isa {

#include "ashlar/Isa/Fields.cpp.inc"

/// "1, 2, 4, 8"
static std::string listText(llvm::ArrayRef<int64_t> values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

std::string describeIllegal(const InstructionInfo &inst, const FieldInfo &field,
                            int64_t value) {
  if (isLegal(field, value))
    return {};
  auto prefix = [&] {
    return fmt::format("{}: field '{}' is {}", inst.mnemonic.str(),
                       field.name.str(), value);
  };
  if (field.kind == FieldKind::Float)
    return prefix() + ", must be the bits of a binary32";
  if (field.kind == FieldKind::Enum && field.enumInfo->nameOf(value).empty())
    return fmt::format("{}, which is not a valid {}", prefix(),
                       field.enumInfo->name.str());
  if (!field.allowed.empty() && !llvm::is_contained(field.allowed, value))
    return fmt::format("{}, must be one of {}", prefix(),
                       listText(field.allowed));
  return fmt::format("{}, must be in [{}, {}]", prefix(), field.minimum,
                     field.maximum);
}

std::string describeIllegalQueue(const InstructionInfo &inst, unsigned queue) {
  if (queue < 16 && (inst.queueMask >> queue & 1))
    return {};
  std::string legal;
  for (unsigned q = 0; q < 16; ++q)
    if (inst.queueMask >> q & 1)
      legal += (legal.empty() ? "" : ", ") + name(static_cast<Queue>(q)).str();
  return fmt::format("{}: queue is {}, must be one of {}", inst.mnemonic.str(),
                     queue, legal);
}

llvm::Error checkField(const InstructionInfo &inst, const FieldInfo &field,
                       int64_t value) {
  std::string text = describeIllegal(inst, field, value);
  if (text.empty())
    return llvm::Error::success();
  return support::makeErrorFromText(ErrorClass::Capacity, std::move(text));
}

void toFields(const Instruction &inst, llvm::SmallVectorImpl<int64_t> &values) {
  std::visit([&](const auto &x) { fieldsOf(x, values); }, inst);
}

/// The checks shared by verify() and fromFields().
static llvm::Error checkFields(const InstructionInfo &inst,
                               llvm::ArrayRef<int64_t> values) {
  for (auto [field, value] : llvm::zip_equal(inst.fields, values)) {
    if (field.word != 0 && isLegal(field, value))
      continue;
    // The queue has its own, stricter list: not every queue takes every
    // instruction.
    std::string text =
        field.word == 0
            ? describeIllegalQueue(inst, value < 0 || value > 15 ? 16 : value)
            : describeIllegal(inst, field, value);
    if (!text.empty())
      return support::makeErrorFromText(ErrorClass::Capacity, std::move(text));
  }
  return llvm::Error::success();
}

llvm::Error verify(const Instruction &inst) {
  llvm::SmallVector<int64_t, 64> values;
  toFields(inst, values);
  return checkFields(info(inst), values);
}

llvm::Expected<Instruction> fromFields(Opcode opcode,
                                       llvm::ArrayRef<int64_t> values) {
  const InstructionInfo &inst = info(opcode);
  if (values.size() != inst.fields.size())
    return makeError(ErrorClass::Malformed,
                     "{}: has {} field values, expected {}",
                     inst.mnemonic.str(), values.size(), inst.fields.size());
  if (llvm::Error error = checkFields(inst, values))
    return error;
  return fromFieldsUnchecked(opcode, values);
}

} // namespace ashlar::isa
