// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phase planes of a slot are cut into blocks; each kernel slice meets each
// block of its phase. Closed forms where positions do not matter, the block
// model otherwise. Kernels of one tap meet a block all together.

#include "ScatterTime.h"
#include "../State/RunTimeCuts.h"
#include "../State/TensorView.h"
#include "StreamWalk.h"
#include "ashlar/Isa/Tiles.h"
#include "ashlar/Machine/Cycles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <set>
#include <tuple>

using namespace ashlar;
using namespace ashlar::emulator;

/// True if the cycles of a block follow from its counts alone.
static bool isClosed(const ScatterUnit &unit) {
  return unit.variant <= ScatterVariant::B ||
         (unit.variant == ScatterVariant::D && unit.weightsPerStep <= 2);
}

static ScatterUnit unitOf(const machine::Description &machine,
                          const isa::TccRun &op, uint64_t lanes) {
  return {static_cast<ScatterVariant>(op.variant), static_cast<uint32_t>(lanes),
          static_cast<uint32_t>(machine.sparse.coefficientsPerStep), 0,
          static_cast<uint32_t>(machine.sparse.windowShift)};
}

//===- Streams ------------------------------------------------------------===//

namespace {

/// A stream by channels.
class Channels : public isa::StreamVisitor {
public:
  void coefficient(uint32_t, const isa::Coefficient &entry) override {
    open.push_back(entry);
    ++entries;
  }
  void endChannel(uint32_t) override {
    lists.push_back(std::move(open));
    open.clear();
  }

  std::vector<isa::Coefficient> open;
  std::vector<std::vector<isa::Coefficient>> lists;
  uint64_t entries = 0;
};

} // namespace

ScatterStream::Form ScatterStream::formOf(const isa::TccRun &op) {
  return {op.kH, op.kW, op.sH,      op.sW,
          op.dH, op.dW, op.variant, static_cast<int64_t>(op.regionStride)};
}

ScatterStream::ScatterStream(const machine::Description &machine,
                             const isa::TccRun &op,
                             llvm::ArrayRef<uint8_t> stream) {
  // The loader has decoded the same bytes without an error.
  weightBits = llvm::cantFail(isa::readStreamHeader(stream)).shape.mantissaBits;
  Channels all;
  bytes = llvm::cantFail(isa::decodeStream(stream, all));
  entries = all.entries;
  const machine::TileGeometry geometry = isa::geometryOf(op);
  for (llvm::ArrayRef<isa::Coefficient> list : all.lists) {
    std::vector<Slice> slices = slicesOf(machine, op, geometry, list);
    repeats.push_back(!channels.empty() && channels.back() == slices);
    if (!repeats.back()) {
      this->slices += slices.size();
      for (const Slice &slice : slices)
        places += slice.entries.size() + slice.taps.size();
    }
    channels.push_back(std::move(slices));
  }
}

namespace {
/// Weights that meet the same blocks.
struct Kernel {
  std::vector<ScatterItem> weights;
  std::vector<uint32_t> entries, taps; ///< As of a slice.
};
} // namespace

/// Cycles in which the window of the unit moves on between the weights of a
/// kernel, in the order of the stream.
static uint64_t movesOf(const machine::Description &machine,
                        const isa::TccRun &op,
                        llvm::ArrayRef<ScatterItem> weights) {
  uint64_t cycles = 0;
  for (size_t i = 1; i < weights.size(); ++i)
    cycles +=
        machine::windowMove(machine, static_cast<ScatterVariant>(op.variant),
                            windowDistance(weights[i - 1], weights[i]));
  return cycles;
}

