// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of results in the state buffer and their layouts.

#include "ashlar/Analysis/Layout/BufferViews.h"

#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Tiles/TileSequence.h"
#include "ashlar/Support/Error.h"
#include "dialects/NPU/NPUDialect.h"

using namespace mlir;

namespace ashlar::analysis {

llvm::Expected<View> resultView(Operation *op, int64_t offset,
                                const View *source,
                                const machine::Description &machine) {
  Value result = op->getResult(0);
  int64_t axis = *npu::axisOf(op);
  if (isView(op)) {
    auto move = dyn_cast<npu::DmaMoveOp>(op);
    std::optional<View> view =
        move && source ? viewThrough(move, *source, machine) : std::nullopt;
    if (!view || view->axis != axis)
      return makeError(support::ErrorClass::Internal,
                       "is marked as a view of its operand, whose elements lie "
                       "otherwise");
    return *view;
  }
  auto dense = [&](Value value) {
    return denseBufferView(storageOf(value),
                           storedShape(shapeOf(value), lanesOf(value)), axis,
                           offset, machine);
  };
  if (!npu::partOf(op))
    return dense(result);
  const auto reads = readsOf(result);
  auto whole = reads.size() == 1
                   ? dyn_cast<npu::DmaMoveOp>(reads.front()->getOwner())
                   : npu::DmaMoveOp();
  std::optional<PartPlace> place =
      whole && axis >= 0 ? placeOfPart(whole, reads.front()->getOperandNumber())
                         : std::nullopt;
  if (!place)
    return makeError(support::ErrorClass::Internal,
                     "is marked as a part of a concatenation, but not read by "
                     "one alone");
  View view = dense(whole.getY())
                  .slice({place->start, Shape(shapeOf(result))}, machine);
  for (auto [stride, step] : llvm::zip(view.strides, place->step))
    stride *= step;
  return view;
}

npu::Layout layoutOf(const View &view, const Lanes &lanes,
                     const machine::Description &machine) {
  npu::Layout layout;
  layout.shape = view.shape;
  layout.strides = view.strides;
  layout.partitionAxis = view.axis;
  layout.firstPartition = view.part;
  layout.outerAxis = view.outer;
  layout.outerStep = view.outerStep;
  layout.partitions = static_cast<int64_t>(machine.sb.partitions);
  layout.lanes = lanes.spread() ? 1 : lanes.count;
  layout.spread = lanes.spread();
  if (view.type.encoded) {
    layout.blockAxis = view.type.blockAxis;
    layout.block = view.type.format.block;
  }
  return layout;
}

std::string refuseInPlace(Operation *op, unsigned index,
                          const TilingModel &model, const View &view,
                          const machine::Description &machine) {
  auto judge = dyn_cast<npu::LayoutInterface>(op);
  if (!judge || index >= model.operands.size())
    return "";
  const OperandModel &operand = model.operands[index];
  const Lanes lanes = lanesOf(op->getOperand(index));
  if (operand.streamed ||
      (!operand.direct && !operand.readsInPlace(view, lanes)))
    return "";
  return judge.refuseOperand(index, layoutOf(view, lanes, machine));
}

} // namespace ashlar::analysis
