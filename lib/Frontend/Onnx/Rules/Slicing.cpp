// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that take parts of tensors or put parts together.

#include "lib/Frontend/Onnx/Extents/RunTimeSlice.h"
#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

void concat(Node &n) {
  int64_t axis = n.getInt("axis", 1);
  SmallVector<Value> inputs;
  for (size_t i = 0; i < n.numInputs(); ++i)
    inputs.push_back(n.input(i));
  if (n.failed() || inputs.empty()) {
    n.input(0);
    return;
  }
  axis = n.normalAxis(axis, rankOf(inputs.front()));
  if (!n.failed())
    n.setOutput(0, n.concat(inputs, axis));
}

/// Slices along `axes`, with ONNX's clamping of starts and ends.
void sliceAxes(Node &n, Value x, ArrayRef<int64_t> starts,
               ArrayRef<int64_t> ends, SmallVector<int64_t> axes,
               SmallVector<int64_t> steps) {
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i)
      axes.push_back(i);
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    n.malformed("starts, ends, axes and steps have {}, {}, {} and {} entries",
                starts.size(), ends.size(), axes.size(), steps.size());
    return;
  }
  axes = n.normalAxes(axes, rankOf(x));
  if (n.failed())
    return;
  Shape first(rankOf(x), 0), sizes(shapeOf(x)), stride(rankOf(x), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t size = shapeOf(x)[axes[i]], step = steps[i];
    if (step == 0) {
      n.malformed("the step of axis {} is 0", axes[i]);
      return;
    }
    // Beyond the tensor all steps are alike; clamping avoids overflow.
    step = std::clamp<int64_t>(step, -size - 1, size + 1);
    auto wrap = [size](int64_t index) {
      return index < 0 ? std::max(index + size, int64_t(-1)) : index;
    };
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    int64_t start = starts[i] < -size ? low : wrap(starts[i]);
    int64_t end = ends[i] < -size ? low : wrap(ends[i]);
    start = std::clamp(start, int64_t(0), std::max<int64_t>(high, 0));
    end = std::clamp(end, low, high);
    int64_t span = step > 0 ? end - start : start - end;
    int64_t absolute = step > 0 ? step : -step;
    int64_t count = span > 0 && size > 0 ? (span + absolute - 1) / absolute : 0;
    first[axes[i]] = count == 0 ? 0 : start;
    sizes[axes[i]] = count;
    stride[axes[i]] = step;
  }
  n.setOutput(0, n.slice(x, first, sizes, stride));
}

void sliceAttributes(Node &n) {
  Value x = n.input(0);
  SmallVector<int64_t> starts = n.getInts("starts"), ends = n.getInts("ends");
  SmallVector<int64_t> axes = n.getInts("axes");
  if (x && !n.failed())
    sliceAxes(n, x, starts, ends, axes, {});
}

/// Entry i of a constant or of a concatenation; nothing if it is known at run
/// time.
std::optional<int64_t> knownEntry(Value vector, int64_t i) {
  while (auto parts = vector.getDefiningOp<ConcatOp>())
    for (Value part : parts.getInputs()) {
      vector = part;
      if (i < shapeOf(part)[0])
        break;
      i -= shapeOf(part)[0];
    }
  auto numbers = integersOf(vector);
  return numbers ? std::optional((*numbers)[i]) : std::nullopt;
}

/// Axes whose ends are known are cut first; of those left there may be one.
void sliceRunTimeAxes(Node &n, Value x, Value starts, Value ends,
                      SmallVector<int64_t> axes, SmallVector<int64_t> steps) {
  if (rankOf(starts) != 1 || shapeOf(ends) != shapeOf(starts) ||
      isFloatElement(starts) || isFloatElement(ends)) {
    n.malformed("starts are {} and ends {}, expected vectors of integers",
                typeText(starts), typeText(ends));
    return;
  }
  const int64_t count = shapeOf(starts)[0];
  if (axes.empty())
    for (int64_t i = 0; i < count; ++i)
      axes.push_back(i);
  steps.resize(steps.empty() ? count : steps.size(), 1);
  if (static_cast<int64_t>(axes.size()) != count ||
      static_cast<int64_t>(steps.size()) != count ||
      llvm::is_contained(steps, 0)) {
    n.malformed("{} starts, {} axes and {} steps, none of which may be 0",
                count, axes.size(), steps.size());
    return;
  }
  axes = n.normalAxes(axes, rankOf(x));
  SmallVector<int64_t> from, to, along, by, open;
  for (int64_t i = 0; i < count && !n.failed(); ++i) {
    auto start = knownEntry(starts, i), end = knownEntry(ends, i);
    if (!start || !end) {
      open.push_back(i);
      continue;
    }
    from.push_back(*start);
    to.push_back(*end);
    along.push_back(axes[i]);
    by.push_back(steps[i]);
  }
  if (open.size() > 1)
    n.unsupported("starts or ends of axes {} and {} are only known at run "
                  "time; a value can have one data-dependent extent",
                  axes[open[0]], axes[open[1]]);
  if (n.failed())
    return;
  if (open.empty() || !from.empty())
    sliceAxes(n, x, from, to, along, by);
  if (n.failed() || open.empty())
    return;
  x = from.empty() ? x : n.outputs()[0];
  RunTimeExtent extent;
  n.setOutput(0, sliceAtRunTime(n, x, axes[open[0]], steps[open[0]], starts,
                                ends, open[0], extent));
  n.setExtent(0, extent);
}

