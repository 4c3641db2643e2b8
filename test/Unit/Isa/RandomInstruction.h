// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Legal instructions with random field values, biased to the limits.

#ifndef ASHLAR_TEST_UNIT_ISA_RANDOMINSTRUCTION_H
#define ASHLAR_TEST_UNIT_ISA_RANDOMINSTRUCTION_H

#include "ashlar/Isa/Instruction.h"
#include <random>

namespace ashlar::isa {

inline int64_t randomValue(const InstructionInfo &inst, const FieldInfo &field,
                           std::mt19937_64 &random) {
  if (field.kind == FieldKind::Bits)
    return static_cast<int64_t>(random());
  if (field.kind == FieldKind::Float)
    return static_cast<int64_t>(random() >> 32);
  if (field.word == 0) {
    while (true)
      if (unsigned queue = random() % 16; inst.queueMask >> queue & 1)
        return queue;
  }
  if (!field.allowed.empty())
    return field.allowed[random() % field.allowed.size()];
  while (true) {
    uint64_t range = uint64_t(field.maximum - field.minimum) + 1;
    int64_t value = field.minimum + int64_t(random() % range);
    if (random() % 4 == 0)
      value = random() % 2 ? field.minimum : field.maximum;
    if (field.kind != FieldKind::Enum || !field.enumInfo->nameOf(value).empty())
      return value;
  }
}

inline Instruction randomInstruction(const InstructionInfo &inst,
                                     std::mt19937_64 &random) {
  llvm::SmallVector<int64_t, 64> values;
  for (const FieldInfo &field : inst.fields)
    values.push_back(randomValue(inst, field, random));
  return llvm::cantFail(fromFields(inst.opcode, values));
}

} // namespace ashlar::isa

#endif // ASHLAR_TEST_UNIT_ISA_RANDOMINSTRUCTION_H
