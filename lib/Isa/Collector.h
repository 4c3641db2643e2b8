// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the accesses of one instruction. Arithmetic is on 64-bit fields
// whose widths keep every sum of products below 2^63: counts of at most 20 bits
// times strides of at most 40, five of them, and one count of 24 times 36.

#ifndef ASHLAR_LIB_ISA_COLLECTOR_H
#define ASHLAR_LIB_ISA_COLLECTOR_H

#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/Operands.h"

#include <numeric>

namespace ashlar::isa {

/// Gives an access its pattern and bounding box. Dimensions of one step or
/// without stride vanish; a dimension that continues the run joins it; what
/// does not fit maxDims becomes part of the run, and the access is not exact.
void setPattern(Access &access, int64_t base, uint64_t runLength, Dims dims);

/// Appends the accesses to the exponent cells of \p elements, an access to SB
/// whose blocks run along the free axis: the tile of `group` partitions x
/// `group` elements of `bytes` bytes has the cell of its partition r at element
/// r. Exact where the elements are and strides inside a tile leave no tile out.
void freeAxisCells(const Access &elements, unsigned bytes, uint64_t group,
                   llvm::SmallVectorImpl<Access> &out);

/// A moving operand of the array as it is read: only indices inside [lo, hi),
/// and with row groups the pixels of each group of partitions, one in so many.
/// Calls fn(operand) for each run of partitions.
template <typename Fn>
void forMovingRows(const PeMatmul &x, const RowsOperand &operand,
                   int64_t arrayRows, Fn fn) {
  struct Range {
    int64_t first, end;
  };
  auto read = [&](RowsOperand rows, std::array<Range, 3> ranges) {
    for (unsigned d = 0; d < 3; ++d) {
      const Range range = ranges[d];
      if (range.first >= range.end)
        return;
      rows.offset += range.first * rows.loops[d].stride;
      rows.loops[d].count = static_cast<uint64_t>(range.end - range.first);
    }
    fn(rows);
  };
  auto clip = [](int64_t lo, int64_t hi, uint32_t n) {
    return Range{std::max<int64_t>(lo, 0), std::min<int64_t>(hi, n)};
  };
  auto divideUp = [](int64_t a, int64_t b) {
    return a > 0 ? (a + b - 1) / b : -(-a / b);
  };
  const Range outer = clip(x.lo0, x.hi0, x.n0);
  const Range middle = clip(x.lo1, x.hi1, x.n1);
  if (x.groups <= 1)
    return read(operand, {outer, middle, clip(x.lo2, x.hi2, x.n2)});
  // Pixel p lies in the partitions of lane p mod groups. Results of a row visit
  // `turns` lanes and begin again, as many pixels of a lane later as they visit
  // each lane in that time.
  const int64_t groups = x.groups, pitch = arrayRows / groups;
  const int64_t advance = 1 + int64_t(x.skip);
  const int64_t turns = groups / std::gcd(groups, advance);
  const int64_t first = std::max<int64_t>(
      divideUp(std::max<int64_t>(x.lo2, 0) - x.shift, advance), 0);
  const int64_t end =
      std::min<int64_t>(divideUp(int64_t(x.hi2) - x.shift, advance), x.validW);
  RowsOperand visits = operand;
  visits.loops[2].stride *= turns * advance / groups;
  for (int64_t w = first; w < std::min(end, first + turns); ++w) {
    const int64_t pixel = w * advance + x.shift;
    visits.part = operand.part + static_cast<uint64_t>(pixel % groups * pitch);
    visits.offset = operand.offset + pixel / groups * operand.loops[2].stride;
    read(visits, {outer, middle, {0, divideUp(end - w, turns)}});
  }
}

/// Collects the accesses of one instruction: the operand visitor of footprints.
class Collector : public OperandVisitor<Collector> {
public:
  Collector(const machine::Description &machine,
            llvm::SmallVectorImpl<Access> &out)
      : machine(machine), out(out) {}

  void tensor(const TensorOperand &o);

  void rows(const RowsOperand &o);
  void linear(const LinearOperand &o);
  void codes(const CodesOperand &o);

  void psum(const PsumOperand &o) {
    add(Space::Psum, o, o.base, 1).partEnd = o.columns;
  }

  void registers(const RegisterOperand &o) {
    add(o.space, o, o.index, o.count).merge = o.merge;
  }

  /// The register that an encode merges into, or takes its exponent from.
  void scale(const ScaleOperand &o) {
    if (!isa::isBlock(o.type))
      return;
    Access &access = add(Space::Xr, o, o.xr, 1);
    access.write = !o.given;
    access.merge = !o.given && !o.xrClear;
  }

  void whole(const WholeOperand &o) { add(o.space, o, 0, 1); }

  void cluster(const ClusterOperand &o) {
    add(o.space, o, static_cast<int64_t>(o.base), o.run).merge = o.merge;
  }

  void pooled(const VecPool &x, const TensorOperand &o);
  void moving(const PeMatmul &x, const RowsOperand &o) {
    forMovingRows(x, o, static_cast<int64_t>(machine.pe.rows),
                  [&](const RowsOperand &read) { rows(read); });
  }
  void tiles(const DmaTile &, const TensorOperand &o) { tiles(o, 0); }
  /// The same from channel \p channel of the operand on.
  void tiles(const TensorOperand &o, uint64_t channel);
  void accumulators(const ActDrain &x, Effect effect);
  void accumulators(const ActPool &x, Effect effect);
  void featureMaps(const DmaTile &x, Effect effect);
  void featureMaps(const TccRun &x, Effect effect);
  /// Where in its set a drain writes, only the loader follows.
  void featureMaps(const ActDrain &x, Effect effect) {
    bufferSet(x.set, effect, 0, machine.sparse.fmuBytes);
  }

private:
  /// Appends an access to a space in which all partitions are one.
  Access &add(Space space, const Operand &o, int64_t base, uint64_t run) {
    Access access;
    access.space = space;
    access.write = o.writes();
    setPattern(access, base, run, o.loops);
    out.push_back(access);
    return out.back();
  }
  /// The same pattern in partitions [begin, end) of SB, and of XM if encoded.
  void sbRows(bool write, bool encoded, uint64_t begin, uint64_t end,
              int64_t base, unsigned bytes, const Dims &dims,
              Orientation orientation = Orientation::P);
  void bufferSet(uint32_t set, Effect effect, uint64_t base, uint64_t run);
  template <typename Op>
  void slots(const Op &x, Effect effect, uint64_t before);
  bool alignedRows(Access access, uint64_t base, unsigned bytes,
                   const Dims &dims);
  bool skewedRows(const Access &access, uint64_t base, unsigned bytes,
                  Dims dims);
  void placeRun(Access run, int64_t start);
  void longRun(const Access &access);
  void linearRows(Access access, uint64_t base, unsigned bytes,
                  const Dims &dims);
  void linearRegisters(Access access, uint64_t base, const Dims &dims);
  void partitionRuns(Access within, const Access &rows);

  const machine::Description &machine;
  llvm::SmallVectorImpl<Access> &out;
};

} // namespace ashlar::isa

#endif // ASHLAR_LIB_ISA_COLLECTOR_H
