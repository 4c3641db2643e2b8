// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counters, cuts and tiles of the operand in the naive machine. Results of a
// tile of the operand are found by trying every result and tap.

#include "NaiveMachine.h"
#include "ashlar/Partition/Partition.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::test;

static unsigned bytesOf(isa::ElemType type, unsigned mantissa) {
  const bool wide = type == isa::ElemType::Bfp ? mantissa > 8
                                               : type == isa::ElemType::I16 ||
                                                     type == isa::ElemType::U16;
  return wide ? 2 : 1;
}

static uint64_t bitsOf(isa::ElemType type, unsigned mantissa, uint64_t raw) {
  const unsigned bits =
      type == isa::ElemType::Bfp ? mantissa : 8 * bytesOf(type, mantissa);
  return raw & ((uint64_t(1) << bits) - 1);
}

void NaiveMachine::run(const isa::TccNnz &op) {
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  for (int64_t y = 0; y < op.inH; ++y)
    for (int64_t x = 0; x < op.inW; ++x) {
      uint64_t &counter =
          nonZeros[static_cast<uint64_t>(op.counts + y * op.pitch + x)];
      if (op.clear)
        counter = 0;
      for (int64_t n = 0; n < op.inN; ++n)
        for (int64_t i = 0; i < op.channels; ++i) {
          const int64_t channel = op.part + i;
          const uint64_t raw = rawElement(
              static_cast<uint64_t>(channel % partitions),
              op.offset + channel / partitions * op.srcTileStride +
                  n * op.srcStrideN + y * op.srcStrideH + x * op.srcStrideW,
              bytesOf(op.type, op.mantissa));
          counter += bitsOf(op.type, op.mantissa, raw) != 0;
        }
    }
}

void NaiveMachine::countDrained(const isa::ActDrain &op) {
  auto forSteps = [&](auto fn) {
    for (int64_t a = 0; a < op.n0; ++a)
      for (int64_t b = 0; b < op.n1; ++b)
        for (int64_t c = 0; c < op.n2; ++c)
          fn(nonZeros[static_cast<uint64_t>(op.counts + a * op.countStride0 +
                                            b * op.countStride1 +
                                            c * op.countStride2)],
             a, b, c);
  };
  if (op.countClear)
    forSteps([](uint64_t &counter, int64_t, int64_t, int64_t) { counter = 0; });
  // Of the sparse cluster only the pixels that the group's tiles have.
  std::vector<const Tile *> tiles;
  if (op.fromTcu)
    for (const Tile &tile : tables[op.table])
      if (tile.count[0] > 0 && tile.group == op.group)
        tiles.push_back(&tile);
  forSteps([&](uint64_t &counter, int64_t a, int64_t b, int64_t c) {
    const int64_t at[3] = {a, b, c};
    auto has = [&](const Tile *tile) {
      bool inside = true;
      // Parts of the operand store every row and column.
      for (int d = 0; d < (tile->partial ? 1 : 3); ++d)
        inside &=
            at[d] >= tile->first[d] && at[d] < tile->first[d] + tile->count[d];
      return inside;
    };
    const bool stored =
        !op.fromTcu || std::any_of(tiles.begin(), tiles.end(), has);
    if (!stored)
      return;
    const auto partitions = machine.sb.partitions;
    for (uint64_t lane = 0; lane < op.cols; ++lane)
      counter += bitsOf(op.dstType, op.dstMantissa,
                        rawElement((op.dstPart + lane) % partitions,
                                   op.dstOffset + a * op.dstStride0 +
                                       b * op.dstStride1 + c * op.dstStride2,
                                   bytesOf(op.dstType, op.dstMantissa))) != 0;
  });
}

/// Results [first, second) of an axis for which a tap meets [begin, end).
static std::pair<int64_t, int64_t> resultsOf(int64_t out, int64_t kernel,
                                             int64_t stride, int64_t dilation,
                                             int64_t pad, int64_t begin,
                                             int64_t end) {
  int64_t first = out, last = -1;
  for (int64_t o = 0; o < out; ++o) {
    const int64_t low = o * stride - pad;
    const int64_t high = low + (kernel - 1) * dilation;
    if (low >= end || high < begin)
      continue;
    first = std::min(first, o);
    last = o;
  }
  return {first, last + 1};
}

