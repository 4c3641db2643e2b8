// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing of weights. In DRAM a tile is its rows in partition order, each row
// the columns of the column tile, W bits per mantissa without gaps between rows
// and tiles, with or without its zeros, whichever is shorter. Exponents follow
// (CellPacker.cpp).

#include "ChunkPacker.h"

#include "CellPacker.h"
#include "TileReader.h"
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
  packCells(builder, product, column, reader, run);
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
    for (const CellRun &cells : run.cells)
      emitCells(builder, run, cells, run.part / group * pitches.row + target,
                pitches, once);
  };
  // Cells that are copied on go first: mantissas arrive in the meantime.
  for (const TileRun &run : chunk.runs)
    for (bool mantissas : {!once, once})
      load(run, mantissas);
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
