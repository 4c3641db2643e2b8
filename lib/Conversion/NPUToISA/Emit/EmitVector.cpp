// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector-unit operations: element-wise, reductions, softmax (pooling:
// EmitPool.cpp).

#include "../Generator.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Tiles/MapSteps.h"
#include "ashlar/Analysis/Tiles/TileSequence.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Numerics/BlockArithmetic.h"
#include "ashlar/Numerics/Function.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace ashlar::codegen {

View channelsOf(const View &view, int64_t first, int64_t count,
                const machine::Description &machine) {
  if (view.axis < 0)
    return view;
  Region region = Region::whole(view.shape);
  region.start[view.axis] = first;
  region.size[view.axis] = count;
  return view.slice(region, machine);
}

/// True if a feature map is made channels by channels: by a product with
/// stationary weights, column after column, or by the parts of a concatenation.
/// Others are made rows by rows.
bool comesByChannels(Operation *op) {
  return op && !npu::hasStationaryActivations(op) &&
         (mlir::isa<npu::PeConvOp>(op) ||
          (npu::isAliased(op) && op->getNumOperands() > 1));
}

int64_t channelStep(const machine::Description &machine, const View &source,
                    const View &result) {
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  const int64_t block =
      result.type.encoded ? int64_t(result.type.format.block) : 1;
  if (source.axis < 0 || source.axis != result.axis || source.part != 0 ||
      result.part != 0 || block < 1)
    return source.channels();
  int64_t elements = static_cast<int64_t>(
      machine::vecLaneSteps(machine, static_cast<uint64_t>(partitions)));
  for (int64_t axis = 0; axis < source.rank(); ++axis)
    elements *= axis == source.axis ? 1 : source.shape[axis];
  const int64_t tiles =
      llvm::divideCeilSigned(static_cast<int64_t>(machine.vec.latency),
                             std::max<int64_t>(elements, 1));
  const int64_t unit = std::lcm(partitions, block);
  return std::min<int64_t>(
      llvm::alignTo(std::max<int64_t>(tiles, 1) * partitions, unit),
      kMostCount / unit * unit);
}

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
  if (auto blocks = numerics::parseBlockFunction(name))
    return static_cast<isa::Function>(
        static_cast<unsigned>(isa::Function::BlockAdd) +
        static_cast<unsigned>(*blocks));
  return std::nullopt;
}

/// A vec.map that follows its operand while that is made: whole channel tiles
/// first.
void emitByChannels(Generator &generator, const TileContext &tile,
                    const View *second, MapParameters parameters) {
  const machine::Description &machine = generator.machine;
  const View &first = tile.operands[0], &result = tile.result;
  const int64_t channels = result.channels();
  const int64_t step =
      comesByChannels(tile.op->getOperand(0).getDefiningOp()) &&
              first.channels() == channels
          ? channelStep(machine, first, result)
          : channels;
  for (int64_t start = 0; start < channels; start += step) {
    auto partOf = [&](const View &view) {
      return view.channels() != channels
                 ? view
                 : channelsOf(view, start, std::min(step, channels - start),
                              machine);
    };
    std::optional<View> other, scale, bias;
    MapParameters own = parameters;
    auto set = [&](std::optional<View> &part, const View *view) {
      return view ? &part.emplace(partOf(*view)) : nullptr;
    };
    own.scale = set(scale, parameters.scale);
    own.bias = set(bias, parameters.bias);
    emitMap(generator, partOf(first), set(other, second), partOf(result), own);
    parameters.target.clear = false;
  }
}

/// Scale, bias and function of a tile as separate instructions, through scratch
/// memory: parameters that vary within partitions.
void emitSteps(Generator &generator, const TileContext &tile,
               npu::MapInterface map, MapParameters parameters) {
  const View &scratch = tile.scratch[0];
  const View *first = &tile.operands[0];
  const auto steps = analysis::mapSteps(map);
  for (auto [i, step] : llvm::enumerate(steps)) {
    const View *second = step.second ? &tile.operands[*step.second] : nullptr;
    const isa::Function function = *functionField(step.function);
    if (i + 1 == steps.size()) {
      parameters.function = function;
      emitMap(generator, *first, second, tile.result, parameters);
      return;
    }
    emitMap(generator, *first, second, scratch, {function});
    first = &scratch;
  }
}

