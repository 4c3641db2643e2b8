// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that give the same elements another shape or order.

#include "lib/Frontend/Onnx/Extents/RunTimeShape.h"
#include "lib/Frontend/Onnx/Extents/ShapeEntries.h"
#include "lib/Frontend/Onnx/Registry.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Resolves 0 (copy, unless `allowZero`) and one -1 (what is left).
std::optional<Shape> resolveShape(Node &n, Value x, ArrayRef<int64_t> wanted,
                                  bool allowZero) {
  Shape shape;
  int64_t open = -1, known = 1;
  bool hasZero = false;
  for (auto [i, dim] : llvm::enumerate(wanted)) {
    int64_t size = dim;
    if (dim == 0 && !allowZero) {
      if (static_cast<int64_t>(i) >= rankOf(x)) {
        n.malformed("dimension {} of the new shape copies one that {} lacks", i,
                    typeText(x));
        return std::nullopt;
      }
      size = shapeOf(x)[i];
    }
    hasZero |= dim == 0;
    if (size < -1 || (size == -1 && open >= 0)) {
      n.malformed("the new shape has {} in dimension {}, expected at most one "
                  "-1",
                  size, i);
      return std::nullopt;
    }
    if (size == -1)
      open = i;
    else if (llvm::MulOverflow(known, size, known)) {
      n.malformed("the new shape overflows");
      return std::nullopt;
    }
    shape.push_back(size);
  }
  if (open >= 0 && allowZero && hasZero) {
    n.malformed("the new shape has both 0 and -1 with allowzero");
    return std::nullopt;
  }
  int64_t count = elementCount(shapeOf(x));
  if (open >= 0) {
    if (known == 0 ? count != 0 : count % known != 0) {
      n.malformed("cannot reshape {} to {}", typeText(x),
                  shapeToString(wanted));
      return std::nullopt;
    }
    shape[open] = known == 0 ? 0 : count / known;
  }
  return shape;
}

/// A shape with one entry that is known at run time: it is what is left. If
/// -1 asks for that, the entry has to be the extent of the operand.
std::optional<SmallVector<int64_t>> openShape(Node &n) {
  SmallVector<int64_t> wanted;
  std::optional<size_t> open;
  const SmallVector<ShapeEntry> entries = shapeEntries(n, 1);
  for (auto [i, entry] : llvm::enumerate(entries)) {
    wanted.push_back(entry.known.value_or(-1));
    if (entry.known)
      continue;
    if (open)
      return n.constantIntegers(1, "shape");
    open = i;
  }
  if (n.failed() || !open || llvm::count(wanted, -1) == 1)
    return wanted;
  const NumberRange range = n.rangeOf(entries[*open].value);
  if (!n.extentOf(0) || !range.most || *range.most < 1)
    return n.constantIntegers(1, "shape");
  wanted[*open] = *range.most;
  return wanted;
}

void reshape(Node &n) {
  bool allowZero = n.getInt("allowzero", 0);
  Value x = n.input(0);
  std::optional<SmallVector<int64_t>> wanted =
      x && n.hasInput(1) && !constantOf(n.input(1))
          ? openShape(n)
          : n.constantIntegers(1, "shape");
  if (!x || !wanted)
    return;
  if (std::optional<Shape> shape = resolveShape(n, x, *wanted, allowZero))
    n.setOutput(0, n.reshape(x, *shape));
}

void reshapeAttribute(Node &n) {
  n.ignore("consumed_inputs");
  Value x = n.input(0);
  SmallVector<int64_t> wanted = n.getInts("shape");
  if (!x)
    return;
  if (std::optional<Shape> shape = resolveShape(n, x, wanted, false))
    n.setOutput(0, n.reshape(x, *shape));
}

void flattenToMatrix(Node &n) {
  Value x = n.input(0);
  if (!x)
    return;
  int64_t axis = n.flattenAxis(rankOf(x));
  if (n.failed())
    return;
  ShapeRef shape = shapeOf(x);
  n.setOutput(0, n.reshape(x, {elementCount(shape.take_front(axis)),
                               elementCount(shape.drop_front(axis))}));
}

/// The `axes` attribute or, from version 13, the second input.
std::optional<SmallVector<int64_t>> readAxes(Node &n, bool asInput) {
  if (!asInput)
    return n.getInts("axes");
  if (!n.hasInput(1))
    return SmallVector<int64_t>();
  return n.constantIntegers(1, "axes");
}

