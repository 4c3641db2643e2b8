// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing of weights. In DRAM a tile is its rows in partition order, each row
// the columns of the column tile, W bits per mantissa without gaps between rows
// and tiles, with or without its zeros, whichever is shorter. Exponents follow
// in the same order with one row of cells per block, or per row of XM where
// blocks of one column begin inside a row: as distances from the largest, in
// up to five bits, or as bytes; of elements of two bytes with the byte between
// them, where rows are read sooner than single cells.

#include "ChunkPacker.h"

#include "LoopOrder.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Isa/Operands.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Numerics/BlockArithmetic.h"
#include "ashlar/Numerics/PackedCodes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace ashlar::codegen {

using analysis::ColumnTile;
using analysis::StationaryTile;
using analysis::WeightPlace;

namespace {

/// More stored codes than one instruction counts.
constexpr uint64_t kMostStored = uint64_t(1) << 24;

/// Address arithmetic of one weight element in a tile.
class TileReader {
public:
  TileReader(const StreamedProduct &product, const ColumnTile &column,
             const EncodedWeights &weights)
      : product(product.shape), column(column), weights(weights),
        channels(product.shape.channels / product.shape.groups) {}

  /// Calls fn(row, mantissa) for the rows of a column that are not zero weights
  /// of another group or layer.
  template <typename Fn>
  void forMantissas(const StationaryTile &tile, int64_t rows, int64_t col,
                    Fn fn) const {
    for (const WeightPlace &place :
         analysis::weightPlaces(product, column, tile, col)) {
      const int64_t end = std::min(rows, place.row + channels);
      for (int64_t row = std::max<int64_t>(place.row, 0); row < end; ++row)
        if (isOf(tile, row - place.row))
          fn(row, weights.mantissa(place.output, place.tap, row - place.row));
    }
  }
  /// Cell of rows [row, row + count): that of the one block they hold.
  int8_t cell(const StationaryTile &tile, int64_t row, int64_t count,
              int64_t col) const {
    const int64_t end = std::min(row + count, tile.rows);
    for (const WeightPlace &place :
         analysis::weightPlaces(product, column, tile, col))
      for (int64_t i = std::max(row, place.row);
           i < std::min(end, place.row + channels); ++i)
        if (isOf(tile, i - place.row))
          return weights.cell(place.output, place.tap, i - place.row);
    return -128;
  }

private:
  /// True if the layer of the tile has this channel of a group.
  bool isOf(const StationaryTile &tile, int64_t channel) const {
    return tile.layer < 0 || channel / weights.blockSize() % 2 == tile.layer;
  }

