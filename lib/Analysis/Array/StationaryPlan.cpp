// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cutting of weights into stationary tiles. Every group of output columns only
// sees the input channels of its own convolution groups, so depthwise and
// grouped convolutions become block-diagonal tiles.

#include "ashlar/Analysis/Array/StationaryPlan.h"

#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace ashlar::analysis {
namespace {

/// True if two blocks of one output column can fall into one exponent cell:
/// groups whose channels do not start at multiples of the cell.
bool needsLayers(const ProductShape &product, int64_t cell) {
  int64_t perGroup = product.channels / product.groups;
  int64_t block = product.weightFormat.block;
  if (block <= 0 || block >= perGroup)
    return false;
  return product.groups > 1 && perGroup % cell != 0;
}

/// Rows of a tile that begins at partition `row`, of `left` channels and the
/// `limit` rows that the array has. A tile begins or stays inside an exponent
/// cell, where the array's rows are no multiple of it.
int64_t rowsOfTile(int64_t row, int64_t left, int64_t limit,
                   const machine::Description &machine) {
  int64_t partitions = machine.sb.partitions;
  int64_t cell = machine.xmGroup;
  int64_t rows = std::min({left, limit, partitions - row});
  if (limit % cell == 0)
    return rows;
  if (row % cell != 0)
    return std::min(rows, cell - row % cell);
  return rows < left && rows > cell ? rows - rows % cell : rows;
}

/// Outputs of a column whose chunks may be small: where a tile of the whole
/// array with its records would be too large, fewer.
int64_t columnsInChunk(const ProductShape &product, int64_t columns) {
  if (product.chunkLimit == 0)
    return columns;
  const int64_t room =
      (product.chunkLimit - kParameterBytes) /
      static_cast<int64_t>(product.weightFormat.mantissaBytes());
  const int64_t unit = std::max<int64_t>(product.outputUnit, 1);
  return std::min(columns, std::max(room / unit * unit, unit));
}

/// Outputs until the next channel tile, or block, of the result begins.
int64_t columnsToBoundary(const ProductShape &product, int64_t output,
                          int64_t partitions) {
  int64_t limit = partitions;
  for (int64_t part : product.resultParts)
    limit = std::min(limit, partitions - (part + output) % partitions);
  if (product.outputBlock > 0)
    limit = std::min(limit, product.outputBlock - output % product.outputBlock);
  return limit;
}

} // namespace

llvm::SmallVector<WeightPlace, 1> weightPlaces(const ProductShape &product,
                                               const ColumnTile &column,
                                               const StationaryTile &tile,
                                               int64_t col) {
  const int64_t channels = product.channels / product.groups;
  const RowPacking &packing = column.packing;
  if (!packing.packs()) {
    const int64_t output = column.firstOutput + col;
    const int64_t group = output / (product.outputs / product.groups);
    return {{output, tile.tap, group * channels - tile.channel}};
  }
  llvm::SmallVector<WeightPlace, 1> places;
  for (int64_t group = 0; group < packing.groups(); ++group)
    if (auto tap = packing.tapOf(col / packing.outputs, tile.tap, group))
      places.push_back({column.firstOutput + col % packing.outputs, *tap,
                        group * channels - tile.channel});
  return places;
}

/// Taps of the columns together, and whether any column has weights there.
static int64_t tapsOf(const ColumnTile &column, const ProductShape &product) {
  const RowPacking &packing = column.packing;
  if (product.recordsOnly)
    return 0;
  return packing.packs() ? product.taps / packing.kernel * packing.height()
                         : product.taps;
}
static bool hasTap(const RowPacking &packing, int64_t tap) {
  for (int64_t row = 0; row < packing.rows; ++row)
    for (int64_t group = 0; group < packing.groups(); ++group)
      if (packing.tapOf(row, tap, group))
        return true;
  return false;
}

