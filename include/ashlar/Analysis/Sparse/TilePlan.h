// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a convolution is cut for the sparse cluster in tile mode
// (docs/Machine.md, sparse cluster): output tiles and their units, groups of
// units with results of their own, channels of a buffer set, and the order of
// the loops. One model predicts the cycles that the choice of the cluster
// compares, and code generation emits what it plans.

#ifndef ASHLAR_ANALYSIS_SPARSE_TILEPLAN_H
#define ASHLAR_ANALYSIS_SPARSE_TILEPLAN_H

#include "ashlar/Analysis/Array/EncodedWeights.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Sparse/DataProfile.h"
#include "ashlar/Analysis/Sparse/KernelTurns.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/ScatterCycles.h"
#include "ashlar/Machine/TileGeometry.h"
#include "ashlar/Partition/Partition.h"
#include "ashlar/Support/Memo.h"

#include <array>
#include <memory>
#include <optional>

namespace ashlar::analysis {

/// Input channels [first, first + count).
struct ChannelRange {
  int64_t first = 0;
  int64_t count = 0;
};

/// Kernels of a column and channel that have `taps` coefficients in one phase
/// of the strides; with a single tap all kernels of the channel together.
struct SliceCount {
  uint32_t rowPhase = 0, colPhase = 0;
  uint32_t taps = 0;
  uint32_t kernels = 0;
  uint32_t moves = 0; ///< cycles of each in which the window moves on
  bool operator==(const SliceCount &other) const = default;
};

/// In which order the coefficients of a kernel meet the data.
enum class WeightOrder {
  Ascending, ///< row by row
  Snake,     ///< every other row backwards: neighbours follow each other
  Auto,      ///< in snake order where windows then move for fewer cycles
};

/// How tiles of equal work are cut, and what scatters in them.
struct CutOptions {
  machine::ScatterVariant variant = machine::ScatterVariant::D;
  partition::Algorithm algorithm = partition::Algorithm::P2;
  partition::Metric metric = partition::Metric::Nnz;
  int64_t threshold = 300; ///< largest difference of two tiles, 1/10000
  partition::CutTime time = partition::CutTime::Auto;
  partition::HaloMode halo = partition::HaloMode::Overlap;
  /// Rows and columns of the blocks that a unit scatters; 0: the whole tile.
  std::array<int64_t, 2> block{0, 0};
  WeightOrder order = WeightOrder::Auto;
};

/// What scatter mode adds to a convolution.
struct ScatterProblem {
  DataProfile data;
  CutOptions cut;
  partition::Geometry map; ///< of the whole feature map
  /// Results that are computed one after the other: tiles of the state buffer,
  /// or all of them.
  std::vector<partition::Box> parts;
  /// Of the part that the problem stands for: one that has about as many
  /// non-zeros as the mean.
  partition::Geometry geometry;
  bool drained = false; ///< the drains that make the feature map can count it
  /// Rows of taps from turn to turn of the snake; 0: ascending order.
  uint32_t turn = 0;
  std::shared_ptr<partition::PrefixSums> sums; ///< of the places, if known
  /// By column and channel of its range.
  std::vector<std::vector<std::vector<SliceCount>>> slices;

  bool whole() const { return parts.size() == 1; }
};

/// Results that leave in one drain: those of adjacent columns, which different
/// groups of units compute.
struct DrainColumn {
  size_t first = 0;    ///< column
  int64_t columns = 1; ///< all of them with as many results
  int64_t cols = 0;    ///< results
};

/// Whether the groups of units load different channels and hand them on.
enum class HandOver {
  Auto,   ///< where that takes fewer cycles
  Off,    ///< each unit takes its tiles from its own memory
  Always, ///< wherever it is possible
};

/// The depth of a kernel of three dimensions: each of its taps reads channels
/// of its own, which lie in other planes of the feature map.
struct DepthTaps {
  int64_t taps = 1;
  int64_t width = 0; ///< channels from one tap to the next; 0: two dimensions
  /// Tap that a channel belongs to, and its channel of the feature map.
  int64_t tapOf(int64_t channel) const {
    return width > 0 ? channel / width : 0;
  }
  int64_t channelOf(int64_t channel) const {
    return width > 0 ? channel % width : channel;
  }
};

/// Channels of so many gaps or more hide how the channel before ended.
inline constexpr uint64_t kLongChannel = 8;

/// The kernels that have coefficients of a channel, channel by channel.
struct ChannelShares {
  std::vector<uint32_t> first; ///< By channel, and the end; empty: of none.
  std::vector<KernelTurns::Share> all;

