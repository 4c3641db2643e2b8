// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that work along an axis with a data-dependent extent. What lies
// beyond it becomes what changes nothing before they run.

#include "Carry.h"
#include "ExtentRules.h"

#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The axes of a reduction, or of an ArgMax; none if it leaves elements alone.
SmallVector<int64_t> reducedAxes(Node &n) {
  const int64_t rank = rankOf(n.input(0));
  SmallVector<int64_t> axes = n.getInts("axes");
  if (n.op().starts_with("Arg"))
    axes = {n.getInt("axis", 0)};
  else if (auto given = n.hasInput(1) ? integersOf(n.input(1)) : std::nullopt)
    axes = *given;
  if (axes.empty() && !n.getInt("noop_with_empty_axes", 0))
    for (int64_t axis = 0; axis < rank; ++axis)
      axes.push_back(axis);
  return n.normalAxes(axes, rank);
}

/// The smallest number of a type, or the largest.
Value endOfType(Node &n, Type element, bool smallest, int64_t rank) {
  const Shape one(rank, 1);
  if (isFloatElement(n.input(0)))
    return n.splat(smallest ? -kInfinity : kInfinity, element, one);
  const unsigned bits = element.getIntOrFloatBitWidth();
  const bool plain = bits == 1 || element.isUnsignedInteger();
  const int64_t least =
      plain ? 0 : std::numeric_limits<int64_t>::min() >> (64 - bits);
  const int64_t most = bits == 1 ? 1
                       : plain
                           ? static_cast<int64_t>(~uint64_t(0) >> (64 - bits))
                           : ~least;
  return n.integers(smallest ? least : most, one, element);
}

/// The rest of input 0 becomes the smallest or largest number.
void fillWithEnd(Node &n, RunTimeExtent extent, bool smallest) {
  Value x = n.input(0);
  n.setInput(0, withoutRest(n, x, extent,
                            endOfType(n, elementOf(x), smallest, rankOf(x))));
}

/// The attribute or constant operand `axis`.
int64_t axisOf(Node &n, int64_t standard) {
  int64_t axis = n.getInt("axis", standard);
  if (n.op().starts_with("Cum"))
    if (auto given = n.constantNumber(1, "axis"))
      axis = static_cast<int64_t>(*given);
  return n.normalAxis(axis, rankOf(n.input(0)));
}

/// The contracted axis of an operand of MatMul.
int64_t contracted(Node &n, size_t i) {
  const int64_t rank = rankOf(n.input(i));
  return i == 0 || rank < 2 ? rank - 1 : rank - 2;
}

} // namespace

bool ashlar::frontend::reducesAlong(Node &n, int64_t axis) {
  return llvm::is_contained(reducedAxes(n), axis);
}

void ashlar::frontend::prepareReduce(Node &n) {
  auto extent = n.extentOf(0);
  if (!extent || !reducesAlong(n, extent->axis) || n.failed())
    return;
  const StringRef op = n.op();
  if (op.starts_with("Arg") && n.getInt("select_last_index", 0)) {
    n.unsupported("the last of equal elements along axis {}, which has a "
                  "data-dependent extent",
                  extent->axis);
    return;
  }
  if (op.ends_with("Max") || op == "ReduceLogSumExp")
    return fillWithEnd(n, *extent, true);
  if (op.ends_with("Min"))
    return fillWithEnd(n, *extent, false);
  n.setInput(0, withoutRest(n, n.input(0), *extent, op == "ReduceProd"));
}

void ashlar::frontend::meanOfExtents(Node &n) {
  Value x = n.input(0);
  const bool keepdims = n.getInt("keepdims", 1);
  const SmallVector<int64_t> axes = reducedAxes(n);
  const RunTimeExtent extent = *n.extentOf(0);
  if (n.failed())
    return;
  if (axes.empty())
    return n.setOutput(0, x);
  if (!llvm::is_contained(axes, extent.axis))
    return n.setOutput(0, n.reduce(ReduceKind::Mean, x, axes, keepdims));
  if (!isFloatElement(x)) {
    n.unsupported("a mean of integers along axis {}, which has a "
                  "data-dependent extent",
                  extent.axis);
    return;
  }
  int64_t others = 1;
  for (int64_t axis : axes)
    others *= axis == extent.axis ? 1 : shapeOf(x)[axis];
  Value count = n.binary<MulOp>(
      extent.count, n.integers(others, {1}, elementOf(extent.count)));
  Value sum = n.reduce(ReduceKind::Sum, x, axes, keepdims);
  n.setOutput(0,
              n.binary<DivOp>(sum, n.reshape(n.cast(count, elementOf(x)), {})));
}