/// The tiles of a column, of at most `limit` rows.
static void addTiles(ColumnTile &column, const ProductShape &product,
                     const machine::Description &machine, int64_t limit) {
  int64_t partitions = machine.sb.partitions;
  int64_t cell = machine.xmGroup;
  int64_t inPerGroup = product.channels / product.groups;
  int64_t outPerGroup = product.outputs / product.groups;
  bool layers = needsLayers(product, cell);
  int64_t lastOutput =
      std::min(column.firstOutput + column.cols, product.outputs) - 1;
  int64_t first = column.firstOutput / outPerGroup * inPerGroup;
  int64_t last = (lastOutput / outPerGroup + 1) * inPerGroup;
  first = first / cell * cell;
  const int64_t taps = tapsOf(column, product);
  for (int64_t tap = 0; tap < taps; ++tap) {
    if (column.packing.packs() && !hasTap(column.packing, tap))
      continue;
    for (int64_t channel = first; channel < last;) {
      int64_t row = (product.part + channel) % partitions;
      int64_t left = last - channel;
      if (product.channelBlock > 0)
        left = std::min(left,
                        product.channelBlock - channel % product.channelBlock);
      int64_t rows = rowsOfTile(row, left, limit, machine);
      for (int layer = layers ? 0 : -1; layer < (layers ? 2 : 0); ++layer)
        column.tiles.push_back({tap, channel, rows, layer});
      channel += rows;
    }
  }
}

/// True if the array, which knows of a tile what its load says, proves that the
/// sums of a column fit.
static bool provesSums(const ProductShape &product, const ColumnTile &column) {
  int64_t rows = 0, terms = 0;
  for (const StationaryTile &tile : column.tiles)
    rows += tile.rows;
  if (product.mostTerms == 0 || rows <= product.mostTerms)
    return true;
  if (product.weightsMove)
    return false;
  for (const StationaryTile &tile : column.tiles) {
    const int64_t stated = statedTerms(product, column, tile);
    terms += stated > 0 ? stated : tile.rows;
  }
  return terms <= product.mostTerms;
}

/// All outputs of the packed rows.
static ColumnTile packedColumn(const ProductShape &product,
                               const machine::Description &machine) {
  ColumnTile column;
  column.packing = product.packing;
  column.cols = product.packing.rows * product.outputs;
  addTiles(column, product, machine,
           std::min<int64_t>(machine.pe.rows, machine.sb.partitions));
  return column;
}

/// Outputs from `output` on of each of the packed rows that a column has: whole
/// blocks, or all up to the next channel tile.
static int64_t packedOutputs(const ProductShape &product, int64_t output,
                             const machine::Description &machine) {
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  const int64_t most =
      columnsInChunk(product, machine.pe.columns) / product.packing.rows;
  const int64_t left = std::min(product.outputs - output,
                                columnsToBoundary(product, output, partitions));
  return left <= most ? left
                      : most - most % std::max<int64_t>(product.outputUnit, 1);
}

/// Columns of rows that are apart in the operand: each has the same outputs of
/// all rows. None if a column cannot hold a block of each, or the array the
/// channels of all rows.
static std::vector<ColumnTile>
columnsApart(const ProductShape &product, const machine::Description &machine) {
  const RowPacking &packing = product.packing;
  const int64_t rows = packing.rows * packing.channels;
  std::vector<ColumnTile> columns;
  if (rows > std::min<int64_t>(machine.pe.rows, machine.sb.partitions))
    return columns;
  for (int64_t output = 0; output < product.outputs;) {
    const int64_t outputs = packedOutputs(product, output, machine);
    if (outputs == 0)
      return {};
    ColumnTile column;
    column.firstOutput = output;
    column.packing = packing;
    column.packing.outputs = outputs;
    column.cols = packing.rows * outputs;
    for (int64_t tap = 0; tap < tapsOf(column, product); ++tap)
      if (hasTap(packing, tap))
        column.tiles.push_back({tap, /*channel=*/0, rows});
    if (!provesSums(product, column))
      return {};
    output += outputs;
    columns.push_back(std::move(column));
  }
  return columns;
}

RowPacking packingOf(const ProductShape &product,
                     const machine::Description &machine) {
  const RowPacking &packing = product.packing;
  if (!packing.packs() || product.weightsMove || product.recordsOnly ||
      product.channelBlock > 0 || product.outputBlock > 0 ||
      product.groups != 1)
    return {};
  if (packing.apart)
    return columnsApart(product, machine).empty() ? RowPacking() : packing;
  const int64_t cols = packing.rows * product.outputs;
  if (cols > columnsInChunk(product, machine.pe.columns) ||
      product.outputs >
          columnsToBoundary(product, 0,
                            static_cast<int64_t>(machine.sb.partitions)) ||
      !provesSums(product, packedColumn(product, machine)))
    return {};
  return packing;
}

