// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiling models of convolutions and matrix products.

#include "TileCuts.h"
#include "TilingModels.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "dialects/NPU/NPUDialect.h"

#include <algorithm>

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

namespace {

/// Weights and other operands that are streamed.
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

/// What a convolution reads of its operand of shape `input`: the windows that
/// `axes` describe, of the map if `pooled` are those of a pool in the drain.
OperandModel windowOperand(const Shape &input,
                           const llvm::SmallVector<WindowAxis, 5> &axes,
                           const llvm::SmallVector<WindowAxis, 5> &pooled,
                           const Lanes &lanes) {
  OperandModel x;
  x.axis = 1;
  x.lanes = lanes;
  const auto rank = static_cast<int64_t>(axes.size());
  // Row groups address pixels from the start of a row.
  const int64_t cut = lanes.folded() && !lanes.spread() ? rank - 1 : rank;
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
  return x;
}

template <typename Op>
TilingModel modelOfConv(Op op, const machine::Description &machine) {
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
  const Lanes lanes = readLanesOf(op);
  keepGroups(model, lanes);
  model.operands.push_back(windowOperand(input, axes, pooled, lanes));
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

} // namespace

TilingModel convModel(npu::PeConvOp op, const machine::Description &machine) {
  return modelOfConv(op, machine);
}

TilingModel convModel(npu::TcuConvOp op, const machine::Description &machine) {
  return modelOfConv(op, machine);
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

} // namespace ashlar::analysis
