// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Build-time checks of the instruction set. Each message is fatal and points at
// the record that is wrong; test/Tblgen has one test per message.

#include "Model.h"

#include "llvm/TableGen/Error.h"
#include <algorithm>
#include <map>
#include <set>

using namespace llvm;

namespace ashlar::tblgen {

namespace {
constexpr int64_t wordBits = 64;
constexpr int64_t queueLsb = 8, queueWidth = 4;

/// Limits that the width of a field implies.
void widthLimits(const Field &field, int64_t &low, int64_t &high) {
  if (field.kind == FieldKind::Signed) {
    high = static_cast<int64_t>(~uint64_t(0) >> (65 - field.width));
    low = -high - 1;
    return;
  }
  low = 0;
  high = field.width >= 64
             ? INT64_MAX
             : static_cast<int64_t>(~uint64_t(0) >> (64 - field.width));
}
} // namespace

void fail(const Instruction &inst, const Twine &message) {
  PrintFatalError(inst.record->getLoc(),
                  "instruction '" + inst.mnemonic + "': " + message);
}

void checkEnum(const EnumType &type) {
  auto fail = [&](const Twine &message) {
    PrintFatalError(type.record->getLoc(),
                    "enum '" + type.name + "': " + message);
  };
  if (type.width < 1 || type.width > 16)
    fail("width " + Twine(type.width) + " must be in [1, 16]");
  if (StringRef(type.description).trim().empty())
    fail("missing description");
  std::set<std::string> names;
  std::set<int64_t> values;
  for (const EnumCase &entry : type.cases) {
    if (entry.value < 0 || entry.value >> type.width)
      fail("case '" + entry.name + "' = " + Twine(entry.value) +
           " does not fit " + Twine(type.width) + " bits");
    if (!names.insert(entry.name).second)
      fail("duplicate case '" + entry.name + "'");
    if (!values.insert(entry.value).second)
      fail("case '" + entry.name + "' repeats the value " + Twine(entry.value));
    if (StringRef(entry.description).trim().empty())
      fail("case '" + entry.name + "' has no description");
  }
  if (!values.count(0))
    fail("needs a case with value 0, the default of a field");
}

static void checkLimits(const Instruction &inst, const Field &field) {
  if (field.kind == FieldKind::Bits || field.kind == FieldKind::Float)
    return;
  int64_t low, high;
  widthLimits(field, low, high);
  if (field.minimum < low || field.maximum > high ||
      field.minimum > field.maximum)
    fail(inst, "field '" + field.name + "' has the range [" +
                   Twine(field.minimum) + ", " + Twine(field.maximum) +
                   "], which " + Twine(field.width) + " bits cannot hold");
  for (int64_t value : field.allowed)
    if (value < field.minimum || value > field.maximum)
      fail(inst, "field '" + field.name + "' allows " + Twine(value) +
                     " outside its range");
  bool inAllowed = field.allowed.empty() ||
                   std::find(field.allowed.begin(), field.allowed.end(),
                             field.defaultValue) != field.allowed.end();
  if (field.defaultValue < field.minimum ||
      field.defaultValue > field.maximum || !inAllowed)
    fail(inst, "field '" + field.name + "' has the illegal default " +
                   Twine(field.defaultValue));
}

static void checkField(const InstructionSet &set, const Instruction &inst,
                       const Field &field) {
  int64_t maxWidth = 48;
  if (field.kind == FieldKind::Bits)
    maxWidth = 64;
  if (field.kind == FieldKind::Float)
    maxWidth = 32;
  if (field.kind == FieldKind::Flag)
    maxWidth = 1;
  if (field.width < 1 || field.width > maxWidth)
    fail(inst, "field '" + field.name + "' has width " + Twine(field.width) +
                   ", must be in [1, " + Twine(maxWidth) + "]");
  if (StringRef(field.description).trim().empty())
    fail(inst, "field '" + field.name + "' has no description");
  if (StringRef(field.unit).trim().empty())
    fail(inst, "field '" + field.name + "' has no unit");
  if (field.since > set.minor)
    fail(inst, "field '" + field.name + "' is newer than the instruction set");
  checkLimits(inst, field);
}

/// Marks bits of a word as used; fails if they leave the instruction or meet
/// bits that are taken.
static void claim(const Instruction &inst, std::vector<uint64_t> &used,
                  int64_t word, int64_t lsb, int64_t width, const Twine &what) {
  if (word < 0 || word >= inst.words || lsb < 0 || width < 1 ||
      lsb + width > wordBits)
    fail(inst, what + " at word " + Twine(word) + ", bits " + Twine(lsb) + "-" +
                   Twine(lsb + width - 1) + " lies outside its " +
                   Twine(inst.words) + " words");
  uint64_t mask = (~uint64_t(0) >> (wordBits - width)) << lsb;
  if (used[word] & mask)
    fail(inst,
         what + " overlaps bits that are already taken in word " + Twine(word));
  used[word] |= mask;
}

static void checkLayout(const Instruction &inst) {
  std::vector<uint64_t> used(inst.words, 0);
  // The header is common to all: only the queue bits may carry a field.
  used[0] = ~uint64_t(0);
  for (const Field &field : inst.fields) {
    bool isQueue = field.name == "queue";
    if (isQueue) {
      if (!inst.hasQueueField() || field.word != 0 || field.lsb != queueLsb ||
          field.width != queueWidth)
        fail(inst, "field 'queue' must be at word 0, bits 8-11, of an "
                   "instruction with several queues");
      continue;
    }
    claim(inst, used, field.word, field.lsb, field.width,
          "field '" + field.name + "'");
  }
  for (const ReservedBits &bits : inst.reserved)
    claim(inst, used, bits.word, bits.lsb, bits.width, "reserved range");
  for (int64_t word = 0; word < inst.words; ++word)
    if (~used[word])
      fail(inst, "word " + Twine(word) +
                     " has bits that are neither a field "
                     "nor reserved, first bit " +
                     Twine(llvm::countr_one(used[word])));
}

void checkInstruction(const InstructionSet &set, const Instruction &inst) {
  if (inst.opcode < 1 || inst.opcode > 255)
    fail(inst, "opcode " + Twine(inst.opcode) + " must be in [1, 255]");
  if (inst.words < 1 || inst.words > 255)
    fail(inst, "length of " + Twine(inst.words) + " words must be in [1, 255]");
  if (StringRef(inst.summary).trim().empty() ||
      StringRef(inst.description).trim().empty())
    fail(inst, "missing summary or description");
  if (inst.since > set.minor)
    fail(inst, "is newer than the instruction set");
  if (inst.queues.empty())
    fail(inst, "names no queue");
  auto queueType =
      std::find_if(set.enums.begin(), set.enums.end(),
                   [](const EnumType &type) { return type.name == "Queue"; });
  for (const std::string &queue : inst.queues)
    if (queueType == set.enums.end() ||
        std::none_of(queueType->cases.begin(), queueType->cases.end(),
                     [&](const EnumCase &c) { return c.name == queue; }))
      fail(inst, "unknown queue '" + queue + "'");
  std::set<std::string> names;
  for (const Field &field : inst.fields) {
    if (!names.insert(field.name).second)
      fail(inst, "duplicate field '" + field.name + "'");
    checkField(set, inst, field);
  }
  if (inst.hasQueueField() != (names.count("queue") == 1))
    fail(inst, "needs a field 'queue' exactly if it has several queues");
  checkLayout(inst);
}

void checkSet(const InstructionSet &set) {
  std::map<int64_t, const Instruction *> opcodes;
  std::map<std::string, const Instruction *> mnemonics;
  for (const Instruction &inst : set.instructions) {
    auto [opcode, newOpcode] = opcodes.try_emplace(inst.opcode, &inst);
    if (!newOpcode)
      fail(inst, "opcode " + Twine(inst.opcode) + " is already used by '" +
                     opcode->second->mnemonic + "'");
    if (!mnemonics.try_emplace(inst.mnemonic, &inst).second)
      fail(inst, "duplicate mnemonic");
  }
}

} // namespace ashlar::tblgen
