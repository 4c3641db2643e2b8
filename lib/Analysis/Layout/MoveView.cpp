// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop of an access pattern advances both sides by constant steps. If every
// loop of a result axis reads the same bytes per index, the result is the
// operand's memory with other strides, or with other steps across partitions.

#include "ashlar/Analysis/Layout/MoveView.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace ashlar::analysis {

/// True if the elements of `source` are stored otherwise in `result`.
static bool converts(Value source, Value result) {
  StorageType from = storageOf(source), to = storageOf(result);
  return from.encoded != to.encoded ||
         (from.encoded ? from.format != to.format : from.plain != to.plain);
}

bool isView(Operation *op) {
  return npu::isAliased(op) && op->getNumOperands() == 1;
}

/// placeOfPart() of elements that may be converted.
static std::optional<PartPlace> placeOfElements(npu::DmaMoveOp whole,
                                                unsigned operand) {
  auto result = shapeOf(whole.getY());
  auto shape = shapeOf(whole.getInputs()[operand]);
  if (shape.size() != result.size() || operand >= whole.getPatterns().size())
    return std::nullopt;
  auto pattern = *npu::AccessPattern::fromArray(
      cast<DenseI64ArrayAttr>(whole.getPatterns()[operand]).asArrayRef());
  if (pattern.operand != static_cast<int64_t>(operand) ||
      llvm::any_of(pattern.sourceStart, [](int64_t at) { return at != 0; }))
    return std::nullopt;
  PartPlace place{pattern.resultStart, Shape(result.size(), 1)};
  Shape moved(result.size(), 1);
  for (const npu::PatternDim &dim : pattern.dims) {
    if (dim.extent == 1)
      continue;
    if (dim.sourceAxis != dim.resultAxis || dim.sourceStep != 1 ||
        moved[dim.resultAxis] != 1)
      return std::nullopt;
    moved[dim.resultAxis] = dim.extent;
    place.step[dim.resultAxis] = dim.resultStep;
  }
  if (!llvm::equal(moved, shape))
    return std::nullopt;
  return place;
}

std::optional<PartPlace> placeOfPart(npu::DmaMoveOp whole, unsigned operand) {
  if (converts(whole.getInputs()[operand], whole.getY()))
    return std::nullopt;
  return placeOfElements(whole, operand);
}

bool encodesInPlace(npu::DmaMoveOp op) {
  if (op.getInputs().size() != 1 || op.getPatterns().size() != 1 ||
      !storageOf(op.getY()).encoded || storageOf(op.getInputs()[0]).encoded ||
      shapeOf(op.getInputs()[0]) != shapeOf(op.getY()))
    return false;
  // All of the operand, so that nothing is left to fill.
  const std::optional<PartPlace> place = placeOfElements(op, 0);
  auto is = [](int64_t value) {
    return [value](int64_t of) { return of == value; };
  };
  return place && llvm::all_of(place->start, is(0)) &&
         llvm::all_of(place->step, is(1));
}

/// True if a loop along blocks takes all of them as they are.
static bool keepsBlocks(const npu::PatternDim &dim, const View &from,
                        const View &to) {
  return dim.sourceAxis == from.type.blockAxis &&
         dim.resultAxis == to.type.blockAxis && dim.sourceStep == 1 &&
         dim.resultStep == 1 && dim.extent == from.shape[dim.sourceAxis] &&
         dim.extent == to.shape[dim.resultAxis];
}

bool keepsPlaceInDram(npu::DmaMoveOp op, const machine::Description &machine) {
  const auto pattern = solePattern(op);
  if (!pattern || op.getRoute() != npu::Route::Copy ||
      llvm::any_of(pattern->sourceStart, [](int64_t at) { return at != 0; }) ||
      llvm::any_of(pattern->resultStart, [](int64_t at) { return at != 0; }))
    return false;
  auto viewOf = [&](Value value) {
    return denseDramView(storageOf(value), shapeOf(value), 0, 0, machine);
  };
  const View from = viewOf(op.getInputs()[0]), to = viewOf(op.getY());
  int64_t moved = 1;
  for (const npu::PatternDim &dim : pattern->dims) {
    moved *= dim.extent;
    if (dim.extent == 1)
      continue;
    if (dim.sourceAxis < 0)
      return false;
    auto isStep = [&](llvm::ArrayRef<int64_t> source,
                      llvm::ArrayRef<int64_t> result) {
      return source[dim.sourceAxis] * dim.sourceStep ==
             result[dim.resultAxis] * dim.resultStep;
    };
    if (!isStep(from.strides, to.strides))
      return false;
    if (!from.type.encoded)
      continue;
    const bool blocks = dim.sourceAxis == from.type.blockAxis ||
                        dim.resultAxis == to.type.blockAxis;
    if (!isStep(from.cellStrides, to.cellStrides) ||
        (blocks && !keepsBlocks(dim, from, to)))
      return false;
  }
  return moved == Region::whole(from.shape).elements() &&
         moved == Region::whole(to.shape).elements();
}

