// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dma.tile: input boxes of tiles into the feature-map units, phase by phase;
// and results that drains write to such tiles.

#include "Engine.h"
#include "ShortCopy.h"
#include "TensorRows.h"
#include "ashlar/Isa/Tiles.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstring>
#include <optional>

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

/// A load into one unit: which runs of pixels go where, found once for all
/// channels, whose maps differ in nothing but their place.
class UnitLoad {
public:
  UnitLoad(const isa::DmaTile &op, const machine::TileGeometry &geometry,
           const TileEntry &entry)
      : op(op), entry(entry), geometry(geometry), n1(op.inN), y1(op.inH),
        x1(op.inW), step(int64_t(op.srcStrideW) * op.sW) {
    if (entry.operand.partial) {
      y0 = entry.operand.y;
      x0 = entry.operand.x;
      y1 = std::min(y1, y0 + entry.operand.rows);
      x1 = std::min(x1, x0 + entry.operand.cols);
    }
    plan();
  }
  /// Of a part of the operand, which begins at the source; all else in the slot
  /// stays as it is.
  UnitLoad(const isa::DmaTile &op, const machine::TileGeometry &geometry,
           const TileEntry &entry, const isa::MapBox &part)
      : op(op), entry(entry), geometry(geometry), n0(part.n),
        n1(part.n + part.images), y0(part.y), x0(part.x),
        y1(part.y + part.rows), x1(part.x + part.cols),
        step(int64_t(op.srcStrideW) * op.sW), from{part.n, part.y, part.x},
        adds(true) {
    plan();
  }

  void run(const numerics::KernelTable &kernels, const Source &source) const;
  bool empty() const { return runs.empty(); }

private:
  /// `count` pixels, `step` bytes apart, to elements from `to` on.
  struct Run {
    int64_t from;
    uint64_t to, count;
  };
  /// Elements without pixels.
  struct Gap {
    uint64_t to, count;
  };
  void plan();
  void planRow(std::optional<int64_t> row, uint64_t to);
  void addGap(uint64_t to, uint64_t count);

