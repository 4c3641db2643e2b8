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

bool drainEncodes(const StorageType &type, int64_t channels,
                  const machine::Description &machine) {
  int64_t block = type.format.block;
  int64_t columns = machine.pe.columns;
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  return type.encoded && block > 0 && block <= columns &&
         columns % block == 0 &&
         (channels <= partitions || partitions % block == 0);
}

bool gathersActivations(Operation *op) {
  auto conv = dyn_cast<npu::PeConvOp>(op);
  return conv && conv.gathersTaps();
}

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

/// Tiles begin with whole groups of neighbours of a spread axis.
static void keepGroups(TilingModel &model, const Lanes &lanes) {
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

/// Clips [start, start + size) to [0, extent); at least one element stays.
void clip(int64_t &start, int64_t &size, int64_t extent) {
  int64_t end = std::min(start + size, extent);
  start = std::clamp<int64_t>(start, 0, extent - 1);
  size = std::max<int64_t>(end - start, 1);
}

/// Results along one axis from which on windows no longer begin in the padding,
/// and from which on they end in it.
llvm::SmallVector<int64_t, 2> windowEdges(int64_t input, int64_t stride,
                                          int64_t padBegin, int64_t kernel,
                                          int64_t dilation) {
  const int64_t reach = input + padBegin - (kernel - 1) * dilation - 1;
  return {llvm::divideCeilSigned(padBegin, stride),
          llvm::divideFloorSigned(reach, stride) + 1};
}

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

namespace {

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

OperandModel streamedOperand() {
  OperandModel operand;
  operand.streamed = true;
  return operand;
}

/// Scratch for results of so many channels that the drain cannot encode: they
/// pass through f32.
void addDrainScratch(TilingModel &model, int64_t channels,
                     const machine::Description &machine) {
  if (!model.resultType.encoded ||
      drainEncodes(model.resultType, channels, machine))
    return;
  int64_t axis = model.resultAxis;
  model.scratch = [axis](const Region &out) {
    return llvm::SmallVector<ScratchBuffer, 4>{{f32Storage(), out.size, axis}};
  };
}

/// Activations stationary: the whole result is one tile that leaves the array
/// with positions across partitions and is transposed, in f32 scratch or as
/// whole blocks. The last buffer holds the activations of every tap where
/// windows do not read the operand as it lies.
void addTurnScratch(TilingModel &model, Operation *op) {
  model.tileAxes.clear();
  int64_t axis = model.resultAxis;
  StorageType x = storageOf(op->getOperand(0));
  int64_t channels = shapeOf(
      op->getOperand(0))[llvm::isa<npu::PeConvOp>(op) ? 1 : x.blockAxis];
  int64_t taps = productShape(op).taps;
  bool gathers = gathersActivations(op);
  bool blocks = npu::transposesBlocks(op);
  StorageType result = model.resultType;
  model.scratch = [=](const Region &out) {
    int64_t outputs = out.size[axis], positions = out.elements() / outputs;
    llvm::SmallVector<ScratchBuffer, 4> buffers{
        {blocks ? result : f32Storage(), {positions, outputs}, 0}};
    if (!blocks)
      buffers.push_back({f32Storage(), out.size, axis});
    if (gathers)
      buffers.push_back({x, {taps, channels, positions}, 1});
    return buffers;
  };
}

/// One axis of the windows of a convolution, or of a pool in its drain.
struct WindowAxis {
  int64_t input = 1, stride = 1, pad = 0, kernel = 1, dilation = 1;

  WindowRange range(int64_t start, int64_t size) const {
    return windowInput(start, size, stride, pad, kernel, dilation);
  }
  /// What is read of the input; at least one element.
  WindowRange clipped(int64_t start, int64_t size) const {
    WindowRange held = range(start, size);
    clip(held.start, held.size, input);
    return held;
  }
  llvm::SmallVector<int64_t, 2> edges() const {
    return windowEdges(input, stride, pad, kernel, dilation);
  }
  /// This axis of the map that `inner` makes, as windows over what that reads.
  WindowAxis over(const WindowAxis &inner) const {
    return {inner.input, stride * inner.stride, pad * inner.stride + inner.pad,
            (kernel - 1) * dilation * inner.stride +
                (inner.kernel - 1) * inner.dilation + 1,
            1};
  }
};

/// Axis `i` of the windows in the drain, over the map.
WindowAxis mapAxis(npu::PoolingAttr pooling, int64_t i) {
  const size_t s = i - 2;
  return {pooling.getMap().getShape()[i], pooling.getStrides()[s],
          pooling.getPads()[s], pooling.getKernel()[s],
          pooling.getDilations()[s]};
}

/// A kernel that is computed: all of it for the outputs of a tile.
OperandModel kernelOperand(llvm::ArrayRef<int64_t> shape, int64_t outputAxis) {
  OperandModel operand;
  operand.axis = 1;
  operand.region = [kernel = Shape(shape), outputAxis](const Region &out) {
    Region region = Region::whole(kernel);
    if (outputAxis >= 0) {
      region.start[0] = out.start[outputAxis];
      region.size[0] = out.size[outputAxis];
    }
    return region;
  };
  return operand;
}

template <typename Op>
TilingModel convModel(Op op, const machine::Description &machine) {
  TilingModel model = baseModel(op);
  int64_t rank = model.resultShape.size();
  model.tileAxes.push_back(0);
  for (int64_t i = 2; i < rank; ++i)
    model.tileAxes.push_back(i);
  Shape input(shapeOf(op.getX())), kernel(shapeOf(op.getW()));
  llvm::SmallVector<WindowAxis, 5> axes(rank), pooled;
  for (int64_t i = 2; i < rank; ++i)
    axes[i] = {input[i], op.getStrides()[i - 2], op.getPads()[i - 2], kernel[i],
               op.getDilations()[i - 2]};
  if (npu::PoolingAttr pooling = npu::poolingOf(op)) {
    pooled.resize(rank);
    for (int64_t i = 2; i < rank; ++i)
      pooled[i] = mapAxis(pooling, i);
  }
  OperandModel x;
  x.axis = 1;
  const Lanes lanes = x.lanes = readLanesOf(op);
  keepGroups(model, lanes);
  // Row groups address pixels from the start of a row.
  int64_t cut = lanes.folded() && !lanes.spread() ? rank - 1 : rank;
  x.region = [=](const Region &out) {
    Region region = Region::whole(input);
    region.start[0] = out.start[0];
    region.size[0] = out.size[0];
    for (int64_t i = 2; i < cut; ++i) {
      WindowRange sums{out.start[i], out.size[i]};
      if (!pooled.empty())
        sums = pooled[i].clipped(sums.start, sums.size);
      const WindowRange held = axes[i].clipped(sums.start, sums.size);
      region.start[i] = held.start;
      region.size[i] = held.size;
    }
    return wholeGroups(std::move(region), lanes);
  };
  x.edges.resize(rank);
  for (int64_t i = 2; i < cut; ++i) {
    x.edges[i] = axes[i].edges();
    if (pooled.empty())
      continue;
    x.edges[i] = pooled[i].over(axes[i]).edges();
    x.edges[i][1] = std::min(x.edges[i][1], pooled[i].edges()[1]);
  }
  model.operands.push_back(x);
  model.operands.append(op->getNumOperands() - 1, streamedOperand());
  if (op.getResidual()) {
    model.operands.back() = broadcastOperand(op.getResidual(), rank, 1);
    const Lanes added = widthLanesOf(op.getResidual());
    model.operands.back().lanes = added;
    model.granularity.back() = std::max(model.granularity.back(), added.count);
  }
  if (npu::hasStationaryActivations(op)) {
    addTurnScratch(model, op);
    return model;
  }
  addDrainScratch(model, model.resultShape[1], machine);
  addSharedScratch(model, op, machine);
  // Columns of rows apart do not end where channel tiles do.
  if (llvm::isa<npu::PeConvOp>(op) && !lanes.spread())
    addOutputCut(model, machine);
  if (!hasStreamedWeights(op))
    model.operands[1] = kernelOperand(kernel, model.outputAxis);
  return model;
}

TilingModel matmulModel(npu::PeMatmulOp op,
                        const machine::Description &machine) {
  TilingModel model = baseModel(op);
  int64_t rank = model.resultShape.size();
  for (int64_t i = 0; i + 1 < rank; ++i)
    model.tileAxes.push_back(i);
  auto matrixOperand = [&](Value value, int64_t kAxisFromEnd, bool rows) {
    OperandModel operand;
    Shape shape(shapeOf(value));
    int64_t operandRank = shape.size();
    operand.axis = operandRank - kAxisFromEnd;
    operand.region = [=](const Region &out) {
      Region region = Region::whole(shape);
      int64_t offset = rank - operandRank;
      for (int64_t i = 0; i + 2 < operandRank; ++i)
        if (shape[i] != 1) {
          region.start[i] = out.start[i + offset];
          region.size[i] = out.size[i + offset];
        }
      const int64_t own = operandRank - (rows ? 2 : 1);
      const int64_t axis = rank - (rows ? 2 : 1);
      region.start[own] = out.start[axis];
      region.size[own] = out.size[axis];
      return region;
    };
    return operand;
  };
  model.operands.push_back(matrixOperand(op.getX(), 1, /*rows=*/true));
  model.operands.append(op->getNumOperands() - 1, streamedOperand());
  if (!hasStreamedWeights(op))
    model.operands[1] = matrixOperand(op.getW(), 2, /*rows=*/false);
  if (op.getResidual())
    model.operands.back() = broadcastOperand(op.getResidual(), rank, rank - 1);
  if (npu::hasStationaryActivations(op)) {
    addTurnScratch(model, op);
    return model;
  }
  addDrainScratch(model, model.resultShape.back(), machine);
  addSharedScratch(model, op, machine);
  addOutputCut(model, machine);
  return model;
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
  Shape strides(op.getStrides()), pads(op.getPads()), dil(op.getDilations());
  int64_t first = rank - static_cast<int64_t>(kernel.size());
  OperandModel x;
  x.axis = model.workAxis;
  x.region = [=](const Region &out) {
    Region region = out;
    for (int64_t i = first; i < rank; ++i) {
      int64_t s = i - first;
      WindowRange range = windowInput(out.start[i], out.size[i], strides[s],
                                      pads[s], kernel[s], dil[s]);
      region.start[i] = range.start;
      region.size[i] = range.size;
      clip(region.start[i], region.size[i], input[i]);
    }
    return region;
  };
  x.edges.resize(rank);
  for (int64_t i = first; i < rank; ++i)
    x.edges[i] = windowEdges(input[i], strides[i - first], pads[i - first],
                             kernel[i - first], dil[i - first]);
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
