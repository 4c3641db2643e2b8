// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions and matrix products on the PE array: for each group of columns
// and each group of result positions that PSUM holds, load every stationary
// tile once, stream all positions through it, and drain (docs/Machine.md, PE
// array and ACT). While some banks of PSUM drain, others fill.

#include "ProductEmitter.h"
#include "Streams.h"

#include "ashlar/Machine/Cycles.h"
#include "ashlar/Numerics/Function.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::codegen {

using analysis::ColumnTile;
using analysis::StationaryTile;
using analysis::storageOf;

namespace {

/// The whole window, or its lanes.
llvm::SmallVector<DrainLane, 4> drainLanes(const Window &window,
                                           int64_t lanes) {
  int64_t width = window.size[3];
  llvm::SmallVector<DrainLane, 4> parts;
  for (int64_t first = 0; first < std::min(width, lanes); ++first)
    parts.push_back({first, llvm::divideCeilSigned(width - first, lanes), lanes,
                     (window.start[3] + first) % lanes});
  return parts;
}

/// How the array reads elements of `type`: integers minus their zero point.
template <typename Instruction>
void setOperand(Instruction &instruction, const analysis::StorageType &type) {
  instruction.type = static_cast<isa::ElemType>(type.isaType());
  instruction.mode =
      type.encoded ? isa::OperandMode::Bfp : isa::OperandMode::Int;
  instruction.zero = type.zero;
  if (!type.encoded)
    return;
  instruction.mantissa = type.format.mantissa;
  instruction.range = type.format.range;
}

bool ends(const ColumnTile &column) { return column.ends; }

} // namespace

llvm::Error ProductEmitter::run() {
  size_t product = generator.streamedProduct(tile.op);
  llvm::ArrayRef<ColumnTile> columns =
      generator.weights.product(product).columns;
  const auto [begin, end] = columnsOfTile(product);
  for (size_t i = begin, count = 0; i < end; i += count) {
    count = columns.drop_front(i).take_until(ends).size() + 1;
    llvm::Error error = count == 1 ? emitWhole(product, i, i + 1 == end)
                                   : emitParts(product, i, count);
    if (error)
      return error;
    if (i + count == end || endsChannelTile(product, i + count - 1))
      if (llvm::Error unplanned = shared.endChannelTile())
        return unplanned;
  }
  if (!shared.active())
    encodeScratch(generator, tile);
  return llvm::Error::success();
}

/// The column after column `index` is in another channel tile of the result.
bool ProductEmitter::endsChannelTile(size_t product, size_t index) const {
  llvm::ArrayRef<ColumnTile> columns =
      generator.weights.product(product).columns;
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  auto tileOf = [&](size_t i) {
    return (whole.y.part +
            whole.yLanes.position(columns[i].firstOutput - firstOutput, 0)) /
           partitions;
  };
  return tileOf(index) != tileOf(index + 1);
}

/// The columns of the outputs that the tile has: no tile ends inside one.
std::pair<size_t, size_t> ProductEmitter::columnsOfTile(size_t product) const {
  llvm::ArrayRef<ColumnTile> columns =
      generator.weights.product(product).columns;
  if (tile.model->outputAxis < 0)
    return {0, columns.size()};
  const int64_t end = firstOutput + tile.out.size[tile.model->outputAxis];
  auto indexOf = [&](int64_t output) -> size_t {
    return std::distance(columns.begin(),
                         llvm::find_if(columns, [&](const ColumnTile &column) {
                           return column.firstOutput >= output;
                         }));
  };
  return {indexOf(firstOutput), indexOf(end)};
}

/// A column whose weights are loaded together. `last`: none follows.
llvm::Error ProductEmitter::emitWhole(size_t product, size_t index, bool last) {
  const ColumnTile &column = generator.weights.product(product).columns[index];
  auto place = generator.acquireWeights(product, index);
  if (!place)
    return place.takeError();
  for (const ProductGeometry &batch : whole.batches()) {
    geometry = &batch;
    emitColumn(column, *place, last && &batch == &whole.batches().back());
  }
  generator.weights.release(product, index);
  return llvm::Error::success();
}

