// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layouts that npu operations accept. Each rule names the limit of the
// instruction that reads or writes the memory.

#include "dialects/BFP/BFPTypes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::npu {

llvm::SmallVector<int64_t, 6> Layout::freeAxes() const {
  llvm::SmallVector<int64_t, 6> axes;
  for (int64_t axis = 0; axis < rank(); ++axis)
    if (axis != partitionAxis && axis != outerAxis)
      axes.push_back(axis);
  return axes;
}

llvm::SmallVector<Run, 4> Layout::runs(llvm::ArrayRef<int64_t> axes) const {
  llvm::SmallVector<Run, 4> runs;
  for (int64_t axis : axes) {
    Run run{shape[axis], strides[axis]};
    if (run.extent == 1)
      continue;
    if (!runs.empty() && runs.back().stride == run.stride * run.extent) {
      run.extent *= runs.back().extent;
      runs.pop_back();
    }
    runs.push_back(run);
  }
  return runs;
}

bool Layout::cutsBlocks() const {
  if (blockAxis < 0 || blockAxis != partitionAxis ||
      firstPartition + shape[partitionAxis] <= partitions)
    return false;
  return block <= 0 || partitions % block != 0 || firstPartition % block != 0;
}

bool Layout::keepsTiles() const {
  if (partitionAxis < 0)
    return firstPartition == 0;
  const int64_t groups = outerAxis < 0 ? 1 : shape[outerAxis];
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t first = (firstPartition + group * outerStep) % partitions;
    if (first != 0 && first + shape[partitionAxis] > partitions)
      return false;
  }
  return true;
}

RankedTensorType PeConvOp::getMapType() {
  if (PoolingAttr pooling = getPoolingAttr())
    return pooling.getMap();
  return cast<RankedTensorType>(getY().getType());
}

bool PeConvOp::gathersTaps() {
  auto isNot = [](int64_t value) {
    return [value](int64_t x) { return x != value; };
  };
  llvm::ArrayRef<int64_t> weights =
      cast<RankedTensorType>(getW().getType()).getShape();
  return llvm::any_of(weights.drop_front(2), isNot(1)) ||
         llvm::any_of(getStrides(), isNot(1)) ||
         llvm::any_of(getPads(), isNot(0));
}

bool PeMatmulOp::multipliesMatrices() {
  // What the program streams is a constant, and those of its matrices come one
  // after the other.
  return cast<RankedTensorType>(getW().getType()).getRank() > 2 &&
         isa_and_nonnull<NPUDialect>(getW().getDefiningOp()
                                         ? getW().getDefiningOp()->getDialect()
                                         : nullptr);
}

namespace {

/// Blocks are read through the cells of the partitions that hold them.
std::string refuseBlocks(const Layout &layout) {
  return layout.blockAxis >= 0 && layout.blockAxis != layout.partitionAxis
             ? "its block axis is not the partition dimension"
             : "";
}

std::string refuseOuter(const Layout &layout) {
  return layout.outerAxis >= 0 ? "two of its axes lie across partitions" : "";
}

/// The array meets row by row what begins in any two partitions, in tiles that
/// do not depend on where.
std::string refuseMoving(const Layout &layout) {
  std::string why = refuseBlocks(layout);
  if (why.empty() && !layout.keepsTiles())
    why = "its elements reach across the end of a channel tile that they do "
          "not begin, and one instruction reads one";
  return why;
}

/// Encoding drains see one channel tile at a time.
std::string refuseDrain(const Layout &layout) {
  return layout.cutsBlocks()
             ? "a block of its result would cross the end of a channel tile, "
               "and a drain encodes whole blocks only"
             : "";
}

/// Results of the array and of the sparse cluster may lie in lanes, and in a
/// part of a larger map.
std::string refuseProductResult(const Layout &layout) {
  std::string why = refuseBlocks(layout);
  return why.empty() ? refuseDrain(layout) : why;
}

/// One `pe.load` takes columns at one distance: all positions have to lie so.
std::string refuseStationary(const Layout &layout) {
  std::string why = refusePlain(layout);
  if (why.empty() && layout.runs(layout.freeAxes()).size() > 1)
    why = "its positions do not lie at one distance, as the columns of a "
          "stationary operand have to";
  return why;
}

} // namespace

std::string refusePlain(const Layout &layout) {
  if (layout.lanes > 1)
    return "it lies in lanes";
  if (layout.firstPartition != 0)
    return "it is a part of a larger map and does not begin in partition 0";
  std::string why = refuseOuter(layout);
  return why.empty() ? refuseBlocks(layout) : why;
}