  llvm::ArrayRef<KernelTurns::Share> of(size_t channel) const {
    return llvm::ArrayRef(all).slice(first[channel],
                                     first[channel + 1] - first[channel]);
  }
};

/// Windows that the drains of a convolution reduce (`act.pool`): the map is
/// made in bands of rows, each of which is the entries of one drain.
struct PooledBands {
  int64_t rows = 0;  ///< of results in a band; 0: drains store the map
  int64_t share = 1; ///< entries for each result
  bool exist() const { return rows > 0; }
};

/// A convolution as the sparse cluster sees it.
struct TileProblem {
  /// Images, rows, columns of results; the planes of a map with depth are
  /// images.
  std::array<int64_t, 3> extent{1, 1, 1};
  DepthTaps depth;
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  int64_t channels = 0, outputs = 0, groups = 1;
  int64_t part = 0;          ///< partition of input channel 0
  int64_t elementBytes = 1;  ///< of a stored mantissa
  int64_t resultBytes = 1;   ///< of a stored result
  int64_t residualBytes = 0; ///< of what a drain adds to each; 0: nothing
  int weightBits = 8;        ///< of a stored coefficient
  /// Bits of an element that pass through the multipliers.
  int activationDigits = 8, weightDigits = 8;
  int64_t cellBlock = 0; ///< channels that share a plane of cells
  machine::VecCost function = machine::VecCost::Cheap; ///< of its drains
  /// The sums of all units for a result provably fit together.
  bool unitsAdd = false;
  std::vector<ColumnTile> columns; ///< results of one group of units at a time
  std::vector<DrainColumn> drains; ///< all columns, in order
  /// Result at each place of the columns, where groups of units share them out
  /// by their coefficients; within a drain. Empty: as they come.
  std::vector<int64_t> order;
  /// Coefficients that are not zero: by column and channel of its range.
  std::vector<std::vector<uint32_t>> entries;
  /// The same, as far as cycles depend on which kernels have them.
  std::vector<std::vector<machine::ChannelCrowd>> crowds;
  /// By column: the kernels of short channels with their coefficients, where
  /// the latency of sums requires it.
  std::vector<ChannelShares> shares;
  /// Zeros of the data are omitted too.
  std::optional<ScatterProblem> scatter;
  /// Coefficients that are zero are issued: all of them count as entries.
  bool issuesZeros = false;
  /// Sums start from the bias, which weight memory holds next to the streams.
  bool biasInSums = false;
  HandOver handOver = HandOver::Off;
  /// Of the drains. The bands of all images are then the images of `extent`.
  PooledBands pooled;
  bool kept = false; ///< drains have put all of the operand into the units
  /// Drains put the results into a buffer set that no load may take.
  bool leaves = false;
  /// Bytes per partition for the records of a wave, which are read again for
  /// every tile then; 0: those of all columns stay.
  int64_t recordRoom = 0;
  /// The result at a place of a column.
  int64_t outputAt(int64_t place) const {
    return order.empty() ? place : order[place];
  }
  int64_t positions() const { return extent[0] * extent[1] * extent[2]; }
  /// Passes of the digit multipliers for a product.
  uint64_t passes(const machine::Description &machine) const {
    return machine::pePasses(machine, activationDigits, weightDigits);
  }
};

/// By output: the lane of its drain that has its sums, where the results are
/// shared out; empty: its own.
std::vector<int64_t> sourceLanes(const TileProblem &problem);

/// Input channels that a column of outputs reads.
ChannelRange channelsOf(const TileProblem &problem, size_t column);

/// True if the machine's loads know planes of exponent cells for so many
/// channels.
bool isCellPlane(int64_t channels, const machine::Description &machine);

/// Channels that share a plane of exponent cells in the sparse cluster: the
/// longest plane that `dma.tile` knows, whose blocks divide those of the
/// feature map and its partitions; 0 if there is none. An exponent is repeated
/// in every plane of its block.
int64_t cellPlane(const numerics::BlockFormat &format,
                  const machine::Description &machine);

/// The depth of a convolution's kernel, for its operand as the machine's loads
/// take it.
DepthTaps depthTaps(mlir::Operation *op, const machine::Description &machine);

/// The weights of a convolution as the sparse cluster reads them.
EncodedWeights tileWeights(mlir::Operation *op,
                           const machine::Description &machine);
/// Which of them are not zero.
WeightPattern tilePattern(mlir::Operation *op,
                          const machine::Description &machine);

/// The problem of a convolution, `npu.pe.conv` or `npu.tcu.conv`, with its
/// tileWeights(), for results of `extent` (batch, spatial dimensions). The
/// results of a drain are split over `parts` groups of units, or as many as
/// divide them (0: as the operation says), with planes of cells as narrow as
/// that takes. Zeros are issued if `issuesZeros` or the operation says so.
TileProblem tileProblem(mlir::Operation *op, const WeightPattern &weights,
                        llvm::ArrayRef<int64_t> extent,
                        const machine::Description &machine, int64_t parts = 0,
                        bool issuesZeros = false);

/// What `binding` asks of a convolution; off where the machine has no routes
/// for it, and where its operand may begin inside a channel tile.
HandOver handOverOf(mlir::Operation *op, llvm::StringRef binding,
                    const machine::Description &machine);

/// Makes a problem one of scatter mode.
void addScatter(TileProblem &problem, mlir::Operation *op,
                const WeightPattern &weights, DataProfile data,
                const CutOptions &cut, const machine::Description &machine);

/// Rows of `rowBytes` bytes each that one tcc.nnz counts: the passes over a
/// feature map follow what stores it, and the last one is waited for.
int64_t countedRows(int64_t rowBytes, const machine::Description &machine);

/// Scatter mode as an attribute.
npu::ScatterAttr scatterAttr(const DataProfile &data, const CutOptions &cut,
                             mlir::MLIRContext *context);

/// addScatter() as the scatter mode of `op` says, if it has one.
void addScatterOf(TileProblem &problem, mlir::Operation *op,
                  const WeightPattern &weights,
                  const machine::Description &machine);

/// Columns that run at the same time, one for each group of units.
struct ColumnWave {
  size_t first = 0;
  int64_t count = 1;
  size_t firstDrain = 0;
  int64_t drains = 0;    ///< that take these columns, all of each
  int64_t groupStep = 0; ///< channels between the inputs of two groups
  /// The channels of all groups cross into another channel tile: they have to
  /// be loaded at once.
  bool crosses = false;
};

/// Channels of a wave that are in a buffer set together, relative to the first
/// channel of each column's range.
using Chunk = ChannelRange;

/// What the units do at a time when tiles have equal work instead of equal
/// size.
struct TileFold {
  partition::Box region; ///< of the results
  /// A tile for each unit, idle ones empty; of the results, or of the operand.
  std::vector<partition::Box> cuts;
};

struct TilePlan {
  int64_t images = 1, rows = 1, cols = 1; ///< of the largest tile
  int64_t groups = 1;                     ///< of units
  bool wideOnly = false;                  ///< narrow units stay idle
  int64_t slots = 1;                      ///< channels that a buffer set holds
  bool twoSums = false;      ///< sums of a wave drain while the next run
  bool tilesOutside = false; ///< all columns run on a tile before the next
  /// Groups of units that load different channels and hand them on to each
  /// other; 1: each has all channels in its own memories.
  int64_t turns = 1;
  /// Channels that share a plane of cells: those of the problem, or fewer, so
  /// that several queues share a load.
  int64_t cellBlock = 0;
  // Predicted cycles: of the whole, and of each engine alone.
  int64_t cycles = 0, run = 0, load = 0, drain = 0, stream = 0;
  /// Of the cycles, waits for the latency of loads: in a network these overlap
  /// with what the producer of the map still drains and with other layers.
  int64_t overlapped = 0;
  /// Cycles in a network, by which plans and clusters are compared.
  int64_t inNetwork() const { return cycles - overlapped; }
  bool scatter = false; ///< non-zero data only
  /// Unequal tiles; empty: the grid of equal ones.
  std::vector<TileFold> folds;
  /// The machine cuts the regions of `folds`, into tiles of at most rows x
  /// cols; their cuts are those expected.
  bool cutAtRunTime = false;
  /// Tiles of the operand: `cuts` are of the operand, and drains add what the
  /// units have for a result. rows x cols are the results of the largest tile.
  bool disjoint = false;
  bool equal = false; ///< disjoint tiles are as equal in size as can be
  /// Tiles follow the non-zeros: each part of the results has folds of its own,
  /// with tiles of at most rows x cols; `folds` are those of the part that the
  /// problem stands for.
  bool byWork = false;
  int64_t moveRounds = 0; ///< of p1, in each tcc.part
  int64_t probes = 0;     ///< boxes that a tcc.part is expected to look up
  double spread = 0;      ///< of the cuts: largest difference of two tiles
  bool met = true;        ///< within the threshold
  /// Largest over mean non-zeros of the units, as predicted; of a grid of as
  /// many equal tiles.
  double balance = 1, gridBalance = 1;

