// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index maps of movement ops. Every map is separable: the source index is a
// sum of one term per output dimension, so a map is built from one small table
// per dimension.

#include "ashlar/Reference/Movement.h"
#include "ashlar/Reference/Tensor.h"

#include <cstring>

using namespace ashlar;
using namespace ashlar::reference;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

using Table = std::vector<int64_t>;

// Sums the tables' terms over the output in row-major order; a `fill` in any
// dimension fills the element.
IndexMap combine(ArrayRef<Table> tables) {
  IndexMap map{0};
  for (const Table &table : tables) {
    IndexMap next;
    next.reserve(map.size() * table.size());
    for (int64_t base : map)
      for (int64_t term : table)
        next.push_back(base == fill || term == fill ? fill : base + term);
    map = std::move(next);
  }
  return map;
}

// Source coordinate of padded coordinate `k`, or `fill`.
int64_t padSource(PadMode mode, int64_t k, int64_t extent, int64_t interior) {
  int64_t step = interior + 1;
  int64_t last = (extent - 1) * step;
  if (extent == 0)
    return fill;
  switch (mode) {
  case PadMode::Constant:
    return k < 0 || k > last || k % step != 0 ? fill : k / step;
  case PadMode::Edge:
    return k < 0 ? 0 : (k >= extent ? extent - 1 : k);
  case PadMode::Wrap:
    return ((k % extent) + extent) % extent;
  case PadMode::Reflect: {
    if (extent == 1)
      return 0;
    int64_t period = 2 * (extent - 1);
    int64_t phase = ((k % period) + period) % period;
    return phase < extent ? phase : period - phase;
  }
  }
  return fill;
}

} // namespace

IndexMap reference::transposeMap(ArrayRef<int64_t> inShape,
                                 ArrayRef<int64_t> perm) {
  SmallVector<int64_t> strides = rowMajorStrides(inShape);
  std::vector<Table> tables;
  for (int64_t source : perm) {
    Table table(inShape[source]);
    for (int64_t i = 0; i < inShape[source]; ++i)
      table[i] = i * strides[source];
    tables.push_back(std::move(table));
  }
  return combine(tables);
}

IndexMap reference::broadcastMap(ArrayRef<int64_t> inShape,
                                 ArrayRef<int64_t> outShape) {
  SmallVector<int64_t> strides = rowMajorStrides(inShape);
  size_t lead = outShape.size() - inShape.size();
  std::vector<Table> tables;
  for (size_t d = 0; d < outShape.size(); ++d) {
    Table table(outShape[d], 0);
    if (d >= lead && inShape[d - lead] != 1)
      for (int64_t i = 0; i < outShape[d]; ++i)
        table[i] = i * strides[d - lead];
    tables.push_back(std::move(table));
  }
  return combine(tables);
}

IndexMap reference::sliceMap(ArrayRef<int64_t> inShape,
                             ArrayRef<int64_t> outShape,
                             ArrayRef<int64_t> starts,
                             ArrayRef<int64_t> steps) {
  SmallVector<int64_t> strides = rowMajorStrides(inShape);
  std::vector<Table> tables;
  for (size_t d = 0; d < outShape.size(); ++d) {
    Table table(outShape[d]);
    for (int64_t i = 0; i < outShape[d]; ++i)
      table[i] = (starts[d] + i * steps[d]) * strides[d];
    tables.push_back(std::move(table));
  }
  return combine(tables);
}

IndexMap reference::gatherMap(ArrayRef<int64_t> inShape, int64_t axis,
                              ArrayRef<int64_t> indices) {
  SmallVector<int64_t> strides = rowMajorStrides(inShape);
  std::vector<Table> tables;
  for (size_t d = 0; d < inShape.size(); ++d) {
    Table table;
    if (static_cast<int64_t>(d) == axis) {
      for (int64_t index : indices)
        table.push_back(index * strides[d]);
    } else {
      for (int64_t i = 0; i < inShape[d]; ++i)
        table.push_back(i * strides[d]);
    }
    tables.push_back(std::move(table));
  }
  return combine(tables);
}

IndexMap reference::padMap(ArrayRef<int64_t> inShape,
                           ArrayRef<int64_t> outShape, PadMode mode,
                           ArrayRef<int64_t> low, ArrayRef<int64_t> interior) {
  SmallVector<int64_t> strides = rowMajorStrides(inShape);
  std::vector<Table> tables;
  for (size_t d = 0; d < outShape.size(); ++d) {
    Table table(outShape[d]);
    for (int64_t i = 0; i < outShape[d]; ++i) {
      int64_t source = padSource(mode, i - low[d], inShape[d], interior[d]);
      table[i] = source == fill ? fill : source * strides[d];
    }
    tables.push_back(std::move(table));
  }
  return combine(tables);
}

std::vector<uint8_t> reference::applyToBytes(const IndexMap &map,
                                             ArrayRef<uint8_t> source,
                                             unsigned width,
                                             ArrayRef<uint8_t> fillBytes) {
  std::vector<uint8_t> result(map.size() * width);
  uint8_t *out = result.data();
  for (int64_t index : map) {
    const uint8_t *from =
        index == fill ? fillBytes.data() : source.data() + index * width;
    std::memcpy(out, from, width);
    out += width;
  }
  return result;
}