std::string PeConvOp::refuseOperand(unsigned index, const Layout &layout) {
  Value operand = getOperand(index);
  if (operand != getX() && operand != getResidual())
    return refusePlain(layout);
  if (hasStationaryActivations(*this))
    return operand == getX() && !gathersTaps() ? refuseStationary(layout)
                                               : refusePlain(layout);
  if (operand == getResidual())
    return layout.firstPartition == 0 && layout.outerAxis < 0
               ? refuseBlocks(layout)
               : refusePlain(layout);
  std::string why = refuseOuter(layout);
  return why.empty() ? refuseMoving(layout) : why;
}

std::string PeConvOp::refuseResult(const Layout &layout) {
  return hasStationaryActivations(*this) ? refusePlain(layout)
                                         : refuseProductResult(layout);
}

std::string TcuConvOp::refuseResult(const Layout &layout) {
  return refuseProductResult(layout);
}

std::string PeMatmulOp::refuseOperand(unsigned index, const Layout &layout) {
  if (index == 0 && hasStationaryActivations(*this))
    return refuseStationary(layout);
  // Matrices that both operands have several of are multiplied one by one, each
  // where it begins. Its rows and columns are read from one place.
  if (index > 1 || layout.lanes > 1)
    return refusePlain(layout);
  const bool countsMatrices = layout.outerAxis < layout.rank() - 2;
  std::string why =
      multipliesMatrices() && countsMatrices ? "" : refuseOuter(layout);
  return why.empty() ? refuseMoving(layout) : why;
}

std::string PeMatmulOp::refuseResult(const Layout &layout) {
  return hasStationaryActivations(*this) ? refusePlain(layout)
                                         : refuseProductResult(layout);
}

/// Taps of windows along partitions at most: each is an instruction.
static constexpr int64_t kMostTapsAcross = 32;

bool VecPoolOp::reducesAlong(int64_t axis) {
  const int64_t s = axis - static_cast<int64_t>(getY().getType().getRank() -
                                                getKernel().size());
  return s >= 0 && getKernel()[s] > 1;
}

bool VecPoolOp::worksAcross(int64_t axis) {
  llvm::ArrayRef<int64_t> x = getX().getType().getShape();
  llvm::ArrayRef<int64_t> y = getY().getType().getShape();
  const auto spatial = static_cast<int64_t>(getKernel().size());
  const int64_t first = static_cast<int64_t>(y.size()) - spatial;
  auto keeps = [&](int64_t other) {
    const int64_t s = other - first;
    return s < 0 || (getKernel()[s] == 1 && getStrides()[s] == 1 &&
                     getPads()[s] == 0 && x[other] == y[other]);
  };
  if (keeps(axis))
    return true;
  for (int64_t other = first; other < first + spatial; ++other)
    if (other != axis && !keeps(other))
      return false;
  const int64_t s = axis - first;
  const bool alike =
      getKind() == "sum" || (getKind() == "avg" && getCountIncludePad());
  return alike && getStrides()[s] == 1 && x[axis] == y[axis] &&
         getKernel()[s] <= kMostTapsAcross &&
         getPads()[s] + getPads()[s + spatial] ==
             (getKernel()[s] - 1) * getDilations()[s] &&
         getX().getType().getElementType().isF32() &&
         getY().getType().getElementType().isF32();
}

bool VecReduceOp::reducesAlong(int64_t axis) {
  return llvm::is_contained(getAxes(), axis);
}

bool VecReduceOp::worksAcross(int64_t axis) {
  if (!reducesAlong(axis))
    return true;
  return getAxes().size() == 1 &&
         getX().getType().getRank() == getY().getType().getRank() &&
         !isa<bfp::BlockType>(getY().getType().getElementType());
}

bool VecReduceOp::reducesThroughPartitions() {
  LayoutAttr layout = layoutAttrOf(*this);
  return layout && getX().getType().getRank() == getY().getType().getRank() &&
         reducesAlong(layout.getWorkAxis().value_or(layout.getAxis()));
}

std::string VecReduceOp::refuseOperand(unsigned index, const Layout &layout) {
  (void)index;
  std::string why = refusePlain(layout);
  llvm::SmallVector<int64_t> reduced = llvm::to_vector(llvm::make_filter_range(
      getAxes(), [&](int64_t axis) { return axis != layout.partitionAxis; }));
  if (why.empty() && layout.runs(reduced).size() > 2)
    why = "the elements that it reduces lie in more than two nested runs";
  return why;
}

std::string DmaMoveOp::refuseOperand(unsigned index, const Layout &layout) {
  (void)index;
  if (layout.spread)
    return "a second axis is mapped to partitions, and strided copies name one";
  return refuseBlocks(layout);
}

std::string DmaMoveOp::refuseResult(const Layout &layout) {
  return refuseBlocks(layout);
}

std::string PeTransposeOp::refuseOperand(unsigned index, const Layout &layout) {
  (void)index;
  return layout.blockAxis >= 0 ? "its elements are encoded"
                               : refusePlain(layout);
}

} // namespace ashlar::npu
