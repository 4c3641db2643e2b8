// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector-unit operations: element-wise, reductions, softmax (pooling:
// EmitPool.cpp).

#include "Generator.h"
#include "VectorLoops.h"

#include "ashlar/Analysis/StationaryPlan.h"
#include "ashlar/Numerics/Function.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::codegen {
namespace {

isa::ElemType typeField(const View &view) {
  return static_cast<isa::ElemType>(view.type.isaType());
}
uint32_t mantissaField(const View &view) {
  return view.type.encoded ? view.type.format.mantissa : 0;
}

/// The function field for a unary or binary function name.
std::optional<isa::Function> functionField(llvm::StringRef name) {
  constexpr unsigned firstBinary = 64;
  if (auto unary = numerics::parseFunction(name))
    return static_cast<isa::Function>(static_cast<unsigned>(*unary));
  if (auto binary = numerics::parseBinaryFunction(name))
    return static_cast<isa::Function>(firstBinary +
                                      static_cast<unsigned>(*binary));
  return std::nullopt;
}

llvm::Error emitMapOp(Generator &generator, TileContext &tile) {
  auto map = cast<npu::VecMapOp>(tile.op);
  MapParameters parameters;
  auto function = functionField(map.getOp());
  if (!function)
    return generator.unsupported(tile.op, "unknown function '" +
                                              map.getOp().str() + "'");
  parameters.function = *function;
  parameters.alpha = map.getAlpha().convertToFloat();
  parameters.beta = map.getBeta().convertToFloat();
  if (tile.result.type.encoded)
    parameters.xr = generator.resultScale(tile.op, parameters.clear);
  if (tile.measures) {
    emitMeasure(generator, tile.operands[0], tile.result.type.format.mantissa,
                parameters.xr, parameters.clear);
    return llvm::Error::success();
  }
  parameters.given = encodesWholeTensor(tile.op);
  parameters.quantised =
      map->getAttrOfType<DictionaryAttr>(analysis::kRequantiseAttr);
  emitMap(generator, tile.operands[0],
          tile.operands.size() > 1 ? &tile.operands[1] : nullptr, tile.result,
          parameters);
  return llvm::Error::success();
}

/// Free dims of a reduction after merging.
struct ReduceDim {
  int64_t extent, source, result;
};

void addDim(llvm::SmallVectorImpl<ReduceDim> &dims, ReduceDim dim) {
  if (dim.extent == 1)
    return;
  if (!dims.empty() && dims.back().source == dim.source * dim.extent &&
      dims.back().result == dim.result * dim.extent) {
    dim.extent *= dims.back().extent;
    dims.pop_back();
  }
  dims.push_back(dim);
}

struct ReduceParameters {
  isa::ReduceKind kind;
  bool selectLast = false;
  unsigned xr = 0;
  bool clear = false;
};

/// Reduces `axes` of `source` into `result`, which has 1 along them.
llvm::Error emitReduce(Generator &generator, Operation *op, const View &source,
                       const View &result, llvm::ArrayRef<int64_t> axes,
                       ReduceParameters parameters) {
  llvm::SmallVector<ReduceDim, 4> outer, reduced;
  for (int64_t axis = 0; axis < source.rank(); ++axis) {
    if (llvm::is_contained(axes, axis))
      addDim(reduced, {source.shape[axis], source.strides[axis], 0});
    else if (axis != source.axis)
      addDim(outer,
             {source.shape[axis], source.strides[axis], result.strides[axis]});
  }
  if (reduced.size() > 2)
    return generator.unsupported(
        op, "reduction over more than two separate ranges of axes");
  isa::VecReduce inst{};
  inst.kind = parameters.kind, inst.selectLast = parameters.selectLast;
  inst.channels = source.channels();
  inst.srcType = typeField(source), inst.srcMantissa = mantissaField(source);
  inst.dstType = typeField(result), inst.dstMantissa = mantissaField(result);
  inst.dstBlock = result.type.encoded ? result.type.format.block : 0;
  inst.dstXr = parameters.xr;
  inst.srcPart = source.part, inst.srcTileStride = source.tileStride;
  inst.dstPart = result.part, inst.dstTileStride = result.tileStride;
  if (!reduced.empty())
    inst.r1 = reduced.back().extent, inst.srcStrideR1 = reduced.back().source;
  if (reduced.size() > 1)
    inst.r0 = reduced[0].extent, inst.srcStrideR0 = reduced[0].source;
  auto emitOuter = [&](auto &self, llvm::ArrayRef<ReduceDim> dims, int64_t from,
                       int64_t to) -> void {
    if (dims.size() > 2) {
      for (int64_t i = 0; i < dims.front().extent; ++i)
        self(self, dims.drop_front(), from + i * dims.front().source,
             to + i * dims.front().result);
      return;
    }
    isa::VecReduce one = inst;
    one.srcOffset = from, one.dstOffset = to;
    if (!dims.empty())
      one.o1 = dims.back().extent, one.srcStrideO1 = dims.back().source,
      one.dstStrideO1 = dims.back().result;
    if (dims.size() > 1)
      one.o0 = dims[0].extent, one.srcStrideO0 = dims[0].source,
      one.dstStrideO0 = dims[0].result;
    one.dstXrClear = parameters.clear;
    parameters.clear = false;
    generator.builder.emit(one);
  };
  emitOuter(emitOuter, outer, source.base, result.base);
  return llvm::Error::success();
}

/// Reduces the partition axis of `source` into `result`, which has 1 along it.
void emitReduceAcross(Generator &generator, const View &source,
                      const View &result, isa::ReduceKind kind) {
  isa::VecReduceChannels inst{};
  inst.kind = kind;
  inst.channels = source.channels();
  inst.srcType = typeField(source), inst.srcMantissa = mantissaField(source);
  inst.dstType = typeField(result), inst.dstMantissa = mantissaField(result);
  inst.srcPart = source.part, inst.srcTileStride = source.tileStride;
  inst.dstPart = result.part;
  llvm::SmallVector<ReduceDim, 4> free;
  for (int64_t axis = 0; axis < source.rank(); ++axis)
    if (axis != source.axis)
      addDim(free,
             {source.shape[axis], source.strides[axis], result.strides[axis]});
  auto emitLoops = [&](auto &self, llvm::ArrayRef<ReduceDim> dims, int64_t from,
                       int64_t to) -> void {
    if (dims.size() > 3) {
      for (int64_t i = 0; i < dims.front().extent; ++i)
        self(self, dims.drop_front(), from + i * dims.front().source,
             to + i * dims.front().result);
      return;
    }
    isa::VecReduceChannels one = inst;
    one.srcOffset = from, one.dstOffset = to;
    const size_t n = dims.size();
    if (n > 0)
      one.n2 = dims[n - 1].extent, one.srcStride2 = dims[n - 1].source,
      one.dstStride2 = dims[n - 1].result;
    if (n > 1)
      one.n1 = dims[n - 2].extent, one.srcStride1 = dims[n - 2].source,
      one.dstStride1 = dims[n - 2].result;
    if (n > 2)
      one.n0 = dims[0].extent, one.srcStride0 = dims[0].source,
      one.dstStride0 = dims[0].result;
    generator.builder.emit(one);
  };
  emitLoops(emitLoops, free, source.base, result.base);
}

/// The result of a reduction with its dropped axes put back as 1.
View withUnitAxes(const View &result, const View &source,
                  llvm::ArrayRef<int64_t> axes) {
  if (result.rank() == source.rank())
    return result;
  View kept = result;
  kept.shape.clear();
  kept.strides.clear();
  int64_t next = 0;
  kept.axis = -1;
  for (int64_t axis = 0; axis < source.rank(); ++axis) {
    bool reduced = llvm::is_contained(axes, axis);
    if (!reduced && next == result.axis)
      kept.axis = axis;
    kept.shape.push_back(reduced ? 1 : result.shape[next]);
    kept.strides.push_back(reduced ? 0 : result.strides[next]);
    next += !reduced;
  }
  return kept;
}

llvm::Error emitReduceOp(Generator &generator, TileContext &tile) {
  auto reduce = cast<npu::VecReduceOp>(tile.op);
  auto kind = numerics::parseReduction(reduce.getKind());
  if (!kind)
    return generator.unsupported(tile.op, "unknown reduction '" +
                                              reduce.getKind().str() + "'");
  ReduceParameters parameters{
      static_cast<isa::ReduceKind>(static_cast<unsigned>(*kind)),
      reduce.getSelectLast()};
  if (tile.result.type.encoded)
    parameters.xr = generator.resultScale(tile.op, parameters.clear);
  View result = withUnitAxes(tile.result, tile.operands[0], reduce.getAxes());
  return emitReduce(generator, tile.op, tile.operands[0], result,
                    reduce.getAxes(), parameters);
}

llvm::Error emitSoftmax(Generator &generator, TileContext &tile) {
  auto softmax = cast<npu::VecSoftmaxOp>(tile.op);
  int64_t axis = softmax.getAxis();
  const View &x = tile.operands[0];
  View &row = tile.scratch[0], &shifted = tile.scratch[1];
  View &exponentials = softmax.getLog() ? tile.scratch[2] : shifted;
  auto reduce = [&](const View &source, isa::ReduceKind kind) -> llvm::Error {
    if (source.axis != axis)
      return emitReduce(generator, tile.op, source, row, {axis}, {kind});
    emitReduceAcross(generator, source, row, kind);
    return llvm::Error::success();
  };
  if (llvm::Error error = reduce(x, isa::ReduceKind::Max))
    return error;
  emitMap(generator, x, &row, shifted, {isa::Function::Sub});
  emitMap(generator, shifted, nullptr, exponentials, {isa::Function::Exp});
  if (llvm::Error error = reduce(exponentials, isa::ReduceKind::Sum))
    return error;
  MapParameters last;
  if (tile.result.type.encoded)
    last.xr = generator.resultScale(tile.op, last.clear);
  if (!softmax.getLog()) {
    last.function = isa::Function::Div;
    emitMap(generator, exponentials, &row, tile.result, last);
    return llvm::Error::success();
  }
  emitMap(generator, row, nullptr, row, {isa::Function::Log});
  last.function = isa::Function::Sub;
  emitMap(generator, shifted, &row, tile.result, last);
  return llvm::Error::success();
}

} // namespace

