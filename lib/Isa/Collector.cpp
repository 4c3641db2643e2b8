// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns of accesses.

#include "Collector.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace ashlar::isa {

/// Bytes of one stored element.
unsigned elementBytes(ElemType type, unsigned mantissa) {
  switch (type) {
  case ElemType::I8:
  case ElemType::U8:
  case ElemType::Bool:
    return 1;
  case ElemType::F16:
  case ElemType::Bf16:
  case ElemType::I16:
  case ElemType::U16:
    return 2;
  case ElemType::F32:
  case ElemType::I32:
  case ElemType::U32:
    return 4;
  case ElemType::I64:
  case ElemType::U64:
  case ElemType::F64:
    return 8;
  case ElemType::Bfp:
    return mantissa <= 8 ? 1 : 2;
  }
  return 8;
}

/// Gives an access its pattern and bounding box. Dimensions of one step or
/// without stride vanish; a dimension that continues the run joins it; what
/// does not fit maxDims becomes part of the run (a superset).
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

/// Runs of partitions that are told apart; what consists of more covers all
/// between the first and the last.
static constexpr uint64_t maxPartitionRuns = 64;

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
void Collector::linearRows(Access access, uint64_t base, unsigned bytes,
                           const Dims &dims) {
  int64_t row = static_cast<int64_t>(machine.sb.bytesPerPartition);
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
  bool inside = within.begin >= 0 && within.end <= row && rows.begin >= 0;
  uint64_t runs = 1;
  for (unsigned i = 0; i < rows.numDims; ++i)
    runs *= rows.dims[i].count;
  if (inside && runs <= maxPartitionRuns)
    return partitionRuns(within, rows);
  // A superset: everything between the first and the last byte, by partition.
  setPattern(access, static_cast<int64_t>(base), bytes, dims);
  int64_t first = access.begin < 0 ? 0 : access.begin / row;
  int64_t last = access.end <= 0 ? 0 : (access.end - 1) / row;
  bool single = first == last;
  int64_t begin = single ? access.begin - first * row : 0;
  int64_t end = single ? access.end - first * row : row;
  // Addresses below zero stay visible as a negative range.
  if (access.begin < 0)
    begin = access.begin;
  access.partBegin = clampPartition(first);
  access.partEnd = clampPartition(last) + 1;
  setPattern(access, begin, end - begin, {});
  out.push_back(access);
}

/// XR by linear address: two bytes for each register.
void Collector::registers(Access access, uint64_t base, const Dims &dims) {
  Dims steps;
  for (const AccessDim &dim : dims)
    steps.push_back({dim.count, dim.stride / 2});
  setPattern(access, static_cast<int64_t>(base / 2), 1, steps);
  out.push_back(access);
}

void Collector::linear(bool write, Memory memory, uint64_t base, unsigned bytes,
                       const Dims &dims) {
  static constexpr Space spaces[] = {Space::Dram, Space::Sb, Space::Xm,
                                     Space::Fmu,  Space::Wm, Space::Xr};
  Access access;
  access.space = spaces[static_cast<unsigned>(memory)];
  access.write = write;
  if (access.space == Space::Sb || access.space == Space::Xm)
    return linearRows(access, base, bytes, dims);
  if (access.space == Space::Xr)
    return registers(access, base, dims);
  setPattern(access, static_cast<int64_t>(base), bytes, dims);
  out.push_back(access);
}

} // namespace ashlar::isa