/// A column whose weights come in parts: the sums of as many positions as half
/// of PSUM holds wait there for the next part. Only streamed weights are cut,
/// which all batches share.
llvm::Error ProductEmitter::emitParts(size_t product, size_t first,
                                      size_t count) {
  llvm::ArrayRef<ColumnTile> parts =
      llvm::ArrayRef(generator.weights.product(product).columns)
          .slice(first, count);
  geometry = &whole;
  statesTerms = needsTerms(parts);
  shared.beginColumn();
  int64_t bankEntries = machine.psum.entriesPerBank;
  std::vector<Window> windows = windowsOf(bankEntries);
  for (size_t at = 0; at < windows.size(); at += groupWindows()) {
    size_t end = std::min(at + groupWindows(), windows.size());
    std::vector<Piece> pieces =
        placeInBanks(llvm::ArrayRef(windows).slice(at, end - at));
    for (size_t part = 0; part < count; ++part)
      if (llvm::Error error = emitPart(product, first + part, pieces))
        return error;
  }
  return llvm::Error::success();
}

llvm::Error ProductEmitter::emitPart(size_t product, size_t index,
                                     llvm::ArrayRef<Piece> pieces) {
  const ColumnTile &part = generator.weights.product(product).columns[index];
  auto place = generator.acquireWeights(product, index);
  if (!place)
    return place.takeError();
  for (size_t t = 0; t < part.tiles.size(); ++t) {
    emitLoad(part, t, *place);
    generator.builder.emit(isa::PeSwap{});
    for (const Piece &piece : pieces)
      emitMatmul(part, t, piece.window, piece.psum);
  }
  if (part.ends)
    for (const Piece &piece : drainedOf(pieces))
      emitDrain(part, piece.window, piece.psum, *place);
  generator.weights.release(product, index);
  return llvm::Error::success();
}

/// What is drained of sums that are complete: whole windows, or the pieces that
/// two engines share.
std::vector<ProductEmitter::Piece>
ProductEmitter::drainedOf(llvm::ArrayRef<Piece> windows) const {
  if (!shared.active())
    return windows.vec();
  std::vector<Piece> pieces;
  for (const Piece &window : windows)
    geometry->cut(window, pieces);
  return pieces;
}

/// The plan proves sums of the products of a group; tiles hold rows of zeros
/// for other groups besides. Where those would void the proof for an array that
/// knows widths only, loads say how many cells of a column count.
bool ProductEmitter::needsTerms(llvm::ArrayRef<ColumnTile> parts) const {
  analysis::StorageType x = storageOf(tile.op->getOperand(0));
  analysis::StorageType w = storageOf(tile.op->getOperand(1));
  if (!x.encoded || !w.encoded || geometry->stationary)
    return false;
  uint64_t rows = 0;
  for (const ColumnTile &part : parts)
    for (const StationaryTile &stationary : part.tiles)
      rows += static_cast<uint64_t>(stationary.rows);
  return numerics::accumulatorBits(x.format.mantissa, x.format.range,
                                   w.format.mantissa, w.format.range,
                                   rows) > 63;
}

/// One pass over the positions makes the sums as fast as ACT takes them.
bool ProductEmitter::keepsPace(const ColumnTile &column) const {
  analysis::StorageType x = analysis::activationStorage(tile.op);
  analysis::StorageType w = analysis::weightStorage(tile.op);
  return column.tiles.size() == 1 &&
         machine::pePasses(machine, x.digitBits(), w.digitBits()) == 1;
}

/// Windows of at most `most` entries; those of pooled rows take half of PSUM.
std::vector<Window> ProductEmitter::windowsOf(int64_t most) const {
  return geometry->pooled ? geometry->pooledWindows() : geometry->windows(most);
}

/// Windows that are summed up at a time: those of half of the PSUM banks.
size_t ProductEmitter::groupWindows() const {
  return geometry->pooled ? 1 : std::max<size_t>(machine.psum.banks / 2, 1);
}

/// Gives each window a bank; the sums of pooled rows take several.
std::vector<ProductEmitter::Piece>
ProductEmitter::placeInBanks(llvm::ArrayRef<Window> windows) {
  std::vector<Piece> pieces;
  for (const Window &window : windows)
    pieces.push_back({window, geometry->pooled ? generator.sums.nextHalf()
                                               : generator.sums.next()});
  return pieces;
}