std::vector<ScatterStream::Slice>
ScatterStream::slicesOf(const machine::Description &machine,
                        const isa::TccRun &op,
                        const machine::TileGeometry &geometry,
                        llvm::ArrayRef<isa::Coefficient> coefficients) {
  const bool oneTap = geometry.h.taps.size() * geometry.w.taps.size() == 1;
  const bool closed = isClosed(unitOf(machine, op, machine.sparse.lanes));
  // Windows of registers have a place for every sum.
  const bool banks =
      machine.sparse.accumulatorBanks > 0 &&
      (oneTap || static_cast<ScatterVariant>(op.variant) != ScatterVariant::A);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Kernel> kernels;
  for (const isa::Coefficient &c : coefficients) {
    if (c.mantissa == 0)
      continue;
    const machine::AxisPhases::Tap &row = geometry.h.taps[c.ky];
    const machine::AxisPhases::Tap &col = geometry.w.taps[c.kx];
    Kernel &kernel = kernels[{oneTap ? 0 : c.z, row.phase, col.phase}];
    kernel.weights.push_back(
        {static_cast<int32_t>(row.shift), static_cast<int32_t>(col.shift), 1});
    if (banks && oneTap)
      kernel.entries.push_back(c.z * op.regionStride);
    else if (banks)
      kernel.taps.push_back(c.ky * op.kW + c.kx);
  }
  std::vector<Slice> slices;
  for (auto &[key, kernel] : kernels) {
    llvm::sort(kernel.taps);
    Slice slice{std::get<1>(key),
                std::get<2>(key),
                kernel.weights.size(),
                1,
                oneTap ? 1 : kernel.weights.size(),
                oneTap ? 0 : movesOf(machine, op, kernel.weights),
                std::move(kernel.entries),
                std::move(kernel.taps),
                {}};
    auto same = llvm::find_if(slices, [&](const Slice &other) {
      return other.rowPhase == slice.rowPhase &&
             other.colPhase == slice.colPhase &&
             other.weights == slice.weights && other.taps == slice.taps &&
             other.moves == slice.moves;
    });
    if (closed && same != slices.end()) {
      ++same->times;
      continue;
    }
    if (!closed)
      slice.items = std::move(kernel.weights);
    slices.push_back(std::move(slice));
  }
  return slices;
}

//===- Units --------------------------------------------------------------===//

ScatterTime::ScatterTime(const machine::Description &machine,
                         const isa::TccRun &op, const TileEntry &entry,
                         uint64_t lanes, uint64_t passes)
    : machine(machine), op(op), entry(entry), geometry(isa::geometryOf(op)),
      unit(unitOf(machine, op, lanes)),
      oneTap(geometry.h.taps.size() * geometry.w.taps.size() == 1),
      passes(passes), counts(machine), inBank(machine.sparse.accumulatorBanks) {
  for (uint64_t image = 0; image < entry.images; ++image)
    for (uint32_t r = 0; r < geometry.h.phases.size(); ++r)
      for (uint32_t c = 0; c < geometry.w.phases.size(); ++c)
        addPlane(image, r, c);
}

void ScatterTime::addPlane(uint64_t image, uint32_t rowPhase,
                           uint32_t colPhase) {
  Plane plane;
  plane.like.rowPhase = rowPhase;
  plane.like.colPhase = colPhase;
  plane.like.image = image;
  plane.rows = entry.rows + geometry.h.phases[rowPhase].halo;
  plane.cols = entry.cols + geometry.w.phases[colPhase].halo;
  plane.height = op.blockH ? op.blockH : plane.rows;
  plane.width = op.blockW ? op.blockW : plane.cols;
  plane.across = llvm::divideCeil(plane.cols, plane.width);
  plane.origin =
      (image * geometry.height() + geometry.h.base(rowPhase, geometry.rows)) *
          geometry.width() +
      geometry.w.base(colPhase, geometry.cols);
  plane.like.window =
      std::min<uint64_t>(entry.rows,
                         plane.height + geometry.h.phases[rowPhase].halo) *
      std::min<uint64_t>(entry.cols,
                         plane.width + geometry.w.phases[colPhase].halo);
  planes.push_back(std::move(plane));
}

/// True if times depend on where the data of a block lie.
bool ScatterTime::needsPlaces() const {
  return (!isClosed(unit) && !oneTap) || machine.sparse.accumulatorBanks > 0;
}

void ScatterTime::collectPlane(const Plane &plane,
                               llvm::function_ref<bool(uint64_t)> isZero) {
  const bool places = needsPlaces();
  for (uint64_t y = 0; y < plane.rows; ++y)
    for (uint64_t x = 0; x < plane.cols; ++x) {
      if (isZero(plane.origin + y * geometry.width() + x))
        continue;
      Block &block = blocks[plane.firstBlock + y / plane.height * plane.across +
                            x / plane.width];
      ++block.data;
      if (places)
        block.items.push_back(
            {static_cast<int32_t>(y), static_cast<int32_t>(x), 1});
    }
}

void ScatterTime::collect(llvm::function_ref<bool(uint64_t)> isZero) {
  if (blocks.empty())
    for (Plane &plane : planes) {
      plane.firstBlock = blocks.size();
      blocks.resize(blocks.size() + llvm::divideCeil(plane.rows, plane.height) *
                                        plane.across,
                    plane.like);
    }
  for (Block &block : blocks) {
    block.data = 0;
    block.items.clear();
    for (TapSums &sums : block.sums)
      sums.known = false;
  }
  for (const Plane &plane : planes)
    collectPlane(plane, isZero);
}

