// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiling models of the npu operations, one builder per operation.

#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "TileCuts.h"
#include "TilingModels.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace ashlar::analysis {

WindowRange windowInput(int64_t start, int64_t size, int64_t stride,
                        int64_t padBegin, int64_t kernel, int64_t dilation) {
  return {start * stride - padBegin,
          (size - 1) * stride + (kernel - 1) * dilation + 1};
}

llvm::SmallVector<int64_t, 6> axesExcept(int64_t rank, int64_t skip) {
  llvm::SmallVector<int64_t, 6> axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != skip)
      axes.push_back(i);
  return axes;
}

void keepGroups(TilingModel &model, const Lanes &lanes) {
  if (lanes.spread())
    model.granularity[lanes.axis] =
        std::lcm(model.granularity[lanes.axis], lanes.count);
}

TilingModel baseModel(Operation *op) {
  TilingModel model;
  Value result = op->getResult(0);
  model.resultShape = Shape(shapeOf(result));
  model.resultType = storageOf(result);
  npu::LayoutAttr layout = npu::layoutAttrOf(op);
  model.resultAxis = layout ? layout.getAxis() : -1;
  model.workAxis = layout ? layout.getWorkAxis().value_or(model.resultAxis)
                          : model.resultAxis;
  model.granularity.assign(model.resultShape.size(), 1);
  model.lanes = workLanesOf(op);
  model.homeLanes = lanesOf(op);
  for (const Lanes &lanes : {model.lanes, model.homeLanes})
    if (lanes.folded() && !lanes.spread())
      model.granularity.back() =
          std::lcm(model.granularity.back(), lanes.count);
    else
      keepGroups(model, lanes);
  model.scratch = [](const Region &) {
    return llvm::SmallVector<ScratchBuffer, 4>();
  };
  return model;
}

namespace {

/// Region of a numpy-broadcast operand of `shape` under a result region.
Region broadcastRegion(const Region &out, llvm::ArrayRef<int64_t> shape) {
  Region region = Region::whole(shape);
  size_t offset = out.size.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) {
      region.start[i] = out.start[i + offset];
      region.size[i] = out.size[i + offset];
    }
  return region;
}

} // namespace

std::optional<Lanes> broadcastLanes(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> result,
                                    Lanes lanes) {
  const auto offset = static_cast<int64_t>(result.size() - shape.size());
  auto extentOf = [&](int64_t axis) {
    return axis < offset ? 1 : shape[axis - offset];
  };
  const int64_t channels = extentOf(lanes.across), along = extentOf(lanes.axis);
  const bool whole = channels == result[lanes.across];
  if (channels == 1 && along == 1)
    return Lanes();
  // An operand of lower rank may lack the partition axis altogether.
  if (!whole || lanes.across < offset ||
      (along != 1 && along != result[lanes.axis]))
    return std::nullopt;
  lanes.repeated = along == 1;
  lanes.axis = lanes.repeated ? 0 : lanes.axis - offset;
  lanes.across -= offset;
  return lanes;
}

WindowRange WindowAxis::range(int64_t start, int64_t size) const {
  return windowInput(start, size, stride, pad, kernel, dilation);
}

WindowRange WindowAxis::clipped(int64_t start, int64_t size) const {
  const WindowRange held = range(start, size);
  const int64_t end = std::min(held.start + held.size, input);
  const int64_t first = std::clamp<int64_t>(held.start, 0, input - 1);
  return {first, std::max<int64_t>(end - first, 1)};
}

llvm::SmallVector<int64_t, 2> WindowAxis::edges() const {
  const int64_t reach = input + pad - (kernel - 1) * dilation - 1;
  return {llvm::divideCeilSigned(pad, stride),
          llvm::divideFloorSigned(reach, stride) + 1};
}

WindowAxis WindowAxis::over(const WindowAxis &inner) const {
  return {inner.input, stride * inner.stride, pad * inner.stride + inner.pad,
          (kernel - 1) * dilation * inner.stride +
              (inner.kernel - 1) * inner.dilation + 1,
          1};
}

OperandModel broadcastOperand(Value value, int64_t resultRank,
                              int64_t resultAxis) {
  OperandModel operand;
  Shape shape(shapeOf(value));
  int64_t axis = resultAxis - (resultRank - static_cast<int64_t>(shape.size()));
  operand.axis = resultAxis < 0 || axis < 0 ? -1 : axis;
  operand.region = [shape](const Region &out) {
    return broadcastRegion(out, shape);
  };
  return operand;
}

