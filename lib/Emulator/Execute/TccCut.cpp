// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counting of non-zeros, cuts chosen from the counts, and the time of loads and
// sums on tiles that the loader did not know.

#include "../Cost/StreamWalk.h"
#include "../State/RunTimeCuts.h"
#include "Engine.h"
#include "TensorRows.h"

using namespace ashlar;
using namespace ashlar::emulator;

void Engine::execute(const isa::TccNnz &op) {
  Count count;
  count.bytes = storedBytes(op.type, op.mantissa);
  count.mask = valueBits(op.type, op.mantissa);
  count.count[0] = op.inN;
  count.count[1] = op.inH;
  count.count[2] = op.inW;
  count.source[0] = op.srcStrideN;
  count.source[1] = op.srcStrideH;
  count.source[2] = op.srcStrideW;
  count.counter[1] = op.pitch;
  count.counter[2] = 1;
  uint32_t *counters = nonZeros.data() + op.counts;
  if (op.clear)
    count.clear(counters);
  const uint64_t partitions = machine->sb.partitions;
  for (uint64_t i = 0; i < op.channels; ++i) {
    const uint64_t channel = op.part + i;
    count.add(memory.sb(channel % partitions,
                        static_cast<int64_t>(op.offset) +
                            static_cast<int64_t>(channel / partitions) *
                                op.srcTileStride),
              counters);
  }
}

/// Counts what the steps of \p op have stored, from counter \p first on.
static void countSteps(Engine &engine, const isa::ActDrain &op,
                       uint64_t first) {
  Count count;
  count.bytes = storedBytes(op.dstType, op.dstMantissa);
  count.mask = valueBits(op.dstType, op.dstMantissa);
  const uint64_t steps[] = {op.n0, op.n1, op.n2};
  const int64_t strides[] = {op.dstStride0, op.dstStride1, op.dstStride2};
  const uint64_t counters[] = {op.countStride0, op.countStride1,
                               op.countStride2};
  std::copy_n(steps, 3, count.count);
  std::copy_n(strides, 3, count.source);
  std::copy_n(counters, 3, count.counter);
  const uint64_t partitions = engine.machine->sb.partitions;
  for (uint64_t lane = 0; lane < op.cols; ++lane)
    count.add(engine.memory.sb((op.dstPart + lane) % partitions, op.dstOffset),
              engine.nonZeros.data() + first);
}

void Engine::countDrained(const isa::ActDrain &op) {
  if (!op.fromTcu)
    return countSteps(*this, op, op.counts);
  const TileTable &table = tables[op.table];
  if (std::any_of(table.begin(), table.end(), [](const TileEntry &entry) {
        return entry.operand.partial;
      })) {
    const isa::ActDrain whole = partialDrain(op, table);
    if (whole.n0 > 0)
      countSteps(*this, whole,
                 op.counts + uint64_t(firstImage(op, table)) * op.countStride0);
    return;
  }
  for (const TileEntry &entry : table)
    if (!entry.idle() && entry.group == op.group)
      countSteps(*this, unitDrain(op, entry),
                 op.counts + uint64_t(entry.n) * op.countStride0 +
                     uint64_t(entry.y) * op.countStride1 +
                     uint64_t(entry.x) * op.countStride2);
}

void Engine::execute(const isa::TccPart &op) {
  // More than all values of a position cannot be non-zero; what the counters
  // were started with is up to the program.
  std::vector<uint32_t> counts;
  counts.reserve(uint64_t(op.inH) * op.inW);
  for (uint64_t y = 0; y < op.inH; ++y)
    for (uint64_t x = 0; x < op.inW; ++x)
      counts.push_back(
          std::min(nonZeros[op.counts + y * op.pitch + x], op.capacity));
  llvm::Expected<partition::Partition> found =
      cutMap(*machine, op, std::move(counts));
  if (!found)
    return reject(llvm::toString(found.takeError()));
  const partition::Partition &cut = *found;
  // The loader's proofs hold for tiles that cover the region once and exceed no
  // limit; it has cut the same map with other counts.
  reject(checkCut(op, cut));
  if (finding)
    return;
  writeTiles(op, cut, tables[op.table]);
  cutTables[op.table] = true;
  measured[current] =
      Cost{machine::cutTiles(*machine, uint64_t(op.inH) * op.inW, cut.probes),
           0, 0, 0};
  cuts.push_back(
      {current, cut.met, cut.spread, cut.imbalance(), cut.probes, {}});
  for (const partition::Tile &tile : cut.tiles) {
    partition::Box box = tile.core;
    if (!op.disjoint)
      box.y0 += op.y0, box.x0 += op.x0;
    cuts.back().tiles.push_back(box);
  }
}

void Engine::execute(const isa::TccOperand &op) {
  writeTiles(op, tables[op.table]);
  cutTables[op.table] = false;
}

void Engine::execute(const isa::TccBind &op) {
  bindTiles(op, tables[op.table]);
}

void Engine::measureTiles(const isa::TccRun &op) {
  const TileTable &table = tables[op.table];
  Cost cost;
  uint64_t cycles = 0;
  for (uint32_t group = 0; group < op.groups; ++group) {
    if (std::none_of(table.begin(), table.end(), [&](const TileEntry &entry) {
          return !entry.idle() && entry.group == group;
        }))
      continue;
    // The loader has decoded the same bytes without an error.
    llvm::ArrayRef<uint8_t> bytes(
        memory.wm(op.wm + uint64_t(group) * op.wmStep), op.bytes);
    cost.weightBits =
        llvm::cantFail(isa::readStreamHeader(bytes)).shape.mantissaBits;
    StreamWalk walk(*machine, op, table, group, cost.weightBits);
    auto facts = followed.find(walk.form(), bytes);
    if (!facts)
      facts = followed.keep(
          walk.form(), bytes,
          walk.facts(llvm::cantFail(isa::decodeStream(bytes, walk))));
    cycles = std::max(cycles, facts->cycles);
    cost.macs += facts->macs;
    cost.work += facts->macs * walk.form().passes;
    cost.fmuBytes += facts->macs * operandBytes(op);
    cost.streamBytes += facts->taken;
  }
  cycles = routedCycles(*machine, op, table, cycles);
  cost.timing = {cycles, cycles, 0};
  measured[current] = cost;
}