/// `last`: nothing of this product follows. The last sums of all are drained in
/// pieces while the rest still streams, since the next operation waits for
/// them; the first ones too, since ACT waits for them. Where ACT keeps pace, it
/// lags the array by its largest drain: all are small.
void ProductEmitter::emitColumn(const ColumnTile &column,
                                const ChunkPlace &place, bool last) {
  const size_t perGroup = groupWindows();
  std::vector<Window> windows = windowsOf(entries);
  statesTerms = needsTerms(column);
  const bool small = keepsPace(column) || shared.active();
  shared.beginColumn();
  for (size_t first = 0; first < windows.size(); first += perGroup) {
    size_t count = std::min<size_t>(perGroup, windows.size() - first);
    std::vector<Piece> pieces;
    std::vector<Piece> whole =
        placeInBanks(llvm::ArrayRef(windows).slice(first, count));
    for (const Piece &window : whole)
      if ((last && first + count == windows.size()) || !drains || small)
        geometry->cut(window, pieces), drains = true;
      else
        pieces.push_back(window);
    for (size_t t = 0; t + 1 < column.tiles.size(); ++t) {
      emitLoad(column, t, place);
      generator.builder.emit(isa::PeSwap{});
      for (const Piece &piece : whole)
        emitMatmul(column, t, piece.window, piece.psum);
    }
    size_t end = column.tiles.size() - 1;
    emitLoad(column, end, place);
    generator.builder.emit(isa::PeSwap{});
    for (const Piece &piece : pieces)
      emitMatmul(column, end, piece.window, piece.psum);
    // Windows of results reach over the pieces of a stream.
    for (const Piece &piece : geometry->pooled ? whole : pieces)
      emitDrain(column, piece.window, piece.psum, place);
  }
}

void ProductEmitter::emitLoad(const ColumnTile &column, size_t index,
                              const ChunkPlace &place) {
  const StationaryTile &stationary = column.tiles[index];
  analysis::StorageType type = analysis::weightStorage(tile.op);
  isa::PeLoad load{};
  load.rows = stationary.rows;
  load.cols = column.cols;
  load.pattern = stationary.pattern;
  setOperand(load, type);
  if (statesTerms)
    load.terms = static_cast<uint32_t>(analysis::statedTerms(
        analysis::productShape(tile.op), column, stationary));
  if (geometry->stationary) {
    // A run-time operand: rows along its partition axis, columns along the
    // other one.
    const View &view = *geometry->stationary;
    int64_t position = view.part + stationary.channel;
    int64_t partitions = machine.sb.partitions;
    load.part = position % partitions;
    load.offset = view.base + position / partitions * view.tileStride +
                  (column.firstOutput - firstOutput) * geometry->columnStride +
                  geometry->tapOffset(stationary.tap);
    load.colStride = static_cast<int32_t>(geometry->columnStride);
    load.xr = generator.scaleRegister(tile.op->getOperand(1));
  } else {
    // Streamed weights lie in the first partitions, wherever the other operand
    // begins: row i of the array meets what is i partitions further in both.
    load.part =
        stationary.channel % static_cast<int64_t>(machine.sb.partitions);
    load.offset = place.tiles + static_cast<int64_t>(index) * place.tilePitch;
    load.colStride = static_cast<int32_t>(type.bytes());
    load.xr = 0;
  }
  generator.builder.emit(load);
}

