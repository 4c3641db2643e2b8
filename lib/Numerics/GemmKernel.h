// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact matrix product on pairs of 16-bit integers (docs/Numerics.md 11).
//
// One multiply-add instruction sums two products of 16 bits into lanes of 32.
// How many of them fit depends on the data: the packed stationary operand knows
// the sum of magnitudes of its columns, the moving one its largest magnitude in
// the steps at hand, and their product bounds every partial sum. Sums that may
// not fit take the moving operand in digits of 8 bits instead, which always do:
// over 128 rows such a sum is below 2^15 * 2^8 * 2^7 = 2^30. Sums of several
// row blocks and products stay in registers for as long as their bounds allow.

#ifndef ASHLAR_LIB_NUMERICS_GEMMKERNEL_H
#define ASHLAR_LIB_NUMERICS_GEMMKERNEL_H

#include "Blocks/Layout.h"

namespace ashlar::numerics {

namespace {
/// What a product reads of 16-bit moving values, or the steps of moving blocks
/// that it takes part in: all, those of small shifts, and the others.
enum class Digit { Whole, Low, High };

/// A block of rows of one product in one form: all sums of its columns with a
/// tile of steps are exact in 32 bits.
struct Segment {
  const int32_t *stationary; ///< Column group 0.
  size_t groupStride;        ///< From column group to column group.
  const GroupBounds *bounds; ///< Per column group.
  const uint32_t *moving;    ///< Step group 0.
  size_t stepStride;         ///< From step group to step group.
  size_t pairs;
  uint64_t most; ///< No moving value of the segment is above.
  int shift;     ///< Of the sums, next to that of the column group.
  Digit digit;
  /// Of step group 0, if operands are in blocks, of which there are `pairs`.
  const uint8_t *shifts = nullptr;
};

/// Where the sums of a tile of steps go.
struct SumTarget {
  int64_t *acc;
  size_t pitch, cols, steps;
  bool add;
};
} // namespace

/// Segments that are planned at a time.
constexpr size_t kSegments = 64;
/// Sums below this fit 32 bits.
constexpr uint64_t kExactLimit = uint64_t(1) << 31;

/// acc[c][v] += products of one segment; V vectors of steps.
template <typename Simd, size_t V, Digit D>
ASHLAR_INLINE void addPairs(const int32_t *s, const uint32_t *m,
                            size_t stepStride, size_t pairs,
                            typename Simd::Vec (&acc)[Simd::kColumns][V]) {
  constexpr size_t lanes = Simd::kLanes, perGroup = kStepGroup / lanes;
  for (size_t pair = 0; pair < pairs;
       ++pair, s += Simd::kColumns, m += kStepGroup) {
    typename Simd::Vec in[V];
#pragma GCC unroll 4
    for (size_t v = 0; v < V; ++v) {
      in[v] = Simd::load(m + v / perGroup * stepStride + v % perGroup * lanes);
      if constexpr (D == Digit::Low)
        in[v] = Simd::lowBytes(in[v]);
      if constexpr (D == Digit::High)
        in[v] = Simd::highBytes(in[v]);
    }
#pragma GCC unroll 8
    for (size_t c = 0; c < Simd::kColumns; ++c) {
      const typename Simd::Vec weight = Simd::broadcast(s[c]);
#pragma GCC unroll 4
      for (size_t v = 0; v < V; ++v)
        acc[c][v] = Simd::dot(acc[c][v], in[v], weight);
    }
  }
}

/// The same for operands in blocks and one vector of steps: with the sums of
/// blocks, two would not fit the registers.
template <typename Simd, size_t V, Digit D>
ASHLAR_INLINE void addBlocks(const Segment &segment, const int32_t *s, int more,
                             size_t v,
                             typename Simd::Vec (&acc)[Simd::kColumns][V]) {
  using Vec = typename Simd::Vec;
  constexpr size_t columns = Simd::kColumns;
  static_assert(Simd::kLanes == kStepGroup);
  const uint32_t *m = segment.moving + v * segment.stepStride;
  const uint8_t *shifts = segment.shifts + 4 * v * segment.stepStride;
  for (size_t block = 0; block < segment.pairs; ++block,
              s += (2 + kQuads) * columns, m += kQuads * kStepGroup,
              shifts += kStepGroup) {
    Vec sum[columns];
#pragma GCC unroll 8
    for (size_t c = 0; c < columns; ++c)
      sum[c] = Simd::broadcast(s[c]);
#pragma GCC unroll 4
    for (size_t quad = 0; quad < kQuads; ++quad) {
      const Vec in = Simd::load(m + quad * kStepGroup);
#pragma GCC unroll 8
      for (size_t c = 0; c < columns; ++c)
        sum[c] = Simd::dotBytes(sum[c], in,
                                Simd::broadcast(s[(2 + quad) * columns + c]));
    }
    Vec places = Simd::loadPlaces(shifts, more);
    if constexpr (D == Digit::Low)
      places = Simd::placesBelow(places, kDigitShifts + more);
    if constexpr (D == Digit::High)
      places = Simd::placesFrom(places, kDigitShifts + more, kDigitShifts);
#pragma GCC unroll 8
    for (size_t c = 0; c < columns; ++c)
      acc[c][v] = Simd::addShifted(acc[c][v], sum[c], places,
                                   Simd::broadcast(s[columns + c]));
  }
}

/// acc[c][v] += products of one segment, shifted by `more` if it is in blocks.
template <typename Simd, size_t V>
ASHLAR_INLINE void addSegment(const Segment &segment, size_t group, int more,
                              typename Simd::Vec (&acc)[Simd::kColumns][V]) {
  const int32_t *s = segment.stationary + group * segment.groupStride;
  if constexpr (Simd::kBytes)
    if (segment.shifts) {
#pragma GCC unroll 4
      for (size_t v = 0; v < V; ++v)
        if (segment.digit == Digit::Whole)
          addBlocks<Simd, V, Digit::Whole>(segment, s, more, v, acc);
        else if (segment.digit == Digit::Low)
          addBlocks<Simd, V, Digit::Low>(segment, s, more, v, acc);
        else
          addBlocks<Simd, V, Digit::High>(segment, s, more, v, acc);
      return;
    }
  if (segment.digit == Digit::Whole)
    addPairs<Simd, V, Digit::Whole>(s, segment.moving, segment.stepStride,
                                    segment.pairs, acc);
  else if (segment.digit == Digit::Low)
    addPairs<Simd, V, Digit::Low>(s, segment.moving, segment.stepStride,
                                  segment.pairs, acc);
  else
    addPairs<Simd, V, Digit::High>(s, segment.moving, segment.stepStride,
                                   segment.pairs, acc);
}

ASHLAR_INLINE int shiftOf(const Segment &segment, size_t group) {
  return segment.shift + static_cast<int>(segment.bounds[group].shift);
}
/// No sum of the segment is above.
ASHLAR_INLINE uint64_t boundOf(const Segment &segment, size_t group) {
  return segment.most * segment.bounds[group].norm;
}

/// Whether sums may be added to those of shift `shift`.
ASHLAR_INLINE bool joins(const Segment &segment, size_t group, int shift) {
  const int more = shiftOf(segment, group) - shift;
  return more == 0 || (more > 0 && segment.shifts);
}

/// The shift of the sums of segments from `first` on: the least of all, if they
/// are exact together then, otherwise that of the first.
ASHLAR_INLINE int commonShift(const Segment *segments, size_t count,
                              size_t first, size_t group) {
  int least = shiftOf(segments[first], group);
  for (size_t k = first + 1; k < count; ++k)
    least = numerics::least(least, shiftOf(segments[k], group));
  uint64_t bound = 0;
  for (size_t k = first; k < count && bound < kExactLimit; ++k)
    bound += joins(segments[k], group, least)
                 ? boundOf(segments[k], group)
                       << (shiftOf(segments[k], group) - least)
                 : kExactLimit;
  return bound < kExactLimit ? least : shiftOf(segments[first], group);
}

/// Sums of segments from `first` on whose sums are exact together, for one
/// group of columns; gives the first segment that is not among them. `shift` is
/// that of the sums.
template <typename Simd, size_t V>
ASHLAR_INLINE size_t sumGroup(const Segment *segments, size_t count,
                              size_t first, size_t group, int &shift,
                              typename Simd::Vec (&acc)[Simd::kColumns][V]) {
#pragma GCC unroll 16
  for (size_t i = 0; i < Simd::kColumns * V; ++i)
    acc[i / V][i % V] = Simd::zero();
  size_t k = first;
  if (k == count) {
    shift = 0;
    return k;
  }
  shift = commonShift(segments, count, first, group);
  uint64_t bound = 0;
  for (; k < count && joins(segments[k], group, shift); ++k) {
    const int more = shiftOf(segments[k], group) - shift;
    bound += boundOf(segments[k], group) << more;
    if (bound >= kExactLimit)
      break;
    addSegment<Simd, V>(segments[k], group, more, acc);
  }
  return k;
}

/// Adds the sums of one group of columns to the accumulators.
template <typename Simd, size_t V>
ASHLAR_INLINE void
widenGroup(const typename Simd::Vec (&acc)[Simd::kColumns][V], int shift,
           const SumTarget &to) {
#pragma GCC unroll 8
  for (size_t c = 0; c < Simd::kColumns; ++c) {
    if (c >= to.cols)
      break;
#pragma GCC unroll 4
    for (size_t v = 0; v < V; ++v)
      if (v * Simd::kLanes < to.steps)
        Simd::widenInto(acc[c][v], shift,
                        least(Simd::kLanes, to.steps - v * Simd::kLanes),
                        to.add, to.acc + c * to.pitch + v * Simd::kLanes);
  }
}

/// All segments for one group of columns; `to` begins at its first column.
template <typename Simd, size_t V>
static void runGroup(const Segment *segments, size_t count, size_t group,
                     SumTarget to) {
  for (size_t k = 0; k < count;) {
    typename Simd::Vec acc[Simd::kColumns][V];
    int shift;
    k = sumGroup<Simd, V>(segments, count, k, group, shift, acc);
    widenGroup<Simd, V>(acc, shift, to);
    to.add = true;
  }
}

/// A tile of at most kVectors vectors of steps against all columns.
template <typename Simd>
static void runSegments(const Segment *segments, size_t count,
                        const SumTarget &to) {
  constexpr size_t columns = Simd::kColumns;
  for (size_t c = 0; c < to.cols; c += columns) {
    const SumTarget part = {to.acc + c * to.pitch, to.pitch,
                            least(columns, to.cols - c), to.steps, to.add};
    if (to.steps <= Simd::kLanes)
      runGroup<Simd, 1>(segments, count, c / columns, part);
    else
      runGroup<Simd, Simd::kVectors>(segments, count, c / columns, part);
  }
}

namespace {
/// Segments waiting for their products with one tile of steps.
template <typename Simd>
class SegmentList {
public:
  explicit SegmentList(const SumTarget &to) : to(to) {}

