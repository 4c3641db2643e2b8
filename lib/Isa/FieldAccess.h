// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing and reading the fields of one instruction: what the generated
// encoders and decoders are made of.

#ifndef ASHLAR_LIB_ISA_FIELDACCESS_H
#define ASHLAR_LIB_ISA_FIELDACCESS_H

#include "ashlar/Isa/Instruction.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace ashlar::isa {

inline int64_t floatBits(float value) {
  return llvm::bit_cast<uint32_t>(value);
}
inline float floatFromBits(int64_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits));
}

// The header: bits 0-7 opcode, 8-11 queue, 12-55 zero, 56-63 length in words.
inline constexpr unsigned headerQueueLsb = 8;
inline constexpr unsigned headerLengthLsb = 56;

/// Mask of \p width low bits, width in [1, 64].
inline uint64_t lowMask(unsigned width) { return ~uint64_t(0) >> (64 - width); }

/// Collects the fields of one instruction. The first illegal value is kept as
/// the error; then finish() appends nothing.
class FieldWriter {
public:
  FieldWriter(const InstructionInfo &inst, Queue queue,
              llvm::SmallVectorImpl<uint64_t> &out);
  void put(unsigned index, int64_t value);
  llvm::Error finish();

private:
  const InstructionInfo &inst;
  llvm::SmallVectorImpl<uint64_t> &out;
  llvm::SmallVector<uint64_t, 16> words;
  std::string firstError;
};

/// Hands out the fields of one instruction whose header has been checked. The
/// first illegal value is kept as the error.
class FieldReader {
public:
  FieldReader(const InstructionInfo &inst, llvm::ArrayRef<uint64_t> words)
      : inst(inst), words(words) {}
  Opcode opcode() const { return inst.opcode; }
  int64_t get(unsigned index);
  llvm::Error takeError(size_t position);

private:
  const InstructionInfo &inst;
  llvm::ArrayRef<uint64_t> words;
  std::string firstError;
};

/// Whether a field may have a value.
inline bool isLegal(const FieldInfo &field, int64_t value) {
  if (field.kind == FieldKind::Bits)
    return true;
  if (field.kind == FieldKind::Float)
    return value >= 0 && value <= int64_t(UINT32_MAX);
  if (field.kind == FieldKind::Enum && field.enumInfo->nameOf(value).empty())
    return false;
  return value >= field.minimum && value <= field.maximum &&
         (field.allowed.empty() || llvm::is_contained(field.allowed, value));
}

/// Text of what is wrong with a value, empty if it is legal.
std::string describeIllegal(const InstructionInfo &inst, const FieldInfo &field,
                            int64_t value);
/// Text of what is wrong with a queue, empty if it is legal.
std::string describeIllegalQueue(const InstructionInfo &inst, unsigned queue);

} // namespace ashlar::isa

#endif // ASHLAR_LIB_ISA_FIELDACCESS_H
