// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The units of the sparse cluster in tile mode: coefficients one after another,
// each over the whole resident tile.

#include "Engine.h"
#include "OperandFetch.h"
#include "ashlar/Isa/Tiles.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;
using numerics::OperandWidth;

void Engine::execute(const isa::TccTile &op) {
  writeTiles(op, tables[op.table]);
  cutTables[op.table] = false;
}

void Engine::execute(const isa::TccInit &op) {
  const TileTable &table = tables[op.table];
  const auto fillUnit = [&](uint64_t unit) {
    for (uint64_t z = 0; z < op.regions; ++z) {
      int64_t value = 0;
      if (op.fromMemory && !table[unit].idle())
        std::memcpy(
            &value,
            memory.wm(op.wm + uint64_t(table[unit].group) * op.wmStep + 8 * z),
            sizeof(value));
      std::fill_n(memory.acc(unit, op.acc + z * op.regionStride), op.count,
                  value);
    }
  };
  const uint64_t units = machine->sparse.tcus;
  split(units, units * op.regions * op.count,
        [&](uint64_t begin, uint64_t end) {
          for (uint64_t unit = begin; unit < end; ++unit)
            fillUnit(unit);
        });
}

/// What a run takes of the streams.
static TapForm formNeeded(const Engine &engine, const isa::TccRun &op) {
  return engine.observer ? TapForm::Ordered : formOf(op);
}

namespace {

/// One unit's part of a run.
class UnitRun {
public:
  UnitRun(Engine &engine, const isa::TccRun &op,
          const machine::TileGeometry &geometry, uint64_t unit,
          const TileEntry &entry)
      : engine(engine), op(op), geometry(geometry), unit(unit), entry(entry),
        source(entry.memoryOf(unit)), width(geometry.width()),
        image(geometry.height() * width), fetch(fetchOf(op, engine.memory)) {}

  void run(const TapProgram &taps);
  uint64_t saturated = 0, fetched = 0;

private:
  /// One coefficient over the tile.
  template <typename T>
  void sweep(const Tap &tap, const T *slot) const;
  template <typename T>
  void observed(uint32_t channel, llvm::ArrayRef<Tap> taps,
                const T *slot) const;
  void runChunks(const TapProgram &taps);
  void runChannels(const TapProgram &taps);
  void align(uint64_t channel, uint64_t count, uint8_t *out);
  /// Channels [begin, end) that share their cells with a channel.
  std::pair<uint64_t, uint64_t> planeOf(uint64_t channel) const;

  Engine &engine;
  const isa::TccRun &op;
  const machine::TileGeometry &geometry;
  const uint64_t unit;
  const TileEntry &entry;
  const uint64_t source; ///< Memory unit.
  const uint64_t width, image;
  const Fetch fetch;
};

} // namespace

/// Slots of channels that share their cells, as integers aligned to the feature
/// map's scale exponent.
void UnitRun::align(uint64_t channel, uint64_t count, uint8_t *out) {
  const uint64_t elements = geometry.slotElements();
  const uint64_t pitch = elements * fetch.bytes();
  const uint8_t *raw =
      engine.memory.fmu(source, op.set, op.mantissas + channel * pitch);
  const int8_t *cells = nullptr;
  if (op.block != 0)
    cells = reinterpret_cast<const int8_t *>(engine.memory.fmu(
        source, op.set,
        op.exponents + (op.phase + channel) / op.block * elements));
  fetchRows(*engine.kernels, fetch, {raw, pitch, count, cells}, elements,
            {out, static_cast<ptrdiff_t>(elements)}, saturated);
  fetched += count * elements;
}

std::pair<uint64_t, uint64_t> UnitRun::planeOf(uint64_t channel) const {
  // Without blocks a few channels at a time, which stay in the host's cache.
  const uint64_t size = op.block != 0 ? op.block : 16;
  const uint64_t phase = op.block != 0 ? op.phase : 0;
  const uint64_t plane = (phase + channel) / size;
  const uint64_t begin = plane * size;
  return {begin > phase ? begin - phase : 0,
          std::min<uint64_t>(op.channels, begin + size - phase)};
}

template <typename T>
void UnitRun::sweep(const Tap &tap, const T *slot) const {
  int64_t *sums = engine.memory.acc(unit, op.acc + tap.entry);
  for (uint64_t n = 0; n < entry.images; ++n)
    for (uint64_t y = 0; y < entry.rows; ++y) {
      const T *line = slot + tap.element + n * image + y * width;
      int64_t *to = sums + (n * op.tileH + y) * op.tileW;
      for (uint64_t x = 0; x < entry.cols; ++x)
        to[x] += line[x] * tap.value;
    }
}