template <bool axesAsInput>
void squeeze(Node &n) {
  Value x = n.input(0);
  std::optional<SmallVector<int64_t>> given = readAxes(n, axesAsInput);
  if (!x || !given)
    return;
  SmallVector<int64_t> axes = n.normalAxes(*given, rankOf(x));
  bool all = given->empty() && !n.hasAttribute("axes") && !n.hasInput(1);
  Shape shape;
  for (auto [i, size] : llvm::enumerate(shapeOf(x))) {
    bool drop =
        all ? size == 1 : llvm::is_contained(axes, static_cast<int64_t>(i));
    if (drop && size != 1)
      n.malformed("cannot squeeze dimension {} of {}", i, typeText(x));
    if (!drop)
      shape.push_back(size);
  }
  n.setOutput(0, n.reshape(x, shape));
}

void unsqueezeAt(Node &n, std::optional<SmallVector<int64_t>> given) {
  Value x = n.input(0);
  if (!x || !given)
    return;
  int64_t rank = rankOf(x) + given->size();
  SmallVector<int64_t> axes = n.normalAxes(*given, rank);
  Shape shape;
  size_t next = 0;
  for (int64_t i = 0; i < rank && !n.failed(); ++i)
    shape.push_back(llvm::is_contained(axes, i) ? 1 : shapeOf(x)[next++]);
  n.setOutput(0, n.reshape(x, shape));
}

template <bool axesAsInput>
void unsqueeze(Node &n) {
  unsqueezeAt(n, readAxes(n, axesAsInput));
}

void expandDims(Node &n) { unsqueezeAt(n, n.constantIntegers(1, "axis")); }

void transpose(Node &n) {
  Value x = n.input(0);
  SmallVector<int64_t> perm = n.getInts("perm");
  if (!x)
    return;
  if (perm.empty())
    for (int64_t i = rankOf(x); i-- > 0;)
      perm.push_back(i);
  n.setOutput(0, n.transpose(x, perm));
}

void expand(Node &n) {
  Value x = n.input(0);
  if (x && n.hasInput(1) && !constantOf(n.input(1)))
    return expandAtRunTime(n);
  std::optional<SmallVector<int64_t>> wanted = n.constantIntegers(1, "shape");
  if (!x || !wanted)
    return;
  for (int64_t size : *wanted)
    if (size < 0) {
      n.malformed("the shape has the negative dimension {}", size);
      return;
    }
  llvm::Expected<Shape> shape = inferBroadcast(shapeOf(x), *wanted);
  if (!shape) {
    n.fail(shape.takeError(), ErrorClass::Malformed);
    return;
  }
  n.setOutput(0, n.broadcast(x, *shape));
}

/// Every repeated dimension d becomes [repeats, d] by broadcasting, which a
/// reshape merges.
/// Whether a number counts something.
bool isWhole(double number) {
  return std::trunc(number) == number && std::abs(number) < 0x1p53;
}

void tileBy(Node &n, Value x, ArrayRef<int64_t> repeats) {
  Shape apart, spread, merged;
  for (auto [size, repeat] : llvm::zip(shapeOf(x), repeats)) {
    int64_t product;
    if (repeat < 0 || llvm::MulOverflow(size, repeat, product)) {
      n.malformed("repeats has the entry {}", repeat);
      return;
    }
    if (repeat != 1) {
      apart.push_back(1);
      spread.push_back(repeat);
    }
    apart.push_back(size);
    spread.push_back(size);
    merged.push_back(product);
  }
  if (elementCount(merged) < 0) {
    n.malformed("the tiled shape overflows");
    return;
  }
  n.setOutput(0, n.reshape(n.broadcast(n.reshape(x, apart), spread), merged));
}

void tile(Node &n) {
  Value x = n.input(0);
  std::optional<SmallVector<int64_t>> repeats =
      n.constantIntegers(1, "repeats");
  if (!x || !repeats)
    return;
  if (static_cast<int64_t>(repeats->size()) != rankOf(x)) {
    n.malformed("repeats has {} entries, expected {}", repeats->size(),
                rankOf(x));
    return;
  }
  tileBy(n, x, *repeats);
}

