// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the accesses of one instruction. Arithmetic is on 64-bit fields
// whose widths keep every sum of products below 2^63: counts of at most 20 bits
// times strides of at most 40, five of them, and one count of 24 times 36.

#ifndef ASHLAR_LIB_ISA_COLLECTOR_H
#define ASHLAR_LIB_ISA_COLLECTOR_H

#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/Footprint.h"
#include "llvm/ADT/SmallVector.h"

namespace ashlar::isa {

using Dims = llvm::SmallVector<AccessDim, 8>;

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

/// A tensor operand in SB as the instructions describe it.
struct SbOperand {
  ElemType type;
  uint32_t mantissa;
  uint32_t part;
  uint64_t offset;
  uint64_t channels;
  int64_t tileStride;
};

/// Collects the accesses of one instruction.
class Collector {
public:
  Collector(const machine::Description &machine,
            llvm::SmallVectorImpl<Access> &out)
      : machine(machine), out(out) {}

  uint64_t partitions() const { return machine.sb.partitions; }
  uint64_t accumulators() const { return machine.sparse.accumulatorEntries; }
  uint64_t bufferBytes() const { return machine.sparse.fmuBytes; }
  int64_t arrayRows() const { return static_cast<int64_t>(machine.pe.rows); }

  /// The same pattern in partitions [begin, end) of SB, and of XM if encoded.
  void sbRows(bool write, bool encoded, uint64_t begin, uint64_t end,
              int64_t base, unsigned bytes, const Dims &dims,
              Orientation orientation = Orientation::P) {
    Access access;
    access.space = Space::Sb;
    access.write = write;
    access.partBegin = static_cast<uint32_t>(begin);
    access.partEnd = static_cast<uint32_t>(end);
    setPattern(access, base, bytes, dims);
    out.push_back(access);
    if (!encoded)
      return;
    if (orientation == Orientation::F)
      return freeAxisCells(access, bytes, machine.xmGroup, out);
    access.space = Space::Xm;
    access.partBegin = static_cast<uint32_t>(begin / machine.xmGroup);
    access.partEnd = static_cast<uint32_t>((end - 1) / machine.xmGroup + 1);
    // Two-byte mantissas use the cell of the even byte only.
    setPattern(access, base, 1, dims);
    out.push_back(access);
  }

  /// A tensor whose channels run over partitions and then over tiles; of an
  /// encoded one also the cells, unless only mantissas matter.
  void sbTensor(bool write, const SbOperand &x, const Dims &dims,
                bool cells = true) {
    unsigned bytes = elementBytes(x.type, x.mantissa);
    bool encoded = cells && x.type == ElemType::Bfp;
    uint64_t partitions = machine.sb.partitions;
    uint64_t end = x.part + x.channels;
    auto rows = [&](uint64_t begin, uint64_t rowsEnd, uint64_t tile,
                    uint64_t tiles) {
      Dims all = dims;
      all.push_back({tiles, x.tileStride});
      sbRows(write, encoded, begin, rowsEnd,
             static_cast<int64_t>(x.offset) +
                 static_cast<int64_t>(tile) * x.tileStride,
             bytes, all);
    };
    // A start beyond the memory is kept as it is: the loader refuses it.
    if (end <= partitions || x.part >= partitions)
      return rows(x.part, end, 0, 1);
    // First tile from `part`, whole tiles, and the rest of the last one.
    rows(x.part, partitions, 0, 1);
    uint64_t whole = end / partitions;
    if (whole > 1)
      rows(0, partitions, 1, whole - 1);
    if (end % partitions)
      rows(0, end % partitions, whole, 1);
  }

  void xr(bool write, bool merge, uint32_t index) {
    Access access;
    access.space = Space::Xr;
    access.write = write;
    access.merge = merge;
    setPattern(access, index, 1, {});
    out.push_back(access);
  }

  /// `count` consecutive scale-exponent registers.
  void xrRange(bool write, uint32_t first, uint32_t count) {
    Access access;
    access.space = Space::Xr;
    access.write = write;
    setPattern(access, first, count, {});
    out.push_back(access);
  }

  void sr(bool write, bool merge, uint32_t index) {
    xr(write, merge, index);
    out.back().space = Space::Sr;
  }

  /// The register that an encode merges into, or takes its exponent from.
  void encodeXr(ElemType type, uint32_t index, bool clear,
                bool cellFromXr = false) {
    if (type == ElemType::Bfp)
      xr(!cellFromXr, !cellFromXr && !clear, index);
  }

  void whole(Space space, bool write) {
    Access access;
    access.space = space;
    access.write = write;
    out.push_back(access);
  }

  void psum(bool write, uint32_t cols, uint32_t base, const Dims &dims) {
    Access access;
    access.space = Space::Psum;
    access.write = write;
    access.partEnd = cols;
    setPattern(access, base, 1, dims);
    out.push_back(access);
  }

  /// Reads a dense stream of codes in DRAM; lengths beyond any memory stay so.
  void stream(uint64_t base, std::initializer_list<uint64_t> counts,
              unsigned bits) {
    uint64_t length = bits;
    for (uint64_t count : counts)
      length = std::min(length, uint64_t(1) << 43) * count;
    Access access;
    access.space = Space::Dram;
    setPattern(access, static_cast<int64_t>(base), (length + 7) / 8, {});
    out.push_back(access);
  }

  void linear(bool write, Memory memory, uint64_t base, unsigned bytes,
              const Dims &dims);

  /// A pattern of one of the sparse cluster's memories.
  void cluster(Space space, bool write, uint64_t base, uint64_t run,
               const Dims &dims = {}, uint32_t partition = 0) {
    Access access;
    access.space = space;
    access.write = write;
    access.partBegin = partition;
    access.partEnd = partition + 1;
    setPattern(access, static_cast<int64_t>(base), run, dims);
    out.push_back(access);
  }

  /// Counters of non-zeros.
  void counters(bool write, bool merge, uint64_t base, const Dims &dims) {
    cluster(Space::Counts, write, base, 1, dims);
    out.back().merge = merge;
  }

private:
  bool alignedRows(Access access, uint64_t base, unsigned bytes,
                   const Dims &dims);
  bool skewedRows(const Access &access, uint64_t base, unsigned bytes,
                  Dims dims);
  void placeRun(Access run, int64_t start);
  void longRun(const Access &access);
  void linearRows(Access access, uint64_t base, unsigned bytes,
                  const Dims &dims);
  void registers(Access access, uint64_t base, const Dims &dims);
  void partitionRuns(Access within, const Access &rows);

  const machine::Description &machine;
  llvm::SmallVectorImpl<Access> &out;
};

// Instructions of the sparse cluster; the others are in Footprint.cpp.
void visit(const TccTile &x, Collector &c);
void visit(const DmaTile &x, Collector &c);
void visit(const TccInit &x, Collector &c);
void visit(const TccRun &x, Collector &c);
void visit(const TccNnz &x, Collector &c);
void visit(const TccPart &x, Collector &c);
void visit(const TccOperand &x, Collector &c);
void visit(const TccBind &x, Collector &c);
/// Counters that act.drain adds to.
void visitCounters(const ActDrain &x, Collector &c);
/// What act.drain reads of the sparse cluster.
void visitAccumulators(const ActDrain &x, Collector &c);

} // namespace ashlar::isa

#endif // ASHLAR_LIB_ISA_COLLECTOR_H