void NaiveMachine::run(const isa::TccOperand &op) {
  std::vector<Tile> &table = tables[op.table];
  table.resize(machine.sparse.tcus);
  if (op.clear)
    table.assign(machine.sparse.tcus, {});
  uint64_t unit = op.unit;
  for (int64_t g = 0; g < op.copies; ++g)
    for (int64_t a = 0; a < op.gridN; ++a)
      for (int64_t i = 0; i < op.gridH; ++i)
        for (int64_t j = 0; j < op.gridW; ++j)
          table[unit++] =
              operandTile(op, g, a, op.y0 + i * op.tileH,
                          std::min<int64_t>(op.y0 + (i + 1) * op.tileH, op.inH),
                          op.x0 + j * op.tileW,
                          std::min<int64_t>(op.x0 + (j + 1) * op.tileW, op.inW),
                          op.outH, op.outW);
}

void NaiveMachine::run(const isa::TccBind &op) {
  for (int64_t i = 0; i < op.count; ++i)
    tables[op.table][static_cast<uint64_t>(op.unit + i)].memory = op.memory + i;
}

template <typename Op>
NaiveMachine::Tile NaiveMachine::operandTile(const Op &op, int64_t g, int64_t a,
                                             int64_t y, int64_t yEnd, int64_t x,
                                             int64_t xEnd, int64_t outH,
                                             int64_t outW) {
  Tile tile;
  tile.group = g;
  tile.partial = true;
  tile.first[0] = op.n0 + a * op.images;
  tile.count[0] = std::min<int64_t>(op.images, op.endN - tile.first[0]);
  if (tile.count[0] <= 0)
    return {};
  // A tile that reaches nothing still says which images the drain stores.
  if (y >= yEnd || x >= xEnd)
    return tile;
  const auto rows = resultsOf(outH, op.kH, op.sH, op.dH, op.pH, y, yEnd);
  const auto cols = resultsOf(outW, op.kW, op.sW, op.dW, op.pW, x, xEnd);
  if (rows.first >= rows.second || cols.first >= cols.second)
    return tile;
  tile.first[1] = rows.first;
  tile.count[1] = rows.second - rows.first;
  tile.first[2] = cols.first;
  tile.count[2] = cols.second - cols.first;
  tile.own[0] = y;
  tile.ownEnd[0] = yEnd;
  tile.own[1] = x;
  tile.ownEnd[1] = xEnd;
  return tile;
}

static partition::Geometry geometryOf(const isa::TccPart &op) {
  partition::Geometry geometry;
  geometry.y = {op.inH, op.endH - op.y0, op.kH,
                op.sH,  op.dH,           op.pH - int64_t(op.y0) * op.sH};
  geometry.x = {op.inW, op.endW - op.x0, op.kW,
                op.sW,  op.dW,           op.pW - int64_t(op.x0) * op.sW};
  return geometry;
}

static partition::Options optionsOf(const isa::TccPart &op) {
  partition::Options options;
  options.units = op.units;
  options.algorithm = static_cast<partition::Algorithm>(op.algorithm);
  options.metric = static_cast<partition::Metric>(op.metric);
  options.halo = op.disjoint ? partition::Halo::None : partition::Halo::Overlap;
  options.threshold = op.threshold / 10000.0;
  options.maxIterations = options.moveRounds = op.rounds;
  options.alignRows = op.alignH;
  options.alignCols = op.alignW;
  if (!op.disjoint) {
    options.maxRows = op.tileH;
    options.maxCols = op.tileW;
  } else {
    if (op.tileH < op.endH)
      options.maxRows = int64_t(op.tileH) * op.sH - (op.kH - 1) * op.dH;
    if (op.tileW < op.endW)
      options.maxCols = int64_t(op.tileW) * op.sW - (op.kW - 1) * op.dW;
  }
  options.moveBands = op.moveBands;
  options.refine = op.refine;
  return options;
}

