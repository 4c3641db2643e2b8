// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Geometry of products: windows, padding as valid index ranges, strides.

#include "ProductGeometry.h"

#include "ashlar/Analysis/Cost/ProductWindows.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::codegen {

using analysis::shapeOf;

/// Strides of the axes of `view`, aligned to the right of the four dims;
/// axes with one element do not move (broadcast residuals).
static DimStrides rightAligned(const View &view, llvm::ArrayRef<int64_t> axes) {
  DimStrides strides{0, 0, 0, 0};
  size_t shift = 4 - axes.size();
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis >= 0 && view.shape[axis] > 1)
      strides[shift + i] = view.strides[axis];
  return strides;
}

/// Axes of a feature map as batch, depth, height, width.
static llvm::SmallVector<int64_t, 4> mapAxes(int64_t rank) {
  llvm::SmallVector<int64_t, 4> axes{0};
  axes.append(5 - rank, -1);
  for (int64_t i = 2; i < rank; ++i)
    axes.push_back(i);
  return axes;
}

/// Where drains write: what they cannot encode goes to scratch memory. Scratch
/// memory of shared functions is for some of them only.
static const View &drainTarget(const TileContext &tile) {
  return tile.scratch.empty() || npu::vectorShareOf(tile.op) > 0
             ? tile.result
             : tile.scratch[0];
}

template <typename Op>
ProductGeometry ProductGeometry::ofConv(Op conv, const TileContext &tile) {
  int64_t rank = tile.out.size.size(), spatial = rank - 2;
  ProductGeometry geometry;
  geometry.x = tile.operands[0];
  geometry.y = drainTarget(tile);
  if (const analysis::Lanes &lanes = tile.model->operands[0].lanes;
      !lanes.spread())
    geometry.xLanes = lanes;
  geometry.yLanes = tile.model->lanes;
  auto axes = mapAxes(rank);
  geometry.xStrides = rightAligned(geometry.x, axes);
  geometry.yStrides = rightAligned(geometry.y, axes);
  if (conv.getResidual()) {
    geometry.residual = tile.operands.back();
    geometry.residualLanes = tile.model->operands.back().lanes;
    geometry.residualStrides = rightAligned(geometry.residual, axes);
  }
  if (!tile.model->operands[1].streamed)
    geometry.setKernel(tile.operands[1]);
  geometry.extent[0] = tile.out.size[0];
  auto input = shapeOf(conv.getX()), weights = shapeOf(conv.getW());
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t d = 3 - spatial + i;
    geometry.extent[1 + d] = tile.out.size[2 + i];
    geometry.kernel[d] = weights[2 + i];
    geometry.stride[d] = conv.getStrides()[i];
    geometry.dilation[d] = conv.getDilations()[i];
    geometry.origin[d] =
        tile.out.start[2 + i] * conv.getStrides()[i] - conv.getPads()[i];
    geometry.input[d] = input[2 + i];
    geometry.held[d] = tile.operandRegions[0].start[2 + i];
  }
  return geometry;
}

/// Columns are the outputs of a kernel [O, C, ..] in the state buffer, and
/// every tap lies at an offset of its own.
void ProductGeometry::setKernel(const View &kernelView) {
  stationary = kernelView;
  columnStride = kernelView.strides[0];
  const auto taps = llvm::ArrayRef(kernelView.strides).drop_front(2);
  for (auto [i, stride] : llvm::enumerate(taps))
    tapStrides[3 - taps.size() + i] = stride;
}

/// The rows of a step read the windows of a higher kernel together. Where the
/// last step has fewer results, the others read nothing beyond what the tile
/// holds.
void ProductGeometry::packRows(const TileContext &tile,
                               const machine::Description &machine) {
  resultRows = extent[2];
  packing = analysis::packingOf(analysis::productShape(tile.op), machine);
  if (!packing.packs())
    return;
  const size_t height = tile.out.size.size() - 2;
  const int64_t taken = tile.operandRegions[0].size[height];
  extent[2] = llvm::divideCeilSigned(resultRows, packing.rows);
  kernel[1] = packing.height();
  dilation[1] = 1;
  if (packing.apart) {
    // A step of the operand is a row of the view.
    origin[1] =
        tile.out.start[height] / packing.rows * stride[1] + packing.firstStep();
    held[1] /= packing.rows;
    input[1] =
        std::min(input[1] / packing.rows, held[1] + taken / packing.rows);
    return;
  }
  stride[1] *= packing.rows;
  input[1] = std::min(input[1], held[1] + taken);
}

