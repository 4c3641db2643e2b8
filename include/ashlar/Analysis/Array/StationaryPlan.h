// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the weights of a convolution or matrix product are cut into stationary
// tiles of the PE array (docs/Machine.md, PE array).

#ifndef ASHLAR_ANALYSIS_ARRAY_STATIONARYPLAN_H
#define ASHLAR_ANALYSIS_ARRAY_STATIONARYPLAN_H

#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Numerics/Format.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace ashlar::analysis {

/// Results of neighbouring rows of a map side by side in the columns of the
/// array: row r of a step is in columns [r * outputs, (r + 1) * outputs). Each
/// reads the taps of its own window, so all together read those of a higher
/// kernel, whose weights for a row are zero where the row has no tap.
///
/// With `apart`, the operand lies with its rows spread across partitions: row y
/// is row y div `rows` of group y mod `rows`, so a step reads `rows` rows of it
/// through the rows of the array, each with the weights of its own taps. The
/// higher kernel then counts these steps of the operand, from firstStep() on.
struct RowPacking {
  int64_t rows = 1;    ///< of results in a step
  int64_t outputs = 0; ///< of one row
  /// Height and width of the kernel, and stride and dilation of its height.
  int64_t kernel = 1, width = 1, stride = 1, dilation = 1;
  bool apart = false;
  int64_t channels = 0, pad = 0; ///< of a row of the operand; above it

  bool packs() const { return rows > 1; }
  /// Rows of the operand that a step of it has.
  int64_t groups() const { return apart ? rows : 1; }
  /// Steps of the operand from that of the first result row to the first read.
  int64_t firstStep() const;
  /// Rows of the kernel that all rows of a step read.
  int64_t height() const;
  /// The tap of the kernel that result row `row` has at tap `tap` of the higher
  /// kernel in row `group` of the operand's step, if any; depth comes before
  /// height, width after it.
  std::optional<int64_t> tapOf(int64_t row, int64_t tap,
                               int64_t group = 0) const;
};

/// Rows of the array filled from input channels [channel, channel + rows) of
/// one kernel tap. Weights of other channel groups are zero in it.
struct StationaryTile {
  int64_t tap = 0;
  int64_t channel = 0;
  int64_t rows = 0;
  /// Blocks of even (0) or odd (1) index only; -1 takes all. Two layers are
  /// needed where blocks of one column would share an exponent cell.
  int layer = -1;
  /// Its cells have the N:M pattern and are loaded so (PatternTiles.h).
  bool pattern = false;
};

/// Stationary tiles that sum up outputs [firstOutput, firstOutput + cols): all
/// of them, or a part of them that is loaded at a time (cutChunks).
struct ColumnTile {
  int64_t firstOutput = 0;
  int64_t cols = 0;
  /// Bytes per partition of the ACT parameter records: one record per lane, or
  /// all records in one partition when they follow the steps.
  int64_t parameterBytes = 16;
  std::vector<StationaryTile> tiles;
  RowPacking packing; ///< its columns are those of several rows of results
  /// The sums begin with the first of these tiles, and are complete with the
  /// last: then they leave, for which the records are needed.
  bool begins = true, ends = true;
};

/// The shape of a product as the array sees it.
struct ProductShape {
  int64_t outputs = 0;
  int64_t channels = 0; ///< input channels of the whole feature map
  int64_t groups = 1;
  int64_t taps = 1;
  numerics::BlockFormat weightFormat;
  /// The weights move and the activations are stationary: outputs are the
  /// steps of a stream and are grouped by PSUM bank instead of array columns.
  bool weightsMove = false;
  /// The weights do not go through the array: column tiles have no stationary
  /// tiles, only parameter records.
  bool recordsOnly = false;
  /// Products that provably fit one accumulator; 0: any number.
  int64_t mostTerms = 0;
  /// Bytes of a partition that a chunk of weights may take, if that is possible
  /// (chunkLimit of `#npu.tiling`); 0: any number.
  int64_t chunkLimit = 0;
  /// Outputs that columns hold multiples of, but for the last of a row.
  int64_t outputUnit = 1;
  /// Partition of input channel 0.
  int64_t part = 0;
  RowPacking packing; ///< that the operation asks for
  /// Channels of a block of the lane-folded operand, which a tile does not
  /// cross, and outputs of one of the result or of the residual, which a column
  /// does not; 0: no blocks.
  int64_t channelBlock = 0, outputBlock = 0;
  /// Partitions where a column tile of results has to end (partition of
  /// output 0 in the result and in the residual).
  llvm::SmallVector<int64_t, 2> resultParts{0};
};

/// The blocks of a product whose operand and drained maps lie in these lanes.
void setBlocks(ProductShape &product, const Lanes &operand,
               const Lanes &drained);

std::vector<ColumnTile> planStationary(const ProductShape &product,
                                       const machine::Description &);

/// The packing that the product asks for; none where one column tile cannot
/// hold all outputs of its rows, or of rows apart no block of outputs.
RowPacking packingOf(const ProductShape &product,
                     const machine::Description &machine);