namespace {

/// An operation that cannot work across the axis that its result is stored
/// across leaves its result in f32 scratch; it is then re-laid and converted.
/// The axis that is neither cut nor shared stays whole.
void addRelayout(TilingModel &model) {
  if (model.workAxis == model.resultAxis)
    return;
  auto own = model.scratch;
  int64_t work = model.workAxis, target = model.resultAxis;
  model.scratch = [own, work, target](const Region &out) {
    auto buffers = own(out);
    buffers.push_back({f32Storage(), out.size, work});
    buffers.push_back({f32Storage(), out.size, target});
    return buffers;
  };
}

TilingModel mapModel(npu::MapInterface op,
                     const machine::Description &machine) {
  TilingModel model = baseModel(op);
  int64_t rank = model.resultShape.size();
  model.tileAxes = axesExcept(rank, model.resultAxis);
  if (!model.lanes.spread())
    addChannelCut(model, machine);
  for (Value operand : op->getOperands()) {
    model.operands.push_back(broadcastOperand(operand, rank, model.resultAxis));
    if (model.lanes.spread())
      model.operands.back().lanes =
          broadcastLanes(shapeOf(operand), model.resultShape, model.lanes)
              .value_or(Lanes());
  }
  // Scale and bias are numbers of a channel in the instruction; where they vary
  // within partitions, they take passes of their own.
  if (!op.hasParametersAlong(model.resultAxis)) {
    int64_t axis = model.resultAxis;
    Lanes lanes = model.lanes;
    model.scratch = [axis, lanes](const Region &out) {
      return llvm::SmallVector<ScratchBuffer, 4>{
          {f32Storage(), storedShape(out.size, lanes), axis}};
    };
  }
  return model;
}

/// Windows along partitions that reach into other channel tiles: what two taps
/// read there is copied.
void addShiftedTiles(TilingModel &model, int64_t partitions) {
  const int64_t axis = model.workAxis;
  model.scratch = [axis, partitions](const Region &out) {
    Shape shape = out.size;
    shape[axis] = (shape[axis] - 1) / partitions * partitions;
    return llvm::SmallVector<ScratchBuffer, 4>(
        2, ScratchBuffer{f32Storage(), shape, axis});
  };
}

TilingModel poolModel(npu::VecPoolOp op, const machine::Description &machine) {
  TilingModel model = baseModel(op);
  int64_t rank = model.resultShape.size();
  model.tileAxes = axesExcept(rank, model.workAxis);
  if (!op.reducesAlong(model.workAxis))
    addChannelCut(model, machine);
  Shape input(shapeOf(op.getX())), kernel(op.getKernel());
  int64_t first = rank - static_cast<int64_t>(kernel.size());
  llvm::SmallVector<WindowAxis, 5> axes(rank);
  for (int64_t i = first; i < rank; ++i)
    axes[i] = {input[i], op.getStrides()[i - first], op.getPads()[i - first],
               kernel[i - first], op.getDilations()[i - first]};
  OperandModel x;
  x.axis = model.workAxis;
  x.region = [=](const Region &out) {
    Region region = out;
    for (int64_t i = first; i < rank; ++i) {
      const WindowRange held = axes[i].clipped(out.start[i], out.size[i]);
      region.start[i] = held.start;
      region.size[i] = held.size;
    }
    return region;
  };
  x.edges.resize(rank);
  for (int64_t i = first; i < rank; ++i)
    x.edges[i] = axes[i].edges();
  model.operands.push_back(x);
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  if (op.reducesAlong(model.workAxis) &&
      model.resultShape[model.workAxis] > partitions)
    addShiftedTiles(model, partitions);
  addRelayout(model);
  return model;
}

/// Axis of the result that an axis of the operand becomes, or -1 if reduced.
llvm::SmallVector<int64_t, 6> keptAxes(npu::VecReduceOp op) {
  int64_t rank = shapeOf(op.getX()).size();
  bool keeps = static_cast<int64_t>(shapeOf(op.getY()).size()) == rank;
  llvm::SmallVector<int64_t, 6> map(rank, -1);
  int64_t next = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (!llvm::is_contained(op.getAxes(), i))
      map[i] = keeps ? i : next;
    next += !llvm::is_contained(op.getAxes(), i);
  }
  return map;
}

/// The fold of the operand of a reduction whose axes become `kept`, for `lanes`
/// of its result.
Lanes sourceLanes(llvm::ArrayRef<int64_t> kept, Lanes lanes) {
  auto axisOf = [&](int64_t target) -> int64_t {
    return std::distance(kept.begin(), llvm::find(kept, target));
  };
  lanes.axis = axisOf(lanes.axis);
  lanes.across = axisOf(lanes.across);
  return lanes;
}

