// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of transposes and their predicted cycles.

#include "ashlar/Analysis/TransposePlan.h"

#include "ashlar/Analysis/MovementQueues.h"
#include "ashlar/Machine/Transposes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::analysis {

using npu::PieceDim;

int64_t TransposePlan::count(llvm::ArrayRef<PieceDim> dims) {
  int64_t product = 1;
  for (const PieceDim &dim : dims)
    product *= dim.extent;
  return product;
}

namespace {

/// The longest segment from `begin` of at most `limit` indices that is a nest
/// of loops of `dims` without remainder. `joins(outer, inner)` says whether
/// both loops may be in one segment.
template <typename Joins>
Segment segmentFrom(llvm::ArrayRef<PieceDim> dims, int64_t begin, int64_t limit,
                    Joins joins) {
  Segment segment{begin, 1, {}, {}};
  for (size_t i = dims.size(); i-- > 0;) {
    bool more = segment.loops.size() < 3 &&
                (segment.loops.empty() || joins(i, segment.loops.front()));
    if (!more)
      break;
    int64_t index = begin / segment.size % dims[i].extent;
    int64_t fits = std::min(dims[i].extent - index, limit / segment.size);
    segment.dims.insert(segment.dims.begin(), fits);
    segment.loops.insert(segment.loops.begin(), i);
    segment.size *= fits;
    if (fits != dims[i].extent)
      break;
  }
  return segment;
}

template <typename Joins>
llvm::SmallVector<Segment> segments(llvm::ArrayRef<PieceDim> dims, int64_t size,
                                    int64_t limit, int64_t partitions,
                                    int64_t first, Joins joins) {
  llvm::SmallVector<Segment> list;
  for (int64_t at = 0; at < size; at += list.back().size) {
    int64_t room = partitions - (first + at) % partitions;
    list.push_back(
        segmentFrom(dims, at, std::min({limit, room, size - at}), joins));
  }
  return list;
}

/// True if the loops, sorted outermost first, count an axis without gaps.
bool isDense(llvm::ArrayRef<PieceDim> dims, int64_t PieceDim::*step) {
  int64_t expected = 1;
  for (const PieceDim &dim : llvm::reverse(dims)) {
    if (dim.*step != expected)
      return false;
    expected *= dim.extent;
  }
  return true;
}

} // namespace

llvm::SmallVector<Segment> TransposePlan::rowSegments(int64_t limit,
                                                      int64_t partitions,
                                                      int64_t first) const {
  return segments(rows, rowCount(), limit, partitions, first,
                  [](size_t, size_t) { return true; });
}

llvm::SmallVector<Segment> TransposePlan::columnSegments(int64_t limit,
                                                         int64_t partitions,
                                                         int64_t first) const {
  return segments(columns, columnCount(), limit, partitions, first,
                  [&](size_t outer, size_t inner) {
                    const PieceDim &o = columns[outer], &i = columns[inner];
                    return o.sourceAxis == i.sourceAxis &&
                           o.sourceStep == i.sourceStep * i.extent;
                  });
}

std::optional<TransposePlan>
planTranspose(const npu::Piece &piece, int64_t sourceAxis, int64_t resultAxis) {
  TransposePlan plan;
  for (const PieceDim &dim : piece.dims) {
    if (dim.extent == 1)
      continue;
    bool row = dim.sourceAxis == sourceAxis;
    bool column = dim.resultAxis == resultAxis;
    if (dim.sourceAxis < 0 || (row && column) || dim.sourceStep <= 0)
      return std::nullopt;
    (row ? plan.rows : column ? plan.columns : plan.others).push_back(dim);
  }
  llvm::sort(plan.rows, [](const PieceDim &a, const PieceDim &b) {
    return a.sourceStep > b.sourceStep;
  });
  llvm::sort(plan.columns, [](const PieceDim &a, const PieceDim &b) {
    return a.resultStep > b.resultStep;
  });
  if (!isDense(plan.rows, &PieceDim::sourceStep) ||
      !isDense(plan.columns, &PieceDim::resultStep))
    return std::nullopt;
  // The axis along which elements of a partition are neighbours.
  auto inner = [](size_t rank, int64_t across) {
    auto last = static_cast<int64_t>(rank) - 1;
    return last == across ? last - 1 : last;
  };
  for (const PieceDim &dim : plan.others)
    if (dim.sourceAxis == inner(piece.sourceStart.size(), sourceAxis) &&
        dim.resultAxis == inner(piece.resultStart.size(), resultAxis) &&
        dim.sourceStep == 1 && dim.resultStep == 1)
      plan.together = dim.extent;
  return plan;
}

TransposeCycles predictTranspose(const TransposePlan &plan,
                                 int64_t elementBytes,
                                 const machine::Description &machine) {
  TransposeCycles cycles;
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  int64_t elements = plan.rowCount() * plan.columnCount() * plan.planes();
  auto rows = plan.rowSegments(
      static_cast<int64_t>(machine::transposeRows(machine)), partitions, 0);
  auto columns = plan.columnSegments(machine.pe.columns, partitions, 0);
  int64_t first = 0;
  for (const Segment &row : rows)
    for (const Segment &column : columns) {
      machine::TransposeTerms terms =
          machine::transposeTile(machine, row.size, column.size, elementBytes);
      cycles.identity += static_cast<int64_t>(std::max(
          machine::peTile(machine, row.size, terms.load), terms.drain));
      first = std::max<int64_t>(first, terms.total());
    }
  cycles.identity = cycles.identity * plan.planes() + first;
  int64_t bytes = elements * elementBytes;
  int64_t queues = movementQueues(machine);
  // Only what neither side moves stays together.
  int64_t runs = elements / plan.together;
  int64_t parts = mayShareQueues(machine, bytes, runs) ? queues : 1;
  cycles.copy = static_cast<int64_t>(
      machine::dmaInside(machine, llvm::divideCeil(bytes, parts),
                         llvm::divideCeil(runs, parts)) +
      machine.dma.onchipLatency);
  cycles.dma = machine::transposeRoundTrip(
      machine, plan.rowCount(), elements / plan.rowCount() / plan.together,
      elementBytes * plan.together);
  return cycles;
}

} // namespace ashlar::analysis
