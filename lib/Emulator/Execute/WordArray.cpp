// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modes select and float of the PE array, entry by entry in the order of
// docs/Isa.md.

#include "WordArray.h"
#include "MovingOperand.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Support/Half.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;
using isa::OperandMode;

template <typename T>
static uint64_t readWord(const uint8_t *at) {
  T word;
  std::memcpy(&word, at, sizeof(T));
  return word;
}

/// The stored word of 1, 2, 4 or 8 bytes at `at`, zero extended: a copy of
/// constant length is a load, any other one is a call.
static uint64_t wordAt(const uint8_t *at, unsigned bytes) {
  switch (bytes) {
  case 1:
    return readWord<uint8_t>(at);
  case 2:
    return readWord<uint16_t>(at);
  case 4:
    return readWord<uint32_t>(at);
  default:
    return readWord<uint64_t>(at);
  }
}

/// The binary32 value of a stored f16, bf16 or f32, exact.
static float floatOf(ElemType type, uint64_t word) {
  const auto half = static_cast<uint16_t>(word);
  if (type == ElemType::F16)
    return support::halfToFloat(half);
  if (type == ElemType::Bf16)
    return support::bfloatToFloat(half);
  return std::bit_cast<float>(static_cast<uint32_t>(word));
}

template <typename T>
static void readWords(const uint8_t *row, int64_t stride, uint64_t n,
                      uint64_t *out) {
  for (uint64_t i = 0; i < n; ++i, row += stride)
    out[i] = readWord<T>(row);
}

/// The words of \p n elements, `stride` bytes apart, as wordAt() has them.
static void wordsAt(const uint8_t *row, int64_t stride, unsigned bytes,
                    uint64_t n, uint64_t *out) {
  switch (bytes) {
  case 1:
    return readWords<uint8_t>(row, stride, n, out);
  case 2:
    return readWords<uint16_t>(row, stride, n, out);
  case 4:
    return readWords<uint32_t>(row, stride, n, out);
  default:
    return readWords<uint64_t>(row, stride, n, out);
  }
}

void emulator::loadWords(Engine &engine, const isa::PeLoad &op) {
  Memory &memory = engine.memory;
  StationarySet &set = engine.sets.shadow();
  const unsigned bytes = storedBytes(op.type, op.mantissa);
  set.raw.resize(op.rows * op.cols);
  uint64_t *out = set.raw.data();
  for (uint64_t p = op.part; p < op.part + op.rows; ++p, out += op.cols) {
    wordsAt(memory.sb(p, op.offset), op.colStride, bytes, op.cols, out);
    if (op.mode == OperandMode::Float)
      for (uint64_t c = 0; c < op.cols; ++c)
        out[c] = std::bit_cast<uint32_t>(floatOf(op.type, out[c]));
    else if (isa::isBlock(op.type))
      forCells(memory, op.orientation, bytes, p, op.offset, op.colStride,
               op.cols, [&](uint64_t c, const int8_t &cell) {
                 out[c] |= uint64_t(static_cast<uint8_t>(cell)) << cellShift;
               });
  }
}

namespace {

/// One stream through a set of words.
class WordStream {
public:
  WordStream(Engine &engine, const isa::PeMatmul &op)
      : engine(engine), op(op), bytes(storedBytes(op.type, op.mantissa)),
        words(engine.sets.active().raw.data()),
        target{{op.n0, op.n1, op.n2},
               {op.psumStride0, op.psumStride1, op.psumStride2}} {}

  void run();

private:
  const uint8_t *moving(uint64_t row, int64_t offset) const {
    return engine.memory.sb(op.part + row, op.offset + offset);
  }
  int64_t &entry(uint64_t column, int64_t at) const {
    return *engine.memory.psum(column, op.psum + static_cast<uint64_t>(at));
  }
  int64_t entryOf(uint64_t step) const {
    int64_t at = 0;
    target.forRuns(step, step + 1,
                   [&](uint64_t, int64_t offset, uint64_t) { at = offset; });
    return at;
  }
  void clear();
  void select(int64_t at, int64_t offset);
  void multiply(int64_t at, int64_t offset);

  Engine &engine;
  const isa::PeMatmul &op;
  const unsigned bytes;
  const uint64_t *words;
  Pattern target;
};

} // namespace

void WordStream::clear() {
  target.forRuns(0, target.size(), [&](uint64_t, int64_t at, uint64_t n) {
    for (uint64_t k = 0; k < n; ++k, at += op.psumStride2)
      for (uint64_t c = 0; c < op.cols; ++c)
        entry(c, at) = 0;
  });
}

/// Adds the words of the rows that the step's elements select.
void WordStream::select(int64_t at, int64_t offset) {
  for (uint64_t i = 0; i < op.rows; ++i) {
    if (wordAt(moving(i, offset), bytes) == 0)
      continue;
    const uint64_t *row = words + i * op.cols;
    for (uint64_t c = 0; c < op.cols; ++c) {
      int64_t &sum = entry(c, at);
      sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + row[c]);
    }
  }
}

/// Products and sums in binary32, one rounding each, from the top row down.
void WordStream::multiply(int64_t at, int64_t offset) {
  for (uint64_t c = 0; c < op.cols; ++c) {
    int64_t &sum = entry(c, at);
    float value = std::bit_cast<float>(static_cast<uint32_t>(sum));
    for (uint64_t i = 0; i < op.rows; ++i) {
      const float element = floatOf(op.type, wordAt(moving(i, offset), bytes));
      const auto weight = static_cast<uint32_t>(words[i * op.cols + c]);
      value += element * std::bit_cast<float>(weight);
    }
    // The host must not choose a payload (docs/Numerics.md, NaN).
    sum = std::isnan(value) ? 0x7fc00000 : std::bit_cast<uint32_t>(value);
  }
}

void WordStream::run() {
  if (!op.accumulate)
    clear();
  forValidRuns(op, [&](uint64_t step, int64_t offset, uint64_t n) {
    for (uint64_t k = step; k < step + n; ++k, offset += op.stride2) {
      const int64_t at = entryOf(k);
      if (op.mode == OperandMode::Select)
        select(at, offset);
      else
        multiply(at, offset);
    }
  });
}

std::string emulator::brokenWindow(const Memory &memory,
                                   const isa::PeMatmul &op) {
  std::string broken;
  if (op.window != isa::Window::Identity)
    return broken;
  const unsigned bytes = storedBytes(op.type, op.mantissa);
  forValidRuns(op, [&](uint64_t step, int64_t offset, uint64_t n) {
    for (uint64_t k = step; k < step + n; ++k, offset += op.stride2)
      for (uint64_t i = 0; i < op.rows && broken.empty(); ++i) {
        const uint8_t *at = memory.sb(op.part + i, op.offset + offset);
        if ((wordAt(at, bytes) != 0) != (i == k))
          broken = notAnIdentity(i, k, i == k);
      }
  });
  return broken;
}

void emulator::multiplyWords(Engine &engine, const isa::PeMatmul &op) {
  WordStream(engine, op).run();
}
