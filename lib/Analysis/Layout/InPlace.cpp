// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The safety rule of a fold inside one memory: reading stays ahead of writing.
// Both are taken as the first and last byte of a partition that a tile touches.

#include "ashlar/Analysis/Layout/InPlace.h"

#include "ashlar/Analysis/Array/TransposePlan.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;

namespace ashlar::analysis {

namespace {

/// Bytes of a partition from the first of a part to one past its last.
struct ByteSpan {
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = 0;

  void add(const ByteSpan &other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};

ByteSpan spanOf(const View &whole, const Region &region,
                const machine::Description &machine) {
  if (region.elements() == 0)
    return {};
  const View view = whole.slice(region, machine);
  Shape end(view.shape);
  for (int64_t &index : end)
    --index;
  int64_t last = view.base + (view.part + view.partitionsTo(end)) /
                                 static_cast<int64_t>(machine.sb.partitions) *
                                 view.tileStride;
  for (int64_t i = 0; i < view.rank(); ++i)
    if (!view.isAcross(i))
      last += end[i] * view.strides[i];
  return {view.base, last + view.type.bytes()};
}

/// The part of a tensor of `shape` between `low` and `high`, both included.
Region box(const Shape &low, const Shape &high, llvm::ArrayRef<int64_t> shape) {
  Region region{low, low};
  for (size_t i = 0; i < low.size(); ++i) {
    region.start[i] = std::max<int64_t>(low[i], 0);
    region.size[i] =
        std::max<int64_t>(std::min(high[i] + 1, shape[i]) - region.start[i], 0);
  }
  return region;
}

/// What the patterns read of their operand for a tile of the result.
ByteSpan readByPatterns(npu::DmaMoveOp op, const View &source,
                        const Region &out,
                        const machine::Description &machine) {
  ByteSpan span;
  for (Attribute attr : op.getPatterns()) {
    npu::AccessPattern pattern = *npu::AccessPattern::fromArray(
        cast<DenseI64ArrayAttr>(attr).asArrayRef());
    if (!clipPattern(pattern, out))
      continue;
    Shape low(pattern.sourceStart), high(pattern.sourceStart);
    for (const npu::PatternDim &dim : pattern.dims)
      if (dim.sourceAxis >= 0)
        (dim.sourceStep < 0 ? low : high)[dim.sourceAxis] +=
            (dim.extent - 1) * dim.sourceStep;
    span.add(spanOf(source, box(low, high, source.shape), machine));
  }
  return span;
}

ByteSpan readBytes(npu::DmaMoveOp op, const OperandModel &operand,
                   const View &source, const Region &out,
                   const machine::Description &machine) {
  // Every tile copies all of the operand to DRAM first.
  if (op.getPatterns().empty() || op.getRoute() == npu::Route::ThroughDram)
    return spanOf(source, Region::whole(source.shape), machine);
  if (operand.direct)
    return readByPatterns(op, source, out, machine);
  const Region region = operand.region(out);
  Shape last(region.start);
  for (size_t i = 0; i < last.size(); ++i)
    last[i] += region.size[i] - 1;
  return spanOf(source, box(region.start, last, source.shape), machine);
}

} // namespace

int64_t inPlaceLead(npu::DmaMoveOp op, const TilingModel &model,
                    const View &source, llvm::ArrayRef<int64_t> extents,
                    const machine::Description &machine) {
  const View result = denseBufferView(
      model.resultType, storedShape(model.resultShape, model.lanes),
      model.resultAxis, /*offset=*/0, machine);
  llvm::SmallVector<ByteSpan> read;
  llvm::SmallVector<int64_t> written; // by this tile and those before it
  Region out = firstTile(model.resultShape, extents);
  ByteSpan sofar;
  do {
    read.push_back(readBytes(op, model.operands[0], source, out, machine));
    sofar.add(spanOf(result, storedRegion(out, model.lanes), machine));
    written.push_back(sofar.end);
  } while (nextTile(out, model.resultShape, extents));
  int64_t lead = spanOf(source, Region::whole(source.shape), machine).end;
  int64_t needed = std::numeric_limits<int64_t>::max();
  for (size_t i = read.size(); i-- > 1;) {
    needed = std::min(needed, read[i].begin);
    if (needed < std::numeric_limits<int64_t>::max())
      lead = std::min(lead, needed - written[i - 1]);
  }
  return lead;
}

std::optional<BlockSwap> blockSwap(npu::DmaMoveOp op, const View &source,
                                   int64_t resultAxis,
                                   const machine::Description &machine) {
  std::optional<npu::AccessPattern> pattern = solePattern(op);
  if (!pattern || source.type.encoded || source.axis < 0 || resultAxis < 0 ||
      source.part != 0 || source.outer >= 0)
    return std::nullopt;
  auto plan = planTranspose(*pattern, source.axis, resultAxis);
  if (!plan || plan->rows.size() != 1 || plan->columns.size() != 1)
    return std::nullopt;
  const npu::PatternDim &row = plan->rows[0], &column = plan->columns[0];
  const View result =
      denseBufferView(source.type, shapeOf(op.getY()), resultAxis,
                      /*offset=*/0, machine);
  auto stays = [&](const npu::PatternDim &from, const npu::PatternDim &to) {
    return from.sourceStep * source.strides[from.sourceAxis] ==
           to.resultStep * result.strides[to.resultAxis];
  };
  auto isZero = [](int64_t start) { return start == 0; };
  const bool whole = plan->rowCount() * plan->columnCount() * plan->planes() ==
                         Region::whole(source.shape).elements() &&
                     Region::whole(source.shape).elements() ==
                         Region::whole(result.shape).elements() &&
                     llvm::all_of(pattern->sourceStart, isZero) &&
                     llvm::all_of(pattern->resultStart, isZero);
  if (!whole || row.extent != column.extent || row.resultStep != 1 ||
      column.sourceStep != 1 || source.tileStride != result.tileStride ||
      !stays(column, row) ||
      !llvm::all_of(plan->others, [&](const npu::PatternDim &dim) {
        return stays(dim, dim);
      }))
    return std::nullopt;
  return BlockSwap{*pattern, row.resultAxis, column.sourceAxis, row.extent,
                   static_cast<int64_t>(machine.sb.partitions)};
}

/// Restricts `axis` of a region to block `index`.
static void limitTo(Region &region, int64_t axis, int64_t index,
                    const BlockSwap &swap) {
  region.start[axis] = index * swap.block;
  region.size[axis] = std::min(swap.block, swap.extent - region.start[axis]);
}

Region blockOfOperand(const BlockSwap &swap, llvm::ArrayRef<int64_t> shape,
                      int64_t sourceAxis, int64_t i, int64_t j) {
  Region region = Region::whole(shape);
  limitTo(region, sourceAxis, i, swap);
  limitTo(region, swap.columnAxis, j, swap);
  return region;
}

Region blockOfResult(const BlockSwap &swap, llvm::ArrayRef<int64_t> shape,
                     int64_t resultAxis, int64_t i, int64_t j) {
  Region region = Region::whole(shape);
  limitTo(region, swap.rowAxis, i, swap);
  limitTo(region, resultAxis, j, swap);
  return region;
}

} // namespace ashlar::analysis
