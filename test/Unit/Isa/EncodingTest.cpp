// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder and decoder: layout field by field, round trips, refusals.

#include "RandomInstruction.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

using namespace ashlar::isa;

namespace {
struct LayoutEntry {
  const char *mnemonic, *field;
  unsigned word, lsb, width;
};
constexpr LayoutEntry layout[] = {
#include "Layout.inc"
#include "LayoutDma.inc"
#include "LayoutDrain.inc"
};

std::string textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

std::vector<uint64_t> words(const Instruction &inst) {
  llvm::SmallVector<uint64_t> out;
  llvm::Error error = encode(inst, out);
  EXPECT_FALSE(bool(error)) << textOf(std::move(error));
  return {out.begin(), out.end()};
}

/// The instruction with default fields except one.
Instruction withField(const InstructionInfo &inst, size_t index,
                      int64_t value) {
  llvm::SmallVector<int64_t> values;
  for (const FieldInfo &field : inst.fields)
    values.push_back(field.defaultValue);
  values[index] = value;
  return llvm::cantFail(fromFields(inst.opcode, values));
}

TEST(Encoding, LayoutNamesEveryField) {
  size_t count = 0;
  for (const InstructionInfo &inst : instructions())
    count += inst.fields.size();
  EXPECT_EQ(count, std::size(layout));
}

/// Sets one field to the legal value with the most ones and looks at which bits
/// of the words change.
TEST(Encoding, EachFieldAlone) {
  for (const LayoutEntry &entry : layout) {
    SCOPED_TRACE(std::string(entry.mnemonic) + " " + entry.field);
    const InstructionInfo *inst = findMnemonic(entry.mnemonic);
    ASSERT_TRUE(inst);
    size_t index = 0;
    while (inst->fields[index].name != entry.field)
      ++index;
    const FieldInfo &field = inst->fields[index];
    uint64_t ones = ~uint64_t(0) >> (64 - entry.width);
    // All ones where the format allows them, else the largest legal value.
    int64_t value = field.maximum;
    if (field.kind == FieldKind::Signed)
      value = -1;
    if (field.kind == FieldKind::Bits || field.kind == FieldKind::Float)
      value = static_cast<int64_t>(ones);
    if (!field.allowed.empty())
      value = field.allowed.back();
    if (field.kind == FieldKind::Enum)
      while (field.enumInfo->nameOf(value).empty() ||
             (field.word == 0 && !(inst->queueMask >> value & 1)))
        --value;
    auto base = words(withField(*inst, index, field.defaultValue));
    auto set = words(withField(*inst, index, value));
    base[entry.word] &= ~(ones << entry.lsb);
    base[entry.word] |= (static_cast<uint64_t>(value) & ones) << entry.lsb;
    EXPECT_EQ(set, base);
    size_t pos = 0;
    Instruction back = llvm::cantFail(decode(set, pos));
    EXPECT_EQ(back, withField(*inst, index, value));
  }
}

TEST(Encoding, RandomRoundTrip) {
  std::mt19937_64 random(1);
  for (const InstructionInfo &inst : instructions())
    for (int i = 0; i < 300; ++i) {
      Instruction original = randomInstruction(inst, random);
      auto code = words(original);
      ASSERT_EQ(code.size(), inst.words);
      size_t pos = 0;
      llvm::Expected<Instruction> back = decode(code, pos);
      ASSERT_TRUE(bool(back)) << textOf(back.takeError());
      EXPECT_EQ(pos, code.size());
      EXPECT_TRUE(*back == original);
      EXPECT_EQ(words(*back), code);
    }
}

/// Flips bits of legal code: the result is refused or means exactly the words.
TEST(Encoding, DamagedCodeIsRefusedOrExact) {
  std::mt19937_64 random(2);
  unsigned refused = 0, accepted = 0;
  for (const InstructionInfo &inst : instructions())
    for (int i = 0; i < 500; ++i) {
      auto code = words(randomInstruction(inst, random));
      for (unsigned flips = 1 + random() % 3; flips; --flips)
        code[random() % code.size()] ^= uint64_t(1) << (random() % 64);
      size_t pos = 0;
      llvm::Expected<Instruction> back = decode(code, pos);
      if (!back) {
        EXPECT_EQ(pos, 0u);
        llvm::consumeError(back.takeError());
        ++refused;
        continue;
      }
      ++accepted;
      std::vector<uint64_t> used(code.begin(), code.begin() + pos);
      EXPECT_EQ(words(*back), used);
    }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(accepted, 100u);
}

TEST(Encoding, RandomWordsAreRefusedOrExact) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint64_t> code(1 + random() % 16);
    for (uint64_t &word : code) {
      const uint64_t a = random(), b = random(), c = random();
      word = a & b & c; // few bits
    }
    const auto &table = instructions();
    const InstructionInfo &inst = table[random() % table.size()];
    code[0] =
        uint64_t(inst.opcode) | (random() & 0xf00) | uint64_t(inst.words) << 56;
    size_t pos = 0;
    llvm::Expected<Instruction> back = decode(code, pos);
    if (!back) {
      llvm::consumeError(back.takeError());
      continue;
    }
    EXPECT_EQ(words(*back),
              std::vector<uint64_t>(code.begin(), code.begin() + pos));
  }
}

