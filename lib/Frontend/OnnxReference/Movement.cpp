// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that give elements another place: each one says, for the index of a
// result, which element of the operand it is.

#include "Registry.h"
#include "Walk.h"

#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// The row-major number of the element of `x` at `index(d)` in dimension d.
template <class Index>
int64_t placeIn(const Tensor &x, Index &&index) {
  int64_t place = 0;
  for (size_t d = 0; d < x.shape.size(); ++d)
    place = place * x.shape[d] + index(d);
  return place;
}

void transpose(Call &call) {
  const Tensor &x = call.operand(0);
  SmallVector<int64_t> perm = call.getInts("perm");
  if (perm.empty())
    for (int64_t d = rankOf(x); d-- > 0;)
      perm.push_back(d);
  if (!call.require(perm.size() == x.shape.size(), "perm has another rank"))
    return;
  Shape shape, axisOf(perm.size());
  for (size_t d = 0; d < perm.size(); ++d) {
    const int64_t axis = call.normalAxis(perm[d], rankOf(x));
    shape.push_back(x.shape[axis]);
    axisOf[axis] = static_cast<int64_t>(d);
  }
  if (call.failed())
    return;
  call.setResult(0, rearranged(x, shape, [&](ArrayRef<int64_t> at) {
                   return placeIn(x, [&](size_t d) { return at[axisOf[d]]; });
                 }));
}

void expand(Call &call) {
  const Tensor &x = call.operand(0);
  const Shape shape = broadcastShape(call, x.shape, call.integers(1));
  if (!call.failed())
    call.setResult(0, broadcastTo(x, shape));
}

void tile(Call &call) {
  const Tensor &x = call.operand(0);
  const SmallVector<int64_t> repeats = call.integers(1);
  if (!call.require(repeats.size() == x.shape.size(),
                    "repeats of another rank"))
    return;
  Shape shape;
  for (auto [size, times] : llvm::zip(x.shape, repeats))
    shape.push_back(size * times);
  call.setResult(0, rearranged(x, shape, [&](ArrayRef<int64_t> at) {
                   return placeIn(x,
                                  [&](size_t d) { return at[d] % x.shape[d]; });
                 }));
}

/// To operator set 5: how often along which one axis.
void tileAxis(Call &call) {
  const Tensor &x = call.operand(0);
  const SmallVector<double> tiles = call.numbers(1), along = call.numbers(2);
  if (!call.require(tiles.size() == 1 && along.size() == 1 && tiles[0] >= 0,
                    "expected one count and one axis"))
    return;
  const auto times = static_cast<int64_t>(tiles[0]);
  const int64_t axis =
      call.normalAxis(static_cast<int64_t>(along[0]), rankOf(x));
  if (call.failed())
    return;
  Shape shape(x.shape);
  shape[axis] *= times;
  call.setResult(0, rearranged(x, shape, [&](ArrayRef<int64_t> at) {
                   return placeIn(x,
                                  [&](size_t d) { return at[d] % x.shape[d]; });
                 }));
}

/// [N, C, H, W] to [N, C / (b * b), H * b, W * b].
void depthToSpace(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t b = call.getInt("blocksize", 1);
  const bool depthFirst = call.getString("mode", "DCR") == "DCR";
  if (!call.require(rankOf(x) == 4 && b > 0, "no blocks of a feature map"))
    return;
  const int64_t channels = x.shape[1] / (b * b);
  const Shape shape = {x.shape[0], channels, x.shape[2] * b, x.shape[3] * b};
  call.setResult(0, rearranged(x, shape, [&](ArrayRef<int64_t> at) {
                   const int64_t cell = at[2] % b * b + at[3] % b;
                   const int64_t from = depthFirst ? cell * channels + at[1]
                                                   : at[1] * b * b + cell;
                   const int64_t place[] = {at[0], from, at[2] / b, at[3] / b};
                   return placeIn(x, [&](size_t d) { return place[d]; });
                 }));
}

void spaceToDepth(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t b = call.getInt("blocksize", 1);
  if (!call.require(rankOf(x) == 4 && b > 0, "no blocks of a feature map"))
    return;
  const int64_t channels = x.shape[1];
  const Shape shape = {x.shape[0], channels * b * b, x.shape[2] / b,
                       x.shape[3] / b};
  call.setResult(0, rearranged(x, shape, [&](ArrayRef<int64_t> at) {
                   const int64_t cell = at[1] / channels;
                   const int64_t place[] = {at[0], at[1] % channels,
                                            at[2] * b + cell / b,
                                            at[3] * b + cell % b};
                   return placeIn(x, [&](size_t d) { return place[d]; });
                 }));
}

