// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses of the sparse cluster that no field states alone. The tiles
// themselves are in a table that only the loader follows; here is what the
// fields allow.

#include "Collector.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/PooledDrain.h"
#include <algorithm>

namespace ashlar::isa {

/// All regions that the lanes read; how far the last one goes only the table
/// knows, so up to where the next would begin.
void Collector::accumulators(const ActDrain &x, Effect effect) {
  ClusterOperand table;
  table.base = x.table;
  cluster(table);
  const uint64_t end = std::min(
      x.psum + std::max<uint64_t>(x.regionStride, 1) *
                   (x.groupLanes ? std::min(x.groupLanes, x.cols) : x.cols),
      std::max<uint64_t>(machine.sparse.accumulatorEntries, x.psum + 1));
  ClusterOperand entries;
  entries.effect = effect;
  entries.space = Space::Acc;
  entries.base = x.psum;
  entries.run = end - x.psum;
  cluster(entries);
}

void Collector::accumulators(const ActPool &x, Effect effect) {
  accumulators(entriesDrain(x), effect);
}

void Collector::bufferSet(uint32_t set, Effect effect, uint64_t base,
                          uint64_t run) {
  ClusterOperand bytes;
  bytes.effect = effect;
  bytes.space = Space::Fmu;
  bytes.base = base;
  bytes.run = run;
  cluster(bytes);
  out.back().partBegin = set;
  out.back().partEnd = set + 1;
}

/// Slots and planes of cells of a set.
template <typename Op>
void Collector::slots(const Op &x, Effect effect, uint64_t before) {
  const uint64_t elements = geometryOf(x).slotElements();
  bufferSet(x.set, effect, x.mantissas,
            x.channels * elements * elementBytes(x.type, x.mantissa));
  if (isa::isBlock(x.type) && x.block > 0)
    bufferSet(x.set, effect, x.exponents,
              elements * machine::cellPlanes(before, x.channels, x.block));
}

void Collector::featureMaps(const DmaTile &x, Effect effect) {
  slots(x, effect, x.block ? x.part % x.block : 0);
}

void Collector::featureMaps(const TccRun &x, Effect effect) {
  slots(x, effect, x.phase);
  // Buffers have a single port: while a set is read nothing may be written to
  // it, wherever that is.
  bufferSet(x.set, effect, 0, machine.sparse.fmuBytes);
}

void Collector::tiles(const TensorOperand &o, uint64_t channel) {
  const uint64_t partitions = machine.sb.partitions;
  const uint64_t first = o.part + channel;
  auto offset = static_cast<int64_t>(o.offset) +
                static_cast<int64_t>(first / partitions) * o.tileStride;
  // Groups may begin anywhere in a channel tile and end in a later one.
  uint64_t begin = first % partitions;
  for (uint64_t left = o.channels; left > 0; offset += o.tileStride) {
    TensorOperand tile = o;
    tile.part = static_cast<uint32_t>(begin);
    tile.offset = static_cast<uint64_t>(offset);
    tile.channels = std::min(left, partitions - begin);
    tile.tileStride = 0;
    tensor(tile);
    left -= tile.channels;
    begin = 0;
  }
}

void loadSource(const DmaTile &op, uint64_t channel,
                const machine::Description &machine,
                llvm::SmallVectorImpl<Access> &out) {
  Collector(machine, out).tiles(operandSrc(op), channel);
}

} // namespace ashlar::isa
