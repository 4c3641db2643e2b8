// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The units of the sparse cluster in tile mode: coefficients one after another,
// each over the whole resident tile.

#include "Engine.h"
#include "OperandFetch.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Isa/Tiles.h"
#include "llvm/ADT/ArrayRef.h"
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
  for (uint64_t unit = 0; unit < machine->sparse.tcus; ++unit)
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
}

namespace {

/// A coefficient with the places that it names.
struct Tap {
  uint64_t element; ///< Of the slot, for the first result of a tile.
  uint64_t entry;   ///< Accumulator of that result.
  int64_t value;
  isa::Coefficient coefficient;
};

/// The stream of one group, decoded.
class Taps : public isa::StreamVisitor {
public:
  Taps(const isa::TccRun &op, const machine::TileGeometry &geometry)
      : op(op), geometry(geometry) {}

  void coefficient(uint32_t, const isa::Coefficient &entry) override {
    if (entry.mantissa == 0 && !op.issueZeros)
      return;
    taps.push_back({geometry.tapElement(entry.ky, entry.kx),
                    op.acc + uint64_t(entry.z) * op.regionStride, entry.value(),
                    entry});
  }
  void endChannel(uint32_t) override { ends.push_back(taps.size()); }

  /// The coefficients of a channel.
  llvm::ArrayRef<Tap> of(uint64_t channel) const {
    const uint64_t begin = channel == 0 ? 0 : ends[channel - 1];
    return llvm::ArrayRef<Tap>(taps).slice(begin, ends[channel] - begin);
  }
  uint64_t size() const { return taps.size(); }

private:
  const isa::TccRun &op;
  const machine::TileGeometry &geometry;
  std::vector<Tap> taps;
  std::vector<uint64_t> ends;
};

/// One unit's part of a run.
class UnitRun {
public:
  UnitRun(Engine &engine, const isa::TccRun &op,
          const machine::TileGeometry &geometry, uint64_t unit,
          const TileEntry &entry)
      : engine(engine), op(op), geometry(geometry), unit(unit), entry(entry),
        source(entry.memoryOf(unit)), width(geometry.width()),
        image(geometry.height() * width), fetch(fetchOf(op, engine.memory)) {}

  void run(const Taps &taps);
  uint64_t saturated = 0, fetched = 0;

private:
  /// One coefficient over the tile.
  template <typename T, typename W>
  void sweep(const Tap &tap, W weight, const T *slot) const;
  template <typename T>
  void channel(llvm::ArrayRef<Tap> taps, const T *slot) const;
  template <typename T>
  void observed(uint32_t channel, llvm::ArrayRef<Tap> taps,
                const T *slot) const;
  uint8_t *align(uint64_t channel);

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

/// A slot as integers aligned to the map's scale exponent.
uint8_t *UnitRun::align(uint64_t channel) {
  const uint64_t elements = geometry.slotElements();
  const uint8_t *raw = engine.memory.fmu(
      source, op.set, op.mantissas + channel * elements * fetch.bytes());
  const int8_t *cells = nullptr;
  if (op.block != 0)
    cells = reinterpret_cast<const int8_t *>(engine.memory.fmu(
        source, op.set,
        op.exponents + (op.phase + channel) / op.block * elements));
  auto *out = Scratch::ofThisThread().get<uint8_t>(
      Scratch::Moving, elements * widthBytes(fetch.width()));
  fetchRows(*engine.kernels, fetch, raw, elements, 1, cells, elements, out,
            elements, saturated);
  fetched += elements;
  return out;
}

template <typename T, typename W>
void UnitRun::sweep(const Tap &tap, W weight, const T *slot) const {
  int64_t *sums = engine.memory.acc(unit, tap.entry);
  for (uint64_t n = 0; n < entry.images; ++n)
    for (uint64_t y = 0; y < entry.rows; ++y) {
      const T *line = slot + tap.element + n * image + y * width;
      int64_t *to = sums + (n * op.tileH + y) * op.tileW;
      for (uint64_t x = 0; x < entry.cols; ++x)
        to[x] += line[x] * weight;
    }
}

template <typename T>
void UnitRun::channel(llvm::ArrayRef<Tap> taps, const T *slot) const {
  for (const Tap &tap : taps) {
    // Products of 16 bits by 16 fit 32, which hosts multiply many at a time.
    const auto narrow = static_cast<int16_t>(tap.value);
    if (sizeof(T) == sizeof(int16_t) && narrow == tap.value)
      sweep(tap, narrow, slot);
    else
      sweep(tap, tap.value, slot);
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
        const uint64_t sums = tap.entry + (n * op.tileH + y) * op.tileW;
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

void UnitRun::run(const Taps &taps) {
  const bool narrow = fetch.width() == OperandWidth::Int16;
  for (uint32_t i = 0; i < op.channels; ++i) {
    llvm::ArrayRef<Tap> list = taps.of(i);
    if (list.empty() && !engine.observer)
      continue;
    const uint8_t *slot = align(i);
    const auto *shorts = reinterpret_cast<const int16_t *>(slot);
    const auto *words = reinterpret_cast<const int32_t *>(slot);
    if (engine.observer)
      narrow ? observed(i, list, shorts) : observed(i, list, words);
    else
      narrow ? channel(list, shorts) : channel(list, words);
  }
}

void Engine::execute(const isa::TccRun &op) {
  const TileTable &table = tables[op.table];
  const machine::TileGeometry geometry = isa::geometryOf(op);
  std::vector<Taps> groups(op.groups, Taps(op, geometry));
  std::vector<bool> decoded(op.groups, false);
  uint64_t work = 0;
  for (const TileEntry &entry : table) {
    if (entry.idle())
      continue;
    if (!decoded[entry.group]) {
      // The loader has decoded the same bytes without an error.
      llvm::ArrayRef<uint8_t> bytes(
          memory.wm(op.wm + uint64_t(entry.group) * op.wmStep), op.bytes);
      llvm::cantFail(isa::decodeStream(bytes, groups[entry.group]));
      decoded[entry.group] = true;
    }
    work += groups[entry.group].size() * entry.results();
  }
  split(table.size(), observer ? 0 : work, [&](uint64_t begin, uint64_t end) {
    uint64_t saturated = 0, read = 0;
    for (uint64_t unit = begin; unit < end; ++unit) {
      const TileEntry &entry = table[unit];
      if (entry.idle())
        continue;
      UnitRun run(*this, op, geometry, unit, entry);
      run.run(groups[entry.group]);
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
