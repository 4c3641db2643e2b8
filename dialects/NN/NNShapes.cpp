// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape functions of the `nn` dialect.

#include "dialects/NN/NNShapes.h"

#include "dialects/NN/NNTypes.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

using namespace ashlar::nn;
using llvm::Error;

namespace {

template <class... Args>
Error fail(const char *format, Args &&...args) {
  return llvm::createStringError(
      std::errc::invalid_argument, "%s",
      llvm::formatv(format, std::forward<Args>(args)...).str().c_str());
}

std::optional<int64_t> add(int64_t a, int64_t b) {
  int64_t result;
  if (llvm::AddOverflow(a, b, result))
    return std::nullopt;
  return result;
}

std::optional<int64_t> mul(int64_t a, int64_t b) {
  int64_t result;
  if (llvm::MulOverflow(a, b, result))
    return std::nullopt;
  return result;
}

/// (k - 1) * dilation + 1.
std::optional<int64_t> windowExtent(int64_t kernel, int64_t dilation) {
  std::optional<int64_t> reach = mul(kernel - 1, dilation);
  return reach ? add(*reach, 1) : std::nullopt;
}

Error checkWindowAttributes(size_t rank, const Window &w, bool negativePads) {
  if (w.kernel.size() != rank)
    return fail("kernel has {0} entries, expected {1}", w.kernel.size(), rank);
  if (w.strides.size() != rank)
    return fail("strides has {0} entries, expected {1}", w.strides.size(),
                rank);
  if (w.dilations.size() != rank)
    return fail("dilations has {0} entries, expected {1}", w.dilations.size(),
                rank);
  if (w.pads.size() != 2 * rank)
    return fail("pads has {0} entries, expected {1}", w.pads.size(), 2 * rank);
  for (int64_t k : w.kernel)
    if (k < 1)
      return fail("kernel size {0} is not positive", k);
  for (int64_t s : w.strides)
    if (s < 1)
      return fail("stride {0} is not positive", s);
  for (int64_t d : w.dilations)
    if (d < 1)
      return fail("dilation {0} is not positive", d);
  for (int64_t p : w.pads)
    if (p < 0 && !negativePads)
      return fail("pad {0} is negative", p);
  for (ShapeRef list : {w.kernel, w.strides, w.dilations, w.pads})
    for (int64_t value : list)
      if (value > kMostWindow || value < -kMostWindow)
        return fail("window of {0} is beyond the limit of {1}", value,
                    kMostWindow);
  return Error::success();
}

Error checkSpatialRank(ShapeRef x, const char *name) {
  if (x.size() < 3 || x.size() > 5)
    return fail("{0} has rank {1}, expected 3 to 5", name, x.size());
  return Error::success();
}

} // namespace

std::string ashlar::nn::shapeToString(ShapeRef shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (int64_t d : shape) {
    if (!text.empty())
      text += 'x';
    text += std::to_string(d);
  }
  return text;
}

int64_t ashlar::nn::elementCount(ShapeRef shape) {
  int64_t count = 1;
  for (int64_t d : shape)
    if (llvm::MulOverflow(count, d, count))
      return -1;
  return count;
}

ShapeOr ashlar::nn::inferWindows(ShapeRef spatial, const Window &w,
                                 Rounding rounding) {
  if (Error error = checkWindowAttributes(spatial.size(), w, false))
    return error;
  Shape result;
  for (size_t i = 0; i < spatial.size(); ++i) {
    int64_t begin = w.pads[i], end = w.pads[i + spatial.size()];
    std::optional<int64_t> extent = windowExtent(w.kernel[i], w.dilations[i]);
    std::optional<int64_t> size = add(spatial[i], begin);
    size = size ? add(*size, end) : size;
    if (!extent || !size)
      return fail("window of spatial dimension {0} overflows", i);
    if (*size < *extent)
      return fail("window of {0} does not fit the padded size {1} of spatial "
                  "dimension {2}",
                  *extent, *size, i);
    int64_t room = *size - *extent, stride = w.strides[i];
    int64_t count = room / stride + 1;
    // A window that starts beyond the data and the begin padding is dropped.
    if (rounding == Rounding::Ceil && room % stride != 0 &&
        count <= (spatial[i] + begin - 1) / stride)
      ++count;
    result.push_back(count);
  }
  return result;
}