/// The cut itself has tests of its own; here only what becomes of it.
void NaiveMachine::run(const isa::TccPart &op) {
  partition::CountMap map =
      partition::CountMap::zeros(op.inH, op.inW, op.capacity);
  for (int64_t y = 0; y < op.inH; ++y)
    for (int64_t x = 0; x < op.inW; ++x)
      map.at(y, x) = static_cast<uint32_t>(std::min<uint64_t>(
          nonZeros[static_cast<uint64_t>(op.counts + y * op.pitch + x)],
          op.capacity));
  partition::Options options = optionsOf(op);
  const partition::PrefixSums sums(map);
  options.cycles = [&](const partition::Box &box) {
    return (sums.sum(box) + op.multipliers - 1) / op.multipliers;
  };
  const partition::Partition cut =
      llvm::cantFail(partition::partition(map, geometryOf(op), options));
  std::vector<Tile> &table = tables[op.table];
  table.assign(machine.sparse.tcus, {});
  uint64_t unit = op.unit;
  for (int64_t g = 0; g < op.copies; ++g)
    for (int64_t a = 0; a < op.gridN; ++a)
      for (const partition::Tile &share : cut.tiles) {
        const partition::Box &core = share.core;
        Tile &tile = table[unit++];
        if (op.disjoint) {
          tile = operandTile(op, g, a, core.y0, core.y0 + core.rows, core.x0,
                             core.x0 + core.cols, op.endH, op.endW);
          continue;
        }
        if (core.empty())
          continue;
        const int64_t n = op.n0 + a * op.images;
        const int64_t images = std::min<int64_t>(op.images, op.endN - n);
        if (images > 0)
          tile = {g,
                  {n, op.y0 + core.y0, op.x0 + core.x0},
                  {images, core.rows, core.cols}};
      }
}

/// Partial sums of the group's units added, then one drain of all results.
void NaiveMachine::drainPartial(const isa::ActDrain &op) {
  const std::vector<Tile> &table = tables[op.table];
  int64_t first = INT64_MAX, end = 0;
  for (const Tile &tile : table)
    if (tile.count[0] > 0 && tile.group == op.group) {
      first = std::min(first, tile.first[0]);
      end = std::max(end, tile.first[0] + tile.count[0]);
    }
  if (first >= end)
    return;
  isa::ActDrain whole = op;
  whole.n0 = static_cast<uint32_t>(end - first);
  whole.dstOffset += static_cast<uint32_t>(first * op.dstStride0);
  whole.resOffset += static_cast<uint32_t>(first * op.resStride0);
  whole.psum = 0;
  whole.psumStride0 = static_cast<int32_t>(op.n1 * op.n2);
  whole.psumStride1 = static_cast<int32_t>(op.n2);
  whole.psumStride2 = 1;
  whole.regionStride = whole.n0 * op.n1 * op.n2;
  std::vector<int64_t> all(uint64_t(op.cols) * whole.regionStride);
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const Tile &tile = table[unit];
    const int64_t own = op.groupLanes ? op.groupLanes : op.cols;
    for (int64_t lane = 0; lane < op.cols; ++lane)
      for (int64_t n = 0; n < tile.count[0]; ++n)
        for (int64_t y = 0; y < tile.count[1]; ++y)
          for (int64_t x = 0;
               x < tile.count[2] && tile.group == op.group + lane / own; ++x)
            all[static_cast<uint64_t>(
                lane * whole.regionStride +
                ((tile.first[0] - first + n) * op.n1 + tile.first[1] + y) *
                    op.n2 +
                tile.first[2] + x)] +=
                sums[unit][static_cast<uint64_t>(
                    op.psum + lane % own * op.regionStride +
                    n * op.psumStride0 + y * op.psumStride1 +
                    x * op.psumStride2)];
  }
  drained = &all;
  drainPart(whole);
  drained = nullptr;
}