  /// True if tiles are not those of a grid of results.
  bool isCut() const { return !folds.empty(); }
  /// Rounds that the tiles of all images take on `units` units.
  int64_t rounds(const TileProblem &problem, int64_t units) const;
  /// Tiles of a grid in each round but the last: those of a band where drains
  /// pool.
  int64_t tilesOfRound(const TileProblem &problem, int64_t units) const;
  machine::TileGeometry geometry(const TileProblem &problem) const;
  /// Tiles of the results along images, rows, columns.
  std::array<int64_t, 3> grid(const TileProblem &problem) const;
  int64_t tiles(const TileProblem &problem) const;
  /// The columns that share a load of `wave`: all of them with tilesOutside.
  ColumnWave inputs(const TileProblem &problem, const ColumnWave &wave) const;
};

/// Rows of results of a pooling convolution on the cluster whose sums fill half
/// of its accumulators: the bands of a tile of `rows` x `cols` results.
int64_t pooledBand(mlir::Operation *op, int64_t rows, int64_t cols,
                   const machine::Description &machine);

/// Tiles of a plan that a drain takes side by side (`act.drain`, sideBySide);
/// 1: one after the other.
int64_t tilesSideBySide(const TileProblem &problem, const TilePlan &plan,
                        const DrainColumn &column,
                        const machine::Description &machine);

/// Groups of units that the columns of any one drain take.
int64_t mostParts(const TileProblem &problem);

/// The waves of a plan, in the order of the outputs. `groups` is mostParts() at
/// least.
std::vector<ColumnWave> columnWaves(const TileProblem &problem, int64_t groups,
                                    const machine::Description &machine);

/// Which channels of a wave's ranges have a coefficient.
std::vector<bool> liveChannels(const TileProblem &problem,
                               const ColumnWave &wave);

/// The chunks of a wave: from the first to the last channel with a coefficient.
/// `live` is what liveChannels() says.
std::vector<Chunk> chunksOf(const TileProblem &problem, const ColumnWave &wave,
                            const std::vector<bool> &live, int64_t slots);

/// The chunks that a wave works on, one after the other. If groups hand tiles
/// on, several chunks are loaded at once: group g has chunk g mod `turns` of
/// them in its memories, and in turn t takes the tiles of the group that is t
/// further on.
struct WaveChunks {
  struct Turn {
    Chunk chunk; ///< of group 0
    int64_t turn = 0, turns = 1;
  };
  std::vector<Turn> chunks;

