// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses of the sparse cluster. The tiles themselves are in a table that only
// the loader follows; here is what the fields allow.

#include "Collector.h"
#include "ashlar/Isa/Tiles.h"
#include <algorithm>

namespace ashlar::isa {

/// All regions that the lanes read; how far the last one goes only the table
/// knows, so up to where the next would begin.
void visitAccumulators(const ActDrain &x, Collector &c) {
  c.cluster(Space::Tiles, false, x.table, 1);
  const uint64_t end = std::min(
      x.psum + std::max<uint64_t>(x.regionStride, 1) *
                   (x.groupLanes ? std::min(x.groupLanes, x.cols) : x.cols),
      std::max<uint64_t>(c.accumulators(), x.psum + 1));
  c.cluster(Space::Acc, false, x.psum, end - x.psum);
}

void visit(const TccTile &x, Collector &c) {
  c.cluster(Space::Tiles, true, x.table, 1);
}

/// Slots and planes of cells of a set.
template <typename Op>
static void featureMaps(const Op &x, bool write, uint64_t before,
                        Collector &c) {
  const uint64_t elements = geometryOf(x).slotElements();
  c.cluster(Space::Fmu, write, x.mantissas,
            x.channels * elements * elementBytes(x.type, x.mantissa), {},
            x.set);
  if (x.type == ElemType::Bfp && x.block > 0)
    c.cluster(Space::Fmu, write, x.exponents,
              elements * machine::cellPlanes(before, x.channels, x.block), {},
              x.set);
}

static void readSource(const DmaTile &x, uint64_t channel, Collector &c) {
  const uint64_t channels = x.channels + uint64_t(x.groups - 1) * x.groupStep;
  const uint64_t partitions = c.partitions();
  const uint64_t first = x.part + channel;
  const int64_t offset =
      int64_t(x.offset) + int64_t(first / partitions) * x.srcTileStride;
  const Dims dims = {
      {x.inN, x.srcStrideN}, {x.inH, x.srcStrideH}, {x.inW, x.srcStrideW}};
  // Groups may begin anywhere in a channel tile and end in a later one.
  uint64_t begin = first % partitions, left = channels, tile = 0;
  while (left > 0) {
    const uint64_t count = std::min(left, partitions - begin);
    c.sbTensor(false,
               {x.type, x.mantissa, static_cast<uint32_t>(begin),
                static_cast<uint64_t>(offset + int64_t(tile) * x.srcTileStride),
                count, 0},
               dims);
    left -= count;
    begin = 0;
    ++tile;
  }
}

void visit(const DmaTile &x, Collector &c) {
  c.cluster(Space::Tiles, false, x.table, 1);
  readSource(x, 0, c);
  featureMaps(x, true, x.block ? x.part % x.block : 0, c);
}

void loadSource(const DmaTile &op, uint64_t channel,
                const machine::Description &machine,
                llvm::SmallVectorImpl<Access> &out) {
  Collector collector(machine, out);
  readSource(op, channel, collector);
}

void visit(const TccInit &x, Collector &c) {
  if (x.fromMemory) {
    c.cluster(Space::Tiles, false, x.table, 1);
    c.cluster(Space::Wm, false, x.wm, 8 * uint64_t(x.regions),
              {{x.groups, x.wmStep}});
  }
  c.cluster(Space::Acc, true, x.acc, x.count, {{x.regions, x.regionStride}});
}

void visit(const TccRun &x, Collector &c) {
  const uint64_t results = geometryOf(x).results();
  c.cluster(Space::Tiles, false, x.table, 1);
  featureMaps(x, false, x.phase, c);
  // Buffers have a single port: while a set is read nothing may be written to
  // it, wherever that is.
  c.cluster(Space::Fmu, false, 0, c.bufferBytes(), {}, x.set);
  c.cluster(Space::Wm, false, x.wm, std::max(1u, x.bytes),
            {{x.groups, x.wmStep}});
  if (x.type == ElemType::Bfp && x.mode == OperandMode::Bfp)
    c.xr(false, false, x.xr);
  for (bool write : {false, true})
    c.cluster(Space::Acc, write, x.acc, results, {{x.regions, x.regionStride}});
}

void visit(const TccNnz &x, Collector &c) {
  c.sbTensor(
      false,
      {x.type, x.mantissa, x.part, x.offset, x.channels, x.srcTileStride},
      {{x.inN, x.srcStrideN}, {x.inH, x.srcStrideH}, {x.inW, x.srcStrideW}},
      false);
  c.counters(true, !x.clear, x.counts, {{x.inH, x.pitch}, {x.inW, 1}});
}

void visit(const TccPart &x, Collector &c) {
  c.counters(false, false, x.counts, {{x.inH, x.pitch}, {x.inW, 1}});
  c.cluster(Space::Tiles, true, x.table, 1);
}

void visit(const TccOperand &x, Collector &c) {
  c.cluster(Space::Tiles, true, x.table, 1);
}

void visit(const TccBind &x, Collector &c) {
  c.cluster(Space::Tiles, false, x.table, 1);
  c.cluster(Space::Tiles, true, x.table, 1);
}

void visitCounters(const ActDrain &x, Collector &c) {
  if (x.counted)
    c.counters(true, !x.countClear, x.counts,
               {{x.n0, x.countStride0},
                {x.n1, x.countStride1},
                {x.n2, x.countStride2}});
}

} // namespace ashlar::isa