ShapeOr ashlar::nn::inferConv(ShapeRef x, ShapeRef w, ShapeRef strides,
                              ShapeRef pads, ShapeRef dilations,
                              int64_t group) {
  if (Error error = checkSpatialRank(x, "input"))
    return error;
  if (w.size() != x.size())
    return fail("weights have rank {0}, expected {1}", w.size(), x.size());
  if (group < 1 || w[0] % group != 0)
    return fail("group {0} does not divide the {1} output channels", group,
                w[0]);
  std::optional<int64_t> channels = mul(w[1], group);
  if (!channels || *channels != x[1])
    return fail("input has {0} channels, weights {1} expect {2} in {3} groups",
                x[1], shapeToString(w), channels.value_or(-1), group);
  ShapeOr windows =
      inferWindows(x.drop_front(2), {w.drop_front(2), strides, pads, dilations},
                   Rounding::Floor);
  if (!windows)
    return windows.takeError();
  Shape result = {x[0], w[0]};
  result.append(*windows);
  return result;
}

ShapeOr ashlar::nn::inferConvTranspose(ShapeRef x, ShapeRef w, ShapeRef strides,
                                       ShapeRef pads, ShapeRef dilations,
                                       int64_t group) {
  if (Error error = checkSpatialRank(x, "input"))
    return error;
  if (w.size() != x.size())
    return fail("weights have rank {0}, expected {1}", w.size(), x.size());
  if (group < 1 || x[1] % group != 0)
    return fail("group {0} does not divide the {1} input channels", group,
                x[1]);
  if (w[0] != x[1])
    return fail("input has {0} channels, weights {1} expect {2}", x[1],
                shapeToString(w), w[0]);
  size_t rank = x.size() - 2;
  if (Error error = checkWindowAttributes(
          rank, {w.drop_front(2), strides, pads, dilations}, true))
    return error;
  std::optional<int64_t> outputs = mul(w[1], group);
  if (!outputs)
    return fail("number of output channels overflows");
  Shape result = {x[0], *outputs};
  for (size_t i = 0; i < rank; ++i) {
    std::optional<int64_t> size = windowExtent(w[2 + i], dilations[i]);
    std::optional<int64_t> span = mul(x[2 + i] - 1, strides[i]);
    std::optional<int64_t> cut = add(pads[i], pads[i + rank]);
    if (size && span)
      size = add(*size, *span);
    if (!size || !span || !cut || llvm::SubOverflow(*size, *cut, *size))
      return fail("size of spatial dimension {0} overflows", i);
    if (*size < 1)
      return fail("spatial dimension {0} of the result has size {1}", i, *size);
    result.push_back(*size);
  }
  return result;
}

ShapeOr ashlar::nn::inferIm2Col(ShapeRef x, const Window &window) {
  if (Error error = checkSpatialRank(x, "input"))
    return error;
  ShapeOr windows = inferWindows(x.drop_front(2), window, Rounding::Floor);
  if (!windows)
    return windows.takeError();
  Shape factors(window.kernel);
  factors.push_back(x[1]);
  int64_t channels = elementCount(factors);
  if (channels < 0)
    return fail("number of channels overflows");
  Shape result = {x[0], channels};
  result.append(*windows);
  return result;
}

ShapeOr ashlar::nn::inferPool(ShapeRef x, const Window &window,
                              Rounding rounding) {
  if (Error error = checkSpatialRank(x, "input"))
    return error;
  ShapeOr windows = inferWindows(x.drop_front(2), window, rounding);
  if (!windows)
    return windows.takeError();
  Shape result(x.take_front(2));
  result.append(*windows);
  return result;
}

ShapeOr ashlar::nn::inferMatMul(ShapeRef a, ShapeRef b) {
  if (a.size() < 2 || b.size() < 2)
    return fail("operands have ranks {0} and {1}, expected at least 2",
                a.size(), b.size());
  if (a.back() != b[b.size() - 2])
    return fail("inner dimensions differ: {0} and {1}", shapeToString(a),
                shapeToString(b));
  ShapeOr leading = inferBroadcast(a.drop_back(2), b.drop_back(2));
  if (!leading)
    return leading.takeError();
  leading->push_back(a[a.size() - 2]);
  leading->push_back(b.back());
  return leading;
}

ShapeOr ashlar::nn::inferBroadcast(ShapeRef a, ShapeRef b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1)
      return fail("shapes {0} and {1} do not broadcast", shapeToString(a),
                  shapeToString(b));
    result[result.size() - 1 - i] = da == 1 ? db : da;
  }
  return result;
}