std::vector<ColumnTile> planStationary(const ProductShape &product,
                                       const machine::Description &machine) {
  if (packingOf(product, machine).packs())
    return product.packing.apart
               ? columnsApart(product, machine)
               : std::vector<ColumnTile>{packedColumn(product, machine)};
  int64_t partitions = machine.sb.partitions;
  int64_t outPerGroup = product.outputs / product.groups;
  const auto allRows = std::min<int64_t>(machine.pe.rows, partitions);
  std::vector<ColumnTile> columns;
  for (int64_t output = 0; output < product.outputs;) {
    ColumnTile column;
    column.firstOutput = output;
    if (product.weightsMove) {
      column.cols = std::min(movingOutputs(machine), product.outputs - output);
      column.parameterBytes = column.cols * kParameterBytes;
    } else {
      column.cols =
          std::min<int64_t>({columnsInChunk(product, machine.pe.columns),
                             product.outputs - output,
                             columnsToBoundary(product, output, partitions)});
    }
    addTiles(column, product, machine, allRows);
    // Groups that share tiles are bounded together. One alone sums what the
    // plan proves, if its loads can say so.
    int64_t groups =
        (output + column.cols - 1) / outPerGroup - output / outPerGroup + 1;
    while (!provesSums(product, column) && groups > 1) {
      --groups;
      column.cols = (output / outPerGroup + groups) * outPerGroup - output;
      column.tiles.clear();
      addTiles(column, product, machine, allRows);
    }
    if (!provesSums(product, column)) {
      column.tiles.clear();
      addTiles(column, product, machine, std::min(allRows, kMostTerms));
    }
    output += column.cols;
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<ColumnTile> cutChunks(std::vector<ColumnTile> columns,
                                  const ProductShape &product,
                                  bool streamsTiles) {
  if (product.chunkLimit == 0 || !streamsTiles || product.recordsOnly)
    return columns;
  const auto elementBytes =
      static_cast<int64_t>(product.weightFormat.mantissaBytes());
  std::vector<ColumnTile> chunks;
  for (ColumnTile &column : columns) {
    const auto tiles = static_cast<int64_t>(column.tiles.size());
    auto bytesOf = [&](int64_t count) {
      ColumnTile part;
      part.cols = column.cols;
      part.parameterBytes = column.parameterBytes;
      part.tiles.resize(count);
      return ringBytes(product, part, streamsTiles, elementBytes);
    };
    // The fewest parts of which each fits, one with the records too.
    int64_t parts = 1;
    while (parts < tiles &&
           bytesOf(llvm::divideCeilSigned(tiles, parts)) > product.chunkLimit)
      ++parts;
    if (parts == 1) {
      chunks.push_back(std::move(column));
      continue;
    }
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = part * tiles / parts;
      const int64_t end = (part + 1) * tiles / parts;
      ColumnTile chunk;
      chunk.firstOutput = column.firstOutput;
      chunk.cols = column.cols;
      chunk.packing = column.packing;
      chunk.begins = part == 0;
      chunk.ends = part + 1 == parts;
      chunk.parameterBytes = chunk.ends ? column.parameterBytes : 0;
      chunk.tiles.assign(column.tiles.begin() + first,
                         column.tiles.begin() + end);
      chunks.push_back(std::move(chunk));
    }
  }
  return chunks;
}

int64_t statedTerms(const ProductShape &product, const ColumnTile &column,
                    const StationaryTile &tile) {
  const int64_t terms = tileTerms(product, column, tile);
  return terms < tile.rows && terms <= kMostTerms ? terms : 0;
}

int64_t tileTerms(const ProductShape &product, const ColumnTile &column,
                  const StationaryTile &tile) {
  const int64_t channels = product.channels / product.groups;
  int64_t most = 0;
  for (int64_t lane = 0; lane < column.cols; ++lane) {
    int64_t terms = 0;
    for (const WeightPlace &place : weightPlaces(product, column, tile, lane))
      for (int64_t row = std::max<int64_t>(place.row, 0),
                   end = std::min(tile.rows, place.row + channels);
           row < end; ++row)
        terms +=
            tile.layer < 0 ||
            (row - place.row) / product.weightFormat.block % 2 == tile.layer;
    most = std::max(most, terms);
  }
  return most;
}

/// True if no weight of the tile is other than zero.
static bool isZeroTile(const ColumnTile &column, const StationaryTile &tile,
                       const ProductShape &product,
                       const WeightPattern &weights) {
  const int64_t channels = product.channels / product.groups;
  for (int64_t lane = 0; lane < column.cols; ++lane)
    for (const WeightPlace &place : weightPlaces(product, column, tile, lane))
      for (int64_t row = std::max<int64_t>(place.row, 0),
                   end = std::min(tile.rows, place.row + channels);
           row < end; ++row)
        if (!weights.isZero(place.output, place.tap, row - place.row))
          return false;
  return true;
}

int64_t dropZeroTiles(std::vector<ColumnTile> &columns, Operation *op,
                      const WeightPattern &weights) {
  ProductShape product = productShape(op);
  int64_t dropped = 0;
  for (ColumnTile &column : columns) {
    std::vector<StationaryTile> kept;
    for (const StationaryTile &tile : column.tiles)
      if (!isZeroTile(column, tile, product, weights))
        kept.push_back(tile);
    if (kept.empty() && !column.tiles.empty())
      kept.push_back(column.tiles.front());
    dropped += static_cast<int64_t>(column.tiles.size() - kept.size());
    column.tiles = std::move(kept);
  }
  return dropped;
}

int64_t chunkBytes(const ColumnTile &column, int64_t elementBytes) {
  return llvm::alignTo(static_cast<int64_t>(column.tiles.size()) *
                               llvm::alignTo(column.cols * elementBytes, 8) +
                           column.parameterBytes,
                       64);
}

int64_t ringBytes(const ProductShape &product, ColumnTile column,
                  bool streamsTiles, int64_t elementBytes) {
  if (!streamsTiles)
    column.tiles.clear();
  // The records of moving weights have a place of their own.
  if (product.weightsMove)
    column.parameterBytes = 0;
  return chunkBytes(column, elementBytes);
}

/// The records of all columns may be in use at once, unless that leaves tensors
/// too little: then those of a wave of columns are, which has to fit.
static void limitRecords(WeightNeeds &needs,
                         const machine::Description &machine, int64_t limit) {
  constexpr int64_t kLargePart = 4;
  const auto capacity = static_cast<int64_t>(machine.sb.bytesPerPartition);
  needs.cut =
      limit > 0 && needs.bytes > limit && needs.bytes > capacity / kLargePart;
  needs.chunk = needs.cut
                    ? std::max<int64_t>(llvm::alignTo(limit, 64), needs.chunk)
                    : needs.bytes;
}

WeightNeeds weightNeeds(Operation *op, const machine::Description &machine,
                        int64_t limit) {
  WeightNeeds needs;
  if (!isProduct(op))
    return needs;
  ProductShape product = productShape(op);
  needs.streams = hasStreamedWeights(op) && !product.recordsOnly;
  product.chunkLimit = needs.streams ? limit : 0;
  const auto columns = static_cast<int64_t>(machine.pe.columns);
  // Rows that only the limit takes apart would be packed again without it.
  ProductShape whole = product;
  whole.chunkLimit = 0;
  const RowPacking packing = packingOf(product, machine);
  needs.cut = packing.packs() != packingOf(whole, machine).packs() ||
              (!product.weightsMove &&
               columnsInChunk(product, columns) <
                   std::min(columns, packing.groups() * product.outputs));
  for (const ColumnTile &column :
       cutChunks(planStationary(product, machine), product, needs.streams)) {
    const int64_t bytes =
        ringBytes(product, column, hasStreamedWeights(op),
                  static_cast<int64_t>(product.weightFormat.mantissaBytes()));
    needs.chunk = std::max(needs.chunk, bytes);
    needs.bytes += bytes;
    needs.tiles += static_cast<int64_t>(column.tiles.size());
    needs.cut |= !column.ends;
  }
  // Without tiles of zeros there may be fewer and larger parts.
  if (needs.cut)
    needs.chunk = std::max<int64_t>(needs.chunk, llvm::alignTo(limit, 64));
  if (product.recordsOnly)
    limitRecords(needs, machine, limit);
  return needs;
}

int64_t recordRoom(Operation *op, const machine::Description &machine) {
  const WeightNeeds needs =
      weightNeeds(op, machine, npu::tilingOf(op).getChunk());
  return needs.cut ? needs.chunk : 0;
}

int64_t largestChunk(Operation *op, const machine::Description &machine) {
  npu::TilingAttr tiling = npu::tilingOf(op);
  return weightNeeds(op, machine, tiling ? tiling.getChunk() : 0).chunk;
}

int64_t movingRecordBytes(llvm::ArrayRef<Operation *> ops,
                          const machine::Description &machine) {
  int64_t outputs = 0;
  for (Operation *op : ops)
    if (npu::hasStationaryActivations(op))
      outputs = std::max(
          outputs, std::min(movingOutputs(machine), productShape(op).outputs));
  return llvm::alignTo(outputs * kParameterBytes, 64);
}

} // namespace ashlar::analysis