namespace {
/// Blocks along one axis of a plane that differ by a shift alone.
struct BlocksAlike {
  uint64_t begin = 0, end = 0;
  uint64_t times = 0;
};
} // namespace

/// The blocks of \p size along an axis. Where results begin and end alike the
/// entries that two blocks name are all as far apart: a bank of one is another
/// bank of the other.
static std::vector<BlocksAlike> blocksAlong(uint64_t extent, uint64_t size,
                                            uint64_t halo) {
  std::map<std::array<uint64_t, 3>, size_t> seen;
  std::vector<BlocksAlike> found;
  for (uint64_t begin = 0; begin < extent; begin += size) {
    const uint64_t end = std::min(begin + size, extent);
    const auto [place, isNew] = seen.try_emplace(
        {end - begin, std::min(begin, halo), std::min(extent - end, halo)},
        found.size());
    if (isNew)
      found.push_back({begin, end, 0});
    ++found[place->second].times;
  }
  return found;
}

void ScatterTime::collectAll() {
  // Where products meet in an accumulator, their order may count.
  if (!isClosed(unit) && !oneTap)
    return collect([](uint64_t) { return false; });
  const bool places = needsPlaces();
  for (const Plane &plane : planes) {
    if (plane.like.image > 0)
      continue;
    const auto cols = blocksAlong(plane.cols, plane.width,
                                  geometry.w.phases[plane.like.colPhase].halo);
    for (const BlocksAlike &row :
         blocksAlong(plane.rows, plane.height,
                     geometry.h.phases[plane.like.rowPhase].halo))
      for (const BlocksAlike &col : cols) {
        Block block = plane.like;
        block.times = entry.images * row.times * col.times;
        block.data = (row.end - row.begin) * (col.end - col.begin);
        for (uint64_t y = row.begin; places && y < row.end; ++y)
          for (uint64_t x = col.begin; x < col.end; ++x)
            block.items.push_back(
                {static_cast<int32_t>(y), static_cast<int32_t>(x), 1});
        blocks.push_back(std::move(block));
      }
  }
}

llvm::Expected<uint64_t>
ScatterTime::multiply(const Block &block, const ScatterStream::Slice &slice) {
  if (oneTap || slice.items.empty()) {
    total.products += block.times * block.data * slice.weights * slice.times;
    return oneTap ? machine::scatterPointCycles(unit.multipliers, block.data,
                                                slice.weights)
                  : machine::scatterCycles(unit.variant, unit.multipliers,
                                           unit.weightsPerStep, block.data,
                                           slice.weights);
  }
  const ScatterKernel kernel{
      static_cast<int32_t>(geometry.h.phases[slice.rowPhase].halo + 1),
      static_cast<int32_t>(geometry.w.phases[slice.colPhase].halo + 1)};
  ScatterCounters counters;
  if (llvm::Error error = scatterBlock(
          unit, block.items, slice.items, kernel,
          [](int32_t, int32_t, int64_t) {}, counters))
    return error;
  total.products += counters.issues;
  return counters.cycles;
}

/// Products of a block with one weight at a tap, by bank; those outside the
/// unit's own results are dropped before.
const machine::BankCounts &ScatterTime::sumsUnder(Block &block,
                                                  uint32_t tap) const {
  if (tap >= block.sums.size())
    block.sums.resize(tap + 1, {false, machine::BankCounts(machine)});
  TapSums &sums = block.sums[tap];
  if (sums.known)
    return sums.counts;
  sums.known = true;
  sums.counts.clear();
  const Results results = resultsOf(block, tap);
  for (const ScatterItem &datum : block.items)
    if (const uint64_t to = results.entryOf(datum); to != noEntry)
      sums.counts.add(to);
  return sums.counts;
}

ScatterTime::Results ScatterTime::resultsOf(const Block &block,
                                            uint32_t tap) const {
  const uint64_t rowShift = geometry.h.taps[tap / op.kW].shift;
  const uint64_t colShift = geometry.w.taps[tap % op.kW].shift;
  return {entry.rows, entry.cols, rowShift,
          colShift,   op.tileW,   block.image * op.tileH * op.tileW};
}

