// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements and bytes of tiles that drains fill.

#include "KeptTiles.h"
#include "TensorView.h"
#include "ashlar/Isa/ElementBytes.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;

KeptTiles::Slots KeptTiles::slotsOf(const TileEntry &entry, uint64_t first,
                                    uint64_t count) const {
  const uint64_t begin = uint64_t(entry.group) * op.groupStep;
  const uint64_t low = std::max(first, begin);
  const uint64_t high = std::min(first + count, begin + op.channels);
  return low < high ? Slots{low - begin, high - low} : Slots{};
}

/// Elements of an axis, over all phases, whose input lies in [begin, end).
static uint64_t elementsAlong(const machine::AxisPhases &axis, uint64_t results,
                              uint64_t first, int64_t pad, int64_t begin,
                              int64_t end) {
  uint64_t elements = 0;
  const auto stride = static_cast<int64_t>(axis.stride);
  for (size_t p = 0; p < axis.phases.size(); ++p) {
    const auto count = static_cast<int64_t>(results + axis.phases[p].halo);
    const int64_t start = axis.source(p, 0, first, pad);
    // Element i is input start + i * stride.
    auto before = [&](int64_t limit) {
      return limit <= start
                 ? int64_t(0)
                 : std::min(count, (limit - start + stride - 1) / stride);
    };
    elements += static_cast<uint64_t>(
        std::max<int64_t>(before(end) - before(begin), 0));
  }
  return elements;
}

uint64_t emulator::keptElements(const isa::DmaTile &op,
                                const machine::TileGeometry &geometry,
                                const TileEntry &entry,
                                const isa::MapBox &box) {
  const int64_t images =
      std::min<int64_t>(entry.n + entry.images, box.n + box.images) -
      std::max<int64_t>(entry.n, box.n);
  if (images <= 0 || entry.idle())
    return 0;
  return static_cast<uint64_t>(images) *
         elementsAlong(geometry.h, entry.rows, entry.y, op.pH, box.y,
                       box.y + box.rows) *
         elementsAlong(geometry.w, entry.cols, entry.x, op.pW, box.x,
                       box.x + box.cols);
}

llvm::SmallVector<isa::MapBox, 16>
emulator::drainedBoxes(const isa::ActDrain &op, const TileTable &table) {
  llvm::SmallVector<isa::MapBox, 16> boxes;
  for (const TileEntry &entry : table)
    if (!entry.idle() && entry.group == op.group)
      boxes.push_back(entry.box());
  return boxes;
}

/// Bytes of an element of \p count slots from \p first on, with the cells of
/// the planes that begin there.
static uint64_t elementBytes(const isa::DmaTile &op, uint64_t first,
                             uint64_t count) {
  const uint64_t planes = isa::isBlock(op.type) && op.block > 0
                              ? (first + count + op.block - 1) / op.block -
                                    (first + op.block - 1) / op.block
                              : 0;
  return count * storedBytes(op.type, op.mantissa) + planes;
}

static void add(KeptTraffic &traffic, uint64_t bytes) {
  traffic.written += bytes;
  traffic.most = std::max(traffic.most, bytes);
}

KeptTraffic emulator::openedTraffic(const KeptTiles &kept) {
  const machine::TileGeometry geometry = isa::geometryOf(kept.op);
  const uint64_t bytes = elementBytes(kept.op, 0, kept.op.channels);
  KeptTraffic traffic;
  for (const TileEntry &entry : kept.tiles)
    if (!entry.idle())
      add(traffic, bytes * (geometry.slotElements() -
                            keptElements(kept.op, geometry, entry,
                                         operandBox(kept.op))));
  return traffic;
}

KeptTraffic emulator::keptTraffic(const KeptTiles &kept,
                                  const isa::ActDrain &op,
                                  llvm::ArrayRef<isa::MapBox> boxes) {
  const machine::TileGeometry geometry = isa::geometryOf(kept.op);
  KeptTraffic traffic;
  for (const TileEntry &entry : kept.tiles) {
    const auto [first, count] = kept.slotsOf(entry, op.slot, op.cols);
    if (entry.idle() || count == 0)
      continue;
    uint64_t elements = 0;
    for (const isa::MapBox &box : boxes)
      elements += keptElements(kept.op, geometry, entry, box);
    add(traffic, elements * elementBytes(kept.op, first, count));
  }
  return traffic;
}