/// The same as the machine does it: the row shift picks the address from which
/// a line is read, the line is shifted by the column shift, all lanes multiply
/// by the one coefficient, and the sums of its region are overwritten.
template <typename T>
void UnitRun::observed(uint32_t channel, llvm::ArrayRef<Tap> taps,
                       const T *slot) const {
  std::vector<T> line(width);
  for (const Tap &tap : taps) {
    const isa::Coefficient &c = tap.coefficient;
    engine.observer->issue(engine.current, static_cast<uint32_t>(unit), channel,
                           c);
    const machine::AxisPhases::Tap &row = geometry.h.taps[c.ky];
    const machine::AxisPhases::Tap &column = geometry.w.taps[c.kx];
    const uint64_t rowShift =
        geometry.h.base(row.phase, geometry.rows) + row.shift;
    const uint64_t columnShift =
        geometry.w.base(column.phase, geometry.cols) + column.shift;
    for (uint64_t n = 0; n < entry.images; ++n)
      for (uint64_t y = 0; y < entry.rows; ++y) {
        const uint64_t start = n * image + (rowShift + y) * width;
        std::copy_n(slot + start, width, line.begin());
        std::rotate(line.begin(),
                    line.begin() + static_cast<ptrdiff_t>(columnShift),
                    line.end());
        const uint64_t sums =
            op.acc + tap.entry + (n * op.tileH + y) * op.tileW;
        for (uint64_t x = 0; x < entry.cols; ++x) {
          const int64_t product = line[x] * tap.value;
          *engine.memory.acc(unit, sums + x) += product;
        }
        engine.observer->line(
            {engine.current, static_cast<uint32_t>(unit), op.set, channel, c,
             op.mantissas +
                 (channel * geometry.slotElements() + start) * fetch.bytes(),
             columnShift, entry.cols, sums});
      }
  }
  engine.observer->endChannel(engine.current, static_cast<uint32_t>(unit),
                              channel);
}

/// Elements of 16 bits: chunks of coefficients, through the kernel.
void UnitRun::runChunks(const TapProgram &taps) {
  const uint64_t elements = geometry.slotElements();
  auto *slots = Scratch::ofThisThread().get<int16_t>(
      Scratch::Moving, op.channels * elements + numerics::kTileSlack);
  // What no coefficient uses is not fetched.
  llvm::SmallVector<bool, 64> open(op.channels);
  for (uint32_t c = 0; c < op.channels; ++c)
    open[c] = taps.uses(c);
  auto alignPlane = [&](uint64_t c, uint64_t end) {
    for (uint64_t last; c < end; c = last) {
      for (last = c; last < end && open[last]; ++last)
        open[last] = false;
      if (last != c)
        align(c, last - c, reinterpret_cast<uint8_t *>(slots + c * elements));
      else
        ++last;
    }
  };
  auto alignChannels = [&](uint64_t begin, uint64_t end) {
    for (uint64_t c = begin; c < end; ++c)
      if (open[c]) {
        auto [first, last] = planeOf(c);
        alignPlane(first, last);
      }
  };
  const numerics::TileShape shape = {
      entry.images, entry.rows, entry.cols,
      image,        width,      uint64_t(op.tileH) * op.tileW,
      op.tileW};
  for (const TapProgram::Chunk &chunk : taps.chunks()) {
    alignChannels(chunk.firstChannel, chunk.endChannel);
    engine.kernels->sweepTile(slots, taps.tapsOf(chunk), shape,
                              engine.memory.acc(unit, op.acc + chunk.entry));
  }
  // What only zeros and wide coefficients use is fetched as well.
  alignChannels(0, op.channels);
  for (const Tap &tap : taps.wide())
    sweep(tap, slots + tap.channel * elements);
}

/// Elements of 32 bits, or an observer: in the order of the stream.
void UnitRun::runChannels(const TapProgram &taps) {
  const bool narrow = fetch.width() == OperandWidth::Int16;
  auto *slot = Scratch::ofThisThread().get<uint8_t>(
      Scratch::Moving, geometry.slotElements() * widthBytes(fetch.width()));
  const auto *shorts = reinterpret_cast<const int16_t *>(slot);
  const auto *words = reinterpret_cast<const int32_t *>(slot);
  for (uint32_t i = 0; i < op.channels; ++i) {
    llvm::ArrayRef<Tap> list = taps.of(i);
    if (list.empty() && !engine.observer)
      continue;
    align(i, 1, slot);
    if (engine.observer)
      narrow ? observed(i, list, shorts) : observed(i, list, words);
    else
      for (const Tap &tap : list)
        sweep(tap, words);
  }
}

void UnitRun::run(const TapProgram &taps) {
  if (formNeeded(engine, op) == TapForm::Chunks)
    runChunks(taps);
  else
    runChannels(taps);
}

void Engine::execute(const isa::TccRun &op) {
  const TileTable &table = tables[op.table];
  const machine::TileGeometry geometry = isa::geometryOf(op);
  const TapLayout layout(op);
  std::vector<std::shared_ptr<const TapProgram>> groups(op.groups);
  uint64_t work = 0;
  for (const TileEntry &entry : table) {
    if (entry.idle())
      continue;
    if (!groups[entry.group])
      groups[entry.group] = tapPrograms->find(
          layout, formNeeded(*this, op),
          {memory.wm(op.wm + uint64_t(entry.group) * op.wmStep), op.bytes});
    work += groups[entry.group]->size() * entry.results();
  }
  split(table.size(), observer ? 0 : work, [&](uint64_t begin, uint64_t end) {
    uint64_t saturated = 0, read = 0;
    for (uint64_t unit = begin; unit < end; ++unit) {
      const TileEntry &entry = table[unit];
      if (entry.idle())
        continue;
      UnitRun run(*this, op, geometry, unit, entry);
      run.run(*groups[entry.group]);
      saturated += run.saturated;
      read += run.fetched;
    }
    std::lock_guard<std::mutex> lock(mutex);
    counters.saturated += saturated;
    fetched += read;
  });
  if (op.scatter)
    measureScatter(op);
  else if (cutTables[op.table])
    measureTiles(op);
}
