// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What instructions of the sparse cluster touch of a feature map when the tiles
// of their table are known.

#include "ashlar/Isa/Tiles.h"
#include <algorithm>

using namespace ashlar::isa;

namespace {

/// [begin, end) along one axis.
struct Range {
  int64_t begin, end;
};

Range unite(int64_t a, int64_t aCount, int64_t b, int64_t bCount) {
  return {std::min(a, b), std::max(a + aCount, b + bCount)};
}

Range inputAlong(int64_t first, int64_t results, int64_t kernel, int64_t stride,
                 int64_t dilation, int64_t pad, int64_t extent) {
  const int64_t low = first * stride - pad;
  const int64_t high =
      (first + results - 1) * stride + (kernel - 1) * dilation + 1 - pad;
  return {std::max<int64_t>(low, 0), std::min(high, extent)};
}

} // namespace

void MapBox::include(const MapBox &other) {
  if (other.empty())
    return;
  if (empty()) {
    *this = other;
    return;
  }
  const Range ns = unite(n, images, other.n, other.images);
  const Range ys = unite(y, rows, other.y, other.rows);
  const Range xs = unite(x, cols, other.x, other.cols);
  *this = {ns.begin,          ys.begin,          xs.begin,
           ns.end - ns.begin, ys.end - ys.begin, xs.end - xs.begin};
}

MapBox ashlar::isa::resultsOf(const TccTile &op) {
  auto left = [](int64_t first, int64_t tiles, int64_t extent, int64_t end) {
    return std::max<int64_t>(std::min(first + tiles * extent, end) - first, 0);
  };
  return {op.n0,
          op.y0,
          op.x0,
          left(op.n0, op.gridN, op.images, op.endN),
          left(op.y0, op.gridH, op.tileH, op.endH),
          left(op.x0, op.gridW, op.tileW, op.endW)};
}

ActDrain ashlar::isa::narrow(ActDrain op, const MapBox &results) {
  auto moved = [&](uint32_t offset, int64_t s0, int64_t s1, int64_t s2) {
    return static_cast<uint32_t>(offset + results.n * s0 + results.y * s1 +
                                 results.x * s2);
  };
  op.n0 = static_cast<uint32_t>(results.images);
  op.n1 = static_cast<uint32_t>(results.rows);
  op.n2 = static_cast<uint32_t>(results.cols);
  op.dstOffset =
      moved(op.dstOffset, op.dstStride0, op.dstStride1, op.dstStride2);
  op.resOffset =
      moved(op.resOffset, op.resStride0, op.resStride1, op.resStride2);
  return op;
}

MapBox ashlar::isa::inputOf(const DmaTile &op, const MapBox &results) {
  const Range ys =
      inputAlong(results.y, results.rows, op.kH, op.sH, op.dH, op.pH, op.inH);
  const Range xs =
      inputAlong(results.x, results.cols, op.kW, op.sW, op.dW, op.pW, op.inW);
  const int64_t images =
      std::min<int64_t>(results.n + results.images, op.inN) - results.n;
  return {results.n, ys.begin,          xs.begin,
          images,    ys.end - ys.begin, xs.end - xs.begin};
}

DmaTile ashlar::isa::narrow(DmaTile op, const MapBox &input) {
  op.offset +=
      static_cast<uint32_t>(input.n * op.srcStrideN + input.y * op.srcStrideH +
                            input.x * op.srcStrideW);
  op.inN = static_cast<uint32_t>(input.images);
  op.inH = static_cast<uint32_t>(input.rows);
  op.inW = static_cast<uint32_t>(input.cols);
  return op;
}
