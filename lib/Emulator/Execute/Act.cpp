// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ACT: PSUM -> SB, a lane per column, with the epilogue of docs/Numerics.md 6.

#include "Drain.h"
#include "WordArray.h"
#include "ashlar/Isa/ElementBytes.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::DrainMode;
using isa::ElemType;

static void drainOnce(Engine &engine, const isa::ActDrain &op,
                      llvm::ArrayRef<uint64_t> units = {},
                      const int64_t *planes = nullptr,
                      const DrainGroup &group = {}) {
  Memory &memory = engine.memory;
  Drain drain{engine, op, {}, {}, {}, 0, units, planes, group};
  drain.entries = patternOf(operandPsum(op)).merged();
  drain.result = viewOf(operandDst(op));
  const EncodeTarget target = encodeTarget(op);
  MatmulBatch::Target *const products = drain.openProducts(target);
  // Drains of the cluster read nothing that waits.
  if (!products && !op.fromTcu) {
    if (drain.hasDenseEntries())
      engine.batch.flush(engine, op.psum, drain.entries.size());
    else
      engine.batch.flush(engine);
  }
  if (op.mode == DrainMode::Int || op.mode == DrainMode::Raw64) {
    drain.loadStepRecords();
    engine.split(op.cols, op.cols * drain.entries.size(),
                 [&](uint64_t begin, uint64_t end) {
                   for (uint64_t lane = begin; lane < end; ++lane)
                     drain.integerRow(lane, 0, drain.entries.size());
                 });
    return;
  }
  drain.exponent = scaleOf(memory, op.xrA) + scaleOf(memory, op.xrS) + op.shift;
  drain.residual = viewOf(operandRes(op));
  if (op.dstOrientation == isa::Orientation::F) {
    drain.loadStepRecords();
    return drain.encodeAlong();
  }
  if (op.mode == DrainMode::Block)
    return produceExact(
        engine, drain.result, target, op.cols,
        [&](uint64_t lane, uint64_t k0, uint64_t k1, numerics::WideValue *out) {
          drain.exactRow(lane, k0, k1, out);
        });
  if (products)
    return drain.encodeProducts(target, *products);
  drain.loadStepRecords();
  if (drain.hasShortBlocks(target))
    return drain.encodeBlocks(target);
  produceFloats(engine, drain.result, target, op.cols, drainCost,
                [&](uint64_t lane, uint64_t k0, uint64_t k1, float *out) {
                  drain.floatRow(lane, k0, k1, out);
                });
}

/// Units that hold parts of the operand: their sums for a result are added
/// before the epilogue. A result that none of them reaches is zero.
static void drainPartial(Engine &engine, const isa::ActDrain &op,
                         const TileTable &table) {
  isa::ActDrain whole = partialDrain(op, table);
  if (whole.n0 == 0)
    return;
  const uint64_t plane = uint64_t(whole.n1) * whole.n2;
  const uint64_t lane = plane * whole.n0;
  const uint32_t first = firstImage(op, table);
  std::vector<int64_t> planes(lane * op.cols);
  auto addUnit = [&](uint64_t unit, uint64_t c, uint64_t region) {
    const TileEntry &entry = table[unit];
    for (uint64_t n = 0; n < entry.images; ++n)
      for (uint64_t y = 0; y < entry.rows; ++y) {
        const int64_t *from = engine.memory.acc(
            unit, static_cast<uint64_t>(int64_t(op.psum) +
                                        int64_t(region) * op.regionStride +
                                        int64_t(n) * op.psumStride0 +
                                        int64_t(y) * op.psumStride1));
        int64_t *to = &planes[c * lane + (entry.n - first + n) * plane +
                              (entry.y + y) * whole.n2 + entry.x];
        for (uint64_t x = 0; x < entry.cols; ++x)
          to[x] += from[static_cast<int64_t>(x) * op.psumStride2];
      }
  };
  const uint64_t own = lanesOfGroup(op);
  for (auto [group, units] : llvm::enumerate(drainedUnits(op, table)))
    for (uint64_t unit : units)
      for (uint64_t region = 0; region < own && group * own + region < op.cols;
           ++region)
        addUnit(unit, group * own + region, region);
  whole.psum = 0;
  whole.regionStride = static_cast<uint32_t>(lane);
  whole.psumStride0 = static_cast<int32_t>(plane);
  whole.psumStride1 = static_cast<int32_t>(whole.n2);
  whole.psumStride2 = 1;
  whole.dstXrClear = false;
  drainOnce(engine, whole, {}, planes.data());
}

/// Clears the counters that a drain addresses.
static void clearCounters(Engine &engine, const isa::ActDrain &op) {
  Count count;
  const uint64_t steps[] = {op.n0, op.n1, op.n2};
  const uint64_t strides[] = {op.countStride0, op.countStride1,
                              op.countStride2};
  std::copy_n(steps, 3, count.count);
  std::copy_n(strides, 3, count.counter);
  count.clear(engine.nonZeros.data() + op.counts);
}