Error ashlar::nn::checkBroadcastTo(ShapeRef from, ShapeRef to) {
  ShapeOr result = inferBroadcast(from, to);
  if (!result)
    return result.takeError();
  if (ShapeRef(*result) != to)
    return fail("shape {0} does not broadcast to {1}", shapeToString(from),
                shapeToString(to));
  return Error::success();
}

ShapeOr ashlar::nn::inferReduce(ShapeRef x, ShapeRef axes, bool keepdims) {
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(x.size()))
      return fail("axis {0} is out of range for rank {1}", axis, x.size());
    if (axis <= last)
      return fail("axes are not strictly increasing at {0}", axis);
    last = axis;
  }
  Shape result;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      result.push_back(x[i]);
    else if (keepdims)
      result.push_back(1);
  }
  return result;
}

ShapeOr ashlar::nn::inferConcat(llvm::ArrayRef<Shape> inputs, int64_t axis) {
  if (inputs.empty())
    return fail("no operands");
  Shape result = inputs.front();
  if (axis < 0 || axis >= static_cast<int64_t>(result.size()))
    return fail("axis {0} is out of range for rank {1}", axis, result.size());
  for (const Shape &shape : inputs.drop_front()) {
    bool equal = shape.size() == result.size();
    for (size_t i = 0; equal && i < shape.size(); ++i)
      equal = static_cast<int64_t>(i) == axis || shape[i] == result[i];
    if (!equal)
      return fail("operands {0} and {1} do not concatenate along axis {2}",
                  shapeToString(inputs.front()), shapeToString(shape), axis);
    if (llvm::AddOverflow(result[axis], shape[axis], result[axis]))
      return fail("size of axis {0} overflows", axis);
  }
  return result;
}

ShapeOr ashlar::nn::inferInterleave(llvm::ArrayRef<Shape> inputs,
                                    ShapeRef factors) {
  if (inputs.empty() || inputs.front().size() != factors.size())
    return fail("factors have {0} entries, expected one for each dimension",
                factors.size());
  Shape result = inputs.front();
  int64_t phases = 1;
  for (auto [dim, factor] : llvm::enumerate(factors))
    if (factor < 1 || llvm::MulOverflow(phases, factor, phases) ||
        llvm::MulOverflow(result[dim], factor, result[dim]))
      return fail("factor {0} of dimension {1} is out of range", factor, dim);
  if (phases != static_cast<int64_t>(inputs.size()))
    return fail("{0} operands, expected {1}", inputs.size(), phases);
  for (const Shape &shape : inputs.drop_front())
    if (shape != inputs.front())
      return fail("operands {0} and {1} do not interleave",
                  shapeToString(inputs.front()), shapeToString(shape));
  return result;
}

ShapeOr ashlar::nn::inferPad(ShapeRef x, ShapeRef low, ShapeRef high,
                             ShapeRef interior) {
  if (low.size() != x.size() || high.size() != x.size() ||
      (!interior.empty() && interior.size() != x.size()))
    return fail("low, high and interior have {0}, {1} and {2} entries, "
                "expected {3}",
                low.size(), high.size(), interior.size(), x.size());
  Shape result;
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t inside = interior.empty() ? 0 : interior[i];
    if (inside < 0)
      return fail("interior padding {0} is negative", inside);
    for (int64_t amount : {low[i], high[i], inside})
      if (amount > kMostElements || amount < -kMostElements)
        return fail("padding of {0} is beyond the limit of {1}", amount,
                    kMostElements);
    std::optional<int64_t> size = mul(std::max<int64_t>(x[i] - 1, 0), inside);
    for (int64_t part : {x[i], low[i], high[i]})
      size = size ? add(*size, part) : size;
    if (!size)
      return fail("padded size of dimension {0} overflows", i);
    if (*size < 0)
      return fail("padded size of dimension {0} is {1}", i, *size);
    result.push_back(*size);
  }
  return result;
}

ShapeOr ashlar::nn::inferTranspose(ShapeRef x, ShapeRef perm) {
  if (perm.size() != x.size())
    return fail("perm has {0} entries, expected {1}", perm.size(), x.size());
  Shape result;
  llvm::SmallVector<bool> seen(x.size(), false);
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(x.size()) || seen[axis])
      return fail("perm is not a permutation at {0}", axis);
    seen[axis] = true;
    result.push_back(x[axis]);
  }
  return result;
}

