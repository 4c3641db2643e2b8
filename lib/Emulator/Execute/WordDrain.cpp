// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ACT on words: bits to SB as they are, encoded elements with their exponent
// cell, or typed words through a function.

#include "TensorRows.h"
#include "WordArray.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Numerics/Function.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;

namespace {

/// One drain of mode raw64.
struct WordDrain {
  Engine &engine;
  const isa::ActDrain &op;
  Pattern entries; ///< PSUM entries.
  TensorView result;

  /// Entries [k0, k1) of a lane without gaps.
  const int64_t *row(uint64_t lane, uint64_t k0, uint64_t k1) const {
    auto *out = Scratch::ofThisThread().get<int64_t>(Scratch::Accums, k1 - k0);
    const int64_t *column = engine.memory.psum(lane, op.psum);
    int64_t *to = out;
    entries.forRuns(k0, k1, [&](uint64_t, int64_t at, uint64_t n) {
      for (uint64_t i = 0; i < n; ++i, at += entries.stride[2])
        *to++ = column[at];
    });
    return out;
  }

  /// Mantissas to SB, cells to where the orientation has them.
  void storeEncoded(uint64_t lane) const {
    const unsigned bytes = storedBytes(op.dstType, op.dstMantissa);
    const uint64_t partition = op.dstPart + lane;
    const int64_t *words = row(lane, 0, entries.size());
    result.pattern.forRuns(
        0, result.pattern.size(), [&](uint64_t, int64_t at, uint64_t n) {
          const int64_t offset = static_cast<int64_t>(op.dstOffset) + at;
          const int64_t stride = result.pattern.stride[2];
          uint8_t *to = engine.memory.sb(partition, offset);
          // Copies of constant length are stores, any other one is a call.
          for (uint64_t i = 0; i < n; ++i, to += stride)
            if (bytes == 1)
              *to = static_cast<uint8_t>(words[i]);
            else
              std::memcpy(to, words + i, sizeof(int16_t));
          forCells(engine.memory, op.dstOrientation, bytes, partition, offset,
                   stride, n, [&](uint64_t i, int8_t &cell) {
                     cell = static_cast<int8_t>(words[i] >> cellShift);
                   });
          words += n;
        });
  }

  /// The values of typed words after the function.
  void valueRow(uint64_t lane, uint64_t k0, uint64_t k1, float *out) const {
    const uint64_t n = k1 - k0;
    Scratch &scratch = Scratch::ofThisThread();
    const int64_t *words = row(lane, k0, k1);
    const unsigned bytes = storedBytes(op.resType, op.resMantissa);
    auto *raw = scratch.get<uint8_t>(Scratch::GatherA, n * bytes);
    auto *cells = scratch.get<int8_t>(Scratch::GatherB, n);
    for (uint64_t k = 0; k < n; ++k) {
      std::memcpy(raw + k * bytes, &words[k], bytes);
      cells[k] = static_cast<int8_t>(words[k] >> cellShift);
    }
    decodeElements(engine, op.resType, op.resMantissa, raw, cells, n, out);
    const auto function = static_cast<numerics::Function>(op.function);
    for (uint64_t k = 0; op.function != isa::Function::Copy && k < n; ++k)
      out[k] = numerics::apply(function, out[k], op.alpha, op.beta);
  }
};

} // namespace

void emulator::drainWords(Engine &engine, const isa::ActDrain &op) {
  WordDrain drain{engine, op, {}, {}};
  drain.entries = patternOf(operandPsum(op));
  TensorView &result = drain.result;
  result = viewOf(operandDst(op));
  if (op.typed) {
    return produceFloats(
        engine, result, encodeTarget(op), op.cols, 1,
        [&](uint64_t lane, uint64_t k0, uint64_t k1, float *out) {
          drain.valueRow(lane, k0, k1, out);
        });
  }
  if (op.dstType == ElemType::Bool)
    result.type = ElemType::U8; // a raw byte, not its truth
  const uint64_t size = drain.entries.size();
  // Lanes that share cells store equal ones, but not at the same time.
  if (isa::isBlock(op.dstType)) {
    for (uint64_t lane = 0; lane < op.cols; ++lane)
      drain.storeEncoded(lane);
    return;
  }
  engine.split(op.cols, op.cols * size, [&](uint64_t begin, uint64_t end) {
    for (uint64_t lane = begin; lane < end; ++lane)
      storeIntegers(engine, result, lane, 0, size, drain.row(lane, 0, size));
  });
}