  /// One plane of one row block; `digits` of 8 bits if not zero, which `moving`
  /// then holds one after the other, `digitStride` apart.
  void add(const Segment &segment) {
    if (used == kSegments)
      run();
    list[used++] = segment;
  }
  /// Adds what has been collected to the accumulators.
  void run() {
    if (used == 0)
      return;
    runSegments<Simd>(list, used, to);
    to.add = true;
    used = 0;
  }
  /// The sum of nothing is zero.
  void finish() {
    run();
    if (!to.add)
      clearSums(to.cols, to.steps, to.acc, to.pitch);
  }

private:
  SumTarget to;
  Segment list[kSegments];
  size_t used = 0;
};
} // namespace

/// Every row block and plane of a product whose moving values of 16 bits are
/// packed at `moving`.
template <typename Simd, typename List>
static void planWhole(const PackedStationary &stationary,
                      const uint32_t *moving, size_t stepStride, size_t steps,
                      List &list) {
  const PairLayout layout(stationary, Simd::kColumns);
  for (size_t block = 0; block < layout.pairs; block += kBlockPairs) {
    const size_t pairs = least(kBlockPairs, layout.pairs - block);
    const uint32_t *m = moving + block * kStepGroup;
    const uint64_t most = largestPacked(m, stepStride, pairs, steps);
    for (unsigned plane = 0; plane < stationary.planes; ++plane) {
      const GroupBounds *bounds = layout.bounds(block, plane);
      const int shift = static_cast<int>(kPlaneBits * plane);
      Segment segment = {layout.group(block, plane),
                         pairs * Simd::kColumns,
                         bounds,
                         m,
                         stepStride,
                         pairs,
                         most,
                         shift,
                         Digit::Whole};
      if (most * largestNorm(bounds, layout.groups) < kExactLimit) {
        list.add(segment);
        continue;
      }
      segment.most = 255;
      segment.digit = Digit::Low;
      list.add(segment);
      segment.digit = Digit::High;
      segment.shift = shift + 8;
      list.add(segment);
    }
  }
}

/// The same for operands in blocks, steps [first, first + steps).
template <typename Simd, typename List>
static void planBlocks(const PackedStationary &stationary,
                       const PackedMoving &moving, size_t first, size_t steps,
                       List &list) {
  const BlockLayout layout(stationary, Simd::kColumns);
  const MovingBlocks from(moving);
  for (size_t block = 0; block < layout.blocks; block += kSegmentBlocks) {
    const size_t count = layout.count(block);
    const uint8_t *shifts = from.shifts(first, block);
    const GroupBounds *bounds = layout.bounds(block);
    Segment segment = {
        layout.group(block, 0),
        count * layout.blockLanes(),
        bounds,
        reinterpret_cast<const uint32_t *>(from.rows(first, block)),
        from.groupBytes() / sizeof(uint32_t),
        count,
        kLargestByte << largestShift(shifts, from.groupBytes(), count, steps),
        0,
        Digit::Whole,
        shifts};
    if (segment.most * largestNorm(bounds, layout.groups) < kExactLimit) {
      list.add(segment);
      continue;
    }
    segment.most = kLargestByte << (kDigitShifts - 1);
    segment.digit = Digit::Low;
    list.add(segment);
    segment.digit = Digit::High;
    segment.shift = kDigitShifts;
    list.add(segment);
  }
}

/// The same for moving values of 32 bits, cut into digits in scratch.
template <typename Simd>
static void planDigits(const PackedStationary &stationary,
                       const IntegerMatrix &moving, size_t first, size_t steps,
                       SegmentList<Simd> &list) {
  const PairLayout layout(stationary, Simd::kColumns);
  const size_t stepStride = layout.pairs * kStepGroup;
  const size_t digitStride = Simd::kTile / kStepGroup * stepStride;
  const MovingDigits digits =
      packDigits(moving, layout.rows, first, steps, stepStride, digitStride);
  if (digits.count == 1 && digits.bits == 16) {
    planWhole<Simd>(stationary, digits.values, stepStride, steps, list);
    list.run(); // The scratch is used again.
    return;
  }
  for (size_t block = 0; block < layout.pairs; block += kBlockPairs)
    for (unsigned plane = 0; plane < stationary.planes; ++plane)
      for (unsigned d = 0; d < digits.count; ++d)
        list.add({layout.group(block, plane),
                  least(kBlockPairs, layout.pairs - block) * Simd::kColumns,
                  layout.bounds(block, plane),
                  digits.values + d * digitStride + block * kStepGroup,
                  stepStride, least(kBlockPairs, layout.pairs - block), 255,
                  static_cast<int>(kPlaneBits * plane + 8 * d), Digit::Whole});
  list.run();
}

/// A set for moving operands that are not in blocks.
template <typename Simd>
static const PackedStationary &widenIfInBlocks(const PackedStationary &set) {
  if (!set.inBlocks)
    return set;
  widenSet<Simd::kColumns>(set, widenedSet());
  return widenedSet();
}

/// KernelTable::gemm.
template <typename Simd>
static void gemmPairs(const PackedStationary &set, const IntegerMatrix &moving,
                      size_t steps, int64_t *acc, size_t accPitch,
                      bool accumulate) {
  const PackedStationary &stationary = widenIfInBlocks<Simd>(set);
  for (size_t t = 0; t < steps; t += Simd::kTile) {
    const size_t width = least(Simd::kTile, steps - t);
    SegmentList<Simd> list(
        {acc + t, accPitch, stationary.cols, width, accumulate});
    if (stationary.rows != 0)
      planDigits<Simd>(stationary, moving, t, width, list);
    list.finish();
  }
}

/// One product of a sum; what it needs of the scratch is used up.
template <typename Simd>
static void planProduct(const PackedProduct &product, size_t first,
                        size_t steps, SegmentList<Simd> &list) {
  const PackedMoving &moving = *product.moving;
  if (moving.inBlocks && product.stationary->inBlocks)
    return planBlocks<Simd>(*product.stationary, moving, first, steps, list);
  if (moving.inBlocks || product.stationary->inBlocks)
    list.run(); // The scratch is used again, here and below.
  const PackedStationary &stationary =
      widenIfInBlocks<Simd>(*product.stationary);
  if (moving.inBlocks) {
    const WidenedSteps values = widenSteps(moving, first, steps);
    planWhole<Simd>(stationary, values.values, values.stepStride, steps, list);
  } else if (moving.width == OperandWidth::Int16) {
    planWhole<Simd>(stationary, pairsAt(moving, first), pairStride(moving),
                    steps, list);
  } else {
    planDigits<Simd>(stationary, plainSteps(moving, first), 0, steps, list);
  }
  if (moving.inBlocks || product.stationary->inBlocks)
    list.run();
}

/// KernelTable::gemmPacked.
template <typename Simd>
static void gemmPackedPairs(const PackedProduct *products, size_t count,
                            size_t first, size_t steps, int64_t *acc,
                            size_t accPitch, bool accumulate) {
  for (size_t t = 0; t < steps; t += Simd::kTile) {
    const size_t width = least(Simd::kTile, steps - t);
    SegmentList<Simd> list(
        {acc + t, accPitch, products->stationary->cols, width, accumulate});
    for (const PackedProduct *p = products; p != products + count; ++p)
      if (p->stationary->rows != 0)
        planProduct<Simd>(*p, first + t, width, list);
    list.finish();
  }
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_GEMMKERNEL_H
