// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operands of every instruction as they are streamed.

#include "SbStreams.h"
#include "TransferLoops.h"

#include <algorithm>

namespace ashlar::isa {

static machine::PortPattern patternOf(int64_t base, unsigned bytes,
                                      const Dims &dims) {
  machine::PortPattern pattern;
  pattern.base = base;
  pattern.elementBytes = bytes;
  for (const AccessDim &dim : dims)
    pattern.add(dim.count, dim.stride);
  return pattern;
}

void StreamCollector::rows(uint64_t begin, uint64_t end, int64_t base,
                           unsigned bytes, const Dims &dims, uint64_t reach) {
  SbStream stream;
  stream.pattern = patternOf(base, bytes, dims);
  stream.pattern.reach = reach;
  stream.partBegin = static_cast<uint32_t>(begin);
  stream.partEnd = static_cast<uint32_t>(end);
  out.push_back(std::move(stream));
}

void StreamCollector::tensor(const SbOperand &x, const Dims &dims,
                             uint64_t reach) {
  const unsigned bytes = elementBytes(x.type, x.mantissa);
  const uint64_t partitions = machine.sb.partitions;
  const uint64_t end = x.part + x.channels;
  auto tiles = [&](uint64_t begin, uint64_t rowsEnd, uint64_t tile,
                   uint64_t count) {
    Dims all = {{count, x.tileStride}};
    all.append(dims.begin(), dims.end());
    rows(begin, rowsEnd,
         static_cast<int64_t>(x.offset) +
             static_cast<int64_t>(tile) * x.tileStride,
         bytes, all, reach);
  };
  if (end <= partitions)
    return tiles(x.part, end, 0, 1);
  // First tile from `part`, whole tiles, and the rest of the last one.
  tiles(x.part, partitions, 0, 1);
  const uint64_t whole = end / partitions;
  if (whole > 1)
    tiles(0, partitions, 1, whole - 1);
  if (end % partitions)
    tiles(0, end % partitions, whole, 1);
}

void StreamCollector::linear(uint64_t base, unsigned bytes, const Dims &dims) {
  SbStream stream;
  stream.pattern = patternOf(static_cast<int64_t>(base), bytes, dims);
  stream.linear = true;
  out.push_back(std::move(stream));
}

namespace {

// One function per instruction that has operands in SB.

template <typename Op>
void visit(const Op &, StreamCollector &) {}

void visit(const DmaCopy &x, StreamCollector &c) {
  if (x.srcMem == Memory::Sb)
    c.linear(x.srcBase, x.elemBytes, sourceLoops(x));
  if (x.dstMem == Memory::Sb)
    c.linear(x.dstBase, x.elemBytes, resultLoops(x));
}

void visit(const DmaFill &x, StreamCollector &c) {
  if (x.dstMem == Memory::Sb)
    c.linear(x.dstBase, x.elemBytes, resultLoops(x));
}

void visit(const DmaUnpack &x, StreamCollector &c) {
  c.linear(x.dstBase, x.elemBytes, resultLoops(x));
}

void visit(const DmaGather &x, StreamCollector &c) {
  c.linear(x.indexBase, elementBytes(x.indexType, 0),
           {{x.n0, x.indexStride0},
            {x.n1, x.indexStride1},
            {x.n2, x.indexStride2},
            {x.n3, x.indexStride3},
            {x.n4, x.indexStride4}});
  c.linear(x.dstBase, x.elemBytes, resultLoops(x));
}

void visit(const DmaCompress &x, StreamCollector &c) {
  for (unsigned pass = 0; pass < (x.levels ? 2u : 1u); ++pass)
    c.linear(x.srcBase, x.elemBytes, sourceLoops(x));
}

void visit(const DmaExpand &x, StreamCollector &c) {
  c.linear(x.dstBase, x.elemBytes, resultLoops(x));
}

void visit(const DmaTile &x, StreamCollector &c) {
  const uint64_t channels = x.channels + uint64_t(x.groups - 1) * x.groupStep;
  c.tensor(
      {x.type, x.mantissa, static_cast<uint32_t>(x.part % c.partitions()),
       x.offset + x.part / c.partitions() * x.srcTileStride, channels,
       x.srcTileStride},
      {{x.inN, x.srcStrideN}, {x.inH, x.srcStrideH}, {x.inW, x.srcStrideW}});
}

void visit(const TccNnz &x, StreamCollector &c) {
  c.tensor(
      {x.type, x.mantissa, x.part, x.offset, x.channels, x.srcTileStride},
      {{x.inN, x.srcStrideN}, {x.inH, x.srcStrideH}, {x.inW, x.srcStrideW}});
}

void visit(const PeLoad &x, StreamCollector &c) {
  c.rows(x.part, x.part + x.rows, x.offset, elementBytes(x.type, x.mantissa),
         {{x.cols, x.colStride}});
}

/// Indices [first, end) of one dimension of a moving operand that read.
struct Range {
  int64_t first, end;
  int64_t stride;
  AccessDim dim() const { return {static_cast<uint64_t>(end - first), stride}; }
};

void visit(const PeMatmul &x, StreamCollector &c) {
  const unsigned bytes = elementBytes(x.type, x.mantissa);
  auto clip = [](int64_t lo, int64_t hi, uint32_t n, int64_t stride) {
    return Range{std::max<int64_t>(lo, 0), std::min<int64_t>(hi, n), stride};
  };
  const Range outer = clip(x.lo0, x.hi0, x.n0, x.stride0);
  const Range middle = clip(x.lo1, x.hi1, x.n1, x.stride1);
  auto read = [&](uint64_t part, const Range &inner) {
    if (outer.first < outer.end && middle.first < middle.end &&
        inner.first < inner.end)
      c.rows(part, part + x.rows,
             x.offset + outer.first * x.stride0 + middle.first * x.stride1 +
                 inner.first * inner.stride,
             bytes, {outer.dim(), middle.dim(), inner.dim()});
  };
  if (x.groups <= 1)
    return read(x.part, clip(x.lo2, x.hi2, x.n2, x.stride2));
  // Row groups: pixel p lies in the partitions of lane p mod groups.
  const int64_t groups = x.groups;
  const auto pitch = static_cast<int64_t>(c.arrayRows()) / groups;
  const int64_t low = std::max<int64_t>(x.lo2, x.shift);
  const int64_t high = std::min<int64_t>(x.hi2, int64_t(x.shift) + x.validW);
  auto divideUp = [&](int64_t a) {
    return a > 0 ? (a + groups - 1) / groups : -(-a / groups);
  };
  for (int64_t lane = 0; lane < groups; ++lane)
    read(x.part + lane * pitch,
         {divideUp(low - lane), divideUp(high - lane), x.stride2});
}

void visit(const ActDrain &x, StreamCollector &c) {
  if (x.hasScale || x.hasBias || x.hasExp || x.alphaFromParam || x.mapped)
    c.rows(x.paramPart, x.paramPart + (x.paramAlongSteps ? 1 : x.cols),
           x.paramOffset, 16,
           {{x.paramAlongSteps ? uint64_t(x.n0) * x.n1 * x.n2 : 1, 16}});
  if (x.resMode)
    c.tensor(
        {x.resType, x.resMantissa, x.resPart, x.resOffset, x.cols, 0},
        {{x.n0, x.resStride0}, {x.n1, x.resStride1}, {x.n2, x.resStride2}});
  c.tensor({x.dstType, x.dstMantissa, x.dstPart, x.dstOffset, x.cols, 0},
           {{x.n0, x.dstStride0}, {x.n1, x.dstStride1}, {x.n2, x.dstStride2}});
}

void visit(const VecMap &x, StreamCollector &c) {
  c.tensor({x.aType, x.aMantissa, x.aPart, x.aOffset,
            x.aBroadcastPart ? 1 : x.channels, x.aTileStride},
           {{x.n0, x.aStride0}, {x.n1, x.aStride1}, {x.n2, x.aStride2}});
  if (x.bMode == BMode::Tensor)
    c.tensor({x.bType, x.bMantissa, x.bPart, x.bOffset,
              x.bBroadcastPart ? 1 : x.channels, x.bTileStride},
             {{x.n0, x.bStride0}, {x.n1, x.bStride1}, {x.n2, x.bStride2}});
  if (x.hasScale)
    c.tensor({ElemType::F32, 0, x.scalePart, x.scaleOffset,
              x.scaleBroadcastPart ? 1 : x.channels, x.scaleTileStride},
             {});
  if (x.hasBias)
    c.tensor({ElemType::F32, 0, x.biasPart, x.biasOffset,
              x.biasBroadcastPart ? 1 : x.channels, x.biasTileStride},
             {});
  c.tensor({x.dstType, x.dstMantissa, x.dstPart, x.dstOffset, x.channels,
            x.dstTileStride},
           {{x.n0, x.dstStride0}, {x.n1, x.dstStride1}, {x.n2, x.dstStride2}});
}

void visit(const VecPool &x, StreamCollector &c) {
  poolSource(x, c);
  c.tensor(
      {x.dstType, x.dstMantissa, x.dstPart, x.dstOffset, x.channels,
       x.dstTileStride},
      {{x.outD, x.dstStrideD}, {x.outH, x.dstStrideH}, {x.outW, x.dstStrideW}});
}

void visit(const VecReduce &x, StreamCollector &c) {
  c.tensor({x.srcType, x.srcMantissa, x.srcPart, x.srcOffset, x.channels,
            x.srcTileStride},
           {{x.o0, x.srcStrideO0},
            {x.o1, x.srcStrideO1},
            {x.r0, x.srcStrideR0},
            {x.r1, x.srcStrideR1}});
  c.tensor({x.dstType, x.dstMantissa, x.dstPart, x.dstOffset, x.channels,
            x.dstTileStride},
           {{x.o0, x.dstStrideO0}, {x.o1, x.dstStrideO1}});
}

void visit(const VecReduceChannels &x, StreamCollector &c) {
  c.tensor({x.srcType, x.srcMantissa, x.srcPart, x.srcOffset, x.channels,
            x.srcTileStride},
           {{x.n0, x.srcStride0}, {x.n1, x.srcStride1}, {x.n2, x.srcStride2}});
  c.tensor({x.dstType, x.dstMantissa, x.dstPart, x.dstOffset, 1, 0},
           {{x.n0, x.dstStride0}, {x.n1, x.dstStride1}, {x.n2, x.dstStride2}});
}

void visit(const VecGather &x, StreamCollector &c) {
  const int64_t step = x.axisStride < 0 ? -x.axisStride : x.axisStride;
  const int64_t last = static_cast<int64_t>(x.size) - 1;
  c.tensor({x.type, 0, x.srcPart,
            x.srcOffset + static_cast<uint64_t>(
                              x.axisStride < 0 ? last * x.axisStride : 0),
            x.srcBroadcastPart ? 1 : x.channels, x.srcTileStride},
           {{x.n0, x.srcStride0}, {x.n1, x.srcStride1}, {x.n2, x.srcStride2}},
           static_cast<uint64_t>(last * step));
  c.tensor(
      {x.indexType, 0, x.indexPart, x.indexOffset,
       x.indexBroadcastPart ? 1 : x.channels, x.indexTileStride},
      {{x.n0, x.indexStride0}, {x.n1, x.indexStride1}, {x.n2, x.indexStride2}});
  c.tensor({x.type, 0, x.dstPart, x.dstOffset, x.channels, x.dstTileStride},
           {{x.n0, x.dstStride0}, {x.n1, x.dstStride1}, {x.n2, x.dstStride2}});
}

template <typename Op>
void visitScan(const Op &x, unsigned mantissa, StreamCollector &c) {
  c.tensor({x.type, mantissa, x.part, x.offset, x.channels, x.tileStride},
           {{x.n0, x.stride0}, {x.n1, x.stride1}, {x.n2, x.stride2}});
}

void visit(const VecStat &x, StreamCollector &c) {
  visitScan(x, x.mantissa, c);
}

void visit(const VecMeasure &x, StreamCollector &c) {
  visitScan(x, x.mantissa, c);
}

} // namespace

void sbStreams(const Instruction &inst, const machine::Description &machine,
               llvm::SmallVectorImpl<SbStream> &out) {
  StreamCollector collector(machine, out);
  std::visit([&](const auto &x) { visit(x, collector); }, inst);
}

} // namespace ashlar::isa
