// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emitter of products on the PE array (EmitProduct.cpp) and of those whose
// drain reduces windows (EmitPooled.cpp).

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_PRODUCTEMITTER_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_PRODUCTEMITTER_H

#include "../Generator.h"
#include "../ProductGeometry.h"
#include "SharedDrains.h"

#include "ashlar/Analysis/Cost/ProductWindows.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::codegen {

/// The part of a window that belongs to one lane of a folded result or
/// residual: every Ws-th position of a row.
struct DrainLane {
  int64_t first = 0; ///< within the window
  int64_t count = 0;
  int64_t step = 1;
  int64_t lane = 0;
};

/// Emits one tile of a convolution or product with stationary weights.
class ProductEmitter {
public:
  using Piece = ProductGeometry::Piece;
  using ColumnTile = analysis::ColumnTile;

  ProductEmitter(Generator &generator, const TileContext &tile,
                 const ProductGeometry &geometry)
      : generator(generator), machine(generator.machine), tile(tile),
        whole(geometry), geometry(&geometry),
        firstOutput(tile.model->outputAxis < 0
                        ? 0
                        : tile.out.start[tile.model->outputAxis]),
        entries(static_cast<int64_t>(machine.psum.entriesPerBank)),
        shared(generator, tile,
               std::max(geometry.yLanes.count, geometry.residualLanes.count)) {
    if (auto conv = mlir::dyn_cast<npu::PeConvOp>(tile.op);
        conv && !geometry.pooled && !shared.active()) {
      // Tiles of an operation are many; all of it decides.
      auto [known, isNew] =
          generator.windowEntries.try_emplace(tile.op, entries);
      if (isNew)
        known->second = analysis::windowEntries(conv, geometry.xLanes,
                                                geometry.yLanes, machine);
      entries = known->second;
    }
  }

  llvm::Error run();

private:
  std::pair<size_t, size_t> columnsOfTile(size_t product) const;
  bool endsChannelTile(size_t product, size_t index) const;
  llvm::Error emitWhole(size_t product, size_t index, bool last);
  llvm::Error emitParts(size_t product, size_t first, size_t count);
  void emitColumn(const ColumnTile &column, const ChunkPlace &place, bool last);
  llvm::Error emitPart(size_t product, size_t index,
                       llvm::ArrayRef<Piece> pieces);
  std::vector<Piece> drainedOf(llvm::ArrayRef<Piece> windows) const;
  bool needsTerms(llvm::ArrayRef<ColumnTile> parts) const;
  bool keepsPace(const ColumnTile &column) const;
  size_t groupWindows() const;
  std::vector<Window> windowsOf(int64_t most) const;
  std::vector<Piece> placeInBanks(llvm::ArrayRef<Window> windows);
  void emitLoad(const ColumnTile &column, size_t index,
                const ChunkPlace &place);
  void emitMatmul(const ColumnTile &column, size_t index, const Window &window,
                  int64_t psum);
  void emitDrain(const ColumnTile &column, const Window &window, int64_t psum,
                 const ChunkPlace &place);
  void emitPooled(const ColumnTile &column, const Window &window, int64_t psum,
                  const ChunkPlace &place);
  void emitDrainLane(const ColumnTile &column, const Window &window,
                     const DrainLane &lane, int64_t psum,
                     const ChunkPlace &place);
  void setDrainTargets(isa::ActDrain &drain, const ColumnTile &column,
                       const Window &window, const DrainLane &lane);

  Generator &generator;
  const machine::Description &machine;
  const TileContext &tile;
  const ProductGeometry &whole;
  const ProductGeometry *geometry; ///< of the batch being emitted
  int64_t firstOutput;             ///< of the tile
  int64_t entries;                 ///< of a bank that whole columns take
  SharedDrains shared;
  bool drains = false;      ///< some sums have been drained
  bool statesTerms = false; ///< loads of this column say how many cells count
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_PRODUCTEMITTER_H
