// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instruction <-> words. The generated functions list the fields; the checks
// are here, once for all instructions.

#include "FieldAccess.h"

#include "ashlar/Support/Error.h"
#include "ashlar/Support/LargePages.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::isa {

#include "ashlar/Isa/Decode.cpp.inc"
#include "ashlar/Isa/Encode.cpp.inc"

FieldWriter::FieldWriter(const InstructionInfo &inst, Queue queue,
                         llvm::SmallVectorImpl<uint64_t> &out)
    : inst(inst), out(out), words(inst.words, 0),
      firstError(describeIllegalQueue(inst, static_cast<unsigned>(queue))) {
  words[0] = static_cast<uint64_t>(inst.opcode) |
             (static_cast<uint64_t>(queue) & 15) << headerQueueLsb |
             static_cast<uint64_t>(inst.words) << headerLengthLsb;
}

void FieldWriter::put(unsigned index, int64_t value) {
  const FieldInfo &field = inst.fields[index];
  // Word 0 holds the queue, which the constructor has checked and placed.
  if (field.word == 0 || !firstError.empty())
    return;
  if (!isLegal(field, value)) {
    firstError = describeIllegal(inst, field, value);
    return;
  }
  // A legal value fits: the mask only cuts sign bits of negative numbers.
  words[field.word] |= (static_cast<uint64_t>(value) & lowMask(field.width))
                       << field.lsb;
}

llvm::Error FieldWriter::finish() {
  if (!firstError.empty())
    return support::makeErrorFromText(ErrorClass::Capacity,
                                      std::move(firstError));
  out.append(words.begin(), words.end());
  return llvm::Error::success();
}

int64_t FieldReader::get(unsigned index) {
  const FieldInfo &field = inst.fields[index];
  uint64_t bits = words[field.word] >> field.lsb & lowMask(field.width);
  int64_t value = field.kind == FieldKind::Signed
                      ? llvm::SignExtend64(bits, field.width)
                      : static_cast<int64_t>(bits);
  if (firstError.empty() && !isLegal(field, value))
    firstError = describeIllegal(inst, field, value);
  return value;
}

llvm::Error FieldReader::takeError(size_t position) {
  if (firstError.empty())
    return llvm::Error::success();
  return makeError(ErrorClass::Malformed, "word {}: {}", position, firstError);
}

llvm::Error encode(const Instruction &inst,
                   llvm::SmallVectorImpl<uint64_t> &out) {
  return std::visit([&](const auto &x) { return encodeOne(x, out); }, inst);
}

/// Opcode, length, queue and reserved bits of the instruction at words[pos].
static llvm::Expected<const InstructionInfo *>
checkHeader(llvm::ArrayRef<uint64_t> words, size_t pos) {
  uint64_t header = words[pos];
  const InstructionInfo *inst = findOpcode(header & 0xff);
  if (!inst)
    return makeError(ErrorClass::Malformed, "word {}: unknown opcode {:#04x}",
                     pos, header & 0xff);
  uint64_t length = header >> headerLengthLsb;
  if (length != inst->words)
    return makeError(ErrorClass::Malformed,
                     "word {}: {}: length is {} words, expected {}", pos,
                     inst->mnemonic.str(), length, unsigned(inst->words));
  if (words.size() - pos < length)
    return makeError(ErrorClass::Malformed,
                     "word {}: {}: needs {} words, the code ends after {}", pos,
                     inst->mnemonic.str(), length, words.size() - pos);
  std::string queueError =
      describeIllegalQueue(*inst, header >> headerQueueLsb & 15);
  if (!queueError.empty())
    return makeError(ErrorClass::Malformed, "word {}: {}", pos, queueError);
  for (size_t i = 0; i < length; ++i)
    if (uint64_t bits = words[pos + i] & inst->reserved[i])
      return makeError(ErrorClass::Malformed,
                       "word {}: {}: reserved bits {:#x} are set, must be zero",
                       pos + i, inst->mnemonic.str(), bits);
  return inst;
}

llvm::Expected<Instruction> decode(llvm::ArrayRef<uint64_t> words,
                                   size_t &pos) {
  if (pos >= words.size())
    return makeError(ErrorClass::Malformed,
                     "word {}: instruction expected, the code ends after {}",
                     pos, words.size());
  llvm::Expected<const InstructionInfo *> inst = checkHeader(words, pos);
  if (!inst)
    return inst.takeError();
  FieldReader reader(**inst, words.slice(pos, (*inst)->words));
  Instruction result = decodeFields(reader);
  if (llvm::Error error = reader.takeError(pos))
    return error;
  pos += (*inst)->words;
  return result;
}

size_t countInstructions(llvm::ArrayRef<uint64_t> words) {
  size_t count = 0;
  while (!words.empty()) {
    const uint64_t header = words.front(), length = header >> headerLengthLsb;
    const InstructionInfo *inst = findOpcode(header & 0xff);
    if (!inst || length != inst->words || length > words.size())
      break;
    words = words.drop_front(length);
    ++count;
  }
  return count;
}

llvm::Expected<std::vector<Instruction>>
decodeAll(llvm::ArrayRef<uint64_t> words) {
  std::vector<Instruction> program;
  support::reserveInLargePages(program, countInstructions(words));
  for (size_t pos = 0; pos < words.size();) {
    llvm::Expected<Instruction> inst = decode(words, pos);
    if (!inst)
      return inst.takeError();
    program.push_back(std::move(*inst));
  }
  return program;
}

} // namespace ashlar::isa