std::string emulator::checkMap(Engine &engine, const isa::ActDrain &op) {
  const Drain drain{engine, op, {}, {}, {}};
  for (uint64_t lane = 0; op.mapped && lane < op.cols; ++lane)
    if (uint64_t source = drain.sourceOf(lane); source >= op.cols)
      return fmt::format("lane {} takes the accumulators of lane {}, the drain "
                         "has {} lanes",
                         lane, source, op.cols);
  return "";
}

/// The results of one tile, which the cluster may keep.
static void drainTile(Engine &engine, const isa::ActDrain &op,
                      const TileEntry &tile, llvm::ArrayRef<uint64_t> sources) {
  isa::ActDrain part = unitDrain(op, tile);
  part.dstXrClear = false;
  if (op.unstored) {
    const auto bytes =
        static_cast<int32_t>(storedBytes(op.dstType, op.dstMantissa));
    part.dstOffset = static_cast<uint32_t>(engine.memory.stage());
    part.dstStride2 = bytes;
    part.dstStride1 = bytes * static_cast<int32_t>(tile.cols);
    part.dstStride0 = part.dstStride1 * static_cast<int32_t>(tile.rows);
  }
  drainOnce(engine, part, sources);
  if (op.kept)
    engine.keepResults(part, tile.box());
}

/// A drain of the sparse cluster.
static void drainUnits(Engine &engine, const isa::ActDrain &op) {
  engine.reject(checkMap(engine, op));
  if (engine.finding)
    return;
  // The register collects the exponents of all units.
  if (isa::isBlock(op.dstType))
    engine.beginEncode(encodeTarget(op));
  const TileTable &table = engine.tables[op.table];
  const bool partial =
      std::any_of(table.begin(), table.end(),
                  [](const TileEntry &entry) { return entry.operand.partial; });
  if (engine.cutTables[op.table]) {
    const uint64_t unreached = partial ? unreachedResults(op, table) : 0;
    engine.measured[engine.current] =
        tileDrainCost(*engine.machine, op,
                      drainedSteps(*engine.machine, op, table) + unreached,
                      drainedResults(op, table) + unreached);
  }
  if (partial) {
    drainPartial(engine, op, table);
    return;
  }
  // The loader has seen that the groups have equal tiles.
  const std::vector<std::vector<uint64_t>> units = drainedUnits(op, table);
  std::vector<uint64_t> sources(units.size());
  for (size_t i = 0; i < units.front().size(); ++i) {
    for (auto [source, group] : llvm::zip(sources, units))
      source = group[i];
    drainTile(engine, op, table[sources.front()], sources);
  }
}

/// Calls fn(drain, group) for the lanes of each result of a step, as a drain of
/// their own.
template <typename Fn>
static void forGroups(const isa::ActDrain &op, Fn fn) {
  if (op.groupLanes == 0)
    return fn(op, DrainGroup());
  const uint32_t groups = op.cols / op.groupLanes;
  isa::ActDrain part = op;
  part.cols = op.groupLanes;
  part.groupLanes = part.validN1 = 0;
  part.dstStride1 *= static_cast<int32_t>(groups);
  part.resStride1 *= static_cast<int32_t>(groups);
  part.countStride1 *= groups;
  const uint32_t used = std::min(groups, op.validN1);
  const uint64_t steps =
      uint64_t(op.n0) * llvm::divideCeil(op.validN1, groups) * op.n2;
  for (uint32_t group = 0; group < used; ++group) {
    part.n1 = (op.validN1 - group + groups - 1) / groups;
    fn(part, DrainGroup{uint64_t(group) * op.groupLanes, op.cols, steps,
                        group + 1 == used});
    // The register collects the exponents of all groups.
    part.dstXrClear = false;
    part.paramPart += op.groupLanes;
    part.dstOffset += static_cast<uint32_t>(op.dstStride1);
    part.resOffset += static_cast<uint32_t>(op.resStride1);
    part.counts += op.countStride1;
  }
}

void Engine::execute(const isa::ActDrain &op) {
  const bool words = !op.fromTcu && op.mode == DrainMode::Raw64;
  if (words)
    batch.flush(*this);
  if (op.fromTcu)
    drainUnits(*this, op);
  else if (words)
    drainWords(*this, op);
  else
    forGroups(op, [&](const isa::ActDrain &part, const DrainGroup &group) {
      drainOnce(*this, part, {}, nullptr, group);
    });
  if (!op.counted)
    return;
  if (op.fromTcu) {
    if (op.countClear)
      clearCounters(*this, op);
    return countDrained(op);
  }
  if (op.countClear)
    forGroups(op, [&](const isa::ActDrain &part, const DrainGroup &) {
      clearCounters(*this, part);
    });
  forGroups(op, [&](const isa::ActDrain &part, const DrainGroup &) {
    countDrained(part);
  });
}
