// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution on the sparse cluster between plan and instructions: its tile
// plan and its coefficient streams, packed as they are in DRAM and in weight
// memory (WM).

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_TILEPROGRAM_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_TILEPROGRAM_H

#include "ProgramBuilder.h"
#include "ashlar/Analysis/Sparse/TilePlan.h"

#include <deque>
#include <map>
#include <memory>

namespace ashlar::codegen {

/// Streams of one chunk: one for each group of units, at equal distances.
struct ChunkStreams {
  analysis::Chunk chunk; ///< of group 0
  /// Of the chunks that are loaded at once and handed on.
  int64_t turn = 0, turns = 1;
  int64_t offset = 0; ///< of each group's stream in the wave's share of WM
  int64_t bytes = 0;  ///< room of the longest stream
  /// Where initial sums lie after the stream, from `offset` on; -1: nowhere.
  int64_t initial = -1;
  int64_t room = 0;        ///< of the stream and what follows it
  int64_t firstRegion = 0; ///< region of the wave that region 0 of a stream is
  int64_t regions = 0;     ///< regions that a stream may name
};

/// A wave of columns with the streams of its chunks.
struct WaveStreams {
  analysis::ColumnWave wave;
  /// The columns that share the loaded tiles: these, or all of them.
  analysis::ColumnWave inputs;
  std::vector<ChunkStreams> chunks;
  int64_t bytes = 0; ///< of one group
  /// The streams of one group after the other, `bytes` apart.
  std::vector<uint8_t> data;
  int64_t address = -1; ///< in DRAM, once it is placed
  /// Sums start from the bias, not from zero.
  bool startsAtBias() const {
    return !chunks.empty() && chunks.front().initial >= 0;
  }
};

/// Everything about one convolution that does not depend on the tile of the
/// state buffer.
struct TileProgram {
  uint32_t node = 0;
  analysis::TileProblem problem;
  analysis::TilePlan plan;
  std::vector<WaveStreams> waves;
  /// Folds of the tiles of the state buffer, by row and column of the first
  /// result of each; empty: those of the plan are for all.
  std::map<std::pair<int64_t, int64_t>, std::vector<analysis::TileFold>> folds;
  /// Whole waves stay in weight memory while tiles pass; otherwise each chunk
  /// is fetched for every round of tiles.
  bool resident = true;
};

/// Plans `op` for results of `extent` and packs its coefficients. Capacity
/// errors if no tile or no stream fits.
llvm::Expected<std::unique_ptr<TileProgram>>
buildTileProgram(mlir::Operation *op, llvm::ArrayRef<int64_t> extent,
                 const machine::Description &machine);

/// What is loaded into weight memory as one: chunks [firstChunk, firstChunk +
/// chunks) of a wave, for all groups.
struct StreamBlock {
  TileProgram *program = nullptr;
  size_t wave = 0, firstChunk = 0, chunks = 0;
};

/// Where a block lies in weight memory.
struct StreamPlace {
  int64_t base = 0;   ///< of what the wave calls offset 0, in group 0
  int64_t wmStep = 0; ///< between two groups
};

/// Loads stream blocks in the order of their first use, as early in the program
/// as weight memory has room. Like the weight stream of the array, it learns
/// the order in a first run of the generator.
///
/// The streams of a block lie at equal distances, in different banks; blocks of
/// any number of groups share the memory. Room is counted in cells of at least
/// 64 bytes, and taken where it has been free longest.
class StreamLoader {
public:
  explicit StreamLoader(ProgramBuilder &builder);

  /// Begins the real run.
  void replay();
  /// The place of a block; returns its number for release() too.
  llvm::Expected<std::pair<size_t, StreamPlace>>
  acquire(const StreamBlock &block);
  /// Instructions emitted from now on may overwrite the block.
  void release(size_t number);
  /// Loads what there is room for.
  void pump();

private:
  /// Room of a block: `bytes` of each group, groups `step` apart.
  struct Extent {
    int64_t bytes = 0, step = 0, groups = 1;
  };
  struct Live {
    size_t number;
    int64_t base;
    Extent extent;
  };
  Extent extentOf(const StreamBlock &block) const;
  void mark(int64_t base, const Extent &extent, bool used);
  std::optional<int64_t> reserve(const Extent &extent) const;
  bool loadNext();
  void load(const StreamBlock &block, int64_t base, const Extent &extent);

  ProgramBuilder &builder;
  bool recording = true;
  std::vector<StreamBlock> order;
  std::map<size_t, StreamPlace> places;
  size_t nextToLoad = 0, nextUse = 0;
  std::deque<Live> live;
  int64_t cell;           ///< bytes of a cell
  std::vector<bool> used; ///< by cell
  int64_t head = 0;       ///< after the last block
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_TILEPROGRAM_H