  /// What group `group` works on as chunk `i`.
  const Chunk &of(size_t i, int64_t group) const {
    const auto &[chunk, turn, turns] = chunks[i];
    const int64_t first = static_cast<int64_t>(i) - turn;
    return chunks[static_cast<size_t>(first + (turn + group) % turns)].chunk;
  }
};

/// The chunks of a wave of a plan. `live` is what liveChannels() says of its
/// inputs.
WaveChunks waveChunks(const TileProblem &problem, const TilePlan &plan,
                      const ColumnWave &wave, const std::vector<bool> &live,
                      const machine::Description &machine);

/// The loads of a chunk of a plan, one after the other: whole planes of cells
/// on each queue, of channels that lie in one channel tile. Channel 0 of the
/// feature map lies in partition `part`, and groups of units hand on `turns`
/// chunks at once. Code generation emits these, plans count their cycles.
llvm::SmallVector<Chunk, 8>
loadPieces(const TileProblem &problem, const TilePlan &plan,
           const ColumnWave &wave, const Chunk &chunk, int64_t turns,
           int64_t part, const machine::Description &machine);

/// Channels that each of `count` groups loads at once to hand them on; 0 if
/// they cannot do what the plan says.
int64_t handedChannels(const TileProblem &problem, const TilePlan &plan,
                       int64_t count, const machine::Description &machine);

/// Bytes of a buffer set that a chunk of a wave takes in each unit: its slots,
/// of `slotElements` each, and the planes of cells that its channels touch.
int64_t chunkBytes(const TileProblem &problem, const TilePlan &plan,
                   const ColumnWave &wave, const Chunk &chunk,
                   int64_t slotElements);

/// Accumulator entries of a unit that instructions can name.
int64_t accumulatorEntries(const machine::Description &machine);

/// Most groups of units that a tile table can have.
int64_t mostGroups(const machine::Description &machine);

/// Units that each group of a plan has.
int64_t unitsOf(const TilePlan &plan, const machine::Description &machine);

/// Units of equal width, and the largest tile that any of them has.
struct UnitClass {
  uint64_t lanes = 0;
  int64_t rows = 0, cols = 0; ///< of results
};

/// The units of a plan by their multipliers: one entry where all have as many.
std::vector<UnitClass> unitClasses(const TilePlan &plan,
                                   const machine::Description &machine);

/// Multipliers that tile i of `tiles` can count on: the fewest of the units
/// that compute it, one for each of `groups` groups. Units of one tile are
/// neighbours; of tiles that the machine cuts (`cutAtRunTime`), those of one
/// group are.
std::vector<int64_t> tileLanes(const machine::Description &machine,
                               int64_t tiles, int64_t groups,
                               bool cutAtRunTime);

/// Weight memory that each of `groups` streams side by side can have, in bytes:
/// streams of different groups lie in different banks.
int64_t groupRoom(int64_t groups, const machine::Description &machine);

/// Upper bound of the bytes of a stream of `entries` coefficients for
/// `channels` channels and `regions` results, whose kernels alternate or not.
int64_t streamBytes(const TileProblem &problem, int64_t channels,
                    int64_t regions, int64_t entries, bool alternate);

/// True if starting the sums of a convolution from its bias gives the bits of a
/// drain that adds it: sums and bias are integers of one scale.
bool biasFitsSums(mlir::Operation *op);

/// Bytes of weight memory that an initial sum takes.
constexpr int64_t kInitialSumBytes = 8;

/// True if the streams of a plan have to alternate between kernels
/// (machine::kernelsAlternate) on any of its units.
bool kernelsAlternate(const TileProblem &problem, const TilePlan &plan,
                      const machine::Description &machine);

/// The plans of a problem. They are remembered by everything that the problem
/// and the machine say, which is read once.
class TilePlans {
public:
  TilePlans(const TileProblem &problem, const machine::Description &machine);

