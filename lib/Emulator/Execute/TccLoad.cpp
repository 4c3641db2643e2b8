// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dma.tile: input boxes of tiles into the feature-map units, phase by phase.

#include "Engine.h"
#include "TensorRows.h"
#include "ashlar/Isa/Tiles.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

/// One feature map as a load sees it: mantissas of a channel, or cells of a
/// block.
struct Source {
  const uint8_t *pixels = nullptr; ///< Pixel (0, 0) of image 0.
  uint8_t *slot = nullptr;
  uint64_t bytes = 1; ///< Of an element.
  uint8_t fill = 0;   ///< Every byte of an element outside the image.
};

/// A load into one unit.
class UnitLoad {
public:
  UnitLoad(const isa::DmaTile &op, const TileEntry &entry)
      : op(op), entry(entry), geometry(isa::geometryOf(op)),
        width(geometry.width()), y1(op.inH), x1(op.inW) {
    if (!entry.operand.partial)
      return;
    y0 = entry.operand.y;
    x0 = entry.operand.x;
    y1 = std::min(y1, y0 + entry.operand.rows);
    x1 = std::min(x1, x0 + entry.operand.cols);
  }

  void run(const Source &source) const;

private:
  void row(const Source &source, const uint8_t *from, uint8_t *to) const;
  template <typename T>
  void pixels(const uint8_t *from, uint64_t n, uint8_t *to) const {
    const int64_t step = int64_t(op.srcStrideW) * op.sW;
    for (uint64_t i = 0; i < n; ++i)
      std::memcpy(to + i * sizeof(T), from + static_cast<int64_t>(i) * step,
                  sizeof(T));
  }

  const isa::DmaTile &op;
  const TileEntry &entry;
  const machine::TileGeometry geometry;
  const uint64_t width;
  /// What the unit may hold: the feature map, or its part of it.
  int64_t y0 = 0, x0 = 0, y1, x1;
};

} // namespace

/// Indices [first, second) of a phase whose input coordinate start + i*stride
/// lies in [0, extent).
static std::pair<uint64_t, uint64_t> insideOf(int64_t start, int64_t stride,
                                              int64_t extent, uint64_t count) {
  const int64_t low = start >= 0 ? 0 : (-start + stride - 1) / stride;
  const int64_t high =
      extent <= start ? 0 : (extent - start + stride - 1) / stride;
  const auto limit = static_cast<int64_t>(count);
  const int64_t first = std::min(low, limit);
  return {static_cast<uint64_t>(first),
          static_cast<uint64_t>(std::clamp(high, first, limit))};
}

/// All column phases of one row; \p from is null for a row outside the image.
void UnitLoad::row(const Source &source, const uint8_t *from,
                   uint8_t *to) const {
  for (size_t p = 0; p < geometry.w.phases.size(); ++p) {
    const uint64_t count = entry.cols + geometry.w.phases[p].halo;
    uint8_t *out = to + geometry.w.base(p, op.tileW) * source.bytes;
    const int64_t start = geometry.w.source(p, 0, entry.x, op.pW);
    auto [first, last] = insideOf(start - x0, op.sW, x1 - x0, count);
    if (!from)
      first = last = count;
    std::memset(out, source.fill, first * source.bytes);
    std::memset(out + last * source.bytes, source.fill,
                (count - last) * source.bytes);
    if (first == last)
      continue;
    const uint8_t *pixel =
        from + (start + static_cast<int64_t>(first * op.sW)) * op.srcStrideW;
    uint8_t *place = out + first * source.bytes;
    if (op.sW == 1 && op.srcStrideW == static_cast<int64_t>(source.bytes))
      std::memcpy(place, pixel, (last - first) * source.bytes);
    else if (source.bytes == 1)
      pixels<uint8_t>(pixel, last - first, place);
    else
      pixels<uint16_t>(pixel, last - first, place);
  }
}

void UnitLoad::run(const Source &source) const {
  // Rows and columns that a smaller tile has no use for are zero, so that what
  // is read as a whole is defined.
  if (entry.images != op.images || entry.rows != op.tileH ||
      entry.cols != op.tileW)
    std::memset(source.slot, source.fill,
                geometry.slotElements() * source.bytes);
  const uint64_t height = geometry.height();
  for (uint64_t n = 0; n < entry.images; ++n)
    for (size_t p = 0; p < geometry.h.phases.size(); ++p)
      for (uint64_t r = 0; r < entry.rows + geometry.h.phases[p].halo; ++r) {
        const int64_t y = geometry.h.source(p, r, entry.y, op.pH);
        const bool inside = y >= y0 && y < y1;
        const uint64_t line = n * height + geometry.h.base(p, op.tileH) + r;
        row(source,
            inside ? source.pixels +
                         static_cast<int64_t>(entry.n + n) * op.srcStrideN +
                         y * op.srcStrideH
                   : nullptr,
            source.slot + line * width * source.bytes);
      }
}

/// Mantissas and cells of one unit.
static void loadUnit(Engine &engine, const isa::DmaTile &op, uint64_t unit,
                     const TileEntry &entry) {
  const Memory &memory = engine.memory;
  const uint64_t target = entry.memoryOf(unit);
  const UnitLoad load(op, entry);
  const machine::TileGeometry geometry = isa::geometryOf(op);
  const uint64_t elements = geometry.slotElements();
  const uint64_t partitions = engine.machine->sb.partitions;
  const uint64_t bytes = storedBytes(op.type, op.mantissa);
  const uint64_t first = op.part + uint64_t(entry.group) * op.groupStep;
  auto offsetOf = [&](uint64_t channel) {
    return static_cast<int64_t>(op.offset) +
           static_cast<int64_t>(channel / partitions) * op.srcTileStride;
  };
  for (uint64_t i = 0; i < op.channels; ++i) {
    const uint64_t channel = first + i;
    const uint64_t place = op.mantissas + i * elements * bytes;
    load.run({memory.sb(channel % partitions, offsetOf(channel)),
              memory.fmu(target, op.set, place), bytes, 0});
    if (engine.observer)
      engine.observer->tileWrite(
          {engine.current, static_cast<uint32_t>(target), op.set, place,
           place + elements * bytes, channel,
           geometry.loadedElements(entry.images, entry.rows, entry.cols)});
  }
  const uint64_t before = op.block ? first % op.block : 0;
  for (uint64_t k = 0; k < loadedPlanes(op); ++k) {
    // The first of the channels that share this plane.
    const uint64_t channel = first + (k == 0 ? 0 : k * op.block - before);
    const int8_t *cells = memory.cell(channel % partitions, offsetOf(channel));
    load.run({reinterpret_cast<const uint8_t *>(cells),
              memory.fmu(target, op.set, op.exponents + k * elements), 1,
              0x80});
  }
}

void Engine::execute(const isa::DmaTile &op) {
  batch.flush(*this);
  const TileTable &table = tables[op.table];
  if (cutTables[op.table])
    measured[current] = tileLoadCost(*machine, loadedTiles(op, table));
  const uint64_t work =
      table.size() * op.channels * isa::geometryOf(op).slotElements();
  split(table.size(), observer ? 0 : work, [&](uint64_t begin, uint64_t end) {
    for (uint64_t unit = begin; unit < end; ++unit)
      if (!table[unit].idle())
        loadUnit(*this, op, unit, table[unit]);
  });
}
