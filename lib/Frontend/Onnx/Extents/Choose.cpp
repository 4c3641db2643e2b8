// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands that choose, and operators that ask for shapes.

#include "Carry.h"
#include "ExtentRules.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

/// Replaces what lies beyond the extent of input `i`.
static void fillRest(Node &n, size_t i, double fill) {
  if (auto extent = n.extentOf(i))
    n.setInput(i, withoutRest(n, n.input(i), *extent, fill));
}

/// Indices of Gather into an axis of data-dependent extent.
static void checkIndices(Node &n) {
  auto extent = n.extentOf(0);
  Value x = n.input(0), indices = n.input(1);
  if (n.op() != "Gather" || !extent || !x || !indices ||
      extent->axis != n.normalAxis(n.getInt("axis", 0), rankOf(x)))
    return;
  const Type type = elementOf(extent->count);
  const Shape one(rankOf(indices), 1);
  auto number = [&](int64_t value) { return n.integers(value, one, type); };
  Value index = n.cast(indices, type), count = n.reshape(extent->count, one);
  index = n.where(n.compare(CompareKind::Less, index, number(0)),
                  n.binary<AddOp>(index, count), index);
  Value outside =
      n.logical(LogicalKind::Or, n.compare(CompareKind::Less, index, number(0)),
                n.compare(CompareKind::GreaterOrEqual, index, count));
  n.setInput(1, n.where(outside, number(shapeOf(x)[extent->axis]), index));
}

void ashlar::frontend::prepareIndices(Node &n) {
  checkIndices(n);
  fillRest(n, 1, 0);
}

void ashlar::frontend::prepareUpdates(Node &n) {
  auto indices = n.extentOf(1), updates = n.extentOf(2);
  const bool tuples = n.op() == "ScatterND";
  if (n.extentOf(0) || !indices || !updates || !(*indices == *updates) ||
      (tuples && indices->axis + 1 == rankOf(n.input(1)))) {
    n.unsupported("expected one data-dependent extent, that of both indices "
                  "and updates");
    return;
  }
  fillRest(n, 1, 0);
}

/// Axes of the result that stand for those of the operand and of the indices.
static void carryGather(Node &n) {
  Value x = n.input(0);
  const int64_t axis = n.normalAxis(n.getInt("axis", 0), rankOf(x));
  auto ofData = n.extentOf(0), ofIndices = n.extentOf(1);
  if (ofIndices)
    n.setExtent(0, {axis + ofIndices->axis, ofIndices->count});
  else if (ofData->axis == axis)
    return;
  else if (ofData->axis < axis)
    n.setExtent(0, *ofData);
  else
    n.setExtent(0, {ofData->axis + rankOf(n.input(1)) - 1, ofData->count});
}

void ashlar::frontend::carryIndices(Node &n) {
  auto ofData = n.extentOf(0), ofIndices = n.extentOf(1);
  const bool along =
      n.op() == "Gather" && ofData &&
      ofData->axis == n.normalAxis(n.getInt("axis", 0), rankOf(n.input(0)));
  if (ofData && ofIndices && !along) {
    n.unsupported("several operands have data-dependent extents");
    return;
  }
  if (n.op() == "Gather")
    return carryGather(n);
  if (ofData) {
    n.unsupported("input 0 has a data-dependent extent");
    return;
  }
  const bool tuples = n.op() == "GatherND";
  if (tuples && ofIndices->axis + 1 == rankOf(n.input(1))) {
    n.unsupported("the length of index tuples is data-dependent");
    return;
  }
  n.setExtent(0, *ofIndices);
}

void ashlar::frontend::prepareRegions(Node &n) {
  fillRest(n, 1, 0);
  fillRest(n, 2, 0);
}

void ashlar::frontend::carryRegions(Node &n) {
  auto boxes = n.extentOf(1), batches = n.extentOf(2);
  if (n.extentOf(0) || !boxes || !batches || !(*boxes == *batches) ||
      boxes->axis != 0) {
    n.unsupported("expected one data-dependent extent, that of both boxes and "
                  "batch indices");
    return;
  }
  n.setExtent(0, {0, boxes->count});
}

void ashlar::frontend::prepareZeros(Node &n) { fillRest(n, 0, 0); }

void ashlar::frontend::prepareCondition(Node &n) {
  if (auto extent = n.extentOf(0)) {
    n.unsupported("input 0 has a data-dependent extent on axis {}",
                  extent->axis);
    return;
  }
  fillRest(n, 1, 0);
}

void ashlar::frontend::shapeOfExtents(Node &n) {
  Value x = n.input(0);
  const int64_t rank = rankOf(x);
  int64_t start = n.opset() >= 15 ? n.getInt("start", 0) : 0;
  int64_t end = n.opset() >= 15 ? n.getInt("end", rank) : rank;
  start = std::clamp(start < 0 ? start + rank : start, int64_t(0), rank);
  end = std::clamp(end < 0 ? end + rank : end, int64_t(0), rank);
  const RunTimeExtent extent = *n.extentOf(0);
  const Type type = mlir::IntegerType::get(n.context(), 64);
  SmallVector<Value> parts;
  for (int64_t axis = start; axis < end; ++axis)
    parts.push_back(axis == extent.axis
                        ? extent.count
                        : n.integers(shapeOf(x)[axis], {1}, type));
  n.setOutput(0,
              parts.empty() ? n.integers({}, {0}, type) : n.concat(parts, 0));
}

void ashlar::frontend::sizeOfExtents(Node &n) {
  Value x = n.input(0);
  const RunTimeExtent extent = *n.extentOf(0);
  Shape others(shapeOf(x));
  others[extent.axis] = 1;
  const Type type = mlir::IntegerType::get(n.context(), 64);
  n.setOutput(
      0, n.reshape(n.binary<MulOp>(extent.count,
                                   n.integers(elementCount(others), {1}, type)),
                   {}));
}
