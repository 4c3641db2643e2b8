// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vec.map over views: free axes are merged to the three dims of the
// instruction, the rest is looped over; channels that wrap around the last
// partition are cut there. Channels of the last tile that fill few lanes are
// computed in parts of their positions, side by side in the partitions after
// them, where the map's own bytes are free. No bit depends on it.

#include "../Generator.h"

#include "ashlar/Analysis/Cost/TailParts.h"
#include "ashlar/Machine/Cycles.h"

namespace ashlar::codegen {

namespace {

/// The steps of docs/Numerics.md 12 around the function.
void setQuantised(isa::VecMap &map, npu::VecRequantiseOp op) {
  auto zero = [](uint64_t value) {
    return static_cast<int32_t>(static_cast<int64_t>(value));
  };
  map.affine = true;
  map.aScale = op.getAScale().convertToFloat(), map.aZero = zero(op.getAZero());
  map.bScale = op.getBScale().convertToFloat(), map.bZero = zero(op.getBZero());
  map.limited = op.getLimited();
  map.rounded = map.dstType != isa::ElemType::F32;
  if (map.rounded)
    map.step = op.getStep().convertToFloat(),
    map.zero = zero(op.getZeroPoint());
}

isa::VecMap baseMap(const View &first, const View *second, const View &result,
                    const MapParameters &parameters) {
  isa::VecMap map{};
  map.op = parameters.function;
  map.alpha = parameters.alpha;
  map.beta = parameters.beta;
  map.aType = static_cast<isa::ElemType>(first.type.isaType());
  map.aMantissa = first.type.encoded ? first.type.format.mantissa : 0;
  map.bMode = second                 ? isa::BMode::Tensor
              : parameters.immediate ? isa::BMode::Immediate
                                     : isa::BMode::None;
  if (second) {
    map.bType = static_cast<isa::ElemType>(second->type.isaType());
    map.bMantissa = second->type.encoded ? second->type.format.mantissa : 0;
  }
  map.dstType = static_cast<isa::ElemType>(result.type.isaType());
  if (result.type.encoded) {
    map.dstMantissa = result.type.format.mantissa;
    // One exponent for the axis or the tensor: all channels share a cell.
    map.dstBlock = std::max(result.type.format.block, 0);
    parameters.target.set(map);
  }
  if (parameters.quantised)
    setQuantised(map, parameters.quantised);
  return map;
}

} // namespace

void emitMeasure(Generator &generator, const View &source, int mantissa,
                 unsigned xr, bool clear) {
  isa::VecMeasure base{};
  base.type = static_cast<isa::ElemType>(source.type.isaType());
  base.mantissa = mantissa;
  base.xr = xr;
  forEachVectorLoop({{&source}}, source, generator.machine, /*maxDims=*/3,
                    [&](const VectorLoop &loop) {
                      isa::VecMeasure measure = base;
                      const VectorAddress &a = loop.addresses[0];
                      measure.channels = loop.channels;
                      measure.n0 = loop.count[0], measure.n1 = loop.count[1],
                      measure.n2 = loop.count[2];
                      measure.part = a.part, measure.offset = a.offset;
                      measure.tileStride = a.tileStride;
                      measure.stride0 = a.stride[0],
                      measure.stride1 = a.stride[1],
                      measure.stride2 = a.stride[2];
                      measure.clear = clear;
                      clear = false;
                      generator.builder.emit(measure);
                    });
}

/// Instructions over all channels as they lie.
static void emitPlain(Generator &generator, const View &first,
                      const View *second, const View &result,
                      const MapParameters &parameters) {
  llvm::SmallVector<VectorOperand, 3> operands{{&result}, {&first}};
  if (second)
    operands.push_back({second});
  const size_t scale = operands.size();
  if (parameters.scale)
    operands.push_back({parameters.scale});
  const size_t bias = operands.size();
  if (parameters.bias)
    operands.push_back({parameters.bias});
  bool clear = parameters.target.clear;
  isa::VecMap base = baseMap(first, second, result, parameters);
  base.hasScale = parameters.scale != nullptr;
  base.hasBias = parameters.bias != nullptr;
  forEachVectorLoop(
      operands, result, generator.machine, /*maxDims=*/3,
      [&](const VectorLoop &loop) {
        isa::VecMap map = base;
        map.channels = loop.channels;
        map.n0 = loop.count[0], map.n1 = loop.count[1], map.n2 = loop.count[2];
        const VectorAddress &d = loop.addresses[0], &a = loop.addresses[1];
        map.dstPart = d.part, map.dstOffset = d.offset;
        map.dstTileStride = d.tileStride;
        map.dstStride0 = d.stride[0], map.dstStride1 = d.stride[1],
        map.dstStride2 = d.stride[2];
        map.aPart = a.part, map.aOffset = a.offset;
        map.aTileStride = a.tileStride, map.aBroadcastPart = a.broadcast;
        map.aStride0 = a.stride[0], map.aStride1 = a.stride[1],
        map.aStride2 = a.stride[2];
        if (second) {
          const VectorAddress &b = loop.addresses[2];
          map.bPart = b.part, map.bOffset = b.offset;
          map.bTileStride = b.tileStride, map.bBroadcastPart = b.broadcast;
          map.bStride0 = b.stride[0], map.bStride1 = b.stride[1],
          map.bStride2 = b.stride[2];
        }
        if (parameters.scale) {
          const VectorAddress &s = loop.addresses[scale];
          map.scalePart = s.part, map.scaleOffset = s.offset;
          map.scaleTileStride = s.tileStride;
          map.scaleBroadcastPart = s.broadcast;
        }
        if (parameters.bias) {
          const VectorAddress &t = loop.addresses[bias];
          map.biasPart = t.part, map.biasOffset = t.offset;
          map.biasTileStride = t.tileStride;
          map.biasBroadcastPart = t.broadcast;
        }
        map.dstXrClear = result.type.encoded && clear;
        clear = false;
        generator.builder.emit(map);
      });
}

/// True for a map; what else a second operand may be is a single element.
static bool isMap(const View &operand) {
  return analysis::Region::whole(operand.shape).elements() > 1;
}

/// The parts of the last channel tile, if the instruction may work on them.
static std::optional<analysis::TailParts>
tailOf(Generator &generator, const View &first, const View *second,
       const View &result, const MapParameters &parameters) {
  auto varies = [](const View *view) { return view && view->channels() > 1; };
  if (!parameters.ownsPartitions || varies(parameters.scale) ||
      varies(parameters.bias))
    return std::nullopt;
  const bool stages =
      parameters.scale || parameters.bias || parameters.quantised;
  const machine::VecCost cost =
      std::max(machine::vecCostOf(isa::name(parameters.function))
                   .value_or(machine::VecCost::VeryExpensive),
               stages ? machine::VecCost::Medium : machine::VecCost::Cheap);
  llvm::SmallVector<View, 2> operands{first};
  if (second && isMap(*second))
    operands.push_back(*second);
  return analysis::tailParts(
      operands, result, cost, analysis::storeOf(first.type, result.type),
      parameters.mayClear && !stages && !second && !parameters.immediate &&
          analysis::keepsZeros(isa::name(parameters.function)),
      generator.machine);
}

/// Fills the partitions between the channels of parts, before these are copied.
static void clearBetween(Generator &generator, const View &view,
                         const analysis::TailParts &tail) {
  if (tail.between == 0)
    return;
  emitFill(generator.builder, analysis::betweenParts(view, tail), 0);
}

/// Copies the positions of a tile between where they lie and their parts.
static void copyParts(Generator &generator, const View &view,
                      const analysis::TailParts &tail, bool back) {
  const View home = analysis::partsAtHome(view, tail);
  const View beside = analysis::partsBeside(view, tail);
  emitCopy(generator.builder, back ? beside : home, back ? home : beside);
}

/// Whole tiles as they lie, while the positions of the last one are copied to
/// their parts; then all parts at once.
static void emitInParts(Generator &generator, const View &first,
                        const View *second, const View &result,
                        MapParameters parameters,
                        const analysis::TailParts &tail) {
  const machine::Description &machine = generator.machine;
  auto emit = [&](llvm::function_ref<View(const View &)> part, int block) {
    const View a = part(first);
    View to = part(result);
    if (to.type.encoded && block > 0)
      to.type.format.block = block;
    std::optional<View> b;
    if (second)
      b = isMap(*second) ? part(*second) : *second;
    emitPlain(generator, a, b ? &*b : nullptr, to, parameters);
    parameters.target.clear = false;
  };
  auto last = [&](const View &view) {
    return channelsOf(view, tail.first, tail.channels, machine);
  };
  clearBetween(generator, last(first), tail);
  copyParts(generator, last(first), tail, /*back=*/false);
  // A square reads its operand twice.
  if (second && isMap(*second) && !analysis::isSamePlace(first, *second))
    copyParts(generator, last(*second), tail, /*back=*/false);
  if (tail.first > 0)
    emit(
        [&](const View &view) {
          return channelsOf(view, 0, tail.first, machine);
        },
        0);
  emit(
      [&](const View &view) {
        View parts = analysis::positionsOf(last(view), 0, tail.count, 0);
        parts.shape[parts.axis] = tail.across();
        return parts;
      },
      static_cast<int>(tail.block));
  const int64_t done = tail.parts * tail.count;
  if (done < tail.positions)
    emit(
        [&](const View &view) {
          return analysis::positionsOf(last(view), done, tail.positions - done,
                                       0);
        },
        0);
  copyParts(generator, last(result), tail, /*back=*/true);
}

void emitMap(Generator &generator, const View &first, const View *second,
             const View &result, MapParameters parameters) {
  if (const auto tail = tailOf(generator, first, second, result, parameters))
    emitInParts(generator, first, second, result, parameters, *tail);
  else
    emitPlain(generator, first, second, result, parameters);
}

} // namespace ashlar::codegen
