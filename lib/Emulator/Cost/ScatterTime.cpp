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

#include <map>
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
          static_cast<uint32_t>(machine.sparse.coefficientsPerStep), 0};
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

ScatterStream::ScatterStream(const machine::Description &machine,
                             const isa::TccRun &op,
                             llvm::ArrayRef<uint8_t> stream) {
  // The loader has decoded the same bytes without an error.
  weightBits = llvm::cantFail(isa::readStreamHeader(stream)).shape.mantissaBits;
  Channels all;
  bytes = llvm::cantFail(isa::decodeStream(stream, all));
  entries = all.entries;
  const machine::TileGeometry geometry = isa::geometryOf(op);
  for (llvm::ArrayRef<isa::Coefficient> list : all.lists)
    channels.push_back(slicesOf(machine, op, geometry, list));
}

namespace {
/// Weights that meet the same blocks.
struct Kernel {
  std::vector<ScatterItem> weights;
  std::vector<uint32_t> entries, taps; ///< As of a slice.
};
} // namespace

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
                std::move(kernel.entries),
                std::move(kernel.taps),
                {}};
    auto same = llvm::find_if(slices, [&](const Slice &other) {
      return other.rowPhase == slice.rowPhase &&
             other.colPhase == slice.colPhase &&
             other.weights == slice.weights && other.taps == slice.taps;
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
      passes(passes), counts(machine) {}

void ScatterTime::collectPhase(llvm::function_ref<bool(uint64_t)> isZero,
                               uint64_t image, uint32_t rowPhase,
                               uint32_t colPhase) {
  const uint64_t rows = entry.rows + geometry.h.phases[rowPhase].halo;
  const uint64_t cols = entry.cols + geometry.w.phases[colPhase].halo;
  const uint64_t height = op.blockH ? op.blockH : rows;
  const uint64_t width = op.blockW ? op.blockW : cols;
  const uint64_t across = (cols + width - 1) / width;
  const size_t first = blocks.size();
  const uint64_t window =
      std::min<uint64_t>(entry.rows,
                         height + geometry.h.phases[rowPhase].halo) *
      std::min<uint64_t>(entry.cols, width + geometry.w.phases[colPhase].halo);
  blocks.resize(first + (rows + height - 1) / height * across,
                Block{rowPhase, colPhase, 0, {}, window, image, {}});
  const uint64_t origin =
      (image * geometry.height() + geometry.h.base(rowPhase, geometry.rows)) *
          geometry.width() +
      geometry.w.base(colPhase, geometry.cols);
  const bool places =
      (!isClosed(unit) && !oneTap) || machine.sparse.accumulatorBanks > 0;
  for (uint64_t y = 0; y < rows; ++y)
    for (uint64_t x = 0; x < cols; ++x) {
      if (isZero(origin + y * geometry.width() + x))
        continue;
      Block &block = blocks[first + y / height * across + x / width];
      ++block.data;
      if (places)
        block.items.push_back(
            {static_cast<int32_t>(y), static_cast<int32_t>(x), 1});
    }
}

void ScatterTime::collect(llvm::function_ref<bool(uint64_t)> isZero) {
  blocks.clear();
  for (uint64_t image = 0; image < entry.images; ++image)
    for (uint32_t r = 0; r < geometry.h.phases.size(); ++r)
      for (uint32_t c = 0; c < geometry.w.phases.size(); ++c)
        collectPhase(isZero, image, r, c);
}

llvm::Expected<uint64_t>
ScatterTime::products(const Block &block, const ScatterStream::Slice &slice) {
  if (oneTap || slice.items.empty()) {
    total.issues += block.data * slice.weights * slice.times;
    return oneTap ? machine::scatterPointCycles(unit.multipliers, block.data,
                                                slice.weights)
                  : machine::scatterCycles(unit.variant, unit.multipliers,
                                           unit.weightsPerStep, block.data,
                                           slice.weights);
  }
  const ScatterKernel kernel{
      static_cast<int32_t>(geometry.h.phases[slice.rowPhase].halo + 1),
      static_cast<int32_t>(geometry.w.phases[slice.colPhase].halo + 1)};
  const uint64_t before = total.cycles;
  if (llvm::Error error = scatterBlock(
          unit, block.items, slice.items, kernel,
          [](int32_t, int32_t, int64_t) {}, total))
    return error;
  const uint64_t cycles = total.cycles - before;
  total.cycles = before;
  return cycles;
}

/// Products of a block with one weight at a tap, by bank; those outside the
/// unit's own results are dropped before.
const machine::BankCounts &ScatterTime::sumsUnder(Block &block,
                                                  uint32_t tap) const {
  const auto [found, isNew] = block.sums.try_emplace(tap, machine);
  if (!isNew)
    return found->second;
  const uint64_t row = geometry.h.taps[tap / op.kW].shift;
  const uint64_t col = geometry.w.taps[tap % op.kW].shift;
  for (const ScatterItem &datum : block.items) {
    // Unsigned: what lies before the first result is beyond the last one.
    const uint64_t y = static_cast<uint64_t>(datum.row) - row;
    const uint64_t x = static_cast<uint64_t>(datum.col) - col;
    if (y < entry.rows && x < entry.cols)
      found->second.add((block.image * op.tileH + y) * op.tileW + x);
  }
  return found->second;
}

/// Sums of a slice over a block in the fullest bank.
uint64_t ScatterTime::bankSums(Block &block,
                               const ScatterStream::Slice &slice) {
  if (slice.entries.empty() && slice.taps.empty())
    return 0;
  if (slice.taps.size() == 1)
    return sumsUnder(block, slice.taps.front()).fullest();
  counts.clear();
  for (uint32_t tap : slice.taps)
    counts.add(sumsUnder(block, tap));
  for (uint32_t offset : slice.entries)
    counts.add(sumsUnder(block, 0), offset);
  return counts.fullest();
}

llvm::Error ScatterTime::slice(const ScatterStream::Slice &slice) {
  elements += slice.times * entry.images *
              (entry.rows + geometry.h.phases[slice.rowPhase].halo) *
              (entry.cols + geometry.w.phases[slice.colPhase].halo);
  for (Block &block : blocks) {
    if (block.rowPhase != slice.rowPhase || block.colPhase != slice.colPhase)
      continue;
    llvm::Expected<uint64_t> cycles = products(block, slice);
    if (!cycles)
      return cycles.takeError();
    if (block.data == 0)
      continue;
    // Kernels of one tap write by address in all variants.
    const ScatterVariant variant = oneTap ? ScatterVariant::B : unit.variant;
    total.cycles += slice.times *
                    machine::scatterSlice(machine, variant, *cycles,
                                          bankSums(block, slice), block.window);
    latency = std::max(latency,
                       machine::scatterLatency(machine, variant, slice.most));
  }
  return llvm::Error::success();
}

llvm::Error ScatterTime::channel(llvm::function_ref<bool(uint64_t)> isZero,
                                 llvm::ArrayRef<ScatterStream::Slice> slices) {
  if (slices.empty())
    return llvm::Error::success();
  collect(isZero);
  latency = 0;
  const uint64_t before = total.cycles;
  for (const ScatterStream::Slice &own : slices)
    if (llvm::Error error = slice(own))
      return error;
  // The next channel is searched while this one is multiplied.
  busy += std::max({(total.cycles - before) * passes, latency,
                    machine::scanCycles(
                        machine, geometry.loadedElements(
                                     entry.images, entry.rows, entry.cols))});
  return llvm::Error::success();
}

Cost emulator::scatterCost(
    const machine::Description &machine, const isa::TccRun &op,
    const TileTable &table,
    llvm::function_ref<llvm::ArrayRef<uint8_t>(uint32_t)> streamOf,
    llvm::function_ref<bool(uint64_t, uint64_t, uint64_t)> isZero,
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t)> each) {
  Cost cost;
  uint64_t cycles = 0;
  std::map<uint32_t, ScatterStream> streams;
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const TileEntry &entry = table[unit];
    if (entry.idle())
      continue;
    auto stream = streams.find(entry.group);
    if (stream == streams.end()) {
      stream =
          streams.try_emplace(entry.group, machine, op, streamOf(entry.group))
              .first;
      cost.streamBytes += stream->second.bytes;
      cost.weightBits = stream->second.weightBits;
    }
    const uint64_t passes =
        clusterPasses(machine, op, stream->second.weightBits);
    ScatterTime time(machine, op, entry, machine.sparse.lanesOf(unit), passes);
    for (uint64_t i = 0; i < stream->second.channels.size(); ++i)
      // Queues hold P products, as many as can ever wait.
      llvm::cantFail(time.channel(
          [&](uint64_t element) { return isZero(unit, i, element); },
          stream->second.channels[i]));
    const uint64_t busy = time.cycles();
    cycles = std::max(
        {cycles, busy, machine::tileDecode(machine, stream->second.entries)});
    cost.macs += time.counters().issues;
    cost.work += time.counters().issues * passes;
    cost.fmuBytes += time.searched() * operandBytes(op);
    each(unit, busy, time.counters().issues);
  }
  cycles = routedCycles(machine, op, table, cycles);
  cost.timing = {cycles, cycles, 0};
  return cost;
}

Cost emulator::scatterBound(
    const machine::Description &machine, const isa::TccRun &op,
    const TileTable &table,
    llvm::function_ref<llvm::ArrayRef<uint8_t>(uint32_t)> streamOf) {
  isa::TccRun bound = op;
  // No variant that adds by address is slower than one weight per step.
  if (op.variant >= uint32_t(ScatterVariant::C) &&
      (op.variant == uint32_t(ScatterVariant::C) ||
       machine.sparse.coefficientsPerStep > 2))
    bound.variant = uint32_t(ScatterVariant::B);
  return scatterCost(
      machine, bound, table, streamOf,
      [](uint64_t, uint64_t, uint64_t) { return false; },
      [](uint64_t, uint64_t, uint64_t) {});
}