/// The vec.map of a tile with its scale and bias in the instruction.
void emitInOne(Generator &generator, const TileContext &tile,
               npu::MapInterface map, MapParameters parameters) {
  const size_t inputs = map.getInputs().size();
  size_t next = inputs;
  parameters.scale = map.getScale() ? &tile.operands[next++] : nullptr;
  parameters.bias = map.getBias() ? &tile.operands[next++] : nullptr;
  emitByChannels(generator, tile, inputs > 1 ? &tile.operands[1] : nullptr,
                 parameters);
}

llvm::Error emitMapOp(Generator &generator, const TileContext &tile) {
  auto map = cast<npu::MapInterface>(tile.op);
  MapParameters parameters;
  auto function = functionField(map.getOp());
  if (!function)
    return generator.unsupported(tile.op, "unknown function '" +
                                              map.getOp().str() + "'");
  parameters.function = *function;
  parameters.alpha = map.getAlpha().convertToFloat();
  parameters.beta = map.getBeta().convertToFloat();
  parameters.ownsPartitions = ownsPartitions(tile, map.getInputs().size());
  parameters.mayClear = true;
  if (tile.result.type.encoded)
    parameters.target = generator.resultScale(tile.op);
  if (tile.measures) {
    emitMeasure(generator, tile.operands[0], tile.result.type.format.mantissa,
                parameters.target.xr, parameters.target.clear);
    return llvm::Error::success();
  }
  parameters.target.given |= analysis::measuresTensor(tile.op);
  parameters.quantised = dyn_cast<npu::VecRequantiseOp>(tile.op);
  (tile.scratch.empty() ? emitInOne : emitSteps)(generator, tile, map,
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
  EncodeRegisters target = {}; ///< Of an encoded result.
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
  if (result.type.encoded)
    parameters.target.set(inst);
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
    one.dstXrClear = result.type.encoded && parameters.target.clear;
    parameters.target.clear = false;
    generator.builder.emit(one);
  };
  emitOuter(emitOuter, outer, source.base, result.base);
  return llvm::Error::success();
}