/// True if two parts have no element in common.
static bool areApart(const PartPlace &a, llvm::ArrayRef<int64_t> aShape,
                     const PartPlace &b, llvm::ArrayRef<int64_t> bShape) {
  for (size_t axis = 0; axis < aShape.size(); ++axis) {
    const int64_t distance = b.start[axis] - a.start[axis];
    if (distance >= (aShape[axis] - 1) * a.step[axis] + 1 ||
        -distance >= (bShape[axis] - 1) * b.step[axis] + 1 ||
        distance % std::gcd(a.step[axis], b.step[axis]) != 0)
      return true;
  }
  return false;
}

bool joinsInPlace(npu::DmaMoveOp op) {
  if (op.getFill() || shapeOf(op.getY()).size() < 2 ||
      op.getPatterns().size() != op.getInputs().size())
    return false;
  StorageType type = storageOf(op.getY());
  // What shares an exponent stays together too.
  const int64_t block = type.encoded ? type.format.block : 1;
  int64_t elements = 0;
  llvm::SmallVector<PartPlace, 4> places;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    std::optional<PartPlace> place = placeOfPart(op, i);
    if (!place || block < 1 || place->start[1] % block != 0 ||
        place->step[1] != 1)
      return false;
    for (auto [other, before] : llvm::zip(op.getInputs(), places))
      if (!areApart(*place, shapeOf(input), before, shapeOf(other)))
        return false;
    places.push_back(std::move(*place));
    elements += llvm::product_of(shapeOf(input));
  }
  return elements == llvm::product_of(shapeOf(op.getY()));
}

bool joinsChannels(npu::DmaMoveOp op) {
  if (!joinsInPlace(op))
    return false;
  auto result = shapeOf(op.getY());
  return llvm::all_of(op.getInputs(), [&](Value input) {
    auto shape = shapeOf(input);
    return shape[0] == result[0] &&
           llvm::equal(shape.drop_front(2), result.drop_front(2));
  });
}

std::optional<npu::AccessPattern> solePattern(npu::DmaMoveOp op) {
  if (op.getInputs().size() != 1 || op.getPatterns().size() != 1 ||
      op.getFill() || converts(op.getInputs()[0], op.getY()))
    return std::nullopt;
  return *npu::AccessPattern::fromArray(
      cast<DenseI64ArrayAttr>(op.getPatterns()[0]).asArrayRef());
}

namespace {

/// Partitions from one iteration of a loop to the next; 0: it moves within
/// them.
int64_t partitionsPerIteration(const npu::PatternDim &dim, const View &source) {
  if (dim.extent == 1 || dim.sourceAxis < 0)
    return 0;
  if (dim.sourceAxis == source.axis)
    return dim.sourceStep;
  return dim.sourceAxis == source.outer ? dim.sourceStep * source.outerStep : 0;
}

/// Partitions per index of every axis of the result; nothing if the loops along
/// one disagree.
std::optional<Shape> partitionSteps(const npu::AccessPattern &pattern,
                                    const View &source, int64_t rank) {
  Shape steps(rank, 0);
  for (const npu::PatternDim &dim : pattern.dims) {
    const int64_t moved = partitionsPerIteration(dim, source);
    if (moved == 0)
      continue;
    int64_t &step = steps[dim.resultAxis];
    if (moved % dim.resultStep != 0 ||
        (step != 0 && step != moved / dim.resultStep))
      return std::nullopt;
    step = moved / dim.resultStep;
  }
  for (const npu::PatternDim &dim : pattern.dims)
    if (dim.extent > 1 && steps[dim.resultAxis] != 0 &&
        partitionsPerIteration(dim, source) == 0)
      return std::nullopt;
  return steps;
}

/// Sets the axes of `view` across partitions, from what its operand has there:
/// one whose indices follow each other, and one of groups of them. Without any,
/// an axis of one element is as good. False if they lie otherwise.
bool setAxesAcross(View &view, const Shape &steps) {
  view.axis = view.outer = -1;
  view.outerStep = 0;
  for (auto [i, step] : llvm::enumerate(steps)) {
    const auto axis = static_cast<int64_t>(i);
    if (step == 0)
      continue;
    if (step == 1 && view.axis < 0)
      view.axis = axis;
    else if (view.outer < 0)
      view.outer = axis, view.outerStep = step;
    else
      return false;
  }
  if (view.outer >= 0)
    return view.axis >= 0 && view.outerStep >= view.shape[view.axis];
  if (view.axis < 0)
    if (const auto *unit = llvm::find(view.shape, 1); unit != view.shape.end())
      view.axis = unit - view.shape.begin();
  return true;
}

/// Bytes per index of a free axis; nothing if its loops disagree.
std::optional<int64_t> strideOf(const npu::AccessPattern &pattern,
                                const View &source, int64_t axis) {
  std::optional<int64_t> stride;
  for (const npu::PatternDim &dim : pattern.dims) {
    if (dim.extent == 1 || dim.resultAxis != axis)
      continue;
    if (dim.sourceAxis < 0 || source.isAcross(dim.sourceAxis))
      return std::nullopt;
    int64_t bytes = dim.sourceStep * source.strides[dim.sourceAxis];
    if (bytes % dim.resultStep != 0 ||
        (stride && *stride != bytes / dim.resultStep))
      return std::nullopt;
    stride = bytes / dim.resultStep;
  }
  return stride ? *stride : source.type.bytes();
}

/// Whether an access pattern reads elements of its operand only. What lies
/// outside is a zero, as in the windows at the end of a padded map, and has no
/// place.
bool readsInside(const npu::AccessPattern &pattern,
                 llvm::ArrayRef<int64_t> shape) {
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    int64_t last = pattern.sourceStart[axis];
    for (const npu::PatternDim &dim : pattern.dims)
      if (dim.sourceAxis == static_cast<int64_t>(axis))
        last += (dim.extent - 1) * dim.sourceStep;
    if (pattern.sourceStart[axis] < 0 || last >= extent)
      return false;
  }
  return true;
}

} // namespace

