// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vec.gather over views: the operand's gathered axis is no loop, indices step
// along it.

#include "Generator.h"
#include "VectorLoops.h"

#include "dialects/NPU/NPUDialect.h"

using namespace mlir;

namespace ashlar::codegen {

llvm::Error emitGather(Generator &generator, TileContext &tile) {
  auto gather = cast<npu::VecGatherOp>(tile.op);
  const int64_t axis = gather.getAxis();
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
