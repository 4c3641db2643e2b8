// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Construction and slicing of views.

#include "ashlar/Analysis/Layout/View.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::analysis {

Region Region::whole(llvm::ArrayRef<int64_t> shape) {
  return {Shape(shape.size(), 0), Shape(shape.begin(), shape.end())};
}

int64_t Region::elements() const {
  int64_t product = 1;
  for (int64_t extent : size)
    product *= extent;
  return product;
}

/// Tiles at the end of an axis are clipped.
static void setTileSize(Region &tile, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> extents) {
  for (size_t i = 0; i < extents.size(); ++i)
    tile.size[i] = std::min(extents[i], shape[i] - tile.start[i]);
}

Region firstTile(llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<int64_t> extents) {
  Region tile{Shape(extents.size(), 0), Shape(extents.size(), 0)};
  setTileSize(tile, shape, extents);
  return tile;
}

bool nextTile(Region &tile, llvm::ArrayRef<int64_t> shape,
              llvm::ArrayRef<int64_t> extents, int64_t slowest) {
  auto step = [&](int64_t axis) {
    tile.start[axis] += extents[axis];
    if (tile.start[axis] < shape[axis])
      return true;
    tile.start[axis] = 0;
    return false;
  };
  bool more = false;
  for (auto axis = static_cast<int64_t>(extents.size()) - 1; axis >= 0 && !more;
       --axis)
    more = axis != slowest && step(axis);
  if (!more && slowest >= 0)
    more = step(slowest);
  setTileSize(tile, shape, extents);
  return more;
}

/// Shape of the exponent cells: the block axis counts exponent groups.
static Shape cellShape(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                       int64_t group) {
  Shape cells(shape.begin(), shape.end());
  cells[type.blockAxis] = llvm::divideCeil(cells[type.blockAxis], group);
  return cells;
}

/// Row-major strides with `unit` bytes per element.
static Shape rowMajor(llvm::ArrayRef<int64_t> shape, int64_t unit) {
  Shape strides(shape.size(), unit);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

View View::slice(const Region &region,
                 const machine::Description &machine) const {
  View result = *this;
  result.shape = region.size;
  if (inStateBuffer() && axis >= 0) {
    int64_t partitions = machine.sb.partitions;
    int64_t position = part + partitionsTo(region.start);
    result.part = position % partitions;
    result.base += position / partitions * tileStride;
  }
  // Of one index there is nothing to step to.
  if (outer >= 0 && region.size[outer] == 1)
    result.outer = -1, result.outerStep = 0;
  for (int64_t i = 0; i < rank(); ++i) {
    int64_t start = region.start[i];
    if (inStateBuffer() && isAcross(i))
      continue;
    result.base += start * strides[i];
    if (!inStateBuffer() && type.encoded)
      result.cellBase +=
          (i == type.blockAxis ? start / static_cast<int64_t>(machine.xmGroup)
                               : start) *
          cellStrides[i];
  }
  return result;
}

View denseDramView(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                   int64_t base, int64_t cellBase,
                   const machine::Description &machine) {
  View view;
  view.type = type;
  view.shape.assign(shape.begin(), shape.end());
  view.strides = rowMajor(shape, type.bytes());
  view.base = base;
  if (type.encoded) {
    view.cellBase = cellBase;
    view.cellStrides = rowMajor(cellShape(type, shape, machine.xmGroup), 1);
  }
  return view;
}

/// Bytes of one channel tile: all axes but `axis`. Tiles start at multiples of
/// 8 so that every element is aligned to its size.
static int64_t tileBytes(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                         int64_t axis) {
  int64_t bytes = type.bytes();
  for (auto [i, extent] : llvm::enumerate(shape))
    if (static_cast<int64_t>(i) != axis)
      bytes *= extent;
  return llvm::alignTo(bytes, 8);
}

View denseBufferView(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                     int64_t axis, int64_t offset,
                     const machine::Description &machine) {
  (void)machine;
  View view;
  view.memory = View::Memory::StateBuffer;
  view.type = type;
  view.shape.assign(shape.begin(), shape.end());
  view.base = offset;
  view.axis = axis;
  view.tileStride = tileBytes(type, shape, axis);
  Shape free(shape.begin(), shape.end());
  if (axis >= 0)
    free[axis] = 1;
  view.strides = rowMajor(free, type.bytes());
  return view;
}

int64_t bufferBytes(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                    int64_t axis, const machine::Description &machine) {
  int64_t channels = axis < 0 ? 1 : shape[axis];
  return llvm::divideCeil(channels, machine.sb.partitions) *
         tileBytes(type, shape, axis);
}

int64_t dramBytes(const StorageType &type, llvm::ArrayRef<int64_t> shape) {
  return Region::whole(shape).elements() * type.bytes();
}

int64_t dramCellBytes(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                      const machine::Description &machine) {
  if (!type.encoded)
    return 0;
  return Region::whole(cellShape(type, shape, machine.xmGroup)).elements();
}

} // namespace ashlar::analysis