  const analysis::ProductShape &product;
  const ColumnTile &column;
  const EncodedWeights &weights;
  int64_t channels; ///< of a group
};

/// Integers have no exponent cells.
bool isEncoded(const StreamedProduct &product) {
  return analysis::storageOf(product.op->getOperand(1)).encoded;
}

/// The blocks of every column of a tile, as rows of XM.
llvm::SmallVector<CellRun, 3> cellRuns(const StreamedProduct &product,
                                       const ColumnTile &column,
                                       const StationaryTile &tile,
                                       int64_t group) {
  llvm::SmallVector<CellRun, 3> runs;
  if (!isEncoded(product))
    return runs;
  int64_t block = product.shape.weightFormat.block;
  if (block <= 0)
    block = llvm::alignTo(product.shape.channels, group);
  if (product.shape.groups > 1 || column.packing.apart || block % group != 0) {
    int64_t rows = llvm::divideCeil(tile.rows, group);
    runs.push_back({0, rows, 1});
    return runs;
  }
  // A block may begin before the tile and end after it.
  for (int64_t row = 0; row < tile.rows;) {
    int64_t inBlock = (tile.channel + row) % block;
    int64_t rows = std::min(block - inBlock, tile.rows - row);
    int64_t repeat = llvm::divideCeil(rows, group);
    if (runs.empty() || runs.back().repeat != repeat)
      runs.push_back({row / group, 0, repeat});
    ++runs.back().blocks;
    row += rows;
  }
  return runs;
}

bool sameCells(llvm::ArrayRef<CellRun> a, llvm::ArrayRef<CellRun> b) {
  return a.size() == b.size() &&
         llvm::equal(a, b, [](const CellRun &x, const CellRun &y) {
           return x.sameRows(y);
         });
}

std::vector<TileRun> findRuns(const StreamedProduct &product,
                              const ColumnTile &column,
                              const machine::Description &machine) {
  std::vector<TileRun> runs;
  for (auto [i, tile] : llvm::enumerate(column.tiles)) {
    int64_t part = (product.shape.part + tile.channel) % machine.sb.partitions;
    auto cells = cellRuns(product, column, tile, machine.xmGroup);
    if (!runs.empty() && runs.back().rows == tile.rows &&
        runs.back().part == part && sameCells(runs.back().cells, cells)) {
      ++runs.back().count;
      continue;
    }
    TileRun run;
    run.firstTile = i;
    run.count = 1;
    run.rows = tile.rows;
    run.part = part;
    run.cells = std::move(cells);
    runs.push_back(std::move(run));
  }
  return runs;
}

/// Bits of a stored weight: whole bytes of integers, W of mantissas.
unsigned codeBits(const StreamedProduct &product) {
  return product.shape.weightFormat.mantissa;
}

/// The low bits of a weight, with the sign that they have as a code.
int16_t codeOf(int weight, unsigned bits) {
  const auto word = static_cast<uint32_t>(weight) << (32 - bits);
  return static_cast<int16_t>(static_cast<int32_t>(word) >> (32 - bits));
}

std::optional<numerics::CodeForm> onlyForm(const ProgramBuilder &builder) {
  switch (builder.weightForm) {
  case WeightForm::Bitmap:
    return numerics::CodeForm::Bitmap;
  case WeightForm::Runs:
    return numerics::CodeForm::Runs;
  default:
    return std::nullopt;
  }
}

/// The form that is shortest in DRAM, if the decoder is not slower than the
/// bytes that it saves.
numerics::CodeStream chooseStream(const ProgramBuilder &builder,
                                  llvm::ArrayRef<int16_t> codes, unsigned bits,
                                  int16_t zero, int64_t cols) {
  const numerics::CodeStream dense{numerics::CodeForm::Dense, bits,
                                   codes.size()};
  const uint64_t rate = builder.machine.dma.decodedCodesPerCycle;
  if (rate == 0 || builder.weightForm == WeightForm::Dense)
    return dense;
  const numerics::CodeStream stream = numerics::shortestStream(
      codes, bits, zero, static_cast<uint64_t>(cols), onlyForm(builder));
  if (stream.form == numerics::CodeForm::Dense || stream.stored >= kMostStored)
    return dense;
  auto dramCycles = [&](uint64_t bytes) {
    return machine::streamTraffic(builder.machine, {bytes}).burstBytes /
           builder.machine.dram.bytesPerCycle;
  };
  return stream.decoded() / rate > dramCycles(dense.bytes()) ? dense : stream;
}

isa::DmaCopy weightCopy(const ProgramBuilder &builder, isa::Memory target) {
  isa::DmaCopy copy{};
  copy.queue = builder.weightQueue();
  copy.elemBytes = 1;
  copy.srcMem = isa::Memory::Dram;
  copy.dstMem = target;
  return copy;
}

/// Where the tiles of a run go: bytes between tiles, rows and elements.
struct Pitches {
  int64_t tile, row, element;
};

/// Exponents of a run that are stored in few bits to byte `target` of XM: rows
/// of the queue repeat them over the rows of XM.
isa::DmaUnpack cellUnpack(const ProgramBuilder &builder, const TileRun &run,
                          const CellRun &cells, int64_t cols, int64_t target,
                          const Pitches &pitches, bool once) {
  isa::DmaUnpack unpack{};
  unpack.queue = builder.weightQueue();
  unpack.elemBytes = pitches.element;
  unpack.form = isa::CodeForm::Exponents;
  unpack.mantissa = cells.codes->width;
  unpack.zero = cells.codes->zero;
  unpack.unit = !once && cells.repeat > 1;
  unpack.srcBase = cells.address;
  unpack.dstBase = target + cells.firstRow * pitches.row;
  unpack.n1 = run.count, unpack.n2 = cells.blocks;
  unpack.n3 = once ? 1 : cells.repeat, unpack.n4 = cols;
  unpack.dstStride1 = pitches.tile;
  unpack.dstStride2 = cells.repeat * pitches.row;
  unpack.dstStride3 = pitches.row;
  unpack.dstStride4 = pitches.element;
  return unpack;
}

/// Exponents of a run to byte `target` of XM. The repetition of a cell is the
/// innermost dimension: DRAM reads it once, unless writing cells one by one
/// would take longer than reading them again. `once`: only the first row of
/// each block is written.
isa::DmaCopy cellCopy(const ProgramBuilder &builder, const TileRun &run,
                      const CellRun &cells, int64_t cols, int64_t target,
                      const Pitches &pitches, bool once) {
  // Cells that are stored as far apart as they lie are bytes of a row.
  const bool rows = cells.bytes == pitches.element;
  const int64_t rowBytes = cols * cells.bytes;
  isa::DmaCopy copy = weightCopy(builder, isa::Memory::Xm);
  copy.srcBase = cells.address;
  copy.dstBase = target + cells.firstRow * pitches.row;
  copy.n1 = run.count, copy.n2 = cells.blocks, copy.n3 = rows ? rowBytes : cols;
  copy.n4 = once ? 1 : cells.repeat;
  copy.srcStride1 = cells.blocks * rowBytes, copy.srcStride2 = rowBytes;
  copy.srcStride3 = 1;
  copy.dstStride1 = pitches.tile;
  copy.dstStride2 = cells.repeat * pitches.row;
  copy.dstStride3 = rows ? 1 : pitches.element;
  copy.dstStride4 = pitches.row;
  orderForRuns(builder.machine, copy);
  return copy;
}

/// Cells of elements of two bytes lie two bytes apart: a run of a byte each,
/// or, stored with the bytes between them, twice the bytes in runs of a row.
/// Takes what the queue does sooner.
int64_t storedBytes(const ProgramBuilder &builder, const TileRun &run,
                    CellRun cells, int64_t cols, const Pitches &pitches,
                    bool once) {
  auto cycles = [&](int64_t bytes) {
    cells.bytes = bytes;
    return copyCycles(builder.machine,
                      cellCopy(builder, run, cells, cols, 0, pitches, once));
  };
  return cycles(pitches.element) < cycles(1) ? pitches.element : 1;
}

Pitches pitchesOf(const ProgramBuilder &builder, const StreamedProduct &product,
                  const ColumnTile &column) {
  const auto tile = static_cast<int64_t>(
      llvm::alignTo(column.cols * product.elementBytes, 8));
  return {tile, static_cast<int64_t>(builder.machine.sb.bytesPerPartition),
          product.elementBytes};
}

/// The cells of a run, in the order in which they are stored.
std::vector<int16_t> cellsOf(const ProgramBuilder &builder,
                             llvm::ArrayRef<StationaryTile> tiles,
                             const ColumnTile &column, const TileReader &reader,
                             const CellRun &cells) {
  std::vector<int16_t> all;
  all.reserve(tiles.size() * cells.blocks * column.cols);
  const int64_t group = builder.machine.xmGroup, rows = group * cells.repeat;
  for (const StationaryTile &tile : tiles)
    for (int64_t i = 0; i < cells.blocks; ++i)
      for (int64_t col = 0; col < column.cols; ++col)
        all.push_back(
            reader.cell(tile, cells.firstRow * group + i * rows, rows, col));
  return all;
}

/// Queue cycles and bytes of DRAM of a load.
struct LoadCost {
  uint64_t cycles = 0, bytes = 0;
};

LoadCost costOf(const machine::Description &machine,
                const isa::DmaUnpack &unpack) {
  const isa::LinearOperand to = operandDst(unpack);
  const llvm::SmallVector<uint64_t, 5> counts = to.counts();
  const llvm::SmallVector<int64_t, 5> strides = to.strides();
  machine::DmaSide side{false, counts, strides, unpack.elemBytes, 0, 0};
  side.rowBytes = machine.sb.bytesPerPartition;
  const numerics::CodeStream codes = operandSrc(unpack).stream();
  const machine::StreamSide stream{codes.bytes(), codes.decoded(),
                                   unpack.srcBase};
  const machine::Timing timing = machine::dmaUnpack(machine, stream, side);
  return {std::max(timing.issue, timing.dram),
          machine::streamTraffic(machine, stream).burstBytes};
}

/// Stores the exponents of a run in few bits where loading them then takes
/// neither more cycles nor as many bytes of DRAM.
void chooseCells(const ProgramBuilder &builder, const TileRun &run,
                 CellRun &cells, llvm::ArrayRef<int16_t> all, int64_t cols,
                 const Pitches &pitches, bool once) {
  const machine::Description &machine = builder.machine;
  const bool asked = builder.weightForm == WeightForm::Exponents;
  if ((builder.weightForm != WeightForm::AutoExponents && !asked) ||
      machine.dma.decodedCodesPerCycle == 0)
    return;
  // A queue holds a row of cells that it repeats.
  if (!once && cells.repeat > 1 &&
      cols > static_cast<int64_t>(machine.pe.columns))
    return;
  const std::optional<numerics::CodeStream> codes =
      numerics::exponentStream(all);
  if (!codes)
    return;
  CellRun packed = cells;
  packed.codes = codes;
  packed.bytes = pitches.element;
  const LoadCost own =
      costOf(machine, cellUnpack(builder, run, packed, cols, 0, pitches, once));
  const isa::DmaCopy copy =
      cellCopy(builder, run, cells, cols, 0, pitches, once);
  const uint64_t copied = copiedBytes(machine, copy);
  if (own.bytes < copied && (asked || own.cycles <= copyCycles(machine, copy)))
    cells = packed;
}

/// Bytes of cells as they are stored without a form of their own.
std::vector<uint8_t> cellBytes(llvm::ArrayRef<int16_t> all, int64_t pitch) {
  std::vector<uint8_t> bytes;
  bytes.reserve(all.size() * pitch);
  for (int16_t cell : all) {
    bytes.push_back(static_cast<uint8_t>(cell));
    bytes.resize(bytes.size() + pitch - 1);
  }
  return bytes;
}

/// Writes the exponents of a run to the DRAM image.
void packCells(ProgramBuilder &builder, const StreamedProduct &product,
               const ColumnTile &column, const TileReader &reader,
               const TileRun &run, CellRun &cells) {
  const Pitches pitches = pitchesOf(builder, product, column);
  const bool once = product.awaitsDram;
  cells.bytes = storedBytes(builder, run, cells, column.cols, pitches, once);
  const std::vector<int16_t> all = cellsOf(
      builder, llvm::ArrayRef(column.tiles).slice(run.firstTile, run.count),
      column, reader, cells);
  const std::vector<uint8_t> bytes = cellBytes(all, cells.bytes);
  chooseCells(builder, run, cells, all, column.cols, pitches, once);
  if (!cells.codes) {
    cells.address =
        builder.addConstant(bytes, &NodeStorage::exponents, product.node);
    return;
  }
  cells.address = builder.addConstant(numerics::packSparse(all, *cells.codes),
                                      &NodeStorage::exponents, product.node);
  builder.storage[product.node].omitted +=
      static_cast<int64_t>(bytes.size()) -
      static_cast<int64_t>(cells.codes->bytes());
}

void packRun(ProgramBuilder &builder, const StreamedProduct &product,
             const ColumnTile &column, const TileReader &reader, TileRun &run) {
  llvm::ArrayRef<StationaryTile> tiles =
      llvm::ArrayRef(column.tiles).slice(run.firstTile, run.count);
  // Rows of other groups read as zero too.
  const int zero = analysis::weightStorage(product.op).zero;
  const unsigned bits = codeBits(product);
  std::vector<int16_t> codes(run.count * run.rows * column.cols,
                             codeOf(zero, bits));
  int16_t *to = codes.data();
  for (const StationaryTile &tile : tiles) {
    for (int64_t col = 0; col < column.cols; ++col)
      reader.forMantissas(tile, run.rows, col, [&](int64_t row, int16_t value) {
        to[row * column.cols + col] = codeOf(value + zero, bits);
      });
    to += run.rows * column.cols;
  }
  run.codes =
      chooseStream(builder, codes, bits, codeOf(zero, bits), column.cols);
  run.mantissas = builder.addConstant(numerics::packSparse(codes, run.codes),
                                      &NodeStorage::mantissas, product.node);
  builder.storage[product.node].omitted +=
      static_cast<int64_t>(numerics::packedBytes(codes.size(), bits)) -
      static_cast<int64_t>(run.codes.bytes());
  for (CellRun &cells : run.cells)
    packCells(builder, product, column, reader, run, cells);
}

void append32(std::vector<uint8_t> &bytes, uint32_t word) {
  for (int i = 0; i < 4; ++i)
    bytes.push_back(word >> (8 * i) & 0xff);
}

/// A bias as an integer and its exponent, as `biasAligned` reads them.
uint32_t alignedBias(uint32_t word) {
  const numerics::ScaledInteger bias =
      numerics::biasTerm(std::bit_cast<float>(word));
  return static_cast<uint16_t>(bias.value) |
         static_cast<uint32_t>(bias.exponent) << 16;
}

/// f32 scale, f32 bias (i32 of products of integers, aligned with an integer
/// epilogue), i32 EW, f32 alpha per lane.
std::vector<uint8_t> packParameters(const StreamedProduct &product,
                                    const ColumnTile &column,
                                    const EncodedWeights *weights) {
  std::vector<float> scale;
  std::vector<uint32_t> bias, slope;
  auto read = [&](auto op) {
    if (op.getScale())
      scale = analysis::constantFloats(op.getScale());
    if (op.getBias())
      bias = analysis::constantWords(op.getBias());
    if (op.getSlope())
      slope = analysis::constantWords(op.getSlope());
    if (op.getIntegerEpilogue())
      std::transform(bias.begin(), bias.end(), bias.begin(), alignedBias);
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
    if (column.packing.packs())
      output = column.firstOutput + lane % column.packing.outputs;
    float laneScale = output < scale.size() ? scale[output] : 1.0f;
    uint32_t laneBias = output < bias.size() ? bias[output] : 0;
    int32_t exponent = weights ? weights->scaleExponent(output) : 0;
    append32(bytes, std::bit_cast<uint32_t>(laneScale));
    append32(bytes, laneBias);
    append32(bytes, static_cast<uint32_t>(exponent));
    // Either a parameter of the function or a lane (act.drain).
    uint32_t last = output < slope.size() ? slope[output] : 0;
    if (!product.sources.empty())
      last = static_cast<uint32_t>(product.sources[output]);
    append32(bytes, last);
  }
  return bytes;
}

/// Mantissas of whole bytes that are all stored are copied, others unpacked.
void emitMantissas(ProgramBuilder &builder, const TileRun &run, int64_t cols,
                   unsigned bits, int64_t target, const Pitches &pitches) {
  if (bits == 8 * pitches.element &&
      run.codes.form == numerics::CodeForm::Dense) {
    int64_t rowBytes = cols * pitches.element;
    isa::DmaCopy copy = weightCopy(builder, isa::Memory::Sb);
    copy.srcBase = run.mantissas;
    copy.dstBase = target;
    copy.n2 = run.count, copy.n3 = run.rows, copy.n4 = rowBytes;
    copy.srcStride2 = run.rows * rowBytes, copy.srcStride3 = rowBytes;
    copy.srcStride4 = 1;
    copy.dstStride2 = pitches.tile, copy.dstStride3 = pitches.row;
    copy.dstStride4 = 1;
    builder.emitWeights(copy);
    return;
  }
  isa::DmaUnpack unpack{};
  unpack.queue = builder.weightQueue();
  unpack.elemBytes = pitches.element;
  unpack.mantissa = bits;
  unpack.form = static_cast<isa::CodeForm>(run.codes.form);
  if (run.codes.form != numerics::CodeForm::Dense) {
    unpack.unit = run.codes.unit;
    unpack.stored = static_cast<uint32_t>(run.codes.stored);
    unpack.zero = run.codes.zero;
  }
  unpack.srcBase = run.mantissas;
  unpack.dstBase = target;
  unpack.n2 = run.count, unpack.n3 = run.rows, unpack.n4 = cols;
  unpack.dstStride2 = pitches.tile, unpack.dstStride3 = pitches.row;
  unpack.dstStride4 = pitches.element;
  builder.emitWeights(unpack);
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
  if (column.ends)
    chunk.parameters =
        builder.addConstant(packParameters(product, column, weights),
                            &NodeStorage::parameters, product.node);
  return chunk;
}

void emitChunkLoad(ProgramBuilder &builder, const StreamedProduct &product,
                   size_t index, const PackedChunk &chunk, int64_t offset) {
  const ColumnTile &column = product.columns[index];
  const Pitches pitches = pitchesOf(builder, product, column);
  const int64_t group = builder.machine.xmGroup;
  const bool once = product.awaitsDram;
  auto load = [&](const TileRun &run, bool mantissas) {
    const int64_t target =
        offset + static_cast<int64_t>(run.firstTile) * pitches.tile;
    if (mantissas)
      return emitMantissas(builder, run, column.cols, codeBits(product),
                           run.part * pitches.row + target, pitches);
    for (const CellRun &cells : run.cells) {
      const int64_t to = run.part / group * pitches.row + target;
      if (cells.codes)
        builder.emitWeights(
            cellUnpack(builder, run, cells, column.cols, to, pitches, once));
      else
        builder.emitWeights(
            cellCopy(builder, run, cells, column.cols, to, pitches, once));
    }
  };
  // Cells that are copied on go first: mantissas arrive in the meantime.
  for (const TileRun &run : chunk.runs)
    for (bool mantissas : {!once, once})
      load(run, mantissas);
}

void emitRepeatedCells(ProgramBuilder &builder, const StreamedProduct &product,
                       size_t index, const PackedChunk &chunk, int64_t offset) {
  const ColumnTile &column = product.columns[index];
  const Pitches pitches = pitchesOf(builder, product, column);
  const int64_t group = builder.machine.xmGroup;
  for (const TileRun &run : chunk.runs)
    for (const CellRun &cells : run.cells) {
      if (cells.repeat == 1)
        continue;
      const bool rows = cells.bytes == pitches.element;
      isa::DmaCopy copy{};
      copy.queue = builder.nextMovementQueue();
      copy.elemBytes = 1;
      copy.srcMem = copy.dstMem = isa::Memory::Xm;
      copy.srcBase = (run.part / group + cells.firstRow) * pitches.row +
                     offset +
                     static_cast<int64_t>(run.firstTile) * pitches.tile;
      copy.dstBase = copy.srcBase + pitches.row;
      copy.n1 = run.count, copy.n2 = cells.blocks, copy.n3 = cells.repeat - 1;
      copy.n4 = column.cols * (rows ? cells.bytes : 1);
      copy.srcStride1 = copy.dstStride1 = pitches.tile;
      copy.srcStride2 = copy.dstStride2 = cells.repeat * pitches.row;
      copy.dstStride3 = pitches.row;
      copy.srcStride4 = copy.dstStride4 = rows ? 1 : pitches.element;
      orderForRuns(builder.machine, copy);
      builder.emitWeights(copy);
    }
}

void emitRecordLoad(ProgramBuilder &builder, const StreamedProduct &product,
                    size_t index, const PackedChunk &chunk, int64_t offset,
                    int64_t part) {
  const ColumnTile &column = product.columns[index];
  int64_t pitch = builder.machine.sb.bytesPerPartition;
  isa::DmaCopy records = weightCopy(builder, isa::Memory::Sb);
  records.srcBase = chunk.parameters;
  records.dstBase = part * pitch + offset;
  if (part < 0) {
    int64_t tiles = product.streamsTiles ? column.tiles.size() : 0;
    records.dstBase =
        offset + tiles * llvm::alignTo(column.cols * product.elementBytes, 8);
  }
  records.n3 = part < 0 ? column.cols : 1;
  records.n4 = column.parameterBytes;
  records.srcStride3 = analysis::kParameterBytes, records.srcStride4 = 1;
  records.dstStride3 = pitch, records.dstStride4 = 1;
  builder.emitWeights(records);
}

} // namespace ashlar::codegen