/// The tile is one of reduced results: sums are those that their windows reach.
void ProductGeometry::poolMap(npu::PoolingAttr pooling, const TileContext &tile,
                              const machine::Description &machine) {
  PooledMap map;
  map.average = pooling.getKind() == "avg";
  map.type = analysis::storageOf(pooling.getMap());
  map.entries = analysis::pooledEntries(machine);
  for (int64_t i = 0; i < 2; ++i) {
    PoolAxis &axis = i == 0 ? map.rows : map.columns;
    const int64_t d = 1 + i, mapExtent = pooling.getMap().getShape()[2 + i];
    const int64_t first = pooling.getPads()[i], last = pooling.getPads()[2 + i];
    axis.kernel = pooling.getKernel()[i];
    axis.step = pooling.getStrides()[i];
    axis.dilation = pooling.getDilations()[i];
    axis.in = mapExtent;
    axis.pad = first;
    axis.resultStride = yStrides[1 + d];
    // Positions of the map before the tile are not summed up.
    int64_t start = 0;
    axis = axis.part(tile.out.start[2 + i], tile.out.size[2 + i], start);
    axis.countLow = (pooling.getIncludePad() ? -first : 0) - start;
    axis.countHigh = mapExtent + (pooling.getIncludePad() ? last : 0) - start;
    extent[1 + d] = axis.in;
    origin[d] += (start - tile.out.start[2 + i]) * stride[d];
  }
  pooled = map;
}

std::vector<Window> ProductGeometry::pooledWindows() const {
  std::vector<Window> windows;
  partition::forEachPooledWindow(
      extent[0], pooled->rows, extent[3], pooled->entries,
      [&](const Window &window) { windows.push_back(window); });
  return windows;
}

std::vector<ProductGeometry> ProductGeometry::pooledBands(int64_t rows) const {
  std::vector<ProductGeometry> bands;
  const PoolAxis &axis = pooled->rows;
  for (int64_t image = 0; image < extent[0]; ++image)
    for (int64_t first = 0; first < axis.out; first += rows) {
      ProductGeometry band = *this;
      int64_t start = 0;
      band.pooled->rows =
          axis.part(first, std::min(rows, axis.out - first), start);
      band.extent[0] = 1;
      band.extent[2] = band.pooled->rows.in;
      band.origin[1] += start * stride[1];
      band.x.base += image * xStrides[0];
      band.y.base += image * yStrides[0] + first * axis.resultStride;
      bands.push_back(std::move(band));
    }
  return bands;
}

/// The part of an operand or result that a matrix of a product has. `index` is
/// that of the matrix in the first axes of a result of rank `rank`.
static View matrixOf(const View &view, llvm::ArrayRef<int64_t> index,
                     int64_t rank, const machine::Description &machine) {
  Region region = Region::whole(view.shape);
  const int64_t offset = rank - view.rank();
  for (auto [i, at] : llvm::enumerate(index)) {
    const int64_t axis = static_cast<int64_t>(i) - offset;
    if (axis < 0 || view.shape[axis] == 1)
      continue;
    region.start[axis] = at;
    region.size[axis] = 1;
  }
  return view.slice(region, machine);
}

/// One product per batch: the stationary operand changes with it, and where the
/// others lie across partitions may.
void ProductGeometry::addBatches(const TileContext &tile,
                                 const machine::Description &machine) {
  int64_t rank = static_cast<int64_t>(tile.out.size.size());
  int64_t batchRank = rank - 2;
  llvm::SmallVector<int64_t, 4> index(batchRank, 0);
  ProductGeometry one = *this;
  for (int d = 0; d < 3; ++d)
    one.extent[d] = 1;
  for (int d = 0; d < 2; ++d)
    one.input[d] = 1;
  while (true) {
    ProductGeometry batch = one;
    for (View *view : {&batch.x, &batch.y, &batch.residual})
      *view = matrixOf(*view, index, rank, machine);
    batch.stationary = matrixOf(tile.operands[1], index, rank, machine);
    batch.columnStride = batch.stationary->strides.back();
    perBatch.push_back(std::move(batch));
    int64_t i = batchRank - 1;
    for (; i >= 0; --i) {
      if (++index[i] < tile.out.size[i])
        break;
      index[i] = 0;
    }
    if (i < 0)
      return;
  }
}

llvm::Expected<ProductGeometry>
ProductGeometry::ofMatmul(Generator &generator, const TileContext &tile) {
  auto matmul = cast<npu::PeMatmulOp>(tile.op);
  int64_t rank = tile.out.size.size();
  ProductGeometry geometry;
  geometry.x = tile.operands[0];
  geometry.y = drainTarget(tile);
  bool dynamic = !tile.model->operands[1].streamed;
  if (rank > 5)
    return generator.unsupported(tile.op, "matrix products of rank above 5");
  llvm::SmallVector<int64_t, 4> yAxes, xAxes;
  int64_t offset = rank - geometry.x.rank();
  for (int64_t i = 0; i + 1 < rank; ++i) {
    yAxes.push_back(i);
    xAxes.push_back(i < offset ? -1 : i - offset);
  }
  geometry.xStrides = rightAligned(geometry.x, xAxes);
  geometry.yStrides = rightAligned(geometry.y, yAxes);
  if (matmul.getResidual()) {
    geometry.residual = tile.operands.back();
    llvm::SmallVector<int64_t, 4> axes;
    for (int64_t i : yAxes)
      axes.push_back(i - (rank - geometry.residual.rank()));
    geometry.residualStrides = rightAligned(geometry.residual, axes);
  }
  for (auto [i, axis] : llvm::enumerate(yAxes))
    geometry.extent[4 - yAxes.size() + i] = tile.out.size[axis];
  for (int d = 0; d < 3; ++d)
    geometry.input[d] = geometry.extent[1 + d];
  if (dynamic)
    geometry.addBatches(tile, generator.machine);
  return geometry;
}

