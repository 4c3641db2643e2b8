// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the extent of an operand goes.

#include "Carry.h"
#include "ShapeEntries.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Gives output `i` an extent.
void give(Node &n, size_t i, int64_t axis, Value count) {
  n.setExtent(i, {axis, count});
}

/// The extent of the first operand; an error if another one has any.
std::optional<RunTimeExtent> onlyFirst(Node &n) {
  for (size_t i = 1; i < n.numInputs(); ++i)
    if (n.extentOf(i)) {
      n.unsupported("input {} has a data-dependent extent", i);
      return std::nullopt;
    }
  return n.extentOf(0);
}

void refuseAxis(Node &n, int64_t axis) {
  n.unsupported("works along axis {}, which has a data-dependent extent", axis);
}

/// The shape that Reshape names: numbers, of which -1 is what is left and 0
/// what was there. Nothing of Flatten.
SmallVector<ShapeEntry> askedShape(Node &n) {
  SmallVector<ShapeEntry> asked;
  if (n.op() != "Reshape")
    return asked;
  if (n.opset() >= 5)
    return shapeEntries(n, 1);
  for (int64_t size : n.getInts("shape"))
    asked.push_back({size, nullptr});
  return asked;
}

/// Extents of an axis, of `inside` further ones, and of none.
int64_t productOf(ShapeRef shape) { return elementCount(shape); }

} // namespace

void ashlar::frontend::carryBroadcast(Node &n) {
  Value y = n.outputs().empty() ? Value() : n.outputs()[0];
  if (!y)
    return;
  std::optional<RunTimeExtent> carried;
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (auto extent = n.extentOf(i)) {
      extent->axis += rankOf(y) - rankOf(n.optionalInput(i));
      if (carried && !(*carried == *extent)) {
        n.unsupported("several operands have data-dependent extents");
        return;
      }
      carried = extent;
    }
  // Whatever is not repeated along the axis would have to have its extent.
  for (size_t i = 0; carried && i < n.numInputs(); ++i) {
    Value x = n.optionalInput(i);
    const int64_t axis = x ? carried->axis - (rankOf(y) - rankOf(x)) : -1;
    if (axis >= 0 && !n.extentOf(i) && shapeOf(x)[axis] != 1) {
      n.unsupported("input {} has {} elements on an axis on which another "
                    "operand has a data-dependent extent",
                    i, shapeOf(x)[axis]);
      return;
    }
  }
  for (size_t i = 0; carried && i < n.numOutputs(); ++i)
    give(n, i, carried->axis, carried->count);
}

void ashlar::frontend::carryTranspose(Node &n) {
  auto extent = onlyFirst(n);
  if (!extent)
    return;
  SmallVector<int64_t> perm = n.getInts("perm");
  if (perm.empty())
    for (int64_t d = rankOf(n.input(0)); d-- > 0;)
      perm.push_back(d);
  for (auto [to, from] : llvm::enumerate(perm))
    if (from == extent->axis)
      give(n, 0, static_cast<int64_t>(to), extent->count);
}

void ashlar::frontend::carrySqueeze(Node &n) {
  auto extent = onlyFirst(n);
  if (!extent)
    return;
  Value x = n.input(0);
  SmallVector<int64_t> axes = n.getInts("axes");
  if (auto given = n.hasInput(1) ? integersOf(n.input(1)) : std::nullopt)
    axes = *given;
  if (axes.empty()) {
    n.unsupported("needs axes if an extent is data-dependent");
    return;
  }
  axes = n.normalAxes(axes, rankOf(x));
  if (llvm::is_contained(axes, extent->axis))
    return refuseAxis(n, extent->axis);
  const auto dropped =
      llvm::count_if(axes, [&](int64_t axis) { return axis < extent->axis; });
  give(n, 0, extent->axis - dropped, extent->count);
}

void ashlar::frontend::carryUnsqueeze(Node &n) {
  auto extent = onlyFirst(n);
  if (!extent)
    return;
  SmallVector<int64_t> axes = n.getInts("axes");
  if (auto given = n.hasInput(1) ? integersOf(n.input(1)) : std::nullopt)
    axes = *given;
  const int64_t rank = rankOf(n.outputs()[0]);
  axes = n.normalAxes(axes, rank);
  int64_t old = 0;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (llvm::is_contained(axes, axis))
      continue;
    if (old++ == extent->axis)
      return give(n, 0, axis, extent->count);
  }
}

void ashlar::frontend::carryReshape(Node &n) {
  auto extent = onlyFirst(n);
  if (!extent)
    return;
  ShapeRef x = shapeOf(n.input(0)), y = shapeOf(n.outputs()[0]);
  const int64_t before = productOf(x.take_front(extent->axis)),
                after = productOf(x.drop_front(extent->axis + 1));
  const SmallVector<ShapeEntry> asked = askedShape(n);
  if (n.failed())
    return;
  // An entry that is known at run time has to be the extent.
  auto isOpen = [&](size_t axis, Value count) {
    for (auto [i, entry] : llvm::enumerate(asked))
      if (!entry.known && (i != axis || !areComputedAlike(entry.value, count)))
        return false;
    const auto known = axis < asked.size() ? asked[axis].known : std::nullopt;
    return !known || *known == -1 ||
           (*known == 0 && static_cast<int64_t>(axis) == extent->axis);
  };
  for (size_t axis = 0; axis < y.size(); ++axis) {
    const int64_t inside = productOf(y.drop_front(axis + 1));
    if (productOf(y.take_front(axis)) != before || inside <= 0 ||
        after % inside != 0 || (before != 1 && inside != after))
      continue;
    // The leading elements stay the leading ones.
    Value count = extent->count;
    if (inside != after)
      count = n.binary<MulOp>(
          count, n.integers(after / inside, {1}, elementOf(count)));
    if (isOpen(axis, count))
      return give(n, 0, static_cast<int64_t>(axis), count);
  }
  n.unsupported(
      "axis {} of {} has a data-dependent extent, which no axis of {} "
      "can have",
      extent->axis, typeText(n.input(0)), typeText(n.outputs()[0]));
}