TEST(Encoding, EncoderNamesFieldAndLimits) {
  llvm::SmallVector<uint64_t> out = {7};
  PeLoad load;
  load.part = 4096;
  EXPECT_EQ(textOf(encode(load, out)),
            "pe.load: field 'part' is 4096, must be in [0, 4095]");
  PeMatmul matmul;
  matmul.psumStride1 = -524289;
  EXPECT_EQ(textOf(encode(matmul, out)),
            "pe.matmul: field 'psumStride1' is -524289, must be in "
            "[-524288, 524287]");
  DmaCopy copy;
  copy.elemBytes = 3;
  EXPECT_EQ(textOf(encode(copy, out)),
            "dma.copy: field 'elemBytes' is 3, must be one of 1, 2, 4, 8");
  copy.elemBytes = 1;
  copy.queue = Queue::Vec;
  EXPECT_EQ(textOf(encode(copy, out)), "dma.copy: queue is 7, must be one of "
                                       "dma0, dma1, dma2, dma3");
  VecMap map;
  map.op = static_cast<Function>(63);
  EXPECT_EQ(textOf(encode(map, out)),
            "vec.map: field 'op' is 63, which is not a valid Function");
  ActDrain drain;
  drain.function = Function::Add;
  EXPECT_EQ(textOf(encode(drain, out)),
            "act.drain: field 'function' is 64, must be in [0, 63]");
  EXPECT_EQ(out.size(), 1u) << "a refused instruction appends nothing";
}

TEST(Encoding, DecoderMessages) {
  auto message = [](std::vector<uint64_t> code) {
    size_t pos = 0;
    llvm::Expected<Instruction> inst = decode(code, pos);
    return inst ? std::string("accepted") : textOf(inst.takeError());
  };
  EXPECT_EQ(message({}), "word 0: instruction expected, the code ends after 0");
  EXPECT_EQ(message({0x01000000000000ff}), "word 0: unknown opcode 0xff");
  EXPECT_EQ(message({0x0200000000000521}),
            "word 0: pe.swap: length is 2 words, expected 1");
  EXPECT_EQ(message({0x0400000000000420, 0}),
            "word 0: pe.load: needs 4 words, the code ends after 2");
  EXPECT_EQ(message({0x0100000000000421}),
            "word 0: pe.swap: queue is 4, must be one of pe");
  EXPECT_EQ(message({0x0100000000001521}),
            "word 0: pe.swap: reserved bits 0x1000 are set, must be zero");
  EXPECT_EQ(message({0x0200000000000703, uint64_t(1) << 26}),
            "word 1: xr.set: reserved bits 0x4000000 are set, must be zero");
  // rows = 0, cols = 1
  EXPECT_EQ(message({0x0400000000000420, uint64_t(1) << 48, 0, 0}),
            "word 0: pe.load: field 'rows' is 0, must be in [1, 4095]");
  // type = 31
  EXPECT_EQ(
      message({0x0400000000000420, uint64_t(1) << 48 | 1 << 12,
               uint64_t(31) << 32, 0}),
      "word 0: pe.load: field 'type' is 31, which is not a valid ElemType");
}

TEST(Encoding, FieldListsAreChecked) {
  llvm::Expected<Instruction> wrong = fromFields(Opcode::SemWait, {1});
  EXPECT_EQ(textOf(wrong.takeError()),
            "sem.wait: has 1 field values, expected 2");
  llvm::Expected<Instruction> high = fromFields(Opcode::SemWait, {1, 256});
  EXPECT_EQ(textOf(high.takeError()),
            "sem.wait: field 'sem' is 256, must be in [0, 255]");
}
} // namespace
