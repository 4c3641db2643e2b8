// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses per instruction.

#include "Collector.h"
#include "TransferLoops.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace ashlar::isa {

namespace {

// One function per instruction, in the order of dialects/ISA.

void visit(const SemWait &, Collector &) {}
void visit(const SemSignal &, Collector &) {}

void visit(const XrSet &x, Collector &c) { c.xr(true, false, x.xr); }

void visit(const XrMerge &x, Collector &c) {
  c.xr(false, false, x.src);
  c.xr(true, !x.clear, x.dst);
}

void visit(const XrSelect &x, Collector &c) {
  c.sr(false, false, x.sr);
  c.xr(true, false, x.dst);
}

void visit(const XrPick &x, Collector &c) {
  c.xr(false, false, x.preferred);
  c.xr(false, false, x.fallback);
  c.xr(true, false, x.dst);
}

void visit(const XrPredict &x, Collector &c) {
  const uint32_t history = 2 + 2 * x.depth;
  c.sr(false, false, x.sr);
  c.xr(false, false, x.observed);
  c.xr(false, false, x.dst);
  c.xrRange(false, x.history, history);
  c.xr(true, false, x.dst);
  c.xrRange(true, x.history, history);
}

void visit(const DmaCopy &x, Collector &c) {
  c.linear(false, x.srcMem, x.srcBase, x.elemBytes, sourceLoops(x));
  c.linear(true, x.dstMem, x.dstBase, x.elemBytes, resultLoops(x));
}

void visit(const DmaFill &x, Collector &c) {
  c.linear(true, x.dstMem, x.dstBase, x.elemBytes, resultLoops(x));
}

void visit(const DmaUnpack &x, Collector &c) {
  c.stream(x.srcBase, {x.n0, x.n1, x.n2, x.n3, x.n4}, x.mantissa);
  c.linear(true, Memory::Sb, x.dstBase, x.elemBytes, resultLoops(x));
}

void visit(const DmaGather &x, Collector &c) {
  // Whatever the indices are: every element along the axis.
  Dims source = sourceLoops(x);
  source.push_back({x.size, x.axisStride});
  c.linear(false, Memory::Dram, x.srcBase, x.elemBytes, source);
  c.linear(false, Memory::Sb, x.indexBase, elementBytes(x.indexType, 0),
           {{x.n0, x.indexStride0},
            {x.n1, x.indexStride1},
            {x.n2, x.indexStride2},
            {x.n3, x.indexStride3},
            {x.n4, x.indexStride4}});
  c.linear(true, Memory::Sb, x.dstBase, x.elemBytes, resultLoops(x));
}

// Of a cell in DRAM all its room: how much of it is used depends on data.
void visit(const DmaCompress &x, Collector &c) {
  c.linear(false, Memory::Sb, x.srcBase, x.elemBytes, sourceLoops(x));
  c.linear(true, Memory::Dram, x.dstBase, x.cellBytes,
           {{x.n0, x.dstStride0}, {x.n1, x.dstStride1}});
}

void visit(const DmaExpand &x, Collector &c) {
  c.linear(false, Memory::Dram, x.srcBase, x.cellBytes,
           {{x.n0, x.srcStride0}, {x.n1, x.srcStride1}});
  c.linear(true, Memory::Sb, x.dstBase, x.elemBytes, resultLoops(x));
}

void visit(const PeLoad &x, Collector &c) {
  bool encoded = x.type == ElemType::Bfp;
  c.sbRows(false, encoded, x.part, x.part + x.rows, x.offset,
           elementBytes(x.type, x.mantissa), {{x.cols, x.colStride}},
           x.orientation);
  if (encoded && x.mode == OperandMode::Bfp)
    c.xr(false, false, x.xr);
  c.whole(Space::Shadow, true);
}

void visit(const PeSwap &, Collector &c) {
  c.whole(Space::Shadow, false);
  c.whole(Space::Shadow, true);
  c.whole(Space::Active, true);
}

/// ceil(a / b); b > 0.
int64_t divideUp(int64_t a, int64_t b) {
  return a > 0 ? (a + b - 1) / b : -(-a / b);
}

/// Row groups: the pixels of each group of partitions are consecutive bytes.
void readLanes(const PeMatmul &x, Collector &c) {
  const int64_t groups = x.groups, pitch = c.arrayRows() / groups;
  const int64_t low = std::max<int64_t>(x.lo2, x.shift);
  const int64_t high = std::min<int64_t>(x.hi2, int64_t(x.shift) + x.validW);
  const int64_t lo0 = std::max<int64_t>(x.lo0, 0),
                hi0 = std::min<int64_t>(x.hi0, x.n0);
  const int64_t lo1 = std::max<int64_t>(x.lo1, 0),
                hi1 = std::min<int64_t>(x.hi1, x.n1);
  if (lo0 >= hi0 || lo1 >= hi1)
    return;
  for (int64_t lane = 0; lane < groups; ++lane) {
    int64_t first = divideUp(low - lane, groups);
    int64_t last = divideUp(high - lane, groups);
    if (first >= last)
      continue;
    int64_t base =
        x.offset + lo0 * x.stride0 + lo1 * x.stride1 + first * x.stride2;
    Dims dims = {{static_cast<uint64_t>(hi0 - lo0), x.stride0},
                 {static_cast<uint64_t>(hi1 - lo1), x.stride1},
                 {static_cast<uint64_t>(last - first), x.stride2}};
    uint64_t part = x.part + lane * pitch;
    c.sbRows(false, x.type == ElemType::Bfp, part, part + x.rows, base,
             elementBytes(x.type, x.mantissa), dims);
  }
}

void visit(const PeMatmul &x, Collector &c) {
  bool encoded = x.type == ElemType::Bfp;
  // Only indices inside [lo, hi) read memory.
  struct Range {
    int64_t lo, hi;
    int64_t stride;
  };
  auto clip = [](int64_t lo, int64_t hi, uint32_t n, int64_t stride) {
    return Range{std::max<int64_t>(lo, 0), std::min<int64_t>(hi, n), stride};
  };
  Range ranges[] = {clip(x.lo0, x.hi0, x.n0, x.stride0),
                    clip(x.lo1, x.hi1, x.n1, x.stride1),
                    clip(x.lo2, x.hi2, x.n2, x.stride2)};
  if (x.groups > 1) {
    readLanes(x, c);
  } else if (llvm::all_of(ranges, [](const Range &r) { return r.lo < r.hi; })) {
    int64_t base = x.offset;
    Dims dims;
    for (const Range &r : ranges) {
      base += r.lo * r.stride;
      dims.push_back({static_cast<uint64_t>(r.hi - r.lo), r.stride});
    }
    c.sbRows(false, encoded, x.part, x.part + x.rows, base,
             elementBytes(x.type, x.mantissa), dims, x.orientation);
  }
  if (encoded && x.mode == OperandMode::Bfp)
    c.xr(false, false, x.xr);
  c.whole(Space::Active, false);
  Dims psum = {{x.n0, x.psumStride0},
               {x.n1, x.psumStride1},
               {x.groups > 1 ? x.validW : x.n2, x.psumStride2}};
  if (x.accumulate)
    c.psum(false, x.cols, x.psum, psum);
  c.psum(true, x.cols, x.psum, psum);
}

/// Parameters, residual and result of a drain.
void drainTensors(const ActDrain &x, Collector &c) {
  if (x.hasScale || x.hasBias || x.hasExp || x.alphaFromParam || x.mapped)
    c.sbRows(false, false, x.paramPart,
             x.paramPart + (x.paramAlongSteps ? 1 : x.cols), x.paramOffset, 16,
             {{x.paramAlongSteps ? x.n0 * x.n1 * x.n2 : 1, 16}});
  if (x.resMode)
    c.sbTensor(
        false, {x.resType, x.resMantissa, x.resPart, x.resOffset, x.cols, 0},
        {{x.n0, x.resStride0}, {x.n1, x.resStride1}, {x.n2, x.resStride2}});
  const Dims dims = {
      {x.n0, x.dstStride0}, {x.n1, x.dstStride1}, {x.n2, x.dstStride2}};
  if (x.dstOrientation == Orientation::F)
    c.sbRows(true, x.dstType == ElemType::Bfp, x.dstPart, x.dstPart + x.cols,
             x.dstOffset, elementBytes(x.dstType, x.dstMantissa), dims,
             Orientation::F);
  else
    c.sbTensor(true,
               {x.dstType, x.dstMantissa, x.dstPart, x.dstOffset, x.cols, 0},
               dims);
}

void visit(const ActDrain &x, Collector &c) {
  if (x.fromTcu)
    visitAccumulators(x, c);
  else
    c.psum(
        false, x.cols, x.psum,
        {{x.n0, x.psumStride0}, {x.n1, x.psumStride1}, {x.n2, x.psumStride2}});
  if (x.mode == DrainMode::F32 || x.mode == DrainMode::Block) {
    c.xr(false, false, x.xrA);
    c.xr(false, false, x.xrS);
  }
  drainTensors(x, c);
  visitCounters(x, c);
  // Words that only move keep the register of their tensor.
  if (x.mode != DrainMode::Raw64 || x.typed)
    c.encodeXr(x.dstType, x.dstXr, x.dstXrClear, x.cellFromXr);
}

void visit(const VecMap &x, Collector &c) {
  c.sbTensor(false,
             {x.aType, x.aMantissa, x.aPart, x.aOffset,
              x.aBroadcastPart ? 1 : x.channels, x.aTileStride},
             {{x.n0, x.aStride0}, {x.n1, x.aStride1}, {x.n2, x.aStride2}});
  if (x.bMode == BMode::Tensor)
    c.sbTensor(false,
               {x.bType, x.bMantissa, x.bPart, x.bOffset,
                x.bBroadcastPart ? 1 : x.channels, x.bTileStride},
               {{x.n0, x.bStride0}, {x.n1, x.bStride1}, {x.n2, x.bStride2}});
  if (x.hasScale)
    c.sbTensor(false,
               {ElemType::F32, 0, x.scalePart, x.scaleOffset,
                x.scaleBroadcastPart ? 1 : x.channels, x.scaleTileStride},
               {});
  if (x.hasBias)
    c.sbTensor(false,
               {ElemType::F32, 0, x.biasPart, x.biasOffset,
                x.biasBroadcastPart ? 1 : x.channels, x.biasTileStride},
               {});
  c.sbTensor(
      true,
      {x.dstType, x.dstMantissa, x.dstPart, x.dstOffset, x.channels,
       x.dstTileStride},
      {{x.n0, x.dstStride0}, {x.n1, x.dstStride1}, {x.n2, x.dstStride2}});
  c.encodeXr(x.dstType, x.dstXr, x.dstXrClear, x.cellFromXr);
}

/// The input coordinates that a pooling window dimension can read.
struct Window {
  int64_t first;
  uint64_t count;
};
Window poolWindow(int64_t in, int64_t out, int64_t k, int64_t s, int64_t p,
                  int64_t d) {
  int64_t first = std::max<int64_t>(0, -p);
  int64_t last = std::min(in - 1, (out - 1) * s - p + (k - 1) * d);
  return {first, last < first ? 0 : static_cast<uint64_t>(last - first + 1)};
}

void visit(const VecPool &x, Collector &c) {
  Window d = poolWindow(x.inD, x.outD, x.kD, x.sD, x.pD, x.dD);
  Window h = poolWindow(x.inH, x.outH, x.kH, x.sH, x.pH, x.dH);
  Window w = poolWindow(x.inW, x.outW, x.kW, x.sW, x.pW, x.dW);
  if (d.count && h.count && w.count) {
    // The first coordinate moves the base; an offset below zero stays visible
    // through the extra dimensions' base.
    int64_t base = x.srcOffset + d.first * int64_t(x.srcStrideD) +
                   h.first * int64_t(x.srcStrideH) +
                   w.first * int64_t(x.srcStrideW);
    c.sbTensor(false,
               {x.srcType, x.srcMantissa, x.srcPart,
                static_cast<uint64_t>(base), x.channels, x.srcTileStride},
               {{d.count, x.srcStrideD},
                {h.count, x.srcStrideH},
                {w.count, x.srcStrideW}});
  }
  c.sbTensor(
      true,
      {x.dstType, x.dstMantissa, x.dstPart, x.dstOffset, x.channels,
       x.dstTileStride},
      {{x.outD, x.dstStrideD}, {x.outH, x.dstStrideH}, {x.outW, x.dstStrideW}});
  c.encodeXr(x.dstType, x.dstXr, x.dstXrClear);
}

void visit(const VecReduce &x, Collector &c) {
  c.sbTensor(false,
             {x.srcType, x.srcMantissa, x.srcPart, x.srcOffset, x.channels,
              x.srcTileStride},
             {{x.o0, x.srcStrideO0},
              {x.o1, x.srcStrideO1},
              {x.r0, x.srcStrideR0},
              {x.r1, x.srcStrideR1}});
  c.sbTensor(true,
             {x.dstType, x.dstMantissa, x.dstPart, x.dstOffset, x.channels,
              x.dstTileStride},
             {{x.o0, x.dstStrideO0}, {x.o1, x.dstStrideO1}});
  c.encodeXr(x.dstType, x.dstXr, x.dstXrClear);
}

void visit(const VecReduceChannels &x, Collector &c) {
  c.sbTensor(
      false,
      {x.srcType, x.srcMantissa, x.srcPart, x.srcOffset, x.channels,
       x.srcTileStride},
      {{x.n0, x.srcStride0}, {x.n1, x.srcStride1}, {x.n2, x.srcStride2}});
  c.sbTensor(
      true, {x.dstType, x.dstMantissa, x.dstPart, x.dstOffset, 1, 0},
      {{x.n0, x.dstStride0}, {x.n1, x.dstStride1}, {x.n2, x.dstStride2}});
  c.encodeXr(x.dstType, x.dstXr, x.dstXrClear);
}

void visit(const VecGather &x, Collector &c) {
  // Whatever the indices are: every element along the axis.
  c.sbTensor(false,
             {x.type, 0, x.srcPart, x.srcOffset,
              x.srcBroadcastPart ? 1 : x.channels, x.srcTileStride},
             {{x.n0, x.srcStride0},
              {x.n1, x.srcStride1},
              {x.n2, x.srcStride2},
              {x.size, x.axisStride}});
  c.sbTensor(
      false,
      {x.indexType, 0, x.indexPart, x.indexOffset,
       x.indexBroadcastPart ? 1 : x.channels, x.indexTileStride},
      {{x.n0, x.indexStride0}, {x.n1, x.indexStride1}, {x.n2, x.indexStride2}});
  c.sbTensor(
      true, {x.type, 0, x.dstPart, x.dstOffset, x.channels, x.dstTileStride},
      {{x.n0, x.dstStride0}, {x.n1, x.dstStride1}, {x.n2, x.dstStride2}});
}

/// The source of vec.stat and vec.measure.
template <typename Op>
void readSource(const Op &x, unsigned mantissa, Collector &c) {
  c.sbTensor(false,
             {x.type, mantissa, x.part, x.offset, x.channels, x.tileStride},
             {{x.n0, x.stride0}, {x.n1, x.stride1}, {x.n2, x.stride2}});
}

void visit(const VecStat &x, Collector &c) {
  readSource(x, x.mantissa, c);
  c.sr(true, !x.clear, x.sr);
}

void visit(const VecMeasure &x, Collector &c) {
  readSource(x, x.mantissa, c);
  c.xr(true, !x.clear, x.xr);
}

} // namespace

void drainMemory(const ActDrain &op, const machine::Description &machine,
                 llvm::SmallVectorImpl<Access> &out) {
  Collector collector(machine, out);
  drainTensors(op, collector);
}

void footprints(const Instruction &inst, const machine::Description &machine,
                llvm::SmallVectorImpl<Access> &out) {
  Collector collector(machine, out);
  std::visit([&](const auto &x) { visit(x, collector); }, inst);
}

} // namespace ashlar::isa
