// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index maps of data movement ops.

#include "ashlar/Reference/Movement.h"
#include "ashlar/Reference/Tensor.h"
#include "dialects/NN/NNOps.h"

#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::reference;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

using Table = IndexMap::Table;

// Coordinate in `extent` elements of padded coordinate `k`, or `fill`.
int64_t padSource(reference::PadMode mode, int64_t k, int64_t extent,
                  int64_t interior) {
  int64_t step = interior + 1;
  int64_t last = (extent - 1) * step;
  if (extent == 0)
    return fill;
  switch (mode) {
  case reference::PadMode::Constant:
    return k < 0 || k > last || k % step != 0 ? fill : k / step;
  case reference::PadMode::Edge:
    return k < 0 ? 0 : (k >= extent ? extent - 1 : k);
  case reference::PadMode::Wrap:
    return ((k % extent) + extent) % extent;
  case reference::PadMode::Reflect: {
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
  return IndexMap(std::move(tables));
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
  return IndexMap(std::move(tables));
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
  return IndexMap(std::move(tables));
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
  return IndexMap(std::move(tables));
}

IndexMap reference::padMap(ArrayRef<int64_t> inShape, PadMode mode,
                           ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                           ArrayRef<int64_t> interior) {
  SmallVector<int64_t> strides = rowMajorStrides(inShape);
  std::vector<Table> tables;
  for (size_t d = 0; d < inShape.size(); ++d) {
    int64_t extent = inShape[d], before = low[d], cut = 0;
    int64_t spread = extent + std::max<int64_t>(0, extent - 1) * interior[d];
    int64_t count = std::max<int64_t>(0, spread + low[d] + high[d]);
    if (mode != PadMode::Constant) {
      // The mirror stands at the cut edge.
      cut = std::max<int64_t>(0, -before);
      before = std::max<int64_t>(0, before);
      extent -= cut + std::max<int64_t>(0, -high[d]);
    }
    Table table(count);
    for (int64_t i = 0; i < count; ++i) {
      int64_t source = padSource(mode, i - before, extent, interior[d]);
      table[i] = source == fill ? fill : (source + cut) * strides[d];
    }
    tables.push_back(std::move(table));
  }
  return IndexMap(std::move(tables));
}

int64_t IndexMap::size() const {
  int64_t count = 1;
  for (const Table &table : tables)
    count *= static_cast<int64_t>(table.size());
  return count;
}

std::vector<int64_t> IndexMap::flatten() const {
  std::vector<int64_t> result;
  result.reserve(size());
  visit(0, 0, [&](int64_t index) { result.push_back(index); });
  return result;
}

std::optional<IndexMap> reference::movementMap(mlir::Operation *op) {
  auto shapeOf = [](mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
  };
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return std::nullopt;
  ArrayRef<int64_t> in = shapeOf(op->getOperand(0));
  ArrayRef<int64_t> out = shapeOf(op->getResult(0));
  return llvm::TypeSwitch<mlir::Operation *, std::optional<IndexMap>>(op)
      .Case([&](nn::TransposeOp t) { return transposeMap(in, t.getPerm()); })
      .Case([&](nn::BroadcastOp) { return broadcastMap(in, out); })
      .Case([&](nn::SliceOp s) {
        return sliceMap(in, out, s.getStarts(), s.getSteps());
      })
      .Case([&](nn::GatherOp g) {
        return gatherMap(in, g.getAxis(), g.getIndices());
      })
      .Case([&](nn::PadOp p) {
        SmallVector<int64_t> interior;
        for (unsigned d = 0; d < in.size(); ++d)
          interior.push_back(p.interiorAt(d));
        auto mode = static_cast<reference::PadMode>(p.getMode());
        return padMap(in, mode, p.getLow(), p.getHigh(), interior);
      })
      .Default([](mlir::Operation *) { return std::nullopt; });
}
