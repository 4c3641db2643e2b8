// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vec.gather and dma.gather over views: the operand's gathered axis is not a
// loop, indices step along it.

#include "../Generator.h"

#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <tuple>

using namespace mlir;

namespace ashlar::codegen {
namespace {

/// One loop of a dma.gather, with the byte strides of its sides.
struct GatherLoop {
  int64_t count, source, index, result;
};

/// The loops of `loop` over `channels` channels; the row comes innermost, what
/// is contiguous in DRAM last.
llvm::SmallVector<GatherLoop, 5> gatherLoops(const VectorLoop &loop,
                                             int64_t channels,
                                             int64_t partitionBytes,
                                             int64_t partitions) {
  const VectorAddress &d = loop.addresses[0], &a = loop.addresses[1],
                      &i = loop.addresses[2];
  llvm::SmallVector<GatherLoop, 5> loops;
  for (size_t k = 0; k < loop.count.size(); ++k)
    loops.push_back({loop.count[k], a.stride[k], i.stride[k], d.stride[k]});
  const int64_t tiles = llvm::divideCeil(channels, partitions);
  loops.push_back(
      {tiles, a.tileStride, i.broadcast ? 0 : i.tileStride, d.tileStride});
  loops.push_back({channels / tiles, a.tileStride / partitions,
                   i.broadcast ? 0 : partitionBytes, partitionBytes});
  // Equal keys are equal loops.
  auto key = [](const GatherLoop &loop) {
    return std::tuple(loop.index == 0, -std::abs(loop.source), loop.index,
                      loop.result, loop.count, loop.source);
  };
  llvm::sort(loops, [&](const GatherLoop &x, const GatherLoop &y) {
    return key(x) < key(y);
  });
  return loops;
}

/// Rows of an operand in DRAM. Channels of `loop` are cut where a channel tile
/// of the result ends.
void emitRows(Generator &generator, isa::DmaGather inst,
              const VectorLoop &loop) {
  const int64_t partitionBytes = generator.machine.sb.bytesPerPartition;
  const int64_t partitions = generator.machine.sb.partitions;
  const VectorAddress &d = loop.addresses[0], &a = loop.addresses[1],
                      &i = loop.addresses[2];
  const int64_t rest =
      loop.channels < partitions ? 0 : loop.channels % partitions;
  for (auto [first, channels] : {std::pair(int64_t(0), loop.channels - rest),
                                 std::pair(loop.channels - rest, rest)}) {
    if (channels == 0)
      continue;
    const int64_t tile = first / partitions;
    auto loops = gatherLoops(loop, channels, partitionBytes, partitions);
    inst.queue = generator.builder.nextMovementQueue();
    inst.dstBase = d.part * partitionBytes + d.offset + tile * d.tileStride;
    inst.srcBase =
        a.offset + a.part * (a.tileStride / partitions) + tile * a.tileStride;
    inst.indexBase = i.part * partitionBytes + i.offset +
                     (i.broadcast ? 0 : tile * i.tileStride);
    inst.n0 = loops[0].count, inst.n1 = loops[1].count,
    inst.n2 = loops[2].count, inst.n3 = loops[3].count,
    inst.n4 = loops[4].count;
    inst.srcStride0 = loops[0].source, inst.srcStride1 = loops[1].source,
    inst.srcStride2 = loops[2].source, inst.srcStride3 = loops[3].source,
    inst.srcStride4 = loops[4].source;
    inst.indexStride0 = loops[0].index, inst.indexStride1 = loops[1].index,
    inst.indexStride2 = loops[2].index, inst.indexStride3 = loops[3].index,
    inst.indexStride4 = loops[4].index;
    inst.dstStride0 = loops[0].result, inst.dstStride1 = loops[1].result,
    inst.dstStride2 = loops[2].result, inst.dstStride3 = loops[3].result,
    inst.dstStride4 = loops[4].result;
    generator.builder.emit(inst);
  }
}

/// The rows that indices choose, from an operand that lies whole in DRAM.
llvm::Error emitFromDram(Generator &generator, const TileContext &tile,
                         int64_t axis) {
  const View &x = tile.operands[0], &indices = tile.operands[1];
  constexpr int64_t maxExtent = (1 << 24) - 1;
  if (x.shape[axis] > maxExtent)
    return generator.unsupported(
        tile.op, "gather along an axis of more than 2^24 - 1 elements");
  Region region = tile.out;
  region.start[axis] = 0;
  region.size[axis] = x.shape[axis];
  View origins = x.slice(region, generator.machine);
  isa::DmaGather inst;
  inst.elemBytes = x.type.bytes();
  inst.indexType = static_cast<isa::ElemType>(indices.type.isaType());
  inst.size = static_cast<uint32_t>(x.shape[axis]);
  inst.axisStride = x.strides[axis];
  origins.shape[axis] = 1;
  // Channels count as if they lay across partitions, a stride apart.
  origins.axis = tile.result.axis;
  origins.tileStride = x.strides[origins.axis] *
                       static_cast<int64_t>(generator.machine.sb.partitions);
  llvm::SmallVector<VectorOperand, 3> operands{
      {&tile.result}, {&origins}, {&indices}};
  forEachVectorLoop(
      operands, tile.result, generator.machine, /*maxDims=*/3,
      [&](const VectorLoop &loop) { emitRows(generator, inst, loop); });
  return llvm::Error::success();
}

} // namespace

llvm::Error emitGather(Generator &generator, const TileContext &tile) {
  auto gather = cast<npu::VecGatherOp>(tile.op);
  const int64_t axis = gather.getAxis();
  if (tile.model->operands[0].fromDram)
    return emitFromDram(generator, tile, axis);
  const View &x = tile.operands[0], &indices = tile.operands[1];
  constexpr int64_t maxExtent = (1 << 20) - 1;
  if (x.shape[axis] > maxExtent)
    return generator.unsupported(
        tile.op, "gather along an axis of more than 2^20 - 1 elements");
  View origins = x;
  origins.shape[axis] = 1;
  isa::VecGather base;
  base.size = static_cast<uint32_t>(x.shape[axis]);
  base.axisStride = static_cast<int32_t>(x.strides[axis]);
  base.type = static_cast<isa::ElemType>(x.type.isaType());
  base.indexType = static_cast<isa::ElemType>(indices.type.isaType());
  llvm::SmallVector<VectorOperand, 3> operands{
      {&tile.result}, {&origins}, {&indices}};
  forEachVectorLoop(
      operands, tile.result, generator.machine, /*maxDims=*/3,
      [&](const VectorLoop &loop) {
        isa::VecGather inst = base;
        inst.channels = loop.channels;
        inst.n0 = loop.count[0], inst.n1 = loop.count[1],
        inst.n2 = loop.count[2];
        const VectorAddress &d = loop.addresses[0], &a = loop.addresses[1],
                            &i = loop.addresses[2];
        inst.dstPart = d.part, inst.dstOffset = d.offset;
        inst.dstTileStride = d.tileStride;
        inst.dstStride0 = d.stride[0], inst.dstStride1 = d.stride[1],
        inst.dstStride2 = d.stride[2];
        inst.srcPart = a.part, inst.srcOffset = a.offset;
        inst.srcTileStride = a.tileStride;
        inst.srcBroadcastPart = a.broadcast;
        inst.srcStride0 = a.stride[0], inst.srcStride1 = a.stride[1],
        inst.srcStride2 = a.stride[2];
        inst.indexPart = i.part, inst.indexOffset = i.offset;
        inst.indexTileStride = i.tileStride;
        inst.indexBroadcastPart = i.broadcast;
        inst.indexStride0 = i.stride[0], inst.indexStride1 = i.stride[1],
        inst.indexStride2 = i.stride[2];
        generator.builder.emit(inst);
      });
  return llvm::Error::success();
}

} // namespace ashlar::codegen
