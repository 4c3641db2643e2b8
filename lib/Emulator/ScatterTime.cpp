// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phase planes of a slot are cut into blocks; each kernel slice meets each
// block of its phase. Closed forms where positions do not matter, the block
// model otherwise.

#include "ScatterTime.h"
#include "Engine.h"
#include "RunTimeCuts.h"
#include "Tensor.h"
#include "ashlar/Isa/Tiles.h"
#include "ashlar/Machine/Cycles.h"

#include <map>
#include <tuple>

using namespace ashlar;
using namespace ashlar::emulator;

ScatterTime::ScatterTime(const machine::Description &machine,
                         const isa::TccRun &op, const TileEntry &entry)
    : op(op), entry(entry), geometry(isa::geometryOf(op)),
      unit{static_cast<ScatterVariant>(op.variant),
           static_cast<uint32_t>(machine.sparse.lanes),
           static_cast<uint32_t>(machine.sparse.coefficientsPerStep), 0} {}

void ScatterTime::collectPhase(llvm::function_ref<bool(uint64_t)> isZero,
                               uint64_t image, uint32_t rowPhase,
                               uint32_t colPhase) {
  const uint64_t rows = entry.rows + geometry.h.phases[rowPhase].halo;
  const uint64_t cols = entry.cols + geometry.w.phases[colPhase].halo;
  const uint64_t height = op.blockH ? op.blockH : rows;
  const uint64_t width = op.blockW ? op.blockW : cols;
  const uint64_t across = (cols + width - 1) / width;
  const size_t first = blocks.size();
  blocks.resize(first + (rows + height - 1) / height * across,
                Block{rowPhase, colPhase, {}});
  const uint64_t origin =
      (image * geometry.height() + geometry.h.base(rowPhase, geometry.rows)) *
          geometry.width() +
      geometry.w.base(colPhase, geometry.cols);
  for (uint64_t y = 0; y < rows; ++y)
    for (uint64_t x = 0; x < cols; ++x)
      if (!isZero(origin + y * geometry.width() + x))
        blocks[first + y / height * across + x / width].data.push_back(
            {static_cast<int32_t>(y), static_cast<int32_t>(x), 1});
}

void ScatterTime::collect(llvm::function_ref<bool(uint64_t)> isZero) {
  blocks.clear();
  for (uint64_t image = 0; image < entry.images; ++image)
    for (uint32_t r = 0; r < geometry.h.phases.size(); ++r)
      for (uint32_t c = 0; c < geometry.w.phases.size(); ++c)
        collectPhase(isZero, image, r, c);
}

llvm::Error ScatterTime::slice(uint32_t rowPhase, uint32_t colPhase,
                               llvm::ArrayRef<ScatterItem> weights) {
  const bool closed =
      unit.variant <= ScatterVariant::B ||
      (unit.variant == ScatterVariant::D && unit.weightsPerStep <= 2);
  const ScatterKernel kernel{
      static_cast<int32_t>(geometry.h.phases[rowPhase].halo + 1),
      static_cast<int32_t>(geometry.w.phases[colPhase].halo + 1)};
  for (const Block &block : blocks) {
    if (block.rowPhase != rowPhase || block.colPhase != colPhase)
      continue;
    if (closed) {
      total.issues += block.data.size() * weights.size();
      total.cycles += machine::scatterCycles(unit.variant, unit.multipliers,
                                             unit.weightsPerStep,
                                             block.data.size(), weights.size());
      continue;
    }
    if (llvm::Error error = scatterBlock(
            unit, block.data, weights, kernel, [](int32_t, int32_t, int64_t) {},
            total))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error
ScatterTime::channel(llvm::function_ref<bool(uint64_t)> isZero,
                     llvm::ArrayRef<isa::Coefficient> coefficients) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<ScatterItem>>
      slices;
  for (const isa::Coefficient &c : coefficients) {
    if (c.mantissa == 0)
      continue;
    const machine::AxisPhases::Tap &row = geometry.h.taps[c.ky];
    const machine::AxisPhases::Tap &col = geometry.w.taps[c.kx];
    slices[{c.z, row.phase, col.phase}].push_back(
        {static_cast<int32_t>(row.shift), static_cast<int32_t>(col.shift), 1});
  }
  if (slices.empty())
    return llvm::Error::success();
  collect(isZero);
  for (const auto &[key, weights] : slices)
    if (llvm::Error error = slice(std::get<1>(key), std::get<2>(key), weights))
      return error;
  return llvm::Error::success();
}

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

Cost emulator::scatterCost(
    const machine::Description &machine, const isa::TccRun &op,
    const TileTable &table,
    llvm::function_ref<llvm::ArrayRef<uint8_t>(uint32_t)> streamOf,
    llvm::function_ref<bool(uint64_t, uint64_t, uint64_t)> isZero) {
  const uint64_t bits = op.type == isa::ElemType::Bfp
                            ? op.mantissa
                            : 8 * storedBytes(op.type, op.mantissa);
  Cost cost;
  uint64_t cycles = 0;
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const TileEntry &entry = table[unit];
    if (entry.idle())
      continue;
    // The loader has decoded the same bytes without an error.
    llvm::ArrayRef<uint8_t> stream = streamOf(entry.group);
    const uint64_t passes = machine::pePasses(
        machine, bits,
        llvm::cantFail(isa::readStreamHeader(stream)).shape.mantissaBits);
    Channels channels;
    llvm::cantFail(isa::decodeStream(stream, channels));
    ScatterTime time(machine, op, entry);
    for (uint64_t i = 0; i < channels.lists.size(); ++i)
      // Queues hold P products, as many as can ever wait.
      llvm::cantFail(time.channel(
          [&](uint64_t element) { return isZero(unit, i, element); },
          channels.lists[i]));
    cycles = std::max({cycles, time.counters().cycles * passes,
                       machine::tileDecode(machine, channels.entries)});
    cost.macs += time.counters().issues;
  }
  cycles += routeCycles(machine, table);
  cost.timing = {cycles, cycles, 0};
  return cost;
}

Cost emulator::scatterBound(
    const machine::Description &machine, const isa::TccRun &op,
    const TileTable &table,
    llvm::function_ref<llvm::ArrayRef<uint8_t>(uint32_t)> streamOf) {
  isa::TccRun bound = op;
  // No variant is slower than one weight per step.
  if (op.variant == uint32_t(ScatterVariant::C) ||
      machine.sparse.coefficientsPerStep > 2)
    bound.variant = uint32_t(ScatterVariant::B);
  return scatterCost(machine, bound, table, streamOf,
                     [](uint64_t, uint64_t, uint64_t) { return false; });
}

void Engine::measureScatter(const isa::TccRun &op) {
  const unsigned bytes = storedBytes(op.type, op.mantissa);
  const uint64_t slotBytes = isa::geometryOf(op).slotElements() * bytes;
  const uint32_t mask = valueBits(op.type, op.mantissa);
  measured[current] = scatterCost(
      *machine, op, tables[op.table],
      [&](uint32_t group) {
        return llvm::ArrayRef<uint8_t>(
            memory.wm(op.wm + uint64_t(group) * op.wmStep), op.bytes);
      },
      [&](uint64_t unit, uint64_t channel, uint64_t element) {
        const uint8_t *at =
            memory.fmu(tables[op.table][unit].memoryOf(unit), op.set,
                       op.mantissas + channel * slotBytes + element * bytes);
        return ((at[0] | (bytes > 1 ? at[1] << 8 : 0)) & mask) == 0;
      });
}