void sliceInputs(Node &n) {
  Value x = n.input(0), first = n.input(1), last = n.input(2);
  std::optional<SmallVector<int64_t>> axes = SmallVector<int64_t>(),
                                      steps = SmallVector<int64_t>();
  if (n.hasInput(3))
    axes = n.constantIntegers(3, "axes");
  if (n.hasInput(4))
    steps = n.constantIntegers(4, "steps");
  if (!x || !first || !last || !axes || !steps)
    return;
  if (!constantOf(first) || !constantOf(last)) {
    sliceRunTimeAxes(n, x, first, last, *axes, *steps);
    return;
  }
  auto starts = n.constantIntegers(1, "starts");
  auto ends = n.constantIntegers(2, "ends");
  if (starts && ends)
    sliceAxes(n, x, *starts, *ends, *axes, *steps);
}

/// Sizes of `count` nearly equal parts: all but the last rounded up.
SmallVector<int64_t> equalParts(Node &n, int64_t size, int64_t count,
                                bool allowShortLast) {
  SmallVector<int64_t> sizes;
  if (count < 1 || (!allowShortLast && size % count != 0)) {
    n.malformed("cannot split {} elements into {} equal parts", size, count);
    return sizes;
  }
  int64_t part = (size + count - 1) / count;
  for (int64_t left = size; count > 0; --count, left -= sizes.back())
    sizes.push_back(std::min(part, left));
  return sizes;
}

void splitInto(Node &n, Value x, int64_t axis, ArrayRef<int64_t> sizes) {
  if (n.failed())
    return;
  if (sizes.size() != n.numOutputs()) {
    n.malformed("the split has {} parts for {} outputs", sizes.size(),
                n.numOutputs());
    return;
  }
  int64_t start = 0;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (size < 0 || size > shapeOf(x)[axis] - start) {
      n.malformed("split sizes {} do not divide dimension {} of {}",
                  shapeToString(sizes), axis, typeText(x));
      return;
    }
    if (n.outputUsed(i))
      n.setOutput(i, n.sliceAxis(x, axis, start, size));
    start += size;
  }
  if (start != shapeOf(x)[axis])
    n.malformed("split sizes {} do not sum to dimension {} of {}",
                shapeToString(sizes), axis, typeText(x));
}

/// The sizes of version 1, which have the type of what is split.
std::optional<SmallVector<int64_t>> floatSizes(Node &n, int64_t whole) {
  auto given = n.constantNumbers(1, "split");
  if (!given)
    return std::nullopt;
  SmallVector<int64_t> sizes;
  for (double size : *given) {
    if (!(size >= 0 && size <= static_cast<double>(whole) &&
          size == static_cast<double>(static_cast<int64_t>(size)))) {
      n.malformed("input 1 ('split') has the size {} of parts of {}", size,
                  whole);
      return std::nullopt;
    }
    sizes.push_back(static_cast<int64_t>(size));
  }
  return sizes;
}

/// Sizes come from the `split` attribute (to 12) or input (1, from 13), or are
/// equal; from 18 `num_outputs` allows a short last part.
template <bool sizesAsInput>
void split(Node &n) {
  Value x = n.input(0);
  int64_t axis = n.getInt("axis", 0);
  if (!x)
    return;
  axis = n.normalAxis(axis, rankOf(x));
  if (n.failed())
    return;
  SmallVector<int64_t> sizes;
  if (!sizesAsInput)
    sizes = n.getInts("split");
  if (n.hasInput(1)) {
    auto given = sizesAsInput ? n.constantIntegers(1, "split")
                              : floatSizes(n, shapeOf(x)[axis]);
    if (!given)
      return;
    sizes = *given;
  }
  if (n.failed())
    return;
  if (sizes.empty()) {
    bool counted = n.opset() >= 18 && n.hasAttribute("num_outputs");
    int64_t count = static_cast<int64_t>(n.numOutputs());
    if (counted && n.getInt("num_outputs", count) != count)
      n.malformed("num_outputs is {} for {} outputs",
                  n.getInt("num_outputs", count), count);
    sizes = equalParts(n, shapeOf(x)[axis], count, counted);
  }
  splitInto(n, x, axis, sizes);
}

std::optional<PadMode> padMode(Node &n) {
  std::string mode = n.getString("mode", "constant");
  if (mode == "constant")
    return PadMode::Constant;
  if (mode == "reflect")
    return PadMode::Reflect;
  if (mode == "edge")
    return PadMode::Edge;
  if (mode == "wrap" && n.opset() >= 19)
    return PadMode::Wrap;
  n.malformed(
      "mode is '{}', expected constant, reflect, edge or (from operator "
      "set 19) wrap",
      printable(mode));
  return std::nullopt;
}

