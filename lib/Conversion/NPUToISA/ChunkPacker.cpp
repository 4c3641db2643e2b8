// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing of weights. In DRAM a tile is its rows in partition order, each row
// the columns of the column tile; exponent cells follow the same order with
// one row per exponent group, or one per block where blocks are whole groups.

#include "ChunkPacker.h"

#include "ashlar/Analysis/StorageType.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

#include <bit>

using namespace mlir;

namespace ashlar::codegen {

using analysis::ColumnTile;
using analysis::StationaryTile;

namespace {

/// Address arithmetic of one weight element in a tile.
class TileReader {
public:
  TileReader(const StreamedProduct &product, const ColumnTile &column,
             const EncodedWeights &weights)
      : column(column), weights(weights),
        inPerGroup(product.shape.channels / product.shape.groups),
        outPerGroup(product.shape.outputs / product.shape.groups) {}

  /// Channel of the group of `col` that row `row` holds, or -1: zero weight.
  int64_t groupChannel(const StationaryTile &tile, int64_t row,
                       int64_t col) const {
    int64_t output = column.firstOutput + col;
    int64_t channel = tile.channel + row - output / outPerGroup * inPerGroup;
    if (channel < 0 || channel >= inPerGroup)
      return -1;
    if (tile.layer >= 0 && channel / weights.blockSize() % 2 != tile.layer)
      return -1;
    return channel;
  }
  int16_t mantissa(const StationaryTile &tile, int64_t row, int64_t col) const {
    int64_t channel = groupChannel(tile, row, col);
    return channel < 0
               ? 0
               : weights.mantissa(column.firstOutput + col, tile.tap, channel);
  }
  /// Cell of rows [row, row + count): that of the one block they hold.
  int8_t cell(const StationaryTile &tile, int64_t row, int64_t count,
              int64_t col) const {
    for (int64_t i = row; i < std::min(row + count, tile.rows); ++i)
      if (int64_t channel = groupChannel(tile, i, col); channel >= 0)
        return weights.cell(column.firstOutput + col, tile.tap, channel);
    return -128;
  }

private:
  const ColumnTile &column;
  const EncodedWeights &weights;
  int64_t inPerGroup, outPerGroup;
};

/// Cells of XM that one stored cell may fill: whole blocks in whole groups.
int64_t cellRepeat(const StreamedProduct &product, const StationaryTile &tile,
                   int64_t group) {
  int64_t block = product.shape.weightFormat.block;
  bool whole = product.shape.groups == 1 && block > 0 && block % group == 0 &&
               tile.rows % block == 0 && tile.channel % block == 0;
  return whole ? block / group : 1;
}

/// Integers have no exponent cells.
bool isEncoded(const StreamedProduct &product) {
  return analysis::storageOf(product.op->getOperand(1)).encoded;
}

std::vector<TileRun> findRuns(const StreamedProduct &product,
                              const ColumnTile &column,
                              const machine::Description &machine) {
  std::vector<TileRun> runs;
  int64_t group = machine.xmGroup;
  for (auto [i, tile] : llvm::enumerate(column.tiles)) {
    int64_t part = (product.shape.part + tile.channel) % machine.sb.partitions;
    int64_t repeat = cellRepeat(product, tile, group);
    if (!runs.empty() && runs.back().rows == tile.rows &&
        runs.back().part == part && runs.back().repeat == repeat) {
      ++runs.back().count;
      continue;
    }
    TileRun run;
    run.firstTile = i;
    run.count = 1;
    run.rows = tile.rows;
    run.part = part;
    run.repeat = repeat;
    run.cellRows =
        isEncoded(product) ? llvm::divideCeil(tile.rows, group * repeat) : 0;
    runs.push_back(run);
  }
  return runs;
}

void packRun(ProgramBuilder &builder, const StreamedProduct &product,
             const ColumnTile &column, const TileReader &reader, TileRun &run) {
  int64_t group = builder.machine.xmGroup;
  std::vector<uint8_t> mantissas, cells;
  mantissas.reserve(run.count * run.rows * column.cols * product.elementBytes);
  cells.reserve(run.count * run.cellRows * column.cols);
  for (int64_t t = 0; t < run.count; ++t) {
    const StationaryTile &tile = column.tiles[run.firstTile + t];
    for (int64_t row = 0; row < run.rows; ++row)
      for (int64_t col = 0; col < column.cols; ++col) {
        auto bits = static_cast<uint16_t>(reader.mantissa(tile, row, col));
        mantissas.push_back(bits & 0xff);
        if (product.elementBytes == 2)
          mantissas.push_back(bits >> 8);
      }
    int64_t rowsPerCell = group * run.repeat;
    for (int64_t row = 0; row < run.cellRows; ++row)
      for (int64_t col = 0; col < column.cols; ++col)
        cells.push_back(static_cast<uint8_t>(
            reader.cell(tile, row * rowsPerCell, rowsPerCell, col)));
  }
  run.mantissas = builder.addConstant(std::move(mantissas));
  run.cells = builder.addConstant(std::move(cells));
}

void append32(std::vector<uint8_t> &bytes, uint32_t word) {
  for (int i = 0; i < 4; ++i)
    bytes.push_back(word >> (8 * i) & 0xff);
}

/// f32 scale, f32 bias (i32 of products of integers), i32 EW, f32 alpha per
/// lane.
std::vector<uint8_t> packParameters(const StreamedProduct &product,
                                    const ColumnTile &column,
                                    const EncodedWeights *weights) {
  std::vector<float> scale;
  std::vector<uint32_t> bias;
  auto read = [&](auto op) {
    if (op.getScale())
      scale = analysis::constantFloats(op.getScale());
    if (op.getBias())
      bias = analysis::constantWords(op.getBias());
  };
  if (auto conv = dyn_cast<npu::PeConvOp>(product.op))
    read(conv);
  else if (auto conv = dyn_cast<npu::TcuConvOp>(product.op))
    read(conv);
  else
    read(cast<npu::PeMatmulOp>(product.op));
  std::vector<uint8_t> bytes;
  for (int64_t lane = 0; lane < column.cols; ++lane) {
    size_t output = column.firstOutput + lane;
    float laneScale = output < scale.size() ? scale[output] : 1.0f;
    uint32_t laneBias = output < bias.size() ? bias[output] : 0;
    int32_t exponent = weights ? weights->scaleExponent(output) : 0;
    append32(bytes, std::bit_cast<uint32_t>(laneScale));
    append32(bytes, laneBias);
    append32(bytes, static_cast<uint32_t>(exponent));
    append32(bytes, 0);
  }
  return bytes;
}

isa::DmaCopy weightCopy(const ProgramBuilder &builder, isa::Memory target) {
  isa::DmaCopy copy{};
  copy.queue = builder.weightQueue();
  copy.elemBytes = 1;
  copy.srcMem = isa::Memory::Dram;
  copy.dstMem = target;
  return copy;
}

} // namespace

PackedChunk packChunk(ProgramBuilder &builder, const StreamedProduct &product,
                      size_t index, const EncodedWeights *weights) {
  const ColumnTile &column = product.columns[index];
  PackedChunk chunk;
  if (weights) {
    chunk.runs = findRuns(product, column, builder.machine);
    TileReader reader(product, column, *weights);
    for (TileRun &run : chunk.runs)
      packRun(builder, product, column, reader, run);
  }
  chunk.parameters =
      builder.addConstant(packParameters(product, column, weights));
  return chunk;
}

void emitChunkLoad(ProgramBuilder &builder, const StreamedProduct &product,
                   size_t index, const PackedChunk &chunk, int64_t offset) {
  const ColumnTile &column = product.columns[index];
  int64_t pitch = builder.machine.sb.bytesPerPartition;
  int64_t rowBytes = column.cols * product.elementBytes;
  int64_t tilePitch = llvm::alignTo(rowBytes, 8);
  for (const TileRun &run : chunk.runs) {
    int64_t target = offset + static_cast<int64_t>(run.firstTile) * tilePitch;
    isa::DmaCopy data = weightCopy(builder, isa::Memory::Sb);
    data.srcBase = run.mantissas;
    data.dstBase = run.part * pitch + target;
    data.n2 = run.count, data.n3 = run.rows, data.n4 = rowBytes;
    data.srcStride2 = run.rows * rowBytes, data.srcStride3 = rowBytes;
    data.srcStride4 = 1;
    data.dstStride2 = tilePitch, data.dstStride3 = pitch, data.dstStride4 = 1;
    builder.emit(data);
    if (run.cellRows == 0)
      continue;
    isa::DmaCopy cells = weightCopy(builder, isa::Memory::Xm);
    cells.srcBase = run.cells;
    cells.dstBase =
        run.part / static_cast<int64_t>(builder.machine.xmGroup) * pitch +
        target;
    int64_t xmRows = llvm::divideCeil(run.rows, builder.machine.xmGroup);
    cells.n1 = run.count;
    cells.n2 = run.repeat > 1 ? run.cellRows : 1;
    cells.n3 = run.repeat > 1 ? run.repeat : xmRows;
    cells.n4 = column.cols;
    cells.srcStride1 = run.cellRows * column.cols;
    cells.srcStride2 = column.cols;
    cells.srcStride3 = run.repeat > 1 ? 0 : column.cols;
    cells.srcStride4 = 1;
    cells.dstStride1 = tilePitch;
    cells.dstStride2 = run.repeat * pitch;
    cells.dstStride3 = pitch;
    cells.dstStride4 = product.elementBytes;
    builder.emit(cells);
  }
  int64_t tiles = product.streamsTiles ? column.tiles.size() : 0;
  isa::DmaCopy records = weightCopy(builder, isa::Memory::Sb);
  records.srcBase = chunk.parameters;
  records.dstBase = offset + tiles * tilePitch;
  // One record per lane, or all of them in the first partition.
  records.n3 = product.shape.weightsMove ? 1 : column.cols;
  records.n4 = column.parameterBytes;
  records.srcStride3 = analysis::kParameterBytes, records.srcStride4 = 1;
  records.dstStride3 = pitch, records.dstStride4 = 1;
  builder.emit(records);
}

} // namespace ashlar::codegen