/// Where a column of a stationary tile has weights: those of an output and a
/// tap of the operation's own kernel, for all channels of a group, from row
/// `row` of the tile on, which may lie before it.
struct WeightPlace {
  int64_t output = 0, tap = 0, row = 0;
};
/// The places of a column: none if it has no weights at this tap, several if
/// rows of the operand lie apart.
llvm::SmallVector<WeightPlace, 1> weightPlaces(const ProductShape &product,
                                               const ColumnTile &column,
                                               const StationaryTile &tile,
                                               int64_t col);

/// True if the product is cut into the same columns when its result begins
/// `start` channels after partition 0.
bool drainsAsPart(mlir::Operation *product, int64_t start,
                  const machine::Description &machine);

/// Cells of a column of the tile that can be other than zero: the rows of the
/// column's own group and layer.
int64_t tileTerms(const ProductShape &product, const ColumnTile &column,
                  const StationaryTile &tile);

/// Cells that a load can say count (field `terms` of pe.load).
inline constexpr int64_t kMostTerms = 127;

/// The field `terms` of the load of a tile: tileTerms() where rows of zeros for
/// other groups would void the proof of the sums; otherwise 0, all rows count.
int64_t statedTerms(const ProductShape &product, const ColumnTile &column,
                    const StationaryTile &tile);

class WeightPattern;

/// Cuts columns with more weights than a chunk of the product may have along
/// the contraction axis, into nearly equal parts of at least one tile. Does
/// nothing for products that stream no tiles.
std::vector<ColumnTile> cutChunks(std::vector<ColumnTile> columns,
                                  const ProductShape &product,
                                  bool streamsTiles);

/// Removes the tiles of a convolution or matrix product whose weights are all
/// zero, and returns their number. The first tile of a column stays if it would
/// be left without any, because it starts the sums.
int64_t dropZeroTiles(std::vector<ColumnTile> &columns, mlir::Operation *op,
                      const WeightPattern &weights);

/// True if the array may transpose the result of a product with stationary
/// activations: the result is encoded in blocks along the output channels, no
/// chunk of moving weights cuts these blocks, and there is no residual, which
/// would have the other orientation.
bool mayTurnBlocks(mlir::Operation *op, const machine::Description &machine);

/// True if what follows the sums of a product stays in integers.
bool hasIntegerEpilogue(mlir::Operation *op);
/// True if the parameter of the function differs by output channel (`slope`).
bool hasSlopes(mlir::Operation *op);

/// True if the activations of a product may be stationary: its weights are
/// streamed, and one pass over the partitions can transpose the result.
bool mayKeepActivations(mlir::Operation *op,
                        const machine::Description &machine);

/// Outputs that one chunk of moving weights covers.
int64_t movingOutputs(const machine::Description &machine);

/// True for `npu.pe.conv`, `npu.pe.matmul` and `npu.tcu.conv`.
bool isProduct(mlir::Operation *op);

/// The product of such an operation.
ProductShape productShape(mlir::Operation *op);

/// `rows` rows of results of a convolution with a height side by side; `apart`:
/// and as many of its operand.
RowPacking rowPacking(npu::PeConvOp conv, int64_t rows, bool apart = false);

/// How memory holds the left and the right factor of such an operation.
StorageType activationStorage(mlir::Operation *op);
StorageType weightStorage(mlir::Operation *op);

/// Zero points of a product of integers; null for one of encoded factors.
npu::QuantAttr quantOf(mlir::Operation *product);

/// What weights of 16 bits are stored with as bytes, value + this, if they are
/// constants within 255 of each other; structural zeros must be a byte too.
std::optional<int64_t> weightZeroOf(mlir::Value weights);

/// True if the right operand is a constant that the program streams.
bool hasStreamedWeights(mlir::Operation *op);

/// What the weights of a product need of the weight ring and of the array.
struct WeightNeeds {
  int64_t chunk = 0;    ///< largest chunk, bytes of a partition
  int64_t bytes = 0;    ///< all chunks, bytes of a partition
  int64_t tiles = 0;    ///< stationary tiles
  bool streams = false; ///< the tiles come from DRAM, not only their records
  bool cut = false;     ///< columns are cut for the sake of their chunks
};

/// The needs of `op` if a chunk may take `limit` bytes (0: any number),
/// regardless of its plan; nothing unless it is a product.
WeightNeeds weightNeeds(mlir::Operation *op,
                        const machine::Description &machine, int64_t limit);

/// Bytes per partition for the records of columns that run on the sparse
/// cluster at a time, as memory planning has decided for `op`; 0: for those of
/// all.
int64_t recordRoom(mlir::Operation *op, const machine::Description &machine);

/// Bytes per partition that `op` needs of the weight ring at a time: those of
/// its largest chunk; 0 for operations that stream no weights.
int64_t largestChunk(mlir::Operation *op, const machine::Description &machine);

/// Bytes per partition of one chunk: a column tile with its parameter records.
int64_t chunkBytes(const ColumnTile &column, int64_t elementBytes);

/// Bytes per partition that a chunk takes of the weight ring.
int64_t ringBytes(const ProductShape &product, ColumnTile column,
                  bool streamsTiles, int64_t elementBytes);

/// Bytes at the end of every partition, not of the ring, for the parameter
/// records of those of `ops` whose weights move.
int64_t movingRecordBytes(llvm::ArrayRef<mlir::Operation *> ops,
                          const machine::Description &machine);

/// Bytes of one ACT parameter record.
inline constexpr int64_t kParameterBytes = 16;

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_ARRAY_STATIONARYPLAN_H