void ProductEmitter::emitMatmul(const ColumnTile &column, size_t index,
                                const Window &window, int64_t psum) {
  const StationaryTile &stationary = column.tiles[index];
  const View &x = geometry->x;
  int64_t partitions = machine.sb.partitions;
  int64_t position = x.part + geometry->xLanes.position(stationary.channel, 0);
  MovingPattern moving = geometry->moving(window, stationary.tap);
  isa::PeMatmul matmul{};
  matmul.part = position % partitions;
  matmul.rows = stationary.rows;
  matmul.cols = column.cols;
  matmul.offset = static_cast<int32_t>(moving.offset +
                                       position / partitions * x.tileStride);
  setOperand(matmul, analysis::activationStorage(tile.op));
  matmul.xr = generator.scaleRegister(tile.op->getOperand(0));
  matmul.accumulate = index > 0 || !column.begins;
  matmul.psum = psum;
  matmul.n0 = moving.count[0], matmul.n1 = moving.count[1],
  matmul.n2 = moving.count[2];
  matmul.stride0 = moving.stride[0], matmul.stride1 = moving.stride[1],
  matmul.stride2 = moving.stride[2];
  matmul.psumStride2 = 1;
  matmul.psumStride1 = moving.count[2];
  matmul.psumStride0 = moving.count[1] * moving.count[2];
  matmul.lo0 = moving.low[0], matmul.hi0 = moving.high[0];
  matmul.lo1 = moving.low[1], matmul.hi1 = moving.high[1];
  matmul.lo2 = moving.low[2], matmul.hi2 = moving.high[2];
  if (const analysis::Lanes &lanes = geometry->xLanes; lanes.folded()) {
    matmul.groups = lanes.count;
    matmul.validW = moving.count[2];
    matmul.skip = geometry->stride[2] - 1;
    matmul.n2 = llvm::divideCeil(moving.count[2], lanes.count);
    // Whole pixels of the shift are bytes; what remains fits its field.
    int64_t pixels = moving.high[2] > 0
                         ? llvm::divideFloorSigned(moving.shift, lanes.count)
                         : 0;
    int64_t before = pixels * lanes.count;
    matmul.offset += static_cast<int32_t>(pixels * moving.stride[2]);
    matmul.shift = moving.high[2] > 0 ? moving.shift - before : 0;
    matmul.lo2 = std::max<int64_t>(moving.low[2] - before, 0);
    matmul.hi2 = std::max<int64_t>(moving.high[2] - before, 0);
  }
  if (stationary.pattern) {
    matmul.pattern = true;
    if (!geometry->xLanes.folded())
      joinLoops(matmul);
  }
  if (analysis::isNarrow(analysis::activationStorage(tile.op),
                         analysis::weightStorage(tile.op), machine))
    setNarrow(matmul, machine);
  generator.builder.emit(matmul);
}

void ProductEmitter::emitDrain(const ColumnTile &column, const Window &window,
                               int64_t psum, const ChunkPlace &place) {
  if (geometry->pooled)
    return emitPooled(column, window, psum, place);
  int64_t lanes =
      std::max(geometry->yLanes.count, geometry->residualLanes.count);
  if (shared.active())
    shared.beginPiece(window);
  for (const DrainLane &lane : drainLanes(window, lanes))
    emitDrainLane(column, window, lane, psum, place);
  shared.endPiece();
}

/// Where the drain reads the residual and writes the result.
void ProductEmitter::setDrainTargets(isa::ActDrain &drain,
                                     const ColumnTile &column,
                                     const Window &window,
                                     const DrainLane &lane) {
  // Ws results of a row lie at one W index of a folded view. Returns the
  // distance of two drained positions.
  auto address = [&](const View &view, const DimStrides &strides,
                     const analysis::Lanes &lanes, uint32_t &part,
                     uint32_t &offset) {
    int64_t position =
        view.part + lanes.position(column.firstOutput - firstOutput, lane.lane);
    int64_t partitions = machine.sb.partitions;
    part = position % partitions;
    offset = view.base + position / partitions * view.tileStride;
    offset += window.start[0] * strides[0] + window.start[1] * strides[1];
    offset += window.start[2] * geometry->packing.rows * strides[2];
    offset += (window.start[3] + lane.first) / lanes.count * strides[3];
    return lane.step / lanes.count * strides[3];
  };
  if (drain.resMode) {
    const View &residual = geometry->residual;
    setResidualType(residual.type, drain);
    drain.resStride2 =
        address(residual, geometry->residualStrides, geometry->residualLanes,
                drain.resPart, drain.resOffset);
    drain.resStride0 = geometry->residualStrides[window.leadingDim()];
    drain.resStride1 = geometry->residualStrides[2];
  }
  const View &target = geometry->y;
  drain.dstStride2 = address(target, geometry->yStrides, geometry->yLanes,
                             drain.dstPart, drain.dstOffset);
  drain.dstStride0 = geometry->yStrides[window.leadingDim()];
  drain.dstStride1 = geometry->yStrides[2];
  if (shared.leaves())
    shared.leave(drain, target.type);
  else
    setResultType(generator, tile.op, target.type, drain);
}