void ashlar::frontend::prepareSoftmax(Node &n) {
  auto extent = n.extentOf(0);
  if (!extent)
    return;
  const bool toEnd = n.opset() < 13;
  const int64_t axis = axisOf(n, toEnd ? 1 : -1);
  if (!n.failed() && (extent->axis == axis || (toEnd && extent->axis > axis)))
    fillWithEnd(n, *extent, true);
}

void ashlar::frontend::carrySame(Node &n) {
  if (auto extent = n.extentOf(0))
    n.setExtent(0, *extent);
}

void ashlar::frontend::prepareTopK(Node &n) {
  auto extent = n.extentOf(0);
  if (!extent || axisOf(n, -1) != extent->axis || n.failed())
    return;
  const bool largest = n.getInt("largest", 1) != 0;
  if (largest || !isFloatElement(n.input(0)))
    return fillWithEnd(n, *extent, largest);
  // The largest number is NaN; of equal elements the first is taken.
  n.setInput(0, withoutRest(n, n.input(0), *extent,
                            std::numeric_limits<double>::quiet_NaN()));
}

void ashlar::frontend::carryTopK(Node &n) {
  auto extent = n.extentOf(0);
  if (!extent || axisOf(n, -1) != extent->axis)
    return carryOtherAxis(n);
  Value y = n.outputs()[0];
  const Type type = elementOf(extent->count);
  const bool known = n.opset() < 10 || constantOf(n.input(1));
  Value most = known ? n.integers(shapeOf(y)[extent->axis], {1}, type)
                     : n.reshape(n.cast(n.input(1), type), {1});
  Value count = n.binary<MinOp>(extent->count, most);
  for (size_t i = 0; i < n.numOutputs(); ++i)
    n.setExtent(i, {extent->axis, count});
}

void ashlar::frontend::prepareCumulation(Node &n) {
  auto extent = n.extentOf(0);
  if (extent && axisOf(n, 0) == extent->axis && n.getInt("reverse", 0))
    n.setInput(0, withoutRest(n, n.input(0), *extent, n.op() == "CumProd"));
}

void ashlar::frontend::prepareMatMul(Node &n) {
  for (size_t i = 0; i < 2; ++i)
    if (auto extent = n.extentOf(i); extent && extent->axis == contracted(n, i))
      n.setInput(i, withoutRest(n, n.input(i), *extent, 0));
}

void ashlar::frontend::carryMatMul(Node &n) {
  Value x = n.input(0), w = n.input(1), y = n.outputs()[0];
  auto ofX = n.extentOf(0), ofW = n.extentOf(1);
  const bool sumX = ofX && ofX->axis == contracted(n, 0),
             sumW = ofW && ofW->axis == contracted(n, 1);
  if (sumX && sumW && areComputedAlike(ofX->count, ofW->count))
    return;
  if (sumX || sumW || (ofX && ofW)) {
    n.unsupported("operands with different data-dependent extents");
    return;
  }
  if (ofW) {
    if (ofW->axis == rankOf(w) - 1)
      return n.setExtent(0, {rankOf(y) - 1, ofW->count});
    n.unsupported("works along axis {} of input 1, which has a data-dependent "
                  "extent",
                  ofW->axis);
    return;
  }
  // Rows of the first operand, or samples that the second one has not.
  const int64_t lost = rankOf(w) < 2 ? 1 : 0;
  const int64_t axis = ofX->axis + rankOf(y) + lost - rankOf(x);
  const int64_t other = axis - (rankOf(y) + lost - rankOf(w));
  if (ofX->axis < rankOf(x) - 2 && other >= 0 && other < rankOf(w) - 2 &&
      shapeOf(w)[other] != 1) {
    n.unsupported("works along axis {}, which has a data-dependent extent",
                  ofX->axis);
    return;
  }
  n.setExtent(0, {axis, ofX->count});
}