ShapeOr ashlar::nn::inferGather(ShapeRef x, int64_t axis, ShapeRef indices) {
  if (axis < 0 || axis >= static_cast<int64_t>(x.size()))
    return fail("axis {0} is out of range for rank {1}", axis, x.size());
  for (int64_t index : indices)
    if (index < 0 || index >= x[axis])
      return fail("index {0} is out of range for size {1}", index, x[axis]);
  Shape result(x);
  result[axis] = indices.size();
  return result;
}

ShapeOr ashlar::nn::inferTake(ShapeRef x, ShapeRef indices, int64_t axis) {
  if (x.size() != indices.size())
    return fail("indices have {0} dimensions, expected {1}", indices.size(),
                x.size());
  if (axis < 0 || axis >= static_cast<int64_t>(x.size()))
    return fail("axis {0} is out of range for rank {1}", axis, x.size());
  Shape result(x);
  result[axis] = indices[axis];
  for (size_t i = 0; i < x.size(); ++i)
    if (static_cast<int64_t>(i) != axis && indices[i] != 1 &&
        indices[i] != x[i])
      return fail("dimension {0} of the indices is {1}, expected 1 or {2}", i,
                  indices[i], x[i]);
  if (x[axis] == 0 && elementCount(result) != 0)
    return fail("dimension {0} is empty, but has {1} indices", axis,
                indices[axis]);
  return result;
}

/// The host is called for something.
static Error checkNotEmpty(ShapeRef x) {
  if (elementCount(x) > 0)
    return Error::success();
  return fail("expected at least one element, found shape {0}",
              shapeToString(x));
}

ShapeOr ashlar::nn::inferNonzero(ShapeRef x) {
  constexpr size_t mostDimensions = 8;
  if (x.empty() || x.size() > mostDimensions)
    return fail("expected 1 to {0} dimensions, found {1}", mostDimensions,
                x.size());
  if (Error error = checkNotEmpty(x))
    return error;
  return Shape{static_cast<int64_t>(x.size()), elementCount(x)};
}

ShapeOr ashlar::nn::inferArgSort(ShapeRef x, int64_t axis, int64_t keep) {
  if (axis < 0 || axis >= static_cast<int64_t>(x.size()))
    return fail("axis {0} is out of range for rank {1}", axis, x.size());
  if (Error error = checkNotEmpty(x))
    return error;
  if (keep < 1 || keep > x[axis])
    return fail("{0} elements are kept of {1}", keep, x[axis]);
  Shape result(x);
  result[axis] = keep;
  return result;
}

ShapeOr ashlar::nn::inferUnique(ShapeRef x) {
  if (x.size() != 2)
    return fail("expected rows, found shape {0}", shapeToString(x));
  if (Error error = checkNotEmpty(x))
    return error;
  return Shape{3, x[0]};
}

ShapeOr ashlar::nn::inferNms(ShapeRef boxes, ShapeRef scores, int64_t keep) {
  if (boxes.size() != 3 || boxes[2] != 4 || scores.size() != 3 ||
      scores[0] != boxes[0] || scores[2] != boxes[1])
    return fail("expected boxes [B, N, 4] and scores [B, C, N], found {0} and "
                "{1}",
                shapeToString(boxes), shapeToString(scores));
  if (Error error = checkNotEmpty(scores))
    return error;
  const int64_t rows = elementCount({scores[0], scores[1], keep});
  if (keep < 1 || keep > boxes[1] || rows < 0)
    return fail("{0} boxes of a class are kept of {1}", keep, boxes[1]);
  return Shape{rows, 3};
}

Error ashlar::nn::checkSlice(ShapeRef x, ShapeRef starts, ShapeRef steps,
                             ShapeRef sizes) {
  if (starts.size() != x.size() || steps.size() != x.size() ||
      sizes.size() != x.size())
    return fail("starts, steps and result have {0}, {1} and {2} dimensions, "
                "expected {3}",
                starts.size(), steps.size(), sizes.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (steps[i] == 0)
      return fail("step of dimension {0} is 0", i);
    if (sizes[i] == 0)
      continue;
    std::optional<int64_t> last = mul(sizes[i] - 1, steps[i]);
    last = last ? add(*last, starts[i]) : last;
    if (!last || starts[i] < 0 || starts[i] >= x[i] || *last < 0 ||
        *last >= x[i])
      return fail("slice from {0} by {1}, {2} elements, leaves dimension {3} "
                  "of size {4}",
                  starts[i], steps[i], sizes[i], i, x[i]);
  }
  return Error::success();
}
