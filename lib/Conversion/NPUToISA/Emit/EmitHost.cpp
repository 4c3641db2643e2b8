// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One instruction for each operation of the host: its tensors lie whole and
// dense in DRAM.

#include "../Generator.h"

#include "ashlar/Analysis/Cost/HostCost.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Machine/Host.h"
#include "ashlar/Support/Error.h"
#include "dialects/NN/NNShapes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;

namespace ashlar::codegen {
namespace {

isa::ElemType elementType(const View &view) {
  return static_cast<isa::ElemType>(view.type.isaType());
}

bool isDense(const View &view) {
  int64_t stride = view.type.bytes();
  for (int64_t axis = view.rank(); axis-- > 0;) {
    if (view.shape[axis] != 1 && view.strides[axis] != stride)
      return false;
    stride *= view.shape[axis];
  }
  return !view.inStateBuffer() && !view.type.encoded;
}

/// Extents of instructions have 32 bits.
uint32_t count(int64_t extent) { return static_cast<uint32_t>(extent); }

int64_t product(llvm::ArrayRef<int64_t> extents) {
  return nn::elementCount(extents);
}

isa::HostNonzero nonzero(const TileContext &tile) {
  const View &x = tile.operands[0];
  isa::HostNonzero call;
  call.type = elementType(x);
  call.rank = count(x.rank());
  uint32_t *extents[] = {&call.n0, &call.n1, &call.n2, &call.n3,
                         &call.n4, &call.n5, &call.n6, &call.n7};
  for (int64_t axis = 0; axis < x.rank(); ++axis)
    *extents[8 - x.rank() + axis] = count(x.shape[axis]);
  call.xBase = x.base;
  call.dstBase = tile.result.base;
  return call;
}

isa::HostSort sort(npu::HostSortOp op, const TileContext &tile) {
  const View &x = tile.operands[0];
  const auto axis = static_cast<int64_t>(op.getAxis());
  llvm::ArrayRef<int64_t> shape(x.shape);
  isa::HostSort call;
  call.type = elementType(x);
  call.descending = op.getDescending();
  call.outer = count(product(shape.take_front(axis)));
  call.extent = count(shape[axis]);
  call.inner = count(product(shape.drop_front(axis + 1)));
  call.keep = count(tile.result.shape[axis]);
  call.xBase = x.base;
  call.dstBase = tile.result.base;
  return call;
}

isa::HostUnique unique(npu::HostUniqueOp op, const TileContext &tile) {
  const View &x = tile.operands[0];
  isa::HostUnique call;
  call.type = elementType(x);
  call.sorted = op.getSorted();
  call.rows = count(x.shape[0]);
  call.length = count(x.shape[1]);
  call.xBase = x.base;
  call.dstBase = tile.result.base;
  return call;
}

isa::HostNms suppress(npu::HostNmsOp op, const TileContext &tile) {
  const View &scores = tile.operands[1];
  isa::HostNms call;
  call.center = op.getCenter();
  call.filtered = op.getFiltered();
  call.batches = count(scores.shape[0]);
  call.classes = count(scores.shape[1]);
  call.boxes = count(scores.shape[2]);
  call.keep = count(op.getKeep());
  call.boxesBase = tile.operands[0].base;
  call.scoresBase = scores.base;
  call.mostBase = tile.operands[2].base;
  call.iouBase = tile.operands[3].base;
  call.leastBase = tile.operands[4].base;
  call.dstBase = tile.result.base;
  return call;
}

} // namespace

llvm::Error emitHost(Generator &generator, const TileContext &tile) {
  constexpr int64_t mostElements = (int64_t(1) << 32) - 1;
  auto refuse = [&](const View &view) {
    return !isDense(view) || product(view.shape) > mostElements;
  };
  if (llvm::any_of(tile.operands, refuse) || refuse(tile.result))
    return generator.unsupported(
        tile.op, "the host takes dense tensors of fewer than 2^32 elements");
  const uint64_t steps = analysis::hostSteps(tile.op);
  if (steps > machine::mostHostSteps)
    return makeError(
        ErrorClass::Capacity,
        "node '{}': the host would take {} steps, at most {} are allowed in "
        "one "
        "call; give it fewer elements, for example the best of a TopK",
        analysis::getNodeName(tile.op->getLoc()), steps,
        machine::mostHostSteps);
  llvm::TypeSwitch<Operation *>(tile.op)
      .Case([&](npu::HostNonzeroOp) { generator.builder.emit(nonzero(tile)); })
      .Case([&](npu::HostSortOp op) { generator.builder.emit(sort(op, tile)); })
      .Case([&](npu::HostUniqueOp op) {
        generator.builder.emit(unique(op, tile));
      })
      .Case([&](npu::HostNmsOp op) {
        generator.builder.emit(suppress(op, tile));
      });
  return llvm::Error::success();
}

} // namespace ashlar::codegen