  const isa::DmaTile &op;
  const TileEntry &entry;
  const machine::TileGeometry &geometry; ///< The same for all units.
  /// What the unit may hold: the feature map, or its part of it.
  int64_t n0 = 0, n1, y0 = 0, x0 = 0, y1, x1;
  const int64_t step;
  const std::array<int64_t, 3> from{0, 0, 0}; ///< The pixel at the source.
  const bool adds = false;                    ///< To what is in the slot.
  llvm::SmallVector<Run, 32> runs;
  llvm::SmallVector<Gap, 64> gaps; ///< Before the runs.
  bool clearsSlot = false;         ///< One gap is the whole slot.
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

void UnitLoad::addGap(uint64_t to, uint64_t count) {
  if (count == 0 || clearsSlot || adds)
    return;
  if (!gaps.empty() && gaps.back().to + gaps.back().count == to)
    gaps.back().count += count;
  else
    gaps.push_back({to, count});
}

/// All column phases of one row; without \p row, one outside the image.
void UnitLoad::planRow(std::optional<int64_t> row, uint64_t to) {
  for (size_t p = 0; p < geometry.w.phases.size(); ++p) {
    const uint64_t count = entry.cols + geometry.w.phases[p].halo;
    const uint64_t out = to + geometry.w.base(p, op.tileW);
    const int64_t start = geometry.w.source(p, 0, entry.x, op.pW);
    auto [first, last] = insideOf(start - x0, op.sW, x1 - x0, count);
    if (!row)
      first = last = count;
    addGap(out, first);
    if (first != last)
      runs.push_back(
          {*row + (start + static_cast<int64_t>(first * op.sW) - from[2]) *
                      op.srcStrideW,
           out + first, last - first});
    addGap(out + last, count - last);
  }
}

void UnitLoad::plan() {
  const uint64_t height = geometry.height(), width = geometry.width();
  // Rows and columns that a smaller tile has no use for are zero, so that what
  // is read as a whole is defined.
  if (entry.images != op.images || entry.rows != op.tileH ||
      entry.cols != op.tileW)
    addGap(0, geometry.slotElements());
  clearsSlot = !gaps.empty();
  for (uint64_t n = 0; n < entry.images; ++n)
    for (size_t p = 0; p < geometry.h.phases.size(); ++p)
      for (uint64_t r = 0; r < entry.rows + geometry.h.phases[p].halo; ++r) {
        const int64_t y = geometry.h.source(p, r, entry.y, op.pH);
        const uint64_t line = n * height + geometry.h.base(p, op.tileH) + r;
        const auto image = static_cast<int64_t>(entry.n + n);
        std::optional<int64_t> row;
        if (image >= n0 && image < n1 && y >= y0 && y < y1)
          row =
              (image - from[0]) * op.srcStrideN + (y - from[1]) * op.srcStrideH;
        planRow(row, line * width);
      }
}

void UnitLoad::run(const numerics::KernelTable &kernels,
                   const Source &source) const {
  // Bytes that are written may be any object's: what loops read is local.
  const auto [pixels, slot, bytes, fill] = source;
  const int64_t apart = step;
  const auto gather = bytes == 1 ? kernels.gather8 : kernels.gather16;
  for (const Gap gap : llvm::ArrayRef<Gap>(gaps))
    fillShort(slot + gap.to * bytes, fill, gap.count * bytes);
  if (apart == static_cast<int64_t>(bytes)) {
    for (const Run run : llvm::ArrayRef<Run>(runs))
      copyShort(pixels + run.from, run.count * bytes, slot + run.to * bytes);
    return;
  }
  for (const Run run : llvm::ArrayRef<Run>(runs))
    gather(pixels + run.from, apart, run.count, slot + run.to * bytes);
}

/// Mantissas and cells of one unit.
static void loadUnit(Engine &engine, const isa::DmaTile &op,
                     const machine::TileGeometry &geometry, uint64_t unit,
                     const TileEntry &entry) {
  const Memory &memory = engine.memory;
  const uint64_t target = entry.memoryOf(unit);
  const UnitLoad load(op, geometry, entry);
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
    load.run(*engine.kernels,
             {memory.sb(channel % partitions, offsetOf(channel)),
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
    load.run(*engine.kernels,
             {reinterpret_cast<const uint8_t *>(cells),
              memory.fmu(target, op.set, op.exponents + k * elements), 1,
              0x80});
  }
}

/// Opens the tiles of one unit for drains: zeros, which pixels will overwrite.
static void openUnit(Engine &engine, const isa::DmaTile &op,
                     const machine::TileGeometry &geometry, uint64_t unit,
                     const TileEntry &entry) {
  const Memory &memory = engine.memory;
  const uint64_t target = entry.memoryOf(unit);
  const uint64_t elements = geometry.slotElements();
  std::memset(memory.fmu(target, op.set, op.mantissas), 0,
              op.channels * elements * storedBytes(op.type, op.mantissa));
  if (const uint64_t planes = loadedPlanes(op))
    std::memset(memory.fmu(target, op.set, op.exponents), 0x80,
                planes * elements);
}

/// The channels of a drain that a unit holds, from its result, of which
/// \p source says where the tile's first pixel is.
static void keepInUnit(Engine &engine, const isa::DmaTile &source,
                       const machine::TileGeometry &geometry,
                       const isa::ActDrain &op, const isa::MapBox &tile,
                       uint64_t unit, const TileEntry &entry) {
  const Memory &memory = engine.memory;
  const KeptTiles &kept = engine.kept[op.set];
  const auto [first, count] = kept.slotsOf(entry, op.slot, op.cols);
  const uint64_t pixels = keptElements(source, geometry, entry, tile);
  if (count == 0 || pixels == 0)
    return;
  const UnitLoad load(source, geometry, entry, tile);
  const uint64_t target = entry.memoryOf(unit);
  const uint64_t elements = geometry.slotElements();
  const uint64_t bytes = storedBytes(source.type, source.mantissa);
  const uint64_t lane =
      uint64_t(entry.group) * source.groupStep + first - op.slot;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t slot = first + i, partition = source.part + lane + i;
    const uint64_t place = source.mantissas + slot * elements * bytes;
    load.run(*engine.kernels, {memory.sb(partition, source.offset),
                               memory.fmu(target, op.set, place), bytes, 0});
    if (engine.observer)
      engine.observer->tileWrite({engine.current, static_cast<uint32_t>(target),
                                  op.set, place, place + elements * bytes,
                                  op.slot + lane + i, pixels});
    if (source.block == 0 || slot % source.block != 0)
      continue;
    load.run(*engine.kernels,
             {reinterpret_cast<const uint8_t *>(
                  memory.cell(partition, source.offset)),
              memory.fmu(target, op.set,
                         source.exponents + slot / source.block * elements),
              1, 0x80});
  }
}

void Engine::keepResults(const isa::ActDrain &op, const isa::MapBox &tile) {
  const KeptTiles &opened = kept[op.set];
  isa::DmaTile source = opened.op;
  source.part = op.dstPart;
  source.offset = op.dstOffset;
  source.srcStrideN = op.dstStride0;
  source.srcStrideH = op.dstStride1;
  source.srcStrideW = op.dstStride2;
  const machine::TileGeometry geometry = isa::geometryOf(source);
  const uint64_t work = static_cast<uint64_t>(tile.images * tile.rows) *
                        static_cast<uint64_t>(tile.cols) * op.cols;
  split(opened.tiles.size(), observer ? 0 : work,
        [&](uint64_t begin, uint64_t end) {
          for (uint64_t unit = begin; unit < end; ++unit)
            if (!opened.tiles[unit].idle())
              keepInUnit(*this, source, geometry, op, tile, unit,
                         opened.tiles[unit]);
        });
}

void Engine::execute(const isa::DmaTile &op) {
  const TileTable &table = tables[op.table];
  const machine::TileGeometry geometry = isa::geometryOf(op);
  if (op.drained) {
    kept[op.set] = {op, table};
    for (uint64_t unit = 0; unit < table.size(); ++unit)
      if (!table[unit].idle())
        openUnit(*this, op, geometry, unit, table[unit]);
    return;
  }
  if (cutTables[op.table])
    measured[current] = tileLoadCost(*machine, loadedTiles(op, table));
  const uint64_t work = table.size() * op.channels * geometry.slotElements();
  split(table.size(), observer ? 0 : work, [&](uint64_t begin, uint64_t end) {
    for (uint64_t unit = begin; unit < end; ++unit)
      if (!table[unit].idle())
        loadUnit(*this, op, geometry, unit, table[unit]);
  });
}
