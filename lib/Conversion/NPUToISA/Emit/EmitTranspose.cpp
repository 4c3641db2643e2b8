// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu.pe.transpose: the data are stationary, an identity window moves past
// them, and the drain puts column c of the array into partition c
// (docs/Machine.md, transposes). Nothing leaves the chip. In byte planes every
// byte of the elements makes the way on its own, as an integer.

#include "../Generator.h"

#include "ashlar/Analysis/Array/TransposePlan.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Machine/Transposes.h"
#include "ashlar/Numerics/Function.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

#include <utility>

using namespace mlir;

namespace ashlar::codegen {

using analysis::Segment;
using npu::PatternDim;

namespace {

class TransposeEmitter {
public:
  TransposeEmitter(Generator &generator, const TileContext &tile,
                   const npu::AccessPattern &pattern,
                   const analysis::TransposePlan &plan)
      : generator(generator), machine(generator.machine), plan(plan),
        op(cast<npu::PeTransposeOp>(tile.op)), x(tile.operands[0]),
        y(tile.result), firstRow(x.part + pattern.sourceStart[x.axis]),
        firstColumn(y.part + pattern.resultStart[y.axis]), source(x.base),
        result(y.base) {
    for (int64_t i = 0; i < x.rank(); ++i)
      if (i != x.axis)
        source += pattern.sourceStart[i] * x.strides[i];
    for (int64_t i = 0; i < y.rank(); ++i)
      if (i != y.axis)
        result += pattern.resultStart[i] * y.strides[i];
  }

  void run() {
    auto partitions = static_cast<int64_t>(machine.sb.partitions);
    rows =
        plan.rowSegments(static_cast<int64_t>(machine::transposeRows(machine)),
                         partitions, firstRow);
    columns = plan.columnSegments(machine.pe.columns, partitions, firstColumn);
    emitPlanes(plan.others, source, result);
  }

private:
  /// Bytes per iteration of a loop on either side.
  int64_t sourceStride(const PatternDim &dim) const {
    return dim.sourceStep * x.strides[dim.sourceAxis];
  }
  int64_t resultStride(const PatternDim &dim) const {
    return dim.resultStep * y.strides[dim.resultAxis];
  }

  void emitPlanes(llvm::ArrayRef<PatternDim> loops, int64_t from, int64_t to);
  void emitTile(const Segment &row, const Segment &column, int64_t from,
                int64_t to);
  void emitPlane(const Segment &row, const Segment &column, int64_t offset,
                 int64_t to, isa::ElemType type);
  isa::ActDrain drainOf(const Segment &row, const Segment &column, int64_t psum,
                        int64_t to) const;

