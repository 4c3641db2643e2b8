// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of a convolution or matrix product as four loops over result
// positions (batch, depth, height, width) and the byte strides that go along.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_PRODUCTGEOMETRY_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_PRODUCTGEOMETRY_H

#include "Generator.h"
#include "ashlar/Partition/Windows.h"
#include <array>

namespace ashlar::codegen {

using DimStrides = partition::Positions4;
using partition::PoolAxis;
using partition::Window;

/// Moving operand of one tap over a window: three dims as pe.matmul has them.
struct MovingPattern {
  int64_t offset;
  int64_t count[3];
  int64_t stride[3];
  int64_t low[3];
  int64_t high[3];
  /// Row groups: pixel of result 0; low and high of the last dim are pixels.
  int64_t shift = 0;
};

/// Windows of a map that its drain reduces: along height and width, relative to
/// the positions that the tile sums up.
struct PooledMap {
  bool average = false;
  analysis::StorageType type; ///< what an entry becomes first
  PoolAxis rows, columns;
  int64_t entries = 0; ///< of PSUM that a window of sums may take
};

struct ProductGeometry {
  View x;        ///< moving operand
  View y;        ///< where the drain writes (result or f32 scratch)
  View residual; ///< if the operation has one
  /// Run-time stationary operand: a matrix [.., K, N] of the current batch, or
  /// a kernel [O, C, ..].
  std::optional<View> stationary;
  /// Bytes from one of its columns to the next, and from tap to tap along
  /// depth, height and width.
  int64_t columnStride = 0;
  std::array<int64_t, 3> tapStrides{0, 0, 0};
  DimStrides extent{1, 1, 1, 1}; ///< result positions of the tile
  DimStrides xStrides{}, yStrides{}, residualStrides{};
  // Convolution parameters of depth, height, width.
  std::array<int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  /// Input coordinate of tap 0 at tile position 0, and the input extents.
  std::array<int64_t, 3> origin{0, 0, 0}, input{1, 1, 1};
  /// Input coordinate of the first element that `x` holds.
  std::array<int64_t, 3> held{0, 0, 0};
  /// Rows of results that a step has side by side: `extent` counts steps along
  /// the height, `resultRows` the results there, of which the last step may
  /// have fewer.
  analysis::RowPacking packing;
  int64_t resultRows = 1;
  /// Lane folds of the moving operand, the result and the residual; these are
  /// then the plain maps in memory, whose W strides are those of Ws pixels. The
  /// last two are folded alike if both are.
  analysis::Lanes xLanes, yLanes, residualLanes;
  /// Windows that the drain reduces: `extent` then counts sums, the strides of
  /// `y` are those of reduced results.
  std::optional<PooledMap> pooled;
  /// Further geometries when run-time weights differ per batch.
  std::vector<ProductGeometry> perBatch;

  static llvm::Expected<ProductGeometry> of(Generator &generator,
                                            const TileContext &tile);

  /// The geometries to run, this one if weights are shared.
  llvm::ArrayRef<ProductGeometry> batches() const;
  /// Boxes of at most `entries` positions that cover the tile.
  std::vector<Window> windows(int64_t entries) const;
  /// The sums of whole rows of reduced results, as many as fit.
  std::vector<Window> pooledWindows() const;
  /// Bands of `rows` rows of reduced results of an image, as geometries of
  /// their own.
  std::vector<ProductGeometry> pooledBands(int64_t rows) const;
  /// A window, or a part of one, with the PSUM entry of its first position.
  struct Piece {
    Window window;
    int64_t psum = 0;
  };
  /// Appends a window cut into a few pieces of equal size, in PSUM order.
  void cut(const Piece &whole, std::vector<Piece> &pieces) const;
  MovingPattern moving(const Window &window, int64_t tap) const;
  /// Bytes from the first tap of a run-time kernel to `tap`.
  int64_t tapOffset(int64_t tap) const;

private:
  /// Depth, height and width of a tap.
  std::array<int64_t, 3> positionOf(int64_t tap) const;
  void setKernel(const View &kernelView);
  void poolMap(npu::PoolingAttr pooling, const TileContext &tile,
               const machine::Description &machine);
  void addBatches(const TileContext &tile, const machine::Description &machine);
  template <typename Op>
  static ProductGeometry ofConv(Op conv, const TileContext &tile);
  void packRows(const TileContext &tile, const machine::Description &machine);
  static llvm::Expected<ProductGeometry> ofMatmul(Generator &generator,
                                                  const TileContext &tile);
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_PRODUCTGEOMETRY_H