/// Sums of a slice over a block in the fullest bank, one by one.
uint64_t ScatterTime::sumsEach(const Block &block,
                               const ScatterStream::Slice &slice) {
  const uint64_t mask = inBank.size() - 1; // A power of two.
  const size_t most =
      block.items.size() * (slice.taps.size() + slice.entries.size());
  if (counted.size() < most)
    counted.resize(most);
  uint32_t *const sums = inBank.data();
  uint32_t *next = counted.data();
  uint32_t fullest = 0;
  auto count = [&](uint64_t to) {
    const auto bank = static_cast<uint32_t>(to & mask);
    fullest = std::max(fullest, ++sums[bank]);
    *next++ = bank;
  };
  for (uint32_t tap : slice.taps) {
    const Results results = resultsOf(block, tap);
    for (const ScatterItem &datum : block.items)
      if (const uint64_t to = results.entryOf(datum); to != noEntry)
        count(to);
  }
  if (!slice.entries.empty()) {
    const Results results = resultsOf(block, 0);
    for (const ScatterItem &datum : block.items)
      if (const uint64_t to = results.entryOf(datum); to != noEntry)
        for (uint32_t offset : slice.entries)
          count(to + offset);
  }
  for (const uint32_t *bank = counted.data(); bank != next; ++bank)
    sums[*bank] = 0;
  return fullest;
}

/// Sums of a slice over a block in the fullest bank.
uint64_t ScatterTime::bankSums(Block &block,
                               const ScatterStream::Slice &slice) {
  if (slice.entries.empty() && slice.taps.empty())
    return 0;
  if (slice.taps.size() == 1)
    return sumsUnder(block, slice.taps.front()).fullest();
  if (block.items.size() < inBank.size())
    return sumsEach(block, slice);
  counts.clear();
  for (uint32_t tap : slice.taps)
    counts.add(sumsUnder(block, tap));
  for (uint32_t offset : slice.entries)
    counts.add(sumsUnder(block, 0), offset);
  return counts.fullest();
}

llvm::Error ScatterTime::slice(const ScatterStream::Slice &slice) {
  total.searched += slice.times * entry.images *
                    (entry.rows + geometry.h.phases[slice.rowPhase].halo) *
                    (entry.cols + geometry.w.phases[slice.colPhase].halo);
  for (Block &block : blocks) {
    if (block.rowPhase != slice.rowPhase || block.colPhase != slice.colPhase)
      continue;
    llvm::Expected<uint64_t> cycles = multiply(block, slice);
    if (!cycles)
      return cycles.takeError();
    if (block.data == 0)
      continue;
    // Kernels of one tap write by address in all variants.
    const ScatterVariant variant = oneTap ? ScatterVariant::B : unit.variant;
    pass += block.times * slice.times *
            machine::scatterSlice(machine, variant, *cycles + slice.moves,
                                  bankSums(block, slice), block.window);
    latency = std::max(latency,
                       machine::scatterLatency(machine, variant, slice.most));
  }
  return llvm::Error::success();
}

llvm::Error ScatterTime::channel(llvm::ArrayRef<ScatterStream::Slice> slices) {
  before = total;
  if (slices.empty())
    return llvm::Error::success();
  pass = latency = 0;
  for (const ScatterStream::Slice &own : slices)
    if (llvm::Error error = slice(own))
      return error;
  // The next channel is searched while this one is multiplied.
  total.cycles +=
      std::max({pass * passes, latency,
                machine::scanCycles(
                    machine, geometry.loadedElements(entry.images, entry.rows,
                                                     entry.cols))});
  return llvm::Error::success();
}

void ScatterTime::repeat() {
  const Sums last = before;
  before = total;
  total.products += before.products - last.products;
  total.searched += before.searched - last.searched;
  total.cycles += before.cycles - last.cycles;
}

//===- Units that are alike -----------------------------------------------===//

TimedUnits::Kind TimedUnits::kindOf(const isa::TccRun &op,
                                    const TileEntry &entry, uint64_t lanes,
                                    uint64_t passes) {
  return {entry.images, entry.rows, entry.cols, lanes,     passes,
          op.images,    op.tileH,   op.tileW,   op.blockH, op.blockW};
}

const TimedWork *TimedUnits::find(const Kind &kind) const {
  const auto found = known.find(kind);
  return found == known.end() ? nullptr : &found->second;
}

const TimedWork &TimedUnits::keep(const Kind &kind, const TimedWork &work) {
  // More than the tiles of a layer have; a program may name any number.
  constexpr size_t mostKinds = 1024;
  if (known.size() >= mostKinds)
    known.clear();
  return known[kind] = work;
}

/// Runs the channels of a stream through `time`. Without data all channels are
/// alike.
static TimedWork
workOf(ScatterTime time, const ScatterStream &stream,
       llvm::function_ref<bool(uint64_t channel, uint64_t element)> isZero) {
  if (!isZero)
    time.collectAll();
  for (uint64_t i = 0; i < stream.channels.size(); ++i) {
    if (isZero && !stream.channels[i].empty())
      time.collect([&](uint64_t element) { return isZero(i, element); });
    if (!isZero && stream.repeats[i])
      time.repeat();
    else
      // Queues hold P products, as many as can ever wait.
      llvm::cantFail(time.channel(stream.channels[i]));
  }
  return {time.products(), time.searched(), time.cycles()};
}