  Generator &generator;
  const machine::Description &machine;
  const analysis::TransposePlan &plan;
  npu::PeTransposeOp op;
  const View &x, &y;
  int64_t firstRow, firstColumn;
  int64_t source, result; ///< byte offsets of index 0 in a partition
  llvm::SmallVector<Segment> rows, columns;
};

void TransposeEmitter::emitPlanes(llvm::ArrayRef<PatternDim> loops,
                                  int64_t from, int64_t to) {
  if (!loops.empty()) {
    const PatternDim &loop = loops.front();
    for (int64_t i = 0; i < loop.extent; ++i)
      emitPlanes(loops.drop_front(), from + i * sourceStride(loop),
                 to + i * resultStride(loop));
    return;
  }
  for (const Segment &row : rows)
    for (const Segment &column : columns)
      emitTile(row, column, from, to);
}

void TransposeEmitter::emitTile(const Segment &row, const Segment &column,
                                int64_t from, int64_t to) {
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  int64_t position = firstRow + row.begin, index = column.begin;
  int64_t offset = from + position / partitions * x.tileStride;
  for (const PatternDim &dim : llvm::reverse(plan.columns)) {
    offset += index % dim.extent * sourceStride(dim);
    index /= dim.extent;
  }
  if (!op.getBytePlanes()) // words or floats
    return emitPlane(row, column, offset, to,
                     static_cast<isa::ElemType>(x.type.isaType()));
  for (int64_t byte = 0; byte < x.type.bytes(); ++byte)
    emitPlane(row, column, offset + byte, to + byte, isa::ElemType::U8);
}

/// One load, stream and drain of the elements of `type` from `offset` on.
void TransposeEmitter::emitPlane(const Segment &row, const Segment &column,
                                 int64_t offset, int64_t to,
                                 isa::ElemType type) {
  const int64_t part =
      (firstRow + row.begin) % static_cast<int64_t>(machine.sb.partitions);
  const isa::OperandMode mode = op.getBytePlanes() ? isa::OperandMode::Int
                                : op.getFloatProducts()
                                    ? isa::OperandMode::Float
                                    : isa::OperandMode::Select;
  isa::PeLoad load{};
  load.part = part;
  load.rows = row.size;
  load.offset = offset;
  load.cols = column.size;
  if (!column.loops.empty())
    load.colStride =
        static_cast<int32_t>(sourceStride(plan.columns[column.loops.back()]));
  load.type = type;
  load.mode = mode;
  generator.builder.emit(load);
  generator.builder.emit(isa::PeSwap{});
  const int64_t psum = generator.sums.next();
  emitIdentityWindow(generator, part, row.size, column.size, psum, mode);
  isa::ActDrain drain = drainOf(row, column, psum, to);
  drain.dstType = type;
  auto function = numerics::parseFunction(op.getFunction());
  // Sums of floats are binary32, whatever was multiplied.
  const isa::ElemType sum = op.getFloatProducts() ? isa::ElemType::F32 : type;
  if (function && (op.getFunction() != "copy" || sum != type)) {
    drain.typed = true;
    drain.resType = sum;
    drain.function =
        static_cast<isa::Function>(static_cast<unsigned>(*function));
    drain.alpha = op.getAlpha().convertToFloat();
    drain.beta = op.getBeta().convertToFloat();
  }
  generator.builder.emit(drain);
}

/// The drain of a tile to its place in the result, without the kind of words.
isa::ActDrain TransposeEmitter::drainOf(const Segment &row,
                                        const Segment &column, int64_t psum,
                                        int64_t to) const {
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  int64_t position = firstColumn + column.begin, index = row.begin;
  int64_t offset = to + position / partitions * y.tileStride;
  for (const PatternDim &dim : llvm::reverse(plan.rows)) {
    offset += index % dim.extent * resultStride(dim);
    index /= dim.extent;
  }
  // Innermost loop last; missing ones count one step.
  int64_t count[3] = {1, 1, 1}, stride[3] = {}, entries[3] = {};
  int64_t inside = 1;
  for (size_t i = row.loops.size(); i-- > 0;) {
    size_t at = 3 - row.loops.size() + i;
    count[at] = row.dims[i];
    stride[at] = resultStride(plan.rows[row.loops[i]]);
    entries[at] = inside;
    inside *= row.dims[i];
  }
  isa::ActDrain drain{};
  drain.psum = psum;
  drain.cols = column.size;
  drain.n0 = count[0], drain.n1 = count[1], drain.n2 = count[2];
  drain.psumStride0 = static_cast<int32_t>(entries[0]);
  drain.psumStride1 = static_cast<int32_t>(entries[1]);
  drain.psumStride2 = static_cast<int32_t>(entries[2]);
  drain.dstStride0 = static_cast<int32_t>(stride[0]);
  drain.dstStride1 = static_cast<int32_t>(stride[1]);
  drain.dstStride2 = static_cast<int32_t>(stride[2]);
  drain.dstPart = position % partitions;
  drain.dstOffset = offset;
  drain.mode = isa::DrainMode::Raw64;
  return drain;
}

/// The loop with the largest step along the operand's axis across partitions;
/// null without one.
PatternDim *outermostRow(npu::AccessPattern &pattern, int64_t axis) {
  PatternDim *outermost = nullptr;
  for (PatternDim &dim : pattern.dims)
    if (dim.sourceAxis == axis && dim.extent > 1 &&
        (!outermost || dim.sourceStep > outermost->sourceStep))
      outermost = &dim;
  return outermost;
}

/// Rows of the array are neighbours in the operand. A tile that cuts one of
/// several loops along them (a part of every head) has gaps between its rows,
/// and is transposed part by part: each without gaps.
llvm::Error emitParts(Generator &generator, const TileContext &tile,
                      npu::AccessPattern pattern) {
  auto plan =
      analysis::planTranspose(pattern, tile.operands[0].axis, tile.result.axis);
  if (plan) {
    TransposeEmitter(generator, tile, pattern, *plan).run();
    return llvm::Error::success();
  }
  PatternDim *rows = outermostRow(pattern, tile.operands[0].axis);
  if (!rows)
    return generator.unsupported(
        tile.op, "the tile moves elements along the axis across partitions");
  const int64_t parts = std::exchange(rows->extent, 1);
  for (int64_t part = 0; part < parts; ++part) {
    if (llvm::Error error = emitParts(generator, tile, pattern))
      return error;
    pattern.sourceStart[rows->sourceAxis] += rows->sourceStep;
    pattern.resultStart[rows->resultAxis] += rows->resultStep;
  }
  return llvm::Error::success();
}

} // namespace

void emitIdentityWindow(Generator &generator, int64_t part, int64_t rows,
                        int64_t cols, int64_t psum, isa::OperandMode mode) {
  isa::PeMatmul matmul{};
  matmul.part = part;
  matmul.rows = rows;
  matmul.cols = cols;
  // The window whose diagonal begins in the tile's first partition.
  const bool floats = mode == isa::OperandMode::Float;
  const int64_t bytes = floats ? 2 : 1;
  matmul.offset = static_cast<int32_t>(
      (floats ? generator.floatIdentityOffset() : generator.identityOffset()) +
      part * bytes);
  matmul.type = floats ? isa::ElemType::Bf16 : isa::ElemType::U8;
  matmul.mode = mode;
  matmul.window = isa::Window::Identity;
  matmul.psum = psum;
  matmul.n2 = rows;
  matmul.stride2 = static_cast<int32_t>(bytes);
  matmul.psumStride2 = 1;
  matmul.hi0 = 1, matmul.hi1 = 1;
  matmul.hi2 = static_cast<int32_t>(rows);
  generator.builder.emit(matmul);
}

llvm::Error emitTranspose(Generator &generator, const TileContext &tile) {
  auto op = cast<npu::PeTransposeOp>(tile.op);
  npu::AccessPattern pattern = *npu::AccessPattern::fromArray(op.getPattern());
  if (!clipPattern(pattern, tile.out))
    return llvm::Error::success();
  const Region &held = tile.operandRegions[0];
  for (size_t i = 0; i < held.start.size(); ++i)
    pattern.sourceStart[i] -= held.start[i];
  return emitParts(generator, tile, std::move(pattern));
}

} // namespace ashlar::codegen
