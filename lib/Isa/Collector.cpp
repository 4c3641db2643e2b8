// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns of accesses.

#include "Collector.h"
#include "ashlar/Isa/ElementBytes.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace ashlar::isa {

/// Gives an access its pattern and bounding box. Dimensions of one step or
/// without stride vanish; a dimension that continues the run joins it; what
/// does not fit maxDims becomes part of the run, and the access is not exact.
void setPattern(Access &access, int64_t base, uint64_t runLength, Dims dims) {
  llvm::erase_if(dims, [](const AccessDim &dim) {
    return dim.count <= 1 || dim.stride == 0;
  });
  for (AccessDim &dim : dims)
    if (dim.stride < 0) {
      base += static_cast<int64_t>(dim.count - 1) * dim.stride;
      dim.stride = -dim.stride;
    }
  llvm::sort(dims, [](const AccessDim &a, const AccessDim &b) {
    return a.stride < b.stride;
  });
  size_t used = 0;
  while (used < dims.size() &&
         (static_cast<uint64_t>(dims[used].stride) <= runLength ||
          dims.size() - used > Access::maxDims)) {
    access.exact &= static_cast<uint64_t>(dims[used].stride) <= runLength;
    runLength += (dims[used].count - 1) * dims[used].stride;
    ++used;
  }
  access.base = base;
  access.runLength = runLength;
  access.numDims = dims.size() - used;
  int64_t reach = static_cast<int64_t>(runLength);
  for (unsigned d = 0; d < access.numDims; ++d) {
    access.dims[d] = dims[used + d];
    reach +=
        static_cast<int64_t>(access.dims[d].count - 1) * access.dims[d].stride;
  }
  access.begin = base;
  access.end = base + reach;
}

/// A partition number far outside any memory stays outside when it is cut to
/// the type of Access.
static uint32_t clampPartition(int64_t partition) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(partition, 0, std::numeric_limits<int32_t>::max()));
}

/// Runs of partitions that are told apart: enough for every second partition of
/// the machine, since images whose columns lie across partitions are written
/// so. What consists of more covers all between the first and the last.
static uint64_t mostPartitionRuns(const machine::Description &machine) {
  return std::max<uint64_t>(256, (uint64_t(machine.sb.partitions) + 1) / 2);
}

/// One access for each run of partitions that the pattern `rows` consists of.
void Collector::partitionRuns(Access within, const Access &rows) {
  uint64_t index[Access::maxDims] = {};
  while (true) {
    int64_t first = rows.base;
    for (unsigned i = 0; i < rows.numDims; ++i)
      first += static_cast<int64_t>(index[i]) * rows.dims[i].stride;
    within.partBegin = clampPartition(first);
    within.partEnd = clampPartition(first + rows.runLength - 1) + 1;
    out.push_back(within);
    unsigned i = 0;
    while (i < rows.numDims && ++index[i] == rows.dims[i].count)
      index[i++] = 0;
    if (i == rows.numDims)
      return;
  }
}

/// SB and XM by linear address: strides that are multiples of a partition are
/// steps over partitions, if the rest stays inside one.
bool Collector::alignedRows(Access access, uint64_t base, unsigned bytes,
                            const Dims &dims) {
  const auto row = static_cast<int64_t>(machine.sb.bytesPerPartition);
  Dims inner, outer;
  for (const AccessDim &dim : dims) {
    if (dim.count <= 1 || dim.stride == 0)
      continue;
    bool steps = dim.stride % row == 0;
    (steps ? outer : inner)
        .push_back({dim.count, steps ? dim.stride / row : dim.stride});
  }
  Access rows = access, within = access;
  setPattern(rows, static_cast<int64_t>(base) / row, 1, outer);
  setPattern(within, static_cast<int64_t>(base) % row, bytes, inner);
  if (within.begin < 0 || within.end > row || rows.begin < 0)
    return false;
  within.exact &= rows.exact;
  uint64_t runs = 1;
  for (unsigned i = 0; i < rows.numDims; ++i)
    runs *= rows.dims[i].count;
  if (runs <= mostPartitionRuns(machine)) {
    partitionRuns(within, rows);
    return true;
  }
  within.exact = false;
  within.partBegin = clampPartition(rows.begin);
  within.partEnd = clampPartition(rows.end - 1) + 1;
  out.push_back(within);
  return true;
}