/// To operator set 5: how often along which one axis.
void tileAxis(Node &n) {
  Value x = n.input(0);
  std::optional<double> count = n.constantNumber(1, "tiles");
  std::optional<double> axis = n.constantNumber(2, "axis");
  if (!x || !count || !axis)
    return;
  // Both are of the type of x, floats too.
  if (!isWhole(*count) || !isWhole(*axis)) {
    n.malformed("tiles is {} and axis {}, expected whole numbers", *count,
                *axis);
    return;
  }
  SmallVector<int64_t> repeats(rankOf(x), 1);
  const int64_t at = n.normalAxis(static_cast<int64_t>(*axis), rankOf(x));
  if (n.failed())
    return;
  repeats[at] = static_cast<int64_t>(*count);
  tileBy(n, x, repeats);
}

/// [N, C, H, W] with C = r*r*c to [N, c, H*r, W*r]; the order of (r, r, c) in C
/// is the mode.
void depthToSpace(Node &n) {
  int64_t r = n.getInt("blocksize", 0);
  std::string mode = n.getString("mode", "DCR");
  Value x = n.input(0);
  if (!x)
    return;
  if (rankOf(x) != 4 || r < 1 || r > 4096 || shapeOf(x)[1] % (r * r) != 0) {
    n.malformed("blocksize is {} for the input {}", r, typeText(x));
    return;
  }
  if (mode != "DCR" && mode != "CRD")
    n.malformed("mode is '{}', expected DCR or CRD", printable(mode));
  int64_t batch = shapeOf(x)[0], c = shapeOf(x)[1] / (r * r);
  int64_t h = shapeOf(x)[2], w = shapeOf(x)[3];
  Value y = mode == "DCR" ? n.transpose(n.reshape(x, {batch, r, r, c, h, w}),
                                        {0, 3, 4, 1, 5, 2})
                          : n.transpose(n.reshape(x, {batch, c, r, r, h, w}),
                                        {0, 1, 4, 2, 5, 3});
  n.setOutput(0, n.reshape(y, {batch, c, h * r, w * r}));
}

void spaceToDepth(Node &n) {
  int64_t r = n.getInt("blocksize", 0);
  Value x = n.input(0);
  if (!x)
    return;
  if (rankOf(x) != 4 || r < 1 || shapeOf(x)[2] % r != 0 ||
      shapeOf(x)[3] % r != 0) {
    n.malformed("blocksize is {} for the input {}", r, typeText(x));
    return;
  }
  int64_t batch = shapeOf(x)[0], c = shapeOf(x)[1];
  int64_t h = shapeOf(x)[2] / r, w = shapeOf(x)[3] / r;
  Value y =
      n.transpose(n.reshape(x, {batch, c, h, r, w, r}), {0, 3, 5, 1, 2, 4});
  n.setOutput(0, n.reshape(y, {batch, c * r * r, h, w}));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::movementRows() {
  const char *shapes = "a reshape";
  const char *constantAxes = "a reshape; axes must be constant";
  return {
      {"Reshape", {1}, reshapeAttribute, shapes},
      {"Reshape",
       {5, 13, 14, 19, 21, 23, 24, 25},
       reshape,
       "one operation; 0, -1 and `allowzero`; at most one entry may be known "
       "at run "
       "time, as a data-dependent extent or as what is left"},
      {"Flatten", {1, 9, 11, 13, 21, 23, 24, 25}, flattenToMatrix, shapes},
      {"Squeeze", {1, 11}, squeeze<false>, shapes},
      {"Squeeze", {13, 21, 23, 24, 25}, squeeze<true>, constantAxes},
      {"Unsqueeze", {1, 11}, unsqueeze<false>, shapes},
      {"Unsqueeze", {13, 21, 23, 24, 25}, unsqueeze<true>, constantAxes},
      {"Transpose", {1, 13, 21, 23, 24, 25}, transpose, "one operation"},
      {"Expand",
       {8, 13},
       expand,
       "one operation; an extent that is known at run time needs a bound, and "
       "the "
       "result has a run-time extent"},
      {"Tile", {1}, tileAxis, "a broadcast between reshapes; one axis"},
      {"Tile",
       {6, 13},
       tile,
       "a broadcast between reshapes; repeats must be constant"},
      {"DepthToSpace",
       {1, 11, 13},
       depthToSpace,
       "a transpose between reshapes"},
      {"SpaceToDepth", {1, 13}, spaceToDepth, "a transpose between reshapes"},
      {"ExpandDims",
       {1},
       expandDims,
       "a reshape; the axis must be constant",
       "com.microsoft"},
  };
}
