// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encodes block by block, without row kernels: from exact values, and under an
// exponent that was given ahead (docs/Numerics.md 2 and 6).

#include "TensorRows.h"
#include <algorithm>
#include <type_traits>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

/// Elements of one block that are kept at once.
constexpr uint64_t blockElements = 8192;

/// Encodes blocks element by element.
struct BlockEncoder {
  const EncodeTarget &target;
  numerics::FixedRule rule;

  BlockEncoder(Engine &engine, const EncodeTarget &target, int mantissa)
      : target(target) {
    rule.mantissa = mantissa;
    rule.scale = engine.memory.xr(target.xr);
    rule.overflow = target.overflow;
  }

  template <typename Value>
  int8_t encode(llvm::ArrayRef<Value> values,
                llvm::MutableArrayRef<int16_t> mantissas,
                numerics::EncodeStats &stats) const {
    numerics::GivenBlock block;
    if constexpr (std::is_same_v<Value, numerics::WideValue>)
      if (!target.given)
        block.cell = block.own = numerics::encodeWide(
            values, rule.mantissa, mantissas, stats.counters);
    if (target.given)
      block = numerics::encodeBlockGiven(values, rule, target.repair, mantissas,
                                         stats.counters);
    if (block.own != numerics::kZeroBlock)
      stats.maxExponent = numerics::mergeScale(
          stats.maxExponent, static_cast<int16_t>(numerics::stepExponent(
                                 block.own, rule.mantissa)));
    return block.cell;
  }
};

/// One encoded result whose blocks are encoded so.
struct BlockWriter {
  Engine &engine;
  const TensorView &view;
  const EncodeTarget &target;
  uint64_t channels;
  BlockEncoder encoder;

  BlockWriter(Engine &engine, const TensorView &view,
              const EncodeTarget &target, uint64_t channels)
      : engine(engine), view(view), target(target), channels(channels),
        encoder(engine, target, static_cast<int>(view.mantissa)) {}

  /// Encodes the positions of one block: rows[i * n + k].
  template <typename Value>
  void encodeColumns(const Value *rows, uint64_t count, uint64_t n,
                     int16_t *mantissas, int8_t *cells,
                     numerics::EncodeStats &stats) const {
    auto *column =
        Scratch::ofThisThread().get<Value>(Scratch::Column, 2 * count);
    auto *encoded = reinterpret_cast<int16_t *>(column + count);
    for (uint64_t k = 0; k < n; ++k) {
      for (uint64_t i = 0; i < count; ++i)
        column[i] = rows[i * n + k];
      cells[k] = encoder.encode(llvm::ArrayRef<Value>(column, count),
                                {encoded, count}, stats);
      for (uint64_t i = 0; i < count; ++i)
        mantissas[i * n + k] = encoded[i];
    }
  }

  template <typename Value>
  void run(uint64_t cost,
           llvm::function_ref<void(uint64_t, uint64_t, uint64_t, Value *)>
               compute) const {
    const uint64_t block = target.block ? target.block : channels;
    const uint64_t blocks = (channels + block - 1) / block;
    const uint64_t size = view.pattern.size();
    const uint64_t chunk =
        std::min(size, std::max<uint64_t>(16, blockElements /
                                                  std::min(block, channels)));
    const uint64_t chunks = (size + chunk - 1) / chunk;
    engine.split(
        blocks * chunks, channels * size * cost,
        [&](uint64_t begin, uint64_t end) {
          numerics::EncodeStats stats;
          Scratch &scratch = Scratch::ofThisThread();
          for (uint64_t unit = begin; unit < end; ++unit) {
            const uint64_t first = unit / chunks * block;
            const uint64_t count = std::min(block, channels - first);
            const uint64_t k0 = unit % chunks * chunk;
            const uint64_t k1 = std::min(size, k0 + chunk), n = k1 - k0;
            auto *rows = scratch.get<Value>(Scratch::Block, count * n);
            for (uint64_t i = 0; i < count; ++i)
              compute(first + i, k0, k1, rows + i * n);
            auto *mantissas =
                scratch.get<int16_t>(Scratch::Mantissa, count * n);
            auto *cells = scratch.get<int8_t>(Scratch::Cells, n);
            encodeColumns(rows, count, n, mantissas, cells, stats);
            storeBlock(engine, view, first, count, k0, k1, mantissas, cells);
          }
          engine.finishEncode(stats, target);
        });
  }
};

} // namespace

void emulator::produceGiven(
    Engine &engine, const TensorView &view, const EncodeTarget &target,
    uint64_t channels, uint64_t cost,
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t, float *)> compute) {
  engine.beginEncode(target);
  BlockWriter(engine, view, target, channels).run<float>(cost, compute);
}

void emulator::produceExact(
    Engine &engine, const TensorView &view, const EncodeTarget &target,
    uint64_t channels,
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t,
                            numerics::WideValue *)>
        compute) {
  engine.beginEncode(target);
  BlockWriter(engine, view, target, channels)
      .run<numerics::WideValue>(8, compute);
}

template <typename Value>
void emulator::encodeLine(Engine &engine, const EncodeTarget &target,
                          int mantissa, llvm::ArrayRef<Value> row,
                          uint64_t block, int16_t *mantissas, int8_t *cells,
                          numerics::EncodeStats &stats) {
  const BlockEncoder encoder(engine, target, mantissa);
  for (size_t k = 0; k < row.size(); k += block) {
    const size_t count = std::min<size_t>(block, row.size() - k);
    cells[k / block] =
        encoder.encode(row.slice(k, count), {mantissas + k, count}, stats);
  }
}

template void emulator::encodeLine(Engine &, const EncodeTarget &, int,
                                   llvm::ArrayRef<float>, uint64_t, int16_t *,
                                   int8_t *, numerics::EncodeStats &);
template void emulator::encodeLine(Engine &, const EncodeTarget &, int,
                                   llvm::ArrayRef<numerics::WideValue>,
                                   uint64_t, int16_t *, int8_t *,
                                   numerics::EncodeStats &);