/// x with constant padding; a value that is known at run time is chosen where
/// padding is.
Value padConstant(Node &n, Value x, ShapeRef low, ShapeRef high, double value,
                  Value atRunTime) {
  Value y = n.pad(x, low, high, PadMode::Constant, value);
  const bool empty = x && elementCount(shapeOf(x)) == 0;
  if (!y || (!atRunTime && !empty) || shapeOf(y) == shapeOf(x))
    return y;
  if (atRunTime && (elementCount(shapeOf(atRunTime)) != 1 ||
                    elementOf(atRunTime) != elementOf(x)))
    return n.malformed("constant_value is {} for {}, expected one element of "
                       "its type",
                       typeText(atRunTime), typeText(x));
  if (empty)
    return n.broadcast(atRunTime ? n.reshape(atRunTime, {})
                                 : n.splat(value, elementOf(x)),
                       shapeOf(y));
  Shape inner(shapeOf(x));
  for (size_t i = 0; i < inner.size(); ++i)
    if (low[i] == 0 && high[i] == 0)
      inner[i] = 1;
  const Type flag = mlir::IntegerType::get(n.context(), 1);
  Value kept = n.pad(n.splat(1, flag, inner), low, high, PadMode::Constant, 0);
  return n.where(kept, y, n.reshape(atRunTime, {}));
}

void padAxes(Node &n, Value x, ArrayRef<int64_t> pads, ArrayRef<int64_t> axes,
             PadMode mode, double value, Value atRunTime = Value()) {
  if (n.failed())
    return;
  if (pads.size() != 2 * axes.size()) {
    n.malformed("pads has {} entries, expected {}", pads.size(),
                2 * axes.size());
    return;
  }
  Shape low(rankOf(x), 0), high(rankOf(x), 0);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    low[axis] = pads[i];
    high[axis] = pads[i + axes.size()];
    int64_t most = std::max(low[axis], high[axis]);
    if (mode == PadMode::Constant || most <= 0)
      continue;
    int64_t kept = shapeOf(x)[axis] + std::min<int64_t>(low[axis], 0) +
                   std::min<int64_t>(high[axis], 0);
    if (kept < 1 || (mode == PadMode::Reflect && most > kept - 1)) {
      n.malformed("mode {} cannot add {} elements to dimension {} of {}",
                  stringifyPadMode(mode).str(), most, axis, typeText(x));
      return;
    }
  }
  n.setOutput(0, mode == PadMode::Constant
                     ? padConstant(n, x, low, high, value, atRunTime)
                     : n.pad(x, low, high, mode, value));
}

SmallVector<int64_t> everyAxis(Value x) {
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < rankOf(x); ++axis)
    axes.push_back(axis);
  return axes;
}

/// Operator set 1 calls the attribute `paddings`.
template <bool first>
void padAttributes(Node &n) {
  Value x = n.input(0);
  std::optional<PadMode> mode = padMode(n);
  SmallVector<int64_t> pads = n.getInts(first ? "paddings" : "pads");
  double value = n.getFloat("value", 0);
  if (x && mode)
    padAxes(n, x, pads, everyAxis(x), *mode, value);
}

void padInputs(Node &n) {
  Value x = n.input(0);
  std::optional<PadMode> mode = padMode(n);
  auto pads = n.constantIntegers(1, "pads");
  double value = 0;
  Value atRunTime;
  if (n.hasInput(2) && constantOf(n.input(2)))
    value = n.constantNumber(2, "constant_value").value_or(0);
  else
    atRunTime = n.optionalInput(2);
  std::optional<SmallVector<int64_t>> given;
  if (n.hasInput(3))
    given = n.constantIntegers(3, "axes");
  if (!x || !mode || !pads || n.failed())
    return;
  SmallVector<int64_t> axes =
      given ? n.normalAxes(*given, rankOf(x)) : everyAxis(x);
  padAxes(n, x, *pads, axes, *mode, value, atRunTime);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::slicingRows() {
  return {
      {"Concat", {1, 4, 11, 13}, concat, "one operation"},
      {"Slice", {1}, sliceAttributes, "one operation"},
      {"Slice",
       {10, 11, 13},
       sliceInputs,
       "one operation; one axis may have starts and ends that are known at run "
       "time, and the result then has a run-time extent; axes and steps must "
       "be constant"},
      {"Split", {1}, split<false>, "slices; sizes must be constant"},
      {"Split", {2, 11}, split<false>, "slices"},
      {"Split", {13, 18}, split<true>, "slices; sizes must be constant"},
      {"Pad",
       {1},
       padAttributes<true>,
       "one operation: constant, reflect, edge"},
      {"Pad",
       {2},
       padAttributes<false>,
       "one operation: constant, reflect, edge"},
      {"Pad",
       {1},
       padInputs,
       "one operation: constant, reflect, edge; pads must be constant",
       "com.microsoft"},
      {"Pad",
       {11, 13, 18, 19, 21, 23, 24, 25},
       padInputs,
       "one operation: constant, reflect, edge, wrap; pads and axes must be "
       "constant, the value may be known at run time"},
  };
}