llvm::Expected<ProductGeometry> ProductGeometry::of(Generator &generator,
                                                    const TileContext &tile) {
  if (auto conv = dyn_cast<npu::PeConvOp>(tile.op)) {
    ProductGeometry geometry = ofConv(conv, tile);
    geometry.packRows(tile, generator.machine);
    if (npu::PoolingAttr pooling = npu::poolingOf(conv))
      geometry.poolMap(pooling, tile, generator.machine);
    return geometry;
  }
  if (auto conv = dyn_cast<npu::TcuConvOp>(tile.op)) {
    ProductGeometry geometry = ofConv(conv, tile);
    if (npu::PoolingAttr pooling = npu::poolingOf(conv))
      geometry.poolMap(pooling, tile, generator.machine);
    return geometry;
  }
  return ofMatmul(generator, tile);
}

llvm::ArrayRef<ProductGeometry> ProductGeometry::batches() const {
  if (!perBatch.empty())
    return perBatch;
  return llvm::ArrayRef(this, 1);
}

std::vector<Window> ProductGeometry::windows(int64_t entries) const {
  std::vector<Window> windows;
  partition::forEachWindow(
      extent, xLanes.count, entries,
      [&](const Window &window) { windows.push_back(window); });
  return windows;
}

void ProductGeometry::cut(const Piece &whole,
                          std::vector<Piece> &pieces) const {
  const bool folded =
      xLanes.folded() || yLanes.folded() || residualLanes.folded();
  partition::forEachPiece(whole.window, folded,
                          [&](const Window &piece, int64_t first) {
                            pieces.push_back({piece, whole.psum + first});
                          });
}

std::array<int64_t, 3> ProductGeometry::positionOf(int64_t tap) const {
  return {tap / (kernel[1] * kernel[2]), tap / kernel[2] % kernel[1],
          tap % kernel[2]};
}

int64_t ProductGeometry::tapOffset(int64_t tap) const {
  int64_t offset = 0;
  for (auto [at, stride] : llvm::zip(positionOf(tap), tapStrides))
    offset += at * stride;
  return offset;
}

MovingPattern ProductGeometry::moving(const Window &window, int64_t tap) const {
  const std::array<int64_t, 3> at = positionOf(tap);
  MovingPattern pattern{};
  pattern.offset = x.base + window.start[0] * xStrides[0];
  bool batched = window.leadingDim() == 0;
  bool empty = false;
  for (int d = 0; d < 3; ++d) {
    int64_t first =
        origin[d] + window.start[1 + d] * stride[d] + at[d] * dilation[d];
    // Positions k with 0 <= first + k * stride < input read memory.
    int64_t count = window.size[1 + d];
    int64_t low = first >= 0 ? 0 : llvm::divideCeil(-first, stride[d]);
    int64_t high = input[d] - first <= 0
                       ? 0
                       : static_cast<int64_t>(
                             llvm::divideCeil(input[d] - first, stride[d]));
    pattern.low[d] = std::min(low, count);
    pattern.high[d] = std::clamp(high, pattern.low[d], count);
    pattern.count[d] = count;
    empty |= pattern.low[d] == pattern.high[d];
    if (d == 2 && xLanes.folded()) {
      // Rows are whole in memory; the array itself turns pixels to addresses.
      pattern.shift = first;
      pattern.low[d] = 0;
      pattern.high[d] = input[d];
      pattern.stride[d] = xStrides[3];
      continue;
    }
    pattern.stride[d] = stride[d] * xStrides[1 + d];
    pattern.offset += (first - held[d]) * xStrides[1 + d];
  }
  if (batched && !empty) {
    // Depth has one position: its validity is that of the whole window.
    pattern.count[0] = window.size[0];
    pattern.stride[0] = xStrides[0];
    pattern.low[0] = 0;
    pattern.high[0] = window.size[0];
  } else if (batched) {
    pattern.count[0] = window.size[0];
  }
  if (empty) {
    pattern.offset = x.base;
    for (int d = 0; d < 3; ++d)
      pattern.low[d] = pattern.high[d] = 0;
  }
  return pattern;
}

} // namespace ashlar::codegen