/// The same where a step changes partition and place in it: one access for each
/// index of the long strides, as long as every one stays inside a partition.
bool Collector::skewedRows(const Access &access, uint64_t base, unsigned bytes,
                           Dims dims) {
  const auto row = static_cast<int64_t>(machine.sb.bytesPerPartition);
  const uint64_t most = mostPartitionRuns(machine);
  auto first = static_cast<int64_t>(base);
  for (AccessDim &dim : dims)
    if (dim.stride < 0) {
      first += static_cast<int64_t>(dim.count - 1) * dim.stride;
      dim.stride = -dim.stride;
    }
  llvm::sort(dims, [](const AccessDim &a, const AccessDim &b) {
    return a.stride < b.stride;
  });
  Dims inner, outer;
  int64_t span = bytes;
  uint64_t runs = 1;
  for (const AccessDim &dim : dims) {
    const int64_t reach = static_cast<int64_t>(dim.count - 1) * dim.stride;
    if (outer.empty() && first >= 0 && first % row + span + reach <= row) {
      inner.push_back(dim);
      span += reach;
    } else {
      outer.push_back(dim);
      runs = dim.count > most ? most + 1 : runs * dim.count;
      if (runs > most)
        return false;
    }
  }
  llvm::SmallVector<int64_t, 8> starts{first};
  for (const AccessDim &dim : outer) {
    llvm::SmallVector<int64_t, 8> sofar = std::move(starts);
    starts.clear();
    for (uint64_t i = 0; i < dim.count; ++i)
      for (int64_t start : sofar)
        starts.push_back(start + static_cast<int64_t>(i) * dim.stride);
  }
  // The pattern from place 0 on.
  Access run = access;
  setPattern(run, 0, bytes, inner);
  if (llvm::any_of(starts, [&](int64_t start) {
        return start < 0 || (start % row + span > row && run.numDims > 0);
      }))
    return false;
  for (int64_t start : starts)
    placeRun(run, start);
  return true;
}

/// `run`, a pattern from place 0 on, at linear address `start`. One run of
/// bytes is divided where a partition ends; other patterns stay inside one.
void Collector::placeRun(Access run, int64_t start) {
  const auto row = static_cast<int64_t>(machine.sb.bytesPerPartition);
  for (auto left = static_cast<int64_t>(run.runLength); left > 0;) {
    const int64_t place = start % row;
    const int64_t here =
        run.numDims > 0 ? left : std::min<int64_t>(left, row - place);
    Access one = run;
    one.runLength = static_cast<uint64_t>(here);
    one.base = one.begin = place;
    one.end = place + (run.numDims > 0 ? run.end : here);
    one.partBegin = clampPartition(start / row);
    one.partEnd = one.partBegin + 1;
    out.push_back(one);
    start += here;
    left -= here;
  }
}

/// One run of bytes over several partitions: the end of the first, whole ones,
/// the begin of the last.
void Collector::longRun(const Access &access) {
  const auto row = static_cast<int64_t>(machine.sb.bytesPerPartition);
  const int64_t first = access.begin / row, last = (access.end - 1) / row;
  auto add = [&](int64_t part, int64_t partEnd, int64_t begin, int64_t end) {
    if (part >= partEnd || begin >= end)
      return;
    Access one = access;
    one.partBegin = clampPartition(part);
    one.partEnd = clampPartition(partEnd);
    setPattern(one, begin, static_cast<uint64_t>(end - begin), {});
    out.push_back(one);
  };
  const int64_t begin = access.begin - first * row;
  if (first == last)
    return add(first, first + 1, begin, access.end - first * row);
  add(first, first + 1, begin, row);
  add(first + 1, last, 0, row);
  add(last, last + 1, 0, access.end - last * row);
}

