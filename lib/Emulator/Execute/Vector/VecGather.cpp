// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vec.gather: elements chosen by run-time indices. All indices are checked
// before anything is written, in program order of the elements, so that the
// fault of a run does not depend on threads.

#include "../Indices.h"
#include "../TensorRows.h"

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

/// Elements of a row that are moved at once: they stay in cache.
constexpr uint64_t chunk = 4096;

struct Gather {
  Engine &engine;
  const isa::VecGather &op;
  TensorView source, index, result;

  uint64_t channels() const { return op.channels; }

  /// Calls fn(k, index) for the positions [k0, k1) of a channel until it gives
  /// false.
  template <typename Fn>
  void forIndices(uint64_t channel, uint64_t k0, uint64_t k1, Fn fn) const {
    TensorView::Place place =
        index.place(channel, engine.machine->sb.partitions);
    const uint8_t *base = engine.memory.sb(place.partition, place.offset);
    bool more = true;
    index.pattern.forRuns(k0, k1, [&](uint64_t k, int64_t at, uint64_t n) {
      for (uint64_t i = 0; i < n && more; ++i) {
        const uint8_t *from =
            base + at + static_cast<int64_t>(i) * index.pattern.stride[2];
        more = fn(k + i, readIndex(op.indexType, from));
      }
    });
  }

  /// The first index outside the axis, or nothing.
  std::optional<RunFinding> outside() const {
    std::optional<RunFinding> found;
    // Channels that share their indices need one look.
    const uint64_t distinct = index.broadcast ? 1 : channels();
    for (uint64_t c = 0; c < distinct && !found; ++c)
      forIndices(c, 0, index.pattern.size(), [&](uint64_t k, int64_t value) {
        TensorView::Place place = index.place(c, engine.machine->sb.partitions);
        found = indexOutside(value, op.size, k,
                             place.partition *
                                     engine.machine->sb.bytesPerPartition +
                                 place.offset);
        return !found;
      });
    return found;
  }

  void row(uint64_t channel, uint64_t k0, uint64_t k1) const {
    const uint64_t partitions = engine.machine->sb.partitions;
    const unsigned bytes = storedBytes(op.type, 0);
    TensorView::Place from = source.place(channel, partitions);
    TensorView::Place to = result.place(channel, partitions);
    auto *offsets =
        Scratch::ofThisThread().get<int64_t>(Scratch::RowA, k1 - k0);
    forIndices(channel, k0, k1, [&](uint64_t k, int64_t value) {
      offsets[k - k0] = (value < 0 ? value + op.size : value) * op.axisStride;
      return true;
    });
    const uint8_t *base = engine.memory.sb(from.partition, from.offset);
    auto *row =
        Scratch::ofThisThread().get<uint8_t>(Scratch::RowB, (k1 - k0) * bytes);
    source.pattern.forRuns(k0, k1, [&](uint64_t k, int64_t at, uint64_t n) {
      for (uint64_t i = 0; i < n; ++i)
        std::memcpy(row + (k - k0 + i) * bytes,
                    base + at +
                        static_cast<int64_t>(i) * source.pattern.stride[2] +
                        offsets[k - k0 + i],
                    bytes);
    });
    scatterElements(engine.memory.sb(to.partition, to.offset), result.pattern,
                    bytes, k0, k1, row);
  }
};

} // namespace

void Engine::execute(const isa::VecGather &op) {
  const Gather gather{*this, op, viewOf(operandSrc(op)),
                      viewOf(operandIndex(op)), viewOf(operandDst(op))};
  finding = gather.outside();
  if (finding)
    return;
  const uint64_t size = gather.result.pattern.size();
  split(op.channels, op.channels * size, [&](uint64_t begin, uint64_t end) {
    for (uint64_t channel = begin; channel < end; ++channel)
      for (uint64_t k = 0; k < size; k += chunk)
        gather.row(channel, k, std::min(size, k + chunk));
  });
}