void ProductEmitter::emitDrainLane(const ColumnTile &column,
                                   const Window &window, const DrainLane &lane,
                                   int64_t psum, const ChunkPlace &place) {
  isa::ActDrain drain{};
  setEpilogue(tile.op, drain);
  drain.psum = psum + lane.first;
  drain.cols = column.cols;
  drain.n0 = window.leading(), drain.n1 = window.size[2];
  drain.n2 = lane.count;
  const analysis::RowPacking &packing = geometry->packing;
  const int64_t row = window.start[2] * packing.rows;
  if (packing.packs()) {
    drain.groupLanes = column.packing.outputs;
    drain.validN1 =
        std::min(window.size[2] * packing.rows, geometry->resultRows - row);
  }
  drain.psumStride2 = static_cast<int32_t>(lane.step);
  drain.psumStride1 = static_cast<int32_t>(window.size[3]);
  drain.psumStride0 = static_cast<int32_t>(window.size[2] * window.size[3]);
  drain.xrA = generator.scaleRegister(tile.op->getOperand(0));
  drain.xrS = geometry->stationary
                  ? generator.scaleRegister(tile.op->getOperand(1))
                  : 0;
  setSums(tile.op, geometry->x.type, !geometry->stationary, drain);
  drain.paramPart = 0;
  drain.paramOffset = place.parameters;
  setDrainTargets(drain, column, window, lane);
  countDrained(generator.counters, tile,
               {row, window.start[3] + lane.first, lane.step},
               column.firstOutput == 0 && window.start[0] == 0, drain);
  generator.builder.emit(drain);
}

void setEpilogue(Operation *op, isa::ActDrain &drain) {
  auto read = [&](auto product) {
    drain.hasScale = bool(product.getScale());
    drain.hasBias = bool(product.getBias());
    drain.alphaFromParam = bool(product.getSlope());
    drain.resMode = bool(product.getResidual());
    if (product.getIntegerEpilogue()) {
      drain.mode = isa::DrainMode::Block;
      drain.biasAligned = drain.hasBias;
    }
    drain.alpha = product.getAlpha().convertToFloat();
    drain.beta = product.getBeta().convertToFloat();
    if (auto function = numerics::parseFunction(product.getFunction()))
      drain.function =
          static_cast<isa::Function>(static_cast<unsigned>(*function));
  };
  if (auto conv = dyn_cast<npu::PeConvOp>(op))
    read(conv);
  else if (auto conv = dyn_cast<npu::TcuConvOp>(op))
    read(conv);
  else
    read(cast<npu::PeMatmulOp>(op));
}

void setSums(Operation *op, const analysis::StorageType &x, bool hasExp,
             isa::ActDrain &drain) {
  analysis::StorageType weights = storageOf(op->getOperand(1));
  if (weights.encoded) {
    drain.hasExp = hasExp;
    drain.shift = -(x.format.range + weights.format.range);
    return;
  }
  drain.mode = isa::DrainMode::Int;
  if (npu::QuantAttr quant = analysis::quantOf(op); quant && quant.getYZero())
    drain.shift = static_cast<int32_t>(*quant.getYZero());
}

void setResultType(Generator &generator, Operation *op,
                   const analysis::StorageType &type, isa::ActDrain &drain) {
  drain.dstType = static_cast<isa::ElemType>(type.isaType());
  if (!type.encoded)
    return;
  drain.dstMantissa = type.format.mantissa;
  drain.dstBlock = type.format.block;
  generator.resultScale(op).set(drain);
}

void setResidualType(const analysis::StorageType &type, isa::ActDrain &drain) {
  drain.resType = static_cast<isa::ElemType>(type.isaType());
  drain.resMantissa = type.encoded ? type.format.mantissa : 0;
}

void encodeScratch(Generator &generator, const TileContext &tile) {
  if (tile.scratch.empty())
    return;
  MapParameters encode;
  encode.target = generator.resultScale(tile.op);
  emitMap(generator, tile.scratch[0], nullptr, tile.result, encode);
}

llvm::Error emitProduct(Generator &generator, const TileContext &tile) {
  if (npu::hasStationaryActivations(tile.op))
    return emitMovingWeights(generator, tile);
  auto geometry = ProductGeometry::of(generator, tile);
  if (!geometry)
    return geometry.takeError();
  return ProductEmitter(generator, tile, *geometry).run();
}

} // namespace ashlar::codegen