/// The view of viewThrough() in channel tiles of so many partitions.
static std::optional<View> viewInTiles(npu::DmaMoveOp op, const View &source,
                                       int64_t partitions) {
  std::optional<npu::AccessPattern> pattern = solePattern(op);
  if (!pattern || !source.inStateBuffer() ||
      !readsInside(*pattern, source.shape) ||
      llvm::any_of(pattern->resultStart, [](int64_t start) { return start; }))
    return std::nullopt;
  View view = source;
  view.type = storageOf(op.getY());
  view.shape = Shape(shapeOf(op.getY()));
  std::optional<Shape> steps = partitionSteps(*pattern, source, view.rank());
  if (!steps || !setAxesAcross(view, *steps) ||
      (view.type.encoded && view.axis != view.type.blockAxis))
    return std::nullopt;
  view.strides.assign(view.shape.size(), view.type.bytes());
  for (int64_t i = 0; i < view.rank(); ++i) {
    if (view.isAcross(i))
      continue;
    std::optional<int64_t> stride = strideOf(*pattern, source, i);
    if (!stride || *stride <= 0)
      return std::nullopt;
    view.strides[i] = *stride;
  }
  for (int64_t i = 0; i < source.rank(); ++i)
    if (!source.isAcross(i))
      view.base += pattern->sourceStart[i] * source.strides[i];
  const int64_t position =
      source.part + source.partitionsTo(pattern->sourceStart);
  view.part = position % partitions;
  view.base += position / partitions * view.tileStride;
  return view;
}

std::optional<View> viewThrough(npu::DmaMoveOp op, const View &source,
                                const machine::Description &machine) {
  return viewInTiles(op, source, static_cast<int64_t>(machine.sb.partitions));
}

std::optional<View> denseViewThrough(npu::DmaMoveOp op, int64_t sourceAxis) {
  // Strides and steps of a dense view do not depend on the machine.
  Value x = op.getInputs()[0];
  return viewInTiles(op,
                     denseBufferView(storageOf(x), shapeOf(x), sourceAxis, 0,
                                     machine::Description()),
                     std::numeric_limits<int64_t>::max());
}

std::optional<int64_t> viewAxis(npu::DmaMoveOp op, int64_t sourceAxis) {
  std::optional<View> view = denseViewThrough(op, sourceAxis);
  return view && view->part == 0 && view->outer < 0 ? std::optional(view->axis)
                                                    : std::nullopt;
}

bool clipPattern(npu::AccessPattern &pattern, const Region &out) {
  for (size_t axis = 0; axis < out.start.size(); ++axis) {
    int64_t &start = pattern.resultStart[axis];
    auto onAxis = [&](const npu::PatternDim &dim) {
      return dim.resultAxis == static_cast<int64_t>(axis) && dim.extent > 1;
    };
    int64_t loops = llvm::count_if(pattern.dims, onAxis);
    int64_t begin = out.start[axis], end = begin + out.size[axis];
    if (loops == 0 && (start < begin || start >= end))
      return false;
    if (loops == 1) {
      npu::PatternDim &dim = *llvm::find_if(pattern.dims, onAxis);
      int64_t step = dim.resultStep;
      int64_t first =
          start >= begin ? 0 : llvm::divideCeil(begin - start, step);
      int64_t last = start >= end ? 0 : llvm::divideCeil(end - start, step);
      last = std::min(last, dim.extent);
      if (first >= last)
        return false;
      dim.extent = last - first;
      start += first * step;
      if (dim.sourceAxis >= 0)
        pattern.sourceStart[dim.sourceAxis] += first * dim.sourceStep;
    }
    start -= begin;
  }
  return true;
}

} // namespace ashlar::analysis
