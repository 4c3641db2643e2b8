// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the instructions of a convolution on the sparse cluster say of its
// feature map, and the tables of its tiles.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_TILETABLES_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_TILETABLES_H

#include "../Generator.h"
#include "../ProductGeometry.h"

#include <map>
#include <tuple>

namespace ashlar::codegen {

/// The feature map of a convolution, as far as it is loaded.
struct LoadedMap {
  const TileContext &tile;
  const ProductGeometry &geometry;
  const analysis::TileProblem &problem;
  const machine::Description &machine;

  template <typename Op>
  void setWindows(Op &op) const {
    op.kH = problem.kernel[0], op.kW = problem.kernel[1];
    op.sH = problem.stride[0], op.sW = problem.stride[1];
    op.dH = problem.dilation[0], op.dW = problem.dilation[1];
  }

  /// Rows and columns that are loaded or counted.
  template <typename Op>
  void setExtents(Op &op) const {
    int64_t rank = geometry.x.rank();
    op.inH = rank > 3 ? geometry.x.shape[rank - 2] : 1;
    op.inW = geometry.x.shape[rank - 1];
  }

  /// Where taps meet what is loaded.
  template <typename Op>
  void setOperand(Op &op) const {
    setWindows(op);
    setExtents(op);
    op.pH = static_cast<int32_t>(geometry.held[1] - geometry.origin[1]);
    op.pW = static_cast<int32_t>(geometry.held[2] - geometry.origin[2]);
  }

  /// The feature map that is loaded or counted, from `channel` on.
  template <typename Op>
  void setSource(Op &op, int64_t channel) const {
    const View &view = geometry.x;
    int64_t position = view.part + channel;
    auto partitions = static_cast<int64_t>(machine.sb.partitions);
    op.part = position % partitions;
    op.offset = view.base + position / partitions * view.tileStride;
    op.inN = geometry.extent[0];
    setExtents(op);
    op.srcStrideN = static_cast<int32_t>(geometry.xStrides[0]);
    op.srcStrideH = static_cast<int32_t>(geometry.xStrides[2]);
    op.srcStrideW = static_cast<int32_t>(geometry.xStrides[3]);
    op.srcTileStride = static_cast<int32_t>(view.tileStride);
  }
};

/// Writes tile tables.
class TileTables {
public:
  TileTables(Generator &generator, const LoadedMap &map,
             const TileProgram &program);

  /// Rounds of tiles.
  int64_t rounds() const;
  /// The table of a round's tiles for `copies` groups of units; written when it
  /// is first requested. Few rounds keep their tables, many take them in turn.
  unsigned of(int64_t round, int64_t copies);

  /// The table for loads of a round, where `parts` of the groups have channels
  /// of their own: the number of a group is that of its channels.
  unsigned loads(int64_t round, int64_t copies, int64_t parts);
  /// A table of the same tiles, each of which is in the memory of the unit that
  /// has it `turn` groups further on.
  unsigned handedOn(int64_t round, int64_t copies, int64_t turn);

private:
  llvm::ArrayRef<analysis::TileFold> foldsOfTile() const;
  /// Tiles [first, first + high * wide) of the grid.
  struct Rectangle {
    int64_t first = 0, high = 1, wide = 1;
    int64_t tiles() const { return high * wide; }
  };
  std::vector<Rectangle> rectanglesOf(int64_t round) const;
  enum class Use { Runs, Loads, Turns };
  /// The table of a round's tiles for a use, and whether it is to be written.
  std::pair<unsigned, bool> take(Use use, int64_t round, int64_t copies);
  void emitTable(unsigned table, int64_t round, int64_t copies, int64_t parts);
  template <typename Op>
  void emitCuts(unsigned table, int64_t round, int64_t copies);
  void emitCount();
  void emitPart(unsigned table, int64_t round, int64_t copies);
  void emitTiles(isa::TccTile op);
  void emitTiles(isa::TccOperand op);

  Generator &generator;
  const machine::Description &machine;
  const LoadedMap &map;
  const TileContext &tile;
  const ProductGeometry &geometry;
  const TileProgram &program;
  const analysis::TilePlan &plan;
  /// Of the tile of the state buffer; empty: a grid of equal tiles.
  llvm::ArrayRef<analysis::TileFold> folds;
  int64_t grid[3], units;
  bool counted = false; ///< the input, for cuts at run time
  std::map<std::tuple<Use, int64_t, int64_t>, unsigned> tables;
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_TILETABLES_H