void Collector::linearRows(Access access, uint64_t base, unsigned bytes,
                           const Dims &dims) {
  if (alignedRows(access, base, bytes, dims))
    return;
  Access bytesOnly = access;
  setPattern(bytesOnly, static_cast<int64_t>(base), bytes, dims);
  if (bytesOnly.exact && bytesOnly.numDims == 0 && bytesOnly.begin >= 0)
    return longRun(bytesOnly);
  if (skewedRows(access, base, bytes, dims))
    return;
  // Everything between the first and the last byte, by partition.
  const auto row = static_cast<int64_t>(machine.sb.bytesPerPartition);
  access.exact = false;
  const int64_t begin = bytesOnly.begin, end = bytesOnly.end;
  const int64_t first = begin < 0 ? 0 : begin / row;
  const int64_t last = end <= 0 ? 0 : (end - 1) / row;
  access.partBegin = clampPartition(first);
  access.partEnd = clampPartition(last) + 1;
  // Addresses below zero stay visible as a negative range.
  const int64_t from = begin < 0       ? begin
                       : first == last ? begin - first * row
                                       : 0;
  const int64_t to = first == last ? end - first * row : row;
  setPattern(access, from, static_cast<uint64_t>(to - from), {});
  out.push_back(access);
}

/// XR by linear address: two bytes for each register.
void Collector::linearRegisters(Access access, uint64_t base,
                                const Dims &dims) {
  Dims steps;
  for (const AccessDim &dim : dims)
    steps.push_back({dim.count, dim.stride / 2});
  setPattern(access, static_cast<int64_t>(base / 2), 1, steps);
  out.push_back(access);
}

void Collector::linear(const LinearOperand &o) {
  static constexpr Space spaces[] = {Space::Dram, Space::Sb, Space::Xm,
                                     Space::Fmu,  Space::Wm, Space::Xr};
  Access access;
  access.space = spaces[static_cast<unsigned>(o.mem)];
  access.write = o.writes();
  Dims dims = o.loops;
  // Whatever the data are: every element along the axis.
  if (o.axis.count > 1)
    dims.push_back(o.axis);
  if (access.space == Space::Sb || access.space == Space::Xm)
    return linearRows(access, o.base, o.bytes, dims);
  if (access.space == Space::Xr)
    return linearRegisters(access, o.base, dims);
  setPattern(access, static_cast<int64_t>(o.base), o.bytes, dims);
  out.push_back(access);
}

// Lengths beyond any memory stay so.
numerics::CodeStream CodesOperand::stream() const {
  uint64_t count = 1;
  for (size_t i = 0; i < loops.size(); ++i)
    if (!repeats(i))
      count = std::min(count, uint64_t(1) << 43) * loops[i].count;
  return {static_cast<numerics::CodeForm>(form), bits, count,
          form == CodeForm::Exponents ? 0 : unit, stored};
}

void Collector::codes(const CodesOperand &o) {
  Access access;
  access.space = Space::Dram;
  setPattern(access, static_cast<int64_t>(o.base), o.stream().bytes(), {});
  out.push_back(access);
}

void Collector::sbRows(bool write, bool encoded, uint64_t begin, uint64_t end,
                       int64_t base, unsigned bytes, const Dims &dims,
                       Orientation orientation) {
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

void Collector::rows(const RowsOperand &o) {
  sbRows(o.writes(), isa::isBlock(o.type), o.part, o.part + o.rows, o.offset,
         o.elementSize(), o.loops, o.orientation);
}

void Collector::tensor(const TensorOperand &o) {
  const bool encoded = o.cells && o.encoded();
  const auto base = static_cast<int64_t>(o.offset);
  const uint64_t partitions = machine.sb.partitions;
  const uint64_t end = o.part + o.ownChannels();
  if (o.orientation == Orientation::F)
    return sbRows(o.writes(), encoded, o.part, end, base, o.bytes(), o.loops,
                  Orientation::F);
  Dims dims = o.loops;
  // Whatever the data are: every element along the axis.
  if (o.axis.count > 1)
    dims.push_back(o.axis);
  auto rows = [&](uint64_t begin, uint64_t rowsEnd, uint64_t tile,
                  uint64_t tiles) {
    Dims all = dims;
    all.push_back({tiles, o.tileStride});
    sbRows(o.writes(), encoded, begin, rowsEnd,
           base + static_cast<int64_t>(tile) * o.tileStride, o.bytes(), all);
  };
  // A start beyond the memory is kept as it is: the loader refuses it.
  if (end <= partitions || o.part >= partitions)
    return rows(o.part, end, 0, 1);
  // First tile from `part`, whole tiles, and the rest of the last one.
  rows(o.part, partitions, 0, 1);
  const uint64_t whole = end / partitions;
  if (whole > 1)
    rows(0, partitions, 1, whole - 1);
  if (end % partitions)
    rows(0, end % partitions, whole, 1);
}

} // namespace ashlar::isa