static llvm::Error emitByKind(Generator &generator, TileContext &tile) {
  if (mlir::isa<npu::VecMapOp>(tile.op))
    return emitMapOp(generator, tile);
  if (mlir::isa<npu::VecPoolOp>(tile.op))
    return emitPool(generator, tile);
  if (mlir::isa<npu::VecReduceOp>(tile.op))
    return emitReduceOp(generator, tile);
  if (mlir::isa<npu::VecSoftmaxOp>(tile.op))
    return emitSoftmax(generator, tile);
  if (mlir::isa<npu::VecGatherOp>(tile.op))
    return emitGather(generator, tile);
  return generator.unsupported(tile.op, "no emitter for this operation");
}

llvm::Error emitVector(Generator &generator, TileContext &tile) {
  if (tile.model->workAxis == tile.model->resultAxis)
    return emitByKind(generator, tile);
  View result = tile.result;
  size_t last = tile.scratch.size() - 1;
  tile.result = tile.scratch[last - 1];
  if (llvm::Error error = emitByKind(generator, tile))
    return error;
  emitCopy(generator.builder, tile.scratch[last - 1], tile.scratch[last]);
  MapParameters convert;
  if (result.type.encoded)
    convert.xr = generator.resultScale(tile.op, convert.clear);
  emitMap(generator, tile.scratch[last], nullptr, result, convert);
  return llvm::Error::success();
}

} // namespace ashlar::codegen
