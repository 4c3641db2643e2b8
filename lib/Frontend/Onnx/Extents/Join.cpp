// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concatenation along an axis whose extents data decide, and values of which
// only one exists, each with an extent of its own.

#include "Join.h"
#include "Carry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

Value numberOf(Node &n, int64_t value) {
  return n.integers(value, {1}, n.indexType());
}

/// How many elements operand `i` has along `axis`.
Value countAlong(Node &n, size_t i, int64_t axis) {
  auto extent = n.extentOf(i);
  return extent ? extent->count : numberOf(n, shapeOf(n.input(i))[axis]);
}

/// For each element of the concatenation, its index in that of the padded
/// operands, whose elements beyond their extents are skipped. `count` is the
/// number of elements that exist.
Value placesOf(Node &n, int64_t axis, int64_t total, Value &count) {
  const Value index = n.iota(total, 0, 1, n.indexType());
  Value places = index;
  bool gaps = false;
  for (size_t i = 0; i < n.numInputs() && !n.failed(); ++i) {
    Value own = countAlong(n, i, axis);
    count = count ? n.binary<AddOp>(count, own) : own;
    if (!n.extentOf(i) || i + 1 == n.numInputs())
      continue;
    gaps = true;
    Value gap = n.binary<SubOp>(numberOf(n, shapeOf(n.input(i))[axis]), own);
    Value after = n.compare(CompareKind::GreaterOrEqual, index, count);
    places = n.binary<AddOp>(
        places, n.binary<MulOp>(n.cast(after, n.indexType()), gap));
  }
  return gaps ? n.binary<MinOp>(places, numberOf(n, total - 1)) : Value();
}

/// The value with at least `capacity` elements along the axis.
Value withCapacity(Emitter &e, Value x, int64_t axis, int64_t capacity) {
  const int64_t size = shapeOf(x)[axis];
  if (size == capacity)
    return x;
  Shape shape(shapeOf(x));
  shape[axis] = capacity;
  if (size == 0)
    return e.splat(0, elementOf(x), shape);
  Shape low(shape.size(), 0), high(shape.size(), 0);
  high[axis] = capacity - size;
  return e.pad(x, low, high, PadMode::Constant, 0);
}

} // namespace

void ashlar::frontend::joinExtents(Node &n) {
  SmallVector<Value> inputs;
  for (size_t i = 0; i < n.numInputs(); ++i)
    inputs.push_back(n.input(i));
  if (n.failed())
    return;
  const int64_t axis = n.normalAxis(n.getInt("axis", n.opset() < 4 ? 1 : 0),
                                    rankOf(inputs.front()));
  Value whole = n.concat(inputs, axis);
  bool along = false;
  for (size_t i = 0; whole && i < n.numInputs(); ++i)
    along |= n.extentOf(i) && n.extentOf(i)->axis == axis;
  n.setOutput(0, whole);
  if (!along)
    return whole ? carryOtherAxis(n) : void();
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (auto extent = n.extentOf(i); extent && extent->axis != axis) {
      n.unsupported("operands have data-dependent extents on axes {} and {}",
                    axis, extent->axis);
      return;
    }
  Value count;
  if (Value places = placesOf(n, axis, shapeOf(whole)[axis], count))
    n.setOutput(0, takeRows(n, whole, axis, places));
  n.setExtent(0, {axis, count});
}

Value ashlar::frontend::chooseWithExtents(Emitter &e, RunTimeExtents &extents,
                                          Value condition, Value yes,
                                          Value no) {
  if (elementOf(yes) != elementOf(no) || rankOf(yes) != rankOf(no))
    return e.unsupported("one is {}, the other {}", typeText(yes),
                         typeText(no));
  auto ofYes = extents.find(yes), ofNo = extents.find(no);
  std::optional<int64_t> axis;
  for (int64_t d = 0; d < rankOf(yes); ++d) {
    const bool open = (ofYes && ofYes->axis == d) || (ofNo && ofNo->axis == d);
    if (!open && shapeOf(yes)[d] == shapeOf(no)[d])
      continue;
    if (axis)
      return e.unsupported("one is {}, the other {}; they differ in more than "
                           "one extent",
                           typeText(yes), typeText(no));
    axis = d;
  }
  if (!axis)
    return e.where(condition, yes, no);
  auto count = [&](Value x, const std::optional<RunTimeExtent> &extent) {
    return extent ? extent->count
                  : e.integers(shapeOf(x)[*axis], {1}, e.indexType());
  };
  const int64_t capacity = std::max(shapeOf(yes)[*axis], shapeOf(no)[*axis]);
  Value extent = e.where(condition, count(yes, ofYes), count(no, ofNo));
  Value chosen = e.where(condition, withCapacity(e, yes, *axis, capacity),
                         withCapacity(e, no, *axis, capacity));
  if (chosen && extent)
    extents.add(chosen, {*axis, extent});
  return chosen;
}
