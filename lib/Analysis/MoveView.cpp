// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop of an access pattern advances both sides by constant steps. If every
// loop of a result axis reads the same bytes per index, the result is the
// operand's memory with other strides.

#include "ashlar/Analysis/MoveView.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

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

bool joinsChannels(npu::DmaMoveOp op) {
  auto result = shapeOf(op.getY());
  if (op.getFill() || result.size() < 2 ||
      op.getPatterns().size() != op.getInputs().size())
    return false;
  StorageType type = storageOf(op.getY());
  // What shares an exponent stays together too.
  int64_t block = type.encoded ? type.format.block : 1;
  int64_t channels = 0;
  for (auto [i, attr] : llvm::enumerate(op.getPatterns())) {
    auto pattern = *npu::AccessPattern::fromArray(
        cast<DenseI64ArrayAttr>(attr).asArrayRef());
    Value input = op.getInputs()[i];
    auto shape = shapeOf(input);
    llvm::SmallVector<int64_t, 6> start(result.size(), 0);
    start[1] = channels;
    if (block < 1 || channels % block != 0 ||
        pattern.operand != static_cast<int64_t>(i) ||
        converts(input, op.getY()) || shape.size() != result.size() ||
        pattern.resultStart != start ||
        llvm::any_of(pattern.sourceStart, [](int64_t at) { return at != 0; }))
      return false;
    llvm::SmallVector<int64_t, 6> moved(result.size(), 1);
    for (const npu::PatternDim &dim : pattern.dims) {
      if (dim.extent == 1)
        continue;
      if (dim.sourceAxis != dim.resultAxis || dim.sourceStep != 1 ||
          dim.resultStep != 1 || moved[dim.resultAxis] != 1)
        return false;
      moved[dim.resultAxis] = dim.extent;
    }
    for (size_t axis = 0; axis < moved.size(); ++axis)
      if (moved[axis] != shape[axis] ||
          (axis != 1 && shape[axis] != result[axis]))
        return false;
    channels += shape[1];
  }
  return channels == result[1];
}

std::optional<npu::AccessPattern> solePattern(npu::DmaMoveOp op) {
  if (op.getInputs().size() != 1 || op.getPatterns().size() != 1 ||
      op.getFill() || converts(op.getInputs()[0], op.getY()))
    return std::nullopt;
  return *npu::AccessPattern::fromArray(
      cast<DenseI64ArrayAttr>(op.getPatterns()[0]).asArrayRef());
}

namespace {

/// True if the loops along the source's partition axis are those along
/// `axis` of the result, index by index.
bool keepsPartitions(const npu::AccessPattern &pattern, int64_t sourceAxis,
                     int64_t axis) {
  if (pattern.sourceStart[sourceAxis] != 0 || pattern.resultStart[axis] != 0)
    return false;
  return llvm::all_of(pattern.dims, [&](const npu::PatternDim &dim) {
    if (dim.extent == 1)
      return true;
    bool here = dim.sourceAxis == sourceAxis, there = dim.resultAxis == axis;
    return here == there && (!here || dim.sourceStep == dim.resultStep);
  });
}

/// The axis of the result across partitions: that of the loops along the
/// operand's, or an axis of one element where the operand has no such loop.
std::optional<int64_t> partitionAxis(const npu::AccessPattern &pattern,
                                     const View &source,
                                     llvm::ArrayRef<int64_t> shape) {
  // An axis of -1 is none: of a view, all lies in one partition; of a loop, it
  // repeats an element.
  for (const npu::PatternDim &dim : pattern.dims)
    if (dim.extent > 1 && dim.sourceAxis >= 0 &&
        dim.sourceAxis == source.axis) {
      if (!keepsPartitions(pattern, source.axis, dim.resultAxis))
        return std::nullopt;
      return dim.resultAxis;
    }
  if (source.axis >= 0 && pattern.sourceStart[source.axis] != 0)
    return std::nullopt;
  const auto *unit = llvm::find(shape, 1);
  return unit == shape.end() ? -1 : unit - shape.begin();
}

/// Bytes per index of a free axis; nothing if its loops disagree.
std::optional<int64_t> strideOf(const npu::AccessPattern &pattern,
                                const View &source, int64_t axis) {
  std::optional<int64_t> stride;
  for (const npu::PatternDim &dim : pattern.dims) {
    if (dim.extent == 1 || dim.resultAxis != axis)
      continue;
    if (dim.sourceAxis < 0 || dim.sourceAxis == source.axis)
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

std::optional<View> viewThrough(npu::DmaMoveOp op, const View &source) {
  std::optional<npu::AccessPattern> pattern = solePattern(op);
  if (!pattern || !source.inStateBuffer() ||
      !readsInside(*pattern, source.shape))
    return std::nullopt;
  auto shape = shapeOf(op.getY());
  std::optional<int64_t> axis = partitionAxis(*pattern, source, shape);
  StorageType type = storageOf(op.getY());
  if (!axis || (type.encoded && *axis != type.blockAxis))
    return std::nullopt;
  View view = source;
  view.type = type;
  view.shape = Shape(shape.begin(), shape.end());
  view.axis = *axis;
  view.strides.assign(shape.size(), type.bytes());
  for (int64_t i = 0; i < view.rank(); ++i) {
    if (i == *axis)
      continue;
    std::optional<int64_t> stride = strideOf(*pattern, source, i);
    if (!stride || *stride <= 0)
      return std::nullopt;
    view.strides[i] = *stride;
  }
  for (int64_t i = 0; i < source.rank(); ++i) {
    if (i != source.axis)
      view.base += pattern->sourceStart[i] * source.strides[i];
  }
  if (llvm::any_of(pattern->resultStart, [](int64_t start) { return start; }))
    return std::nullopt;
  return view;
}

std::optional<int64_t> viewAxis(npu::DmaMoveOp op, int64_t sourceAxis) {
  Value x = op.getInputs()[0];
  // Strides of a dense view do not depend on the machine.
  View source = denseBufferView(storageOf(x), shapeOf(x), sourceAxis, 0,
                                machine::Description());
  std::optional<View> view = viewThrough(op, source);
  return view ? std::optional(view->axis) : std::nullopt;
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
