// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands that choose, and operators that ask for shapes.

#include "Carry.h"
#include "ExtentRules.h"

#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

/// Replaces what lies beyond the extent of input `i`.
static void fillRest(Node &n, size_t i, double fill) {
  if (auto extent = n.extentOf(i))
    n.setInput(i, withoutRest(n, n.input(i), *extent, fill));
}

/// Indices into an axis of data-dependent extent, of `capacity` elements: one
/// outside the extent becomes one outside the capacity.
static Value insideOf(Node &n, Value indices, Value extent, int64_t capacity) {
  if (!indices)
    return nullptr;
  const Type type = elementOf(extent);
  const Shape one(rankOf(indices), 1);
  auto number = [&](int64_t value) { return n.integers(value, one, type); };
  Value index = n.cast(indices, type), count = n.reshape(extent, one);
  index = n.where(n.compare(CompareKind::Less, index, number(0)),
                  n.binary<AddOp>(index, count), index);
  Value outside =
      n.logical(LogicalKind::Or, n.compare(CompareKind::Less, index, number(0)),
                n.compare(CompareKind::GreaterOrEqual, index, count));
  return n.where(outside, number(capacity), index);
}

/// The axis of its operand along which Gather or GatherElements reads.
static int64_t axisOfRead(Node &n) {
  return n.normalAxis(n.getInt("axis", 0), rankOf(n.input(0)));
}

/// Whether a read chooses along the data-dependent extent of its operand, and
/// the column of GatherND's tuples that does.
static bool readsAlong(Node &n, int64_t *column = nullptr) {
  auto extent = n.extentOf(0);
  Value x = n.input(0), indices = n.input(1);
  if (!extent || !x || !indices)
    return false;
  if (n.op() != "GatherND")
    return extent->axis == axisOfRead(n);
  const int64_t at = extent->axis - n.getInt("batch_dims", 0);
  if (column)
    *column = at;
  return at >= 0 && rankOf(indices) > 0 && at < shapeOf(indices).back();
}

static void checkIndices(Node &n) {
  int64_t column = 0;
  if (!readsAlong(n, &column) || n.failed())
    return;
  const RunTimeExtent extent = *n.extentOf(0);
  const int64_t capacity = shapeOf(n.input(0))[extent.axis];
  Value indices = n.input(1);
  if (n.op() != "GatherND")
    return n.setInput(1, insideOf(n, indices, extent.count, capacity));
  const int64_t last = rankOf(indices) - 1, depth = shapeOf(indices)[last];
  SmallVector<Value> columns;
  for (int64_t k = 0; k < depth; ++k) {
    Value one = n.cast(n.sliceAxis(indices, last, k, 1), n.indexType());
    columns.push_back(k == column ? insideOf(n, one, extent.count, capacity)
                                  : one);
  }
  n.setInput(1, n.concat(columns, last));
}

void ashlar::frontend::prepareIndices(Node &n) {
  checkIndices(n);
  // The first element, which the operand may not have, is read instead.
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
  const int64_t axis = axisOfRead(n);
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
  const bool along = readsAlong(n);
  if (ofData && ofIndices && !along) {
    n.unsupported("several operands have data-dependent extents");
    return;
  }
  if (n.op() == "Gather")
    return carryGather(n);
  if (ofData && !along) {
    n.unsupported("input 0 has a data-dependent extent on axis {}, along which "
                  "it does not read",
                  ofData->axis);
    return;
  }
  if (!ofIndices)
    return;
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

/// Boxes beyond the extent get a score that no threshold lets through.
void ashlar::frontend::prepareSuppression(Node &n) {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  auto boxes = n.extentOf(0), scores = n.extentOf(1);
  if ((boxes && boxes->axis != 1) || (scores && scores->axis != 2)) {
    n.unsupported("expected a data-dependent number of boxes alone");
    return;
  }
  fillRest(n, 0, 0);
  fillRest(n, 1, lowest);
  if (boxes && !(scores && scores->count == boxes->count))
    n.setInput(1, withoutRest(n, n.input(1), {2, boxes->count}, lowest));
  if (!n.hasInput(4))
    n.setInput(4, n.splat(lowest, mlir::Float32Type::get(n.context()), {1}));
}

void ashlar::frontend::prepareZeros(Node &n) { fillRest(n, 0, 0); }

void ashlar::frontend::prepareCondition(Node &n) {
  fillRest(n, 1, 0);
  auto extent = n.extentOf(0);
  Value x = n.input(0), condition = n.input(1);
  if (!extent || !x || !condition)
    return;
  // Without an axis the elements of all axes in row-major order.
  const bool flat = !n.hasAttribute("axis");
  const int64_t axis = flat ? 0 : n.normalAxis(n.getInt("axis", 0), rankOf(x));
  if (extent->axis != axis || rankOf(condition) != 1) {
    n.unsupported("input 0 has a data-dependent extent on axis {}",
                  extent->axis);
    return;
  }
  Value count = extent->count;
  if (flat)
    count =
        n.binary<MulOp>(count, n.integers(elementCount(shapeOf(x).drop_front()),
                                          {1}, elementOf(count)));
  n.setInput(1, withoutRest(n, condition, {0, count}, 0));
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