TilingModel reduceModel(npu::VecReduceOp op,
                        const machine::Description &machine) {
  TilingModel model = baseModel(op);
  auto map = keptAxes(op);
  Shape input(shapeOf(op.getX()));
  OperandModel x;
  const bool through = op.reducesThroughPartitions();
  if (through)
    x.axis = model.workAxis;
  for (auto [i, target] : llvm::enumerate(map))
    if (target >= 0) {
      if (target == model.workAxis)
        x.axis = i;
      else
        model.tileAxes.push_back(target);
    }
  if (model.lanes.spread())
    x.lanes = sourceLanes(map, model.lanes);
  else if (!through)
    addChannelCut(model, machine);
  x.region = [=](const Region &out) {
    Region region = Region::whole(input);
    for (auto [i, target] : llvm::enumerate(map))
      if (target >= 0) {
        region.start[i] = out.start[target];
        region.size[i] = out.size[target];
      }
    return region;
  };
  model.operands.push_back(x);
  addRelayout(model);
  return model;
}

TilingModel softmaxModel(npu::VecSoftmaxOp op,
                         const machine::Description &machine) {
  TilingModel model = baseModel(op);
  int64_t rank = model.resultShape.size();
  int64_t axis = op.getAxis();
  for (int64_t i = 0; i < rank; ++i)
    if (i != model.workAxis && i != axis)
      model.tileAxes.push_back(i);
  // Rows are not cut, wherever they lie.
  if (model.workAxis != axis)
    addChannelCut(model, machine);
  OperandModel x;
  x.axis = model.workAxis;
  x.region = [](const Region &out) { return out; };
  model.operands.push_back(x);
  int64_t workAxis = model.workAxis;
  bool log = op.getLog();
  model.scratch = [=](const Region &out) {
    Shape row = out.size;
    row[axis] = 1;
    llvm::SmallVector<ScratchBuffer, 4> buffers{
        {f32Storage(), row, workAxis}, {f32Storage(), out.size, workAxis}};
    // The logarithm still needs the shifted values after their exponentials.
    if (log)
      buffers.push_back({f32Storage(), out.size, workAxis});
    return buffers;
  };
  addRelayout(model);
  return model;
}

TilingModel gatherModel(npu::VecGatherOp op,
                        const machine::Description &machine) {
  TilingModel model = baseModel(op);
  int64_t rank = model.resultShape.size(), axis = op.getAxis();
  model.tileAxes = axesExcept(rank, model.resultAxis);
  addChannelCut(model, machine);
  int64_t extent = shapeOf(op.getX())[axis];
  OperandModel x;
  x.direct = x.fromDram = gathersFromDram(op, machine);
  x.axis = model.workAxis;
  x.region = [=](const Region &out) {
    Region region = out;
    region.start[axis] = 0;
    region.size[axis] = extent;
    return region;
  };
  model.operands.push_back(x);
  OperandModel indices =
      broadcastOperand(op.getIndices(), rank, model.resultAxis);
  if (shapeOf(op.getIndices())[model.resultAxis] == 1)
    indices.axis = -1;
  model.operands.push_back(indices);
  return model;
}

/// The host reads and writes whole tensors.
TilingModel hostModel(Operation *op) {
  TilingModel model = baseModel(op);
  model.directResult = model.resultInDram = true;
  OperandModel operand;
  operand.direct = operand.fromDram = true;
  for (Value value : op->getOperands()) {
    operand.region = [shape = Shape(shapeOf(value))](const Region &) {
      return Region::whole(shape);
    };
    model.operands.push_back(operand);
  }
  return model;
}

} // namespace

static TilingModel modelOf(Operation *op, const machine::Description &machine) {
  return llvm::TypeSwitch<Operation *, TilingModel>(op)
      .Case([&](npu::PeConvOp conv) { return convModel(conv, machine); })
      .Case([&](npu::TcuConvOp conv) { return convModel(conv, machine); })
      .Case([&](npu::PeMatmulOp mm) { return matmulModel(mm, machine); })
      .Case([&](npu::MapInterface map) { return mapModel(map, machine); })
      .Case([&](npu::VecPoolOp pool) { return poolModel(pool, machine); })
      .Case([&](npu::VecReduceOp red) { return reduceModel(red, machine); })
      .Case([&](npu::VecSoftmaxOp s) { return softmaxModel(s, machine); })
      .Case([&](npu::VecGatherOp g) { return gatherModel(g, machine); })
      .Case([&](npu::DmaMoveOp move) { return moveModel(move, machine); })
      .Case([&](npu::PeTransposeOp t) { return transposeModel(t, machine); })
      .Default([&](Operation *o) {
        return o->hasTrait<npu::HostEngine>() ? hostModel(o) : TilingModel();
      });
}

TilingModel buildTilingModel(Operation *op,
                             const machine::Description &machine) {
  TilingModel model = modelOf(op, machine);
  keepBlocksWhole(model, machine);
  return model;
}

} // namespace ashlar::analysis
