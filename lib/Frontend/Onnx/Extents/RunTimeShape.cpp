// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results whose shapes are computed at run time: room for the most that an
// extent can be, and the extent.

#include "RunTimeShape.h"

#include "Carry.h"
#include "ShapeEntries.h"

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Sources.h"

#include "dialects/NN/NNOps.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// A shape of which data decide one extent, at most.
struct OpenShape {
  Shape capacity;
  std::optional<RunTimeExtent> extent;
};

/// Adds an axis of `capacity` elements, of which `count` exist.
void addAxis(Node &n, OpenShape &shape, int64_t capacity, Value count) {
  if (shape.extent && count) {
    n.unsupported("axes {} and {} of the result both have data-dependent "
                  "extents; one is supported",
                  shape.extent->axis, shape.capacity.size());
    return;
  }
  if (count)
    shape.extent =
        RunTimeExtent{static_cast<int64_t>(shape.capacity.size()), count};
  shape.capacity.push_back(capacity);
}

/// Adds what an axis of `size` elements, `own` of them if data decide, becomes
/// for an entry of Expand.
void expandAxis(Node &n, OpenShape &shape, int64_t size, Value own,
                const ShapeEntry &entry) {
  const bool stays = entry.known ? *entry.known == 1
                                 : own && areComputedAlike(own, entry.value);
  if (stays)
    return addAxis(n, shape, size, own);
  if (own) {
    n.unsupported("axis {} of the result has two data-dependent extents, that "
                  "of the operand and that of the shape",
                  shape.capacity.size());
    return;
  }
  if (entry.known) {
    if (*entry.known < 0 || (size != 1 && size != *entry.known)) {
      n.malformed("an axis of {} elements does not expand to {}", size,
                  *entry.known);
      return;
    }
    return addAxis(n, shape, *entry.known, nullptr);
  }
  if (size != 1) {
    n.unsupported("an axis of {} elements expands to an extent that is known "
                  "at run time only{}",
                  size, remedyForRunTime(entry.value));
    return;
  }
  int64_t capacity = 0;
  Value count = extentOfEntry(n, entry.value, capacity);
  if (count)
    addAxis(n, shape, capacity, count);
}

/// Gives result 0, of the shape's capacity, its extent.
void setOpen(Node &n, Value value, const OpenShape &shape) {
  n.setOutput(0, value);
  if (shape.extent)
    n.setExtent(0, *shape.extent);
}

/// A start or limit of Range as one i64 if it is a whole number: of integers,
/// and of floats that are casts of integers which they hold.
Value wholeNumber(Node &n, Value value) {
  if (!isFloatElement(value))
    return entryOf(n, value, 0);
  while (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getX();
  if (auto numbers = numbersOf(value))
    return numbers->front() == std::floor(numbers->front())
               ? n.cast(n.reshape(value, {1}), n.indexType())
               : Value();
  auto cast = value.getDefiningOp<CastOp>();
  const NumberRange range = n.rangeOf(value);
  if (!cast || isFloatElement(cast.getX()) || !range.least || !range.most)
    return nullptr;
  return entryOf(n, cast.getX(), 0);
}

/// How many steps of `delta` Range makes from `start` to before `limit`.
Value wholeSteps(Node &n, Value start, Value limit, int64_t delta) {
  auto number = [&](int64_t value) {
    return n.integers(value, {1}, n.indexType());
  };
  if (delta < 0)
    std::swap(start, limit);
  const int64_t size = delta < 0 ? -delta : delta;
  auto known = integersOf(start);
  Value span =
      known && known->front() == 0 ? limit : n.binary<SubOp>(limit, start);
  if (size == 1)
    return span;
  return n.binary<DivOp>(n.binary<AddOp>(span, number(size - 1)), number(size));
}

Value stepsOf(Node &n, Value start, Value limit, double delta) {
  if (delta == std::floor(delta))
    if (Value first = wholeNumber(n, start))
      if (Value last = wholeNumber(n, limit))
        return wholeSteps(n, first, last, static_cast<int64_t>(delta));
  return n.cast(n.unary(UnaryFunction::Ceil,
                        n.binary<DivOp>(n.binary<SubOp>(limit, start),
                                        n.splat(delta, elementOf(start)))),
                n.indexType());
}

/// The number where it is surely in [0, capacity], else the nearest there.
Value clamped(Node &n, Value count, int64_t capacity) {
  auto number = [&](int64_t value) {
    return n.integers(value, {1}, n.indexType());
  };
  const NumberRange range = n.rangeOf(count);
  if (!range.least || *range.least < 0)
    count = n.binary<MaxOp>(count, number(0));
  if (!range.most || *range.most > capacity)
    count = n.binary<MinOp>(count, number(capacity));
  return count;
}

} // namespace