/// Reduces the partition axis of `source` into `result`, which has 1 along it.
void emitReduceAcross(Generator &generator, const View &source,
                      const View &result, ReduceParameters parameters) {
  isa::VecReduceChannels inst{};
  inst.kind = parameters.kind, inst.selectLast = parameters.selectLast;
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

llvm::Error emitReduceOp(Generator &generator, const TileContext &tile) {
  auto reduce = cast<npu::VecReduceOp>(tile.op);
  auto kind = numerics::parseReduction(reduce.getKind());
  if (!kind)
    return generator.unsupported(tile.op, "unknown reduction '" +
                                              reduce.getKind().str() + "'");
  ReduceParameters parameters{
      static_cast<isa::ReduceKind>(static_cast<unsigned>(*kind)),
      reduce.getSelectLast()};
  if (tile.result.type.encoded)
    parameters.target = generator.resultScale(tile.op);
  const View &source = tile.operands[0];
  if (reduce.reducesThroughPartitions()) {
    emitReduceAcross(generator, source, tile.result, parameters);
    return llvm::Error::success();
  }
  View result = withUnitAxes(tile.result, source, reduce.getAxes());
  const int64_t step = channelStep(generator.machine, source, result);
  for (int64_t first = 0; first < source.channels(); first += step) {
    int64_t count = std::min(step, source.channels() - first);
    if (llvm::Error error =
            emitReduce(generator, tile.op,
                       channelsOf(source, first, count, generator.machine),
                       channelsOf(result, first, count, generator.machine),
                       reduce.getAxes(), parameters))
      return error;
    parameters.target.clear = false;
  }
  return llvm::Error::success();
}

/// The maximum along a partition axis of several tiles. Order does not matter
/// to it, unlike to a sum: the tiles first, position by position, and then the
/// shorter chain through the partitions, if that takes fewer cycles. `partial`
/// is memory for a float per element of the source.
llvm::Error emitMaximumAcross(Generator &generator, Operation *op,
                              const View &source, const View &partial,
                              const View &result) {
  const machine::Description &machine = generator.machine;
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  const int64_t channels = source.channels(), tiles = channels / partitions,
                rest = channels % partitions;
  auto cycles = [&](const machine::Timing &timing) { return timing.complete; };
  using machine::VecCost, machine::VecStore;
  int64_t positions = 1;
  for (int64_t axis = 0; axis < source.rank(); ++axis)
    positions *= axis == source.axis ? 1 : source.shape[axis];
  uint64_t together =
      cycles(machine::vecReduce(machine, VecCost::Cheap, VecStore::Convert,
                                partitions, positions, tiles, false)) +
      cycles(machine::vecReduceChannels(machine, VecCost::Cheap, VecStore::Same,
                                        partitions, positions, false));
  if (rest > 0)
    together += cycles(machine::vecMap(machine, VecCost::Cheap, VecStore::Same,
                                       rest, positions));
  if (source.part != 0 || partial.part != 0 || tiles == 0 ||
      together >= cycles(machine::vecReduceChannels(machine, VecCost::Cheap,
                                                    VecStore::Convert, channels,
                                                    positions, false))) {
    emitReduceAcross(generator, source, result, {isa::ReduceKind::Max});
    return llvm::Error::success();
  }
  View first = channelsOf(source, 0, partitions, machine);
  View maxima = channelsOf(partial, 0, partitions, machine);
  View folded = maxima;
  first.shape.push_back(tiles), first.strides.push_back(source.tileStride);
  folded.shape.push_back(1), folded.strides.push_back(0);
  if (llvm::Error error = emitReduce(generator, op, first, folded,
                                     {source.rank()}, {isa::ReduceKind::Max}))
    return error;
  if (rest > 0) {
    View begin = channelsOf(maxima, 0, rest, machine);
    View last = channelsOf(source, tiles * partitions, rest, machine);
    emitMap(generator, begin, &last, begin, {isa::Function::Max});
  }
  emitReduceAcross(generator, maxima, result, {isa::ReduceKind::Max});
  return llvm::Error::success();
}

llvm::Error emitSoftmax(Generator &generator, const TileContext &tile) {
  auto softmax = cast<npu::VecSoftmaxOp>(tile.op);
  int64_t axis = softmax.getAxis();
  const View &x = tile.operands[0];
  const View &row = tile.scratch[0], &shifted = tile.scratch[1];
  const View &exponentials = softmax.getLog() ? tile.scratch[2] : shifted;
  auto reduce = [&](const View &source, isa::ReduceKind kind) -> llvm::Error {
    if (source.axis != axis)
      return emitReduce(generator, tile.op, source, row, {axis}, {kind});
    emitReduceAcross(generator, source, row, {kind});
    return llvm::Error::success();
  };
  // The sign of a maximum of zeros, which depends on the order, is lost in the
  // exponentials, but not in a logarithm.
  const bool anyOrder = x.axis == axis && !softmax.getLog();
  if (llvm::Error error =
          anyOrder ? emitMaximumAcross(generator, tile.op, x, shifted, row)
                   : reduce(x, isa::ReduceKind::Max))
    return error;
  emitMap(generator, x, &row, shifted, {isa::Function::Sub});
  emitMap(generator, shifted, nullptr, exponentials, {isa::Function::Exp});
  if (llvm::Error error = reduce(exponentials, isa::ReduceKind::Sum))
    return error;
  MapParameters last;
  if (tile.result.type.encoded)
    last.target = generator.resultScale(tile.op);
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

static llvm::Error emitByKind(Generator &generator, const TileContext &tile) {
  if (mlir::isa<npu::MapInterface>(tile.op))
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

llvm::Error emitVector(Generator &generator, const TileContext &tile) {
  if (tile.model->workAxis == tile.model->resultAxis)
    return emitByKind(generator, tile);
  size_t last = tile.scratch.size() - 1;
  TileContext across = tile;
  across.result = tile.scratch[last - 1];
  if (llvm::Error error = emitByKind(generator, across))
    return error;
  emitCopy(generator.builder, tile.scratch[last - 1], tile.scratch[last]);
  MapParameters convert;
  if (tile.result.type.encoded)
    convert.target = generator.resultScale(tile.op);
  emitMap(generator, tile.scratch[last], nullptr, tile.result, convert);
  return llvm::Error::success();
}

} // namespace ashlar::codegen