  /// The plan with the fewest predicted cycles in a network, fewer than
  /// `limit`; nothing if no tile fits.
  std::optional<TilePlan> best(int64_t limit = INT64_MAX) const;
  /// Predicted cycles of the same cluster without skipping: of this plan if its
  /// weight memory holds the dense streams, else of the best one; 0 if none
  /// does.
  int64_t unskippedCycles(const TilePlan &plan) const;

private:
  const TileProblem &problem;
  const machine::Description &machine;
  support::ArgumentDigest::Number arguments;
};

/// Cycles that the products of a convolution take at least in tile mode,
/// whatever the plan: all multipliers of the cluster busy in every cycle.
int64_t leastTileCycles(npu::PeConvOp conv, const WeightPattern &weights,
                        const machine::Description &machine);

/// The folds of a part of the results under a plan, counted from its first
/// result; nothing if its tiles would be larger than those of the plan.
std::optional<std::vector<TileFold>>
foldsOf(const TileProblem &problem, const TilePlan &plan,
        const partition::Box &part, const machine::Description &machine);

/// The folds of all parts in scatter mode, counted from the first result of the
/// map.
std::vector<TileFold> allFolds(const TileProblem &problem, const TilePlan &plan,
                               const machine::Description &machine);

/// What reports have of cuts besides their plan.
struct CutFacts {
  llvm::ArrayRef<TileFold> folds;       ///< of all parts of the results
  llvm::ArrayRef<partition::Box> parts; ///< several, or nothing
  const DataProfile &data;
  const CutOptions &cut;
  bool drained = false; ///< the drains that make the feature map count it
};

/// The cuts of a plan in scatter mode for reports: how they were found, how
/// even they are, and the tiles.
mlir::DictionaryAttr cutsAttr(const TilePlan &plan, const CutFacts &facts,
                              mlir::MLIRContext *context);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_SPARSE_TILEPLAN_H