void concat(Call &call) {
  const Tensor &first = call.operand(0);
  const int64_t axis = call.normalAxis(call.getInt("axis", 1), rankOf(first));
  if (call.failed())
    return;
  Shape shape(first.shape);
  shape[axis] = 0;
  for (size_t i = 0; i < call.numOperands(); ++i)
    shape[axis] += call.operand(i).shape[axis];
  Tensor result(first.type, shape);
  const int64_t inner = elementCount(ArrayRef(shape).drop_front(axis + 1));
  int64_t begin = 0;
  for (size_t i = 0; i < call.numOperands(); ++i) {
    const Tensor &part = call.operand(i);
    const int64_t own = part.shape[axis] * inner;
    withKind(part, [&]<class T>() {
      for (int64_t k = 0, e = part.size(); k < e; ++k)
        elementsOf<T>(result)[k / own * shape[axis] * inner + begin + k % own] =
            elementsOf<T>(part)[k];
    });
    begin += own;
  }
  call.setResult(0, std::move(result));
}

/// x[starts:...:steps] with `sizes` elements.
Tensor sliced(const Tensor &x, ArrayRef<int64_t> starts,
              ArrayRef<int64_t> sizes, ArrayRef<int64_t> steps) {
  return rearranged(x, sizes, [&](ArrayRef<int64_t> at) {
    return placeIn(x, [&](size_t d) { return starts[d] + at[d] * steps[d]; });
  });
}

void sliceAlong(Call &call, ArrayRef<int64_t> starts, ArrayRef<int64_t> ends,
                SmallVector<int64_t> axes, SmallVector<int64_t> steps) {
  const Tensor &x = call.operand(0);
  for (size_t i = axes.size(); i < starts.size(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  steps.resize(starts.size(), 1);
  axes = call.normalAxes(axes, rankOf(x));
  if (call.failed() || !call.require(ends.size() == starts.size() &&
                                         axes.size() == starts.size(),
                                     "starts, ends and axes differ in length"))
    return;
  Shape from(x.shape.size(), 0), sizes(x.shape), by(x.shape.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t size = x.shape[axes[i]], step = steps[i];
    if (!call.require(step != 0, "a step is 0"))
      return;
    // As Python's slice.indices(): negative numbers count from the end, and
    // what lies beyond an end is that end.
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    auto bound = [&](int64_t index) {
      // Not to overflow: anything below -size is alike.
      const int64_t wrapped =
          index < 0 ? std::max(index, -size - 1) + size : index;
      return std::clamp(wrapped, low, high);
    };
    const int64_t begin = bound(starts[i]), end = bound(ends[i]);
    const int64_t span = step > 0 ? end - begin : begin - end;
    const auto stride = step > 0 ? static_cast<uint64_t>(step)
                                 : 0 - static_cast<uint64_t>(step);
    const int64_t count =
        span > 0
            ? static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride) +
                  1
            : 0;
    from[axes[i]] = begin;
    sizes[axes[i]] = count;
    by[axes[i]] = count > 1 ? step : 1;
  }
  call.setResult(0, sliced(x, from, sizes, by));
}

void sliceAttributes(Call &call) {
  sliceAlong(call, call.getInts("starts"), call.getInts("ends"),
             call.getInts("axes"), {});
}

void sliceOperands(Call &call) {
  using Numbers = SmallVector<int64_t>;
  sliceAlong(call, call.integers(1), call.integers(2),
             call.has(3) ? call.integers(3) : Numbers(),
             call.has(4) ? call.integers(4) : Numbers());
}

/// Sizes are the attribute (to version 12), the operand, or equal parts, of
/// which the last one may be shorter.
template <bool asOperand>
void split(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t axis = call.normalAxis(call.getInt("axis", 0), rankOf(x));
  if (call.failed())
    return;
  SmallVector<int64_t> sizes;
  if (!asOperand)
    sizes = call.getInts("split");
  if (call.has(1))
    for (double size : call.numbers(1))
      sizes.push_back(static_cast<int64_t>(size));
  const auto parts = static_cast<int64_t>(call.numResults());
  int64_t left = x.shape[axis];
  if (sizes.empty())
    for (int64_t i = 0, part = (left + parts - 1) / parts; i < parts; ++i) {
      sizes.push_back(std::min(part, left));
      left -= sizes.back();
    }
  Shape from(x.shape.size(), 0), shape(x.shape), by(x.shape.size(), 1);
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (!call.require(size >= 0 && from[axis] + size <= x.shape[axis],
                      "parts are larger than the whole"))
      return;
    shape[axis] = size;
    call.setResult(i, sliced(x, from, shape, by));
    from[axis] += size;
  }
}

