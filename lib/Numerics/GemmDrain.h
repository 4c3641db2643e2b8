// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose sums nobody reads but one drain: from the registers that hold
// them to binary32, through the epilogue, and into blocks. Where the sums of a
// group of columns are not exact in 32 bits together, they take the way through
// 64 bits that all others take.

#ifndef ASHLAR_LIB_NUMERICS_GEMMDRAIN_H
#define ASHLAR_LIB_NUMERICS_GEMMDRAIN_H

#include "GemmKernel.h"

namespace ashlar::numerics {

namespace {
/// Where the segments of each tile of steps lie in a PlannedSums.
struct SumPlan {
  explicit SumPlan(const PlannedSums &plan, size_t tile)
      : tiles((plan.steps + tile - 1) / tile),
        ends(reinterpret_cast<size_t *>(plan.bytes)),
        segments(reinterpret_cast<Segment *>(ends + tiles)) {}

  static size_t bytesFor(size_t tiles, size_t segments) {
    return tiles * sizeof(size_t) + segments * sizeof(Segment);
  }
  size_t begin(size_t tile) const { return tile == 0 ? 0 : ends[tile - 1]; }

  size_t tiles;
  size_t *ends; ///< Of each tile's segments.
  Segment *segments;
};

/// What planWhole() fills.
struct SegmentWriter {
  Segment *to;
  void add(const Segment &segment) { *to++ = segment; }
};
} // namespace

/// Segments of a tile of steps at most: every plane of every row block may take
/// two digits.
template <typename Simd>
static size_t mostSegments(const PackedProduct *products, size_t count) {
  size_t most = 0;
  for (const PackedProduct *p = products; p != products + count; ++p)
    most += 2 * PairLayout(*p->stationary, Simd::kColumns).blocks() *
            p->stationary->planes;
  return most;
}

/// KernelTable::planSums.
template <typename Simd>
static bool planPairs(const PackedProduct *products, size_t count, size_t first,
                      size_t steps, PlannedSums &out) {
  for (const PackedProduct *p = products; p != products + count; ++p)
    if (p->moving->width != OperandWidth::Int16 ||
        p->moving->inBlocks != p->stationary->inBlocks)
      return false;
  out.steps = steps;
  const size_t tiles = (steps + Simd::kTile - 1) / Simd::kTile;
  out.reserve(
      SumPlan::bytesFor(tiles, tiles * mostSegments<Simd>(products, count)));
  const SumPlan plan(out, Simd::kTile);
  SegmentWriter list{plan.segments};
  for (size_t tile = 0; tile < tiles; ++tile) {
    const size_t t = tile * Simd::kTile;
    for (const PackedProduct *p = products; p != products + count; ++p)
      if (p->moving->inBlocks)
        planBlocks<Simd>(*p->stationary, *p->moving, first + t,
                         least(Simd::kTile, steps - t), list);
      else if (p->stationary->rows != 0)
        planWhole<Simd>(*p->stationary, pairsAt(*p->moving, first + t),
                        pairStride(*p->moving), least(Simd::kTile, steps - t),
                        list);
    plan.ends[tile] = static_cast<size_t>(list.to - plan.segments);
  }
  return true;
}

namespace {
/// A tile of steps of one block of columns on its way to its bytes.
struct DrainTile {
  const Segment *segments;
  size_t count;
  size_t first, steps; ///< Steps of the rows.
};
} // namespace

/// Functions that come after the floats of a tile, row by row.
static inline bool isApart(Function function) {
  return function != Function::Copy && function != Function::Relu &&
         function != Function::Clip && function != Function::LeakyRelu;
}

/// Whether the sums may take the way through 32 bits: they are exact, and
/// scaling them by one power of two is.
static inline bool scalesAll(const EpilogueRow *rows, size_t cols, int shift) {
  for (size_t c = 0; c < cols; ++c)
    if (!scalesExactly(rows[c].exponent) ||
        !scalesExactly(rows[c].exponent + shift))
      return false;
  return true;
}

/// One group of columns as floats, rows of kTile; `rows` begins at its first
/// column.
template <typename Simd, Function F, size_t V>
static void drainGroup(const DrainTile &tile, size_t group,
                       const EpilogueRow *rows, size_t cols, float *out) {
  typename Simd::Vec acc[Simd::kColumns][V];
  int shift;
  const size_t end =
      sumGroup<Simd, V>(tile.segments, tile.count, 0, group, shift, acc);
  if (end == tile.count && scalesAll(rows, cols, shift)) {
#pragma GCC unroll 8
    for (size_t c = 0; c < Simd::kColumns; ++c) {
      if (c >= cols)
        break;
      const float factor = powerOfTwo(rows[c].exponent + shift);
#pragma GCC unroll 4
      for (size_t v = 0; v < V; ++v)
        if (v * Simd::kLanes < tile.steps)
          drainLanes<F>(acc[c][v], factor, rows[c],
                        tile.first + v * Simd::kLanes,
                        least(Simd::kLanes, tile.steps - v * Simd::kLanes),
                        out + c * Simd::kTile + v * Simd::kLanes);
    }
    return;
  }
  alignas(64) int64_t sums[Simd::kColumns * Simd::kTile];
  SumTarget to = {sums, Simd::kTile, cols, tile.steps, false};
  widenGroup<Simd, V>(acc, shift, to);
  to.add = true;
  runGroup<Simd, V>(tile.segments + end, tile.count - end, group, to);
  for (size_t c = 0; c < cols; ++c) {
    EpilogueRow row = rows[c];
    row.function = isApart(row.function) ? Function::Copy : row.function;
    if (row.residual)
      row.residual += tile.first;
    epilogueLanes<false>(sums + c * Simd::kTile, tile.steps, row,
                         out + c * Simd::kTile);
  }
}

/// A tile of one block of columns as floats.
template <typename Simd, Function F>
static void drainColumns(const DrainTile &tile, size_t column,
                         const EpilogueRow *rows, size_t count, float *out) {
  constexpr size_t columns = Simd::kColumns;
  for (size_t c = 0; c < count; c += columns) {
    const size_t group = (column + c) / columns,
                 cols = least(columns, count - c);
    if (tile.steps <= Simd::kLanes)
      drainGroup<Simd, F, 1>(tile, group, rows + c, cols,
                             out + c * Simd::kTile);
    else
      drainGroup<Simd, F, Simd::kVectors>(tile, group, rows + c, cols,
                                          out + c * Simd::kTile);
  }
}

/// The same for a function that is no constant. Others than these have kernels
/// for rows.
template <typename Simd>
static void drainFunction(const DrainTile &tile, size_t column,
                          const EpilogueRow *rows, size_t count, float *out) {
  switch (rows->function) {
  case Function::Relu:
    return drainColumns<Simd, Function::Relu>(tile, column, rows, count, out);
  case Function::Clip:
    return drainColumns<Simd, Function::Clip>(tile, column, rows, count, out);
  case Function::LeakyRelu:
    return drainColumns<Simd, Function::LeakyRelu>(tile, column, rows, count,
                                                   out);
  default:
    return drainColumns<Simd, Function::Copy>(tile, column, rows, count, out);
  }
}

/// KernelTable::drainSums.
template <typename Simd, decltype(KernelTable::encode8) Encode>
static void drainPairs(const PlannedSums &planned, size_t column,
                       const EpilogueRow *rows, BlockColumns<int8_t> blocks) {
  const size_t count = blocks.count;
  const SumPlan plan(planned, Simd::kTile);
  alignas(64) float values[kDrainRows * Simd::kTile];
  const float *from[kDrainRows];
  int8_t *to[kDrainRows];
  for (size_t i = 0; i < count; ++i)
    from[i] = values + i * Simd::kTile;
  for (size_t tile = 0; tile < plan.tiles; ++tile) {
    const size_t t = tile * Simd::kTile;
    const size_t width = least(Simd::kTile, planned.steps - t);
    const size_t begin = plan.begin(tile);
    drainFunction<Simd>(
        {plan.segments + begin, plan.ends[tile] - begin, t, width}, column,
        rows, count, values);
    for (size_t i = 0; i < count; ++i) {
      if (isApart(rows[i].function))
        unaryRow(rows[i].function, values + i * Simd::kTile, width,
                 rows[i].alpha, rows[i].beta, values + i * Simd::kTile);
      to[i] = blocks.mant[i] + t;
    }
    Encode(from, width,
           {count, blocks.mantissa, to, blocks.cells + t, blocks.stats});
  }
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_GEMMDRAIN_H