void ashlar::frontend::carryOtherAxis(Node &n) {
  std::optional<RunTimeExtent> carried;
  for (size_t i = 0; i < n.numInputs(); ++i) {
    auto extent = n.extentOf(i);
    if (extent && carried && !(*extent == *carried)) {
      n.unsupported("several operands have data-dependent extents");
      return;
    }
    if (extent)
      carried = extent;
  }
  Value x = n.input(0);
  if (!carried || !x)
    return;
  const bool concat = n.op() == "Concat";
  for (size_t i = 0; concat && i < n.numInputs(); ++i)
    if (!n.extentOf(i)) {
      n.unsupported(
          "some operands have data-dependent extents, but input {} has "
          "not",
          i);
      return;
    }
  const bool first = concat || n.op() == "Split";
  const int64_t standard =
      first ? (concat && n.opset() < 4 ? 1 : 0)
            : (n.op().ends_with("oftmax") && n.opset() < 13 ? 1 : -1);
  int64_t axis = n.getInt("axis", standard);
  axis = n.normalAxis(axis, rankOf(x));
  // Normalisations, and softmax of old, go from the axis to the end.
  const bool toEnd = n.op().ends_with("Normalization") ||
                     (n.op().ends_with("oftmax") && n.opset() < 13);
  if (carried->axis == axis || (toEnd && carried->axis > axis))
    return refuseAxis(n, carried->axis);
  for (size_t i = 0; i < n.numOutputs(); ++i)
    if (i < n.outputs().size() && n.outputs()[i] &&
        rankOf(n.outputs()[i]) == rankOf(x))
      give(n, i, carried->axis, carried->count);
}

void ashlar::frontend::carryReduce(Node &n) {
  auto extent = onlyFirst(n);
  if (!extent || reducesAlong(n, extent->axis))
    return;
  Value x = n.input(0), y = n.outputs()[0];
  SmallVector<int64_t> axes = n.getInts("axes");
  if (n.op().starts_with("Arg"))
    axes = {n.getInt("axis", 0)};
  else if (auto given = n.hasInput(1) ? integersOf(n.input(1)) : std::nullopt)
    axes = *given;
  axes = n.normalAxes(axes, rankOf(x));
  const auto dropped =
      llvm::count_if(axes, [&](int64_t axis) { return axis < extent->axis; });
  give(n, 0, extent->axis - (rankOf(y) == rankOf(x) ? 0 : dropped),
       extent->count);
}

void ashlar::frontend::carryBatch(Node &n) {
  auto extent = onlyFirst(n);
  if (!extent)
    return;
  Value x = n.input(0), y = n.outputs()[0];
  if (extent->axis != 0 || n.getInt("transA", 0) != 0 || rankOf(y) == 0 ||
      shapeOf(y)[0] != shapeOf(x)[0])
    return refuseAxis(n, extent->axis);
  // Added as it is to every sample.
  if (n.op() == "Gemm" && n.hasInput(2) && rankOf(n.input(2)) == 2 &&
      shapeOf(n.input(2))[0] != 1)
    return refuseAxis(n, extent->axis);
  for (size_t i = 0; i < n.numOutputs(); ++i)
    give(n, i, 0, extent->count);
}

void ashlar::frontend::carrySlice(Node &n) {
  auto extent = onlyFirst(n);
  if (!extent)
    return;
  Value x = n.input(0), y = n.outputs()[0];
  const bool inputs = n.opset() >= 10;
  if (inputs && (!constantOf(n.input(1)) || !constantOf(n.input(2)))) {
    n.unsupported("slices at run-time positions an operand that already has a "
                  "data-dependent extent");
    return;
  }
  auto numbers = [&](size_t i, const char *name) {
    if (!inputs)
      return n.getInts(name);
    auto given = n.hasInput(i) ? integersOf(n.input(i)) : std::nullopt;
    return given ? *given : SmallVector<int64_t>();
  };
  SmallVector<int64_t> starts = numbers(1, "starts"), ends = numbers(2, "ends"),
                       axes = numbers(3, "axes"), steps = numbers(4, "steps");
  for (size_t i = axes.size(); axes.size() < starts.size(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  axes = n.normalAxes(axes, rankOf(x));
  Value count = extent->count;
  for (size_t i = 0; i < axes.size() && !n.failed(); ++i) {
    if (axes[i] != extent->axis)
      continue;
    const bool plain = starts[i] == 0 && (i >= steps.size() || steps[i] == 1);
    if (!plain || ends[i] < 0)
      return refuseAxis(n, extent->axis);
    // The first of them, if there are so many.
    count = n.binary<MinOp>(
        count, n.integers(shapeOf(y)[extent->axis], {1}, elementOf(count)));
  }
  give(n, 0, extent->axis, count);
}