std::shared_ptr<const ScatterStream>
emulator::findStream(const machine::Description &machine, const isa::TccRun &op,
                     llvm::ArrayRef<uint8_t> bytes, ScatterStreams &known) {
  const ScatterStream::Form form = ScatterStream::formOf(op);
  if (auto found = known.find(form, bytes))
    return found;
  return known.keep(form, bytes, ScatterStream(machine, op, bytes));
}

Cost emulator::scatterCost(
    const machine::Description &machine, const isa::TccRun &op,
    const TileTable &table, ScatterStreams &known,
    llvm::function_ref<llvm::ArrayRef<uint8_t>(uint32_t)> streamOf,
    llvm::function_ref<bool(uint64_t, uint64_t, uint64_t)> isZero,
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t)> each) {
  Cost cost;
  uint64_t cycles = 0;
  std::map<uint32_t, std::shared_ptr<const ScatterStream>> streams;
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const TileEntry &entry = table[unit];
    if (entry.idle())
      continue;
    std::shared_ptr<const ScatterStream> &stream = streams[entry.group];
    if (!stream) {
      stream = findStream(machine, op, streamOf(entry.group), known);
      cost.streamBytes += stream->bytes;
      cost.weightBits = stream->weightBits;
    }
    const uint64_t lanes = machine.sparse.lanesOf(unit);
    const uint64_t passes = clusterPasses(machine, op, stream->weightBits);
    auto run = [&](llvm::function_ref<bool(uint64_t, uint64_t)> isZeroOfUnit) {
      return workOf(ScatterTime(machine, op, entry, lanes, passes), *stream,
                    isZeroOfUnit);
    };
    TimedWork work;
    if (isZero) {
      work = run([&](uint64_t channel, uint64_t element) {
        return isZero(unit, channel, element);
      });
    } else {
      const TimedUnits::Kind kind =
          TimedUnits::kindOf(op, entry, lanes, passes);
      const TimedWork *alike = stream->timed->find(kind);
      work = alike ? *alike : stream->timed->keep(kind, run({}));
    }
    cycles = std::max(
        {cycles, work.cycles, machine::tileDecode(machine, stream->entries)});
    cost.macs += work.products;
    cost.work += work.products * passes;
    cost.fmuBytes += work.searched * operandBytes(op);
    each(unit, work.cycles, work.products);
  }
  cycles = routedCycles(machine, op, table, cycles);
  cost.timing = {cycles, cycles, 0};
  return cost;
}

isa::TccRun emulator::boundingRun(const machine::Description &machine,
                                  const isa::TccRun &op) {
  isa::TccRun bound = op;
  // No variant that adds by address is slower than one weight per step.
  if (op.variant >= uint32_t(ScatterVariant::C) &&
      (op.variant == uint32_t(ScatterVariant::C) ||
       machine.sparse.coefficientsPerStep > 2))
    bound.variant = uint32_t(ScatterVariant::B);
  return bound;
}

uint64_t ScatterTime::steps(const ScatterStream &stream) const {
  constexpr uint64_t perSlice = 8, perSum = 2;
  uint64_t steps = stream.channels.size();
  for (const Block &block : blocks)
    steps += perSlice * (1 + stream.slices) +
             perSum * stream.places *
                 std::min<uint64_t>(inBank.size(), block.items.size());
  return steps;
}

uint64_t emulator::scatterSteps(
    const machine::Description &machine, const isa::TccRun &op,
    const TileTable &table,
    llvm::function_ref<const ScatterStream &(uint32_t)> streamOf) {
  uint64_t steps = 0;
  std::set<std::pair<uint32_t, TimedUnits::Kind>> seen;
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const TileEntry &entry = table[unit];
    if (entry.idle())
      continue;
    const ScatterStream &stream = streamOf(entry.group);
    const uint64_t lanes = machine.sparse.lanesOf(unit);
    const uint64_t passes = clusterPasses(machine, op, stream.weightBits);
    const TimedUnits::Kind kind = TimedUnits::kindOf(op, entry, lanes, passes);
    if (stream.timed->find(kind) || !seen.insert({entry.group, kind}).second)
      continue;
    ScatterTime time(machine, op, entry, lanes, passes);
    time.collectAll();
    steps += time.steps(stream);
  }
  return steps;
}