void ashlar::frontend::expandAtRunTime(Node &n) {
  Value x = n.input(0);
  const SmallVector<ShapeEntry> entries = shapeEntries(n, 1);
  if (!x || n.failed())
    return;
  const auto asked = static_cast<int64_t>(entries.size());
  const int64_t rank = std::max(rankOf(x), asked);
  const auto own = n.extentOf(0);
  OpenShape shape;
  for (int64_t axis = 0; axis < rank && !n.failed(); ++axis) {
    const int64_t from = axis - (rank - rankOf(x)),
                  entry = axis - (rank - asked);
    expandAxis(n, shape, from < 0 ? 1 : shapeOf(x)[from],
               own && own->axis == from ? own->count : Value(),
               entry < 0 ? ShapeEntry{1, nullptr} : entries[entry]);
  }
  if (!n.failed())
    setOpen(n, n.broadcast(x, shape.capacity), shape);
}

void ashlar::frontend::fillAtRunTime(Node &n, mlir::ElementsAttr value) {
  OpenShape shape;
  for (const ShapeEntry &entry : shapeEntries(n, 0))
    if (!n.failed())
      expandAxis(n, shape, 1, nullptr, entry);
  if (!n.failed())
    setOpen(n, n.fill(value, shape.capacity), shape);
}

void ashlar::frontend::rangeAtRunTime(Node &n) {
  Value start = n.input(0), limit = n.input(1);
  auto delta = n.constantNumber(2, "delta");
  if (!start || !limit || !delta)
    return;
  const Type type = elementOf(start);
  const bool whole = !isFloatElement(start);
  if (*delta == 0 || elementOf(limit) != type ||
      elementCount(shapeOf(start)) != 1 || elementCount(shapeOf(limit)) != 1) {
    n.malformed("start is {}, limit is {} and delta {}, expected numbers of "
                "one type and steps other than 0",
                typeText(start), typeText(limit), *delta);
    return;
  }
  start = n.reshape(start, {1});
  limit = n.reshape(limit, {1});
  const NumberRange from = n.rangeOf(start), to = n.rangeOf(limit);
  const auto first = *delta > 0 ? from.least : from.most,
             last = *delta > 0 ? to.most : to.least;
  if (!first || !last) {
    Value open = first ? limit : start;
    n.unsupported("the {} is known at run time only and has no bound{}; or "
                  "bound it in the model, as Min(limit, constant)",
                  first ? "limit" : "start", remedyForRunTime(open));
    return;
  }
  const double steps = std::ceil(
      (static_cast<double>(*last) - static_cast<double>(*first)) / *delta);
  const int64_t capacity =
      steps > 0 ? static_cast<int64_t>(std::min(steps, 0x1p40)) : 0;
  if (!n.checkShape({capacity}))
    return;
  Value count = clamped(n, stepsOf(n, start, limit, *delta), capacity);
  // Numbers of 16 bits come from wider ones and are rounded once.
  const Type wide = type.isF16() || type.isBF16()
                        ? mlir::Float32Type::get(n.context())
                        : type;
  Value step = whole ? n.integers(static_cast<int64_t>(*delta), {1}, type)
                     : n.splat(*delta, wide, {1});
  Value places = n.iota(capacity, 0, 1, wide);
  Value numbers =
      n.binary<AddOp>(n.cast(start, wide), n.binary<MulOp>(places, step));
  n.setOutput(0, n.cast(numbers, type));
  n.setExtent(0, {0, count});
}
