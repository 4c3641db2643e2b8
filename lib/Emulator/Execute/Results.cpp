// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result tensors of ACT and VEC: computed row by row or in groups of short
// rows, then stored or encoded.

#include "TensorRows.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;

/// Floats of one block that are kept at once: stays inside a host L2 cache.
static constexpr uint64_t blockFloats = 32768;

/// Floats of short rows that are computed at once: a part of the first cache
/// level.
static constexpr uint64_t groupFloats = 2048;

/// Rows of several channels in one buffer.
static void produceShort(Engine &engine, const TensorView &view,
                         uint64_t channels, uint64_t cost,
                         ComputeRows compute) {
  const uint64_t size = view.pattern.size();
  const uint64_t group = groupFloats / std::max<uint64_t>(size, 1);
  engine.split(llvm::divideCeil(channels, group), channels * size * cost,
               [&](uint64_t begin, uint64_t end) {
                 float *rows = Scratch::ofThisThread().get<float>(
                     Scratch::Block, group * size);
                 for (uint64_t unit = begin; unit < end; ++unit) {
                   const uint64_t first = unit * group;
                   const RowRange range = {
                       first, std::min(group, channels - first), 0, size};
                   compute(range, rows);
                   storeRows(engine, view, range, rows);
                 }
               });
}

static void producePlain(Engine &engine, const TensorView &view,
                         uint64_t channels, uint64_t cost,
                         ComputeRows compute) {
  const uint64_t size = view.pattern.size();
  const uint64_t chunk = std::min<uint64_t>(size, blockFloats / 8);
  const uint64_t chunks = (size + chunk - 1) / chunk;
  engine.split(channels * chunks, channels * size * cost,
               [&](uint64_t begin, uint64_t end) {
                 Scratch &scratch = Scratch::ofThisThread();
                 for (uint64_t unit = begin; unit < end; ++unit) {
                   uint64_t channel = unit / chunks;
                   uint64_t k0 = unit % chunks * chunk;
                   uint64_t k1 = std::min(size, k0 + chunk);
                   float *row = directRow(engine, view, channel, k0);
                   if (row) {
                     compute({channel, 1, k0, k1}, row);
                     continue;
                   }
                   row = scratch.get<float>(Scratch::Block, k1 - k0);
                   compute({channel, 1, k0, k1}, row);
                   storeFloats(engine, view, channel, k0, k1, row);
                 }
               });
}

/// Rows of the longest block.
static uint64_t rowsOf(const EncodeTarget &target, uint64_t channels) {
  return target.block ? std::min(target.block, channels) : channels;
}

void emulator::forBlocks(
    Engine &engine, const TensorView &view, const EncodeTarget &target,
    uint64_t channels, uint64_t cost, uint64_t mostSteps,
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t, uint64_t,
                            numerics::EncodeStats &)>
        encode) {
  engine.beginEncode(target);
  const uint64_t block = target.block ? target.block : channels;
  const uint64_t blocks = (channels + block - 1) / block;
  const uint64_t size = view.pattern.size();
  // Threads split many steps and share few of them, as the batch does.
  const bool bySteps = engine.pool && size >= splitSteps;
  const uint64_t share =
      bySteps ? llvm::divideCeil(size, engine.pool->size()) : size;
  const uint64_t chunk =
      std::min(llvm::alignTo(share, numerics::kMovingUnit), mostSteps);
  const uint64_t chunks = (size + chunk - 1) / chunk;
  engine.split(blocks * chunks, channels * size * cost,
               [&](uint64_t begin, uint64_t end) {
                 numerics::EncodeStats stats;
                 for (uint64_t unit = begin; unit < end; ++unit) {
                   uint64_t first =
                       (bySteps ? unit % blocks : unit / chunks) * block;
                   uint64_t k0 =
                       (bySteps ? unit / blocks : unit % chunks) * chunk;
                   encode(first, std::min(block, channels - first), k0,
                          std::min(size, k0 + chunk), stats);
                 }
                 engine.finishEncode(stats, target);
               });
}

static void produceEncoded(Engine &engine, const TensorView &view,
                           const EncodeTarget &target, uint64_t channels,
                           uint64_t cost, ComputeRows compute) {
  if (target.given)
    return produceGiven(
        engine, view, target, channels, cost,
        [&](uint64_t channel, uint64_t k0, uint64_t k1, float *out) {
          compute({channel, 1, k0, k1}, out);
        });
  forBlocks(engine, view, target, channels, cost,
            std::max<uint64_t>(16, blockFloats / rowsOf(target, channels)),
            [&](uint64_t first, uint64_t count, uint64_t k0, uint64_t k1,
                numerics::EncodeStats &stats) {
              Scratch &scratch = Scratch::ofThisThread();
              float *rows =
                  scratch.get<float>(Scratch::Block, count * (k1 - k0));
              const float **pointers =
                  scratch.get<const float *>(Scratch::Pointers2, count);
              for (uint64_t i = 0; i < count; ++i)
                pointers[i] = rows + i * (k1 - k0);
              compute({first, count, k0, k1}, rows);
              encodeRows(engine, view, first, {pointers, count}, k0, k1, stats);
            });
}

void emulator::produceRows(Engine &engine, const TensorView &view,
                           const EncodeTarget &target, uint64_t channels,
                           uint64_t cost, ComputeRows compute) {
  if (isa::isBlock(view.type))
    produceEncoded(engine, view, target, channels, cost, compute);
  else if (view.pattern.size() < shortRow)
    produceShort(engine, view, channels, cost, compute);
  else
    producePlain(engine, view, channels, cost, compute);
}

void emulator::produceFloats(
    Engine &engine, const TensorView &view, const EncodeTarget &target,
    uint64_t channels, uint64_t cost,
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t, float *)> compute) {
  auto rows = [&](const RowRange &range, float *out) {
    for (uint64_t i = 0; i < range.count; ++i)
      compute(range.first + i, range.k0, range.k1, out + i * range.steps());
  };
  if (isa::isBlock(view.type))
    produceEncoded(engine, view, target, channels, cost, rows);
  else
    producePlain(engine, view, channels, cost, rows);
}