/// Where element `at` of a padded dimension is in its operand of `size`
/// elements; -1 for a constant.
int64_t paddedSource(StringRef mode, int64_t at, int64_t size) {
  if (at >= 0 && at < size)
    return at;
  if (mode == "constant" || size == 0)
    return -1;
  if (mode == "edge")
    return at < 0 ? 0 : size - 1;
  if (mode == "wrap")
    return (at % size + size) % size;
  const int64_t period = std::max<int64_t>(2 * (size - 1), 1);
  const int64_t within = (at % period + period) % period;
  return within < size ? within : period - within;
}

void padBy(Call &call, ArrayRef<int64_t> pads, ArrayRef<int64_t> axes,
           double value) {
  const Tensor &x = call.operand(0);
  const std::string mode = call.getString("mode", "constant");
  if (call.failed() || !call.require(pads.size() == 2 * axes.size(),
                                     "pads are no pair per axis"))
    return;
  Shape low(x.shape.size(), 0), high(x.shape.size(), 0), shape(x.shape);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    low[axis] = pads[i];
    high[axis] = pads[i + axes.size()];
    shape[axis] += low[axis] + high[axis];
    if (!call.require(shape[axis] >= 0, "pads remove more than there is"))
      return;
  }
  // Negative pads remove elements, of which the other modes then know nothing.
  Shape kept(x.shape), first(x.shape.size(), 0);
  for (size_t d = 0; d < kept.size(); ++d) {
    kept[d] += std::min<int64_t>(low[d], 0) + std::min<int64_t>(high[d], 0);
    first[d] = std::max<int64_t>(-low[d], 0);
  }
  auto source = [&](ArrayRef<int64_t> at) {
    bool outside = false;
    const int64_t place = placeIn(x, [&](size_t d) {
      const int64_t inner = at[d] - std::max<int64_t>(low[d], 0);
      const int64_t from = paddedSource(mode, inner, kept[d]);
      outside |= from < 0;
      return from + first[d];
    });
    return outside ? -1 : place;
  };
  call.setResult(0, rearranged(x, shape, source, value));
}

SmallVector<int64_t> everyAxis(const Tensor &x) {
  SmallVector<int64_t> axes;
  for (int64_t d = 0; d < rankOf(x); ++d)
    axes.push_back(d);
  return axes;
}

template <bool first>
void padAttributes(Call &call) {
  padBy(call, call.getInts(first ? "paddings" : "pads"),
        everyAxis(call.operand(0)), call.getFloat("value", 0));
}

void padOperands(Call &call) {
  const Tensor &x = call.operand(0);
  const SmallVector<double> value =
      call.has(2) ? call.numbers(2) : SmallVector<double>();
  padBy(call, call.integers(1),
        call.has(3) ? call.normalAxes(call.integers(3), rankOf(x))
                    : everyAxis(x),
        value.empty() ? 0 : value[0]);
}

} // namespace

std::vector<EvaluatorRow> onnxref::movementEvaluators() {
  return {
      {"Transpose", {1, 13, 21, 23, 24, 25}, 1, transpose},
      {"Expand", {8, 13}, 2, expand},
      {"Tile", {1}, 3, tileAxis},
      {"Tile", {6, 13}, 2, tile},
      {"DepthToSpace", {1, 11, 13}, 1, depthToSpace},
      {"SpaceToDepth", {1, 13}, 1, spaceToDepth},
      {"Concat", {1, 4, 11, 13}, 1, concat},
      {"Slice", {1}, 1, sliceAttributes},
      {"Slice", {10, 11, 13}, 3, sliceOperands},
      {"Split", {1}, 1, split<false>},
      {"Split", {2, 11}, 1, split<false>},
      {"Split", {13, 18}, 1, split<true>},
      {"Pad", {1}, 1, padAttributes<true>},
      {"Pad", {2}, 1, padAttributes<false>},
      {"Pad", {1}, 2, padOperands, Continuity::Smooth, "com.microsoft"},
      {"Pad", {11, 13, 18, 19, 21, 23, 24, 25}, 2, padOperands},
  };
}
