// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with few result positions: the activations are loaded into the
// array and the weights stream past them (docs/Machine.md, PE array). PSUM
// then has positions in columns and outputs in entries. Either the drain
// encodes along the free axis and an identity multiplication transposes whole
// blocks; or it writes f32 with positions across partitions, a copy turns that
// back and the vector unit finishes the epilogue. Each step rounds as the fused
// drain does, so the bits are the same (docs/Numerics.md 6).

#include "../Generator.h"
#include "Streams.h"

#include "ashlar/Analysis/Layout/BufferViews.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Numerics/Function.h"
#include "ashlar/Support/Error.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::codegen {

using analysis::ColumnTile;
using analysis::StationaryTile;
using analysis::storageOf;

namespace {

/// Epilogue operands and function of either product operation.
struct Epilogue {
  Value scale, bias, slope, residual;
  bool integer = false;
  MapParameters function;
};

Epilogue epilogueOf(Operation *op) {
  Epilogue epilogue;
  auto read = [&](auto product) {
    epilogue.scale = product.getScale();
    epilogue.bias = product.getBias();
    epilogue.slope = product.getSlope();
    epilogue.residual = product.getResidual();
    epilogue.integer = product.getIntegerEpilogue();
    epilogue.function.alpha = product.getAlpha().convertToFloat();
    epilogue.function.beta = product.getBeta().convertToFloat();
    if (auto function = numerics::parseFunction(product.getFunction()))
      epilogue.function.function =
          static_cast<isa::Function>(static_cast<unsigned>(*function));
  };
  if (auto conv = dyn_cast<npu::PeConvOp>(op))
    read(conv);
  else
    read(cast<npu::PeMatmulOp>(op));
  return epilogue;
}

class MovingWeightsEmitter {
public:
  MovingWeightsEmitter(Generator &generator, const TileContext &tile)
      : generator(generator), machine(generator.machine), tile(tile),
        transposed(tile.scratch[0]),
        transposesWholeBlocks(npu::transposesBlocks(tile.op)),
        epilogue(epilogueOf(tile.op)), positions(transposed.shape[0]) {}

  llvm::Error run();

private:
  llvm::Error findPositions();
  void gatherWindows();
  void gatherTap(npu::PeConvOp conv, int64_t tap);
  void emitChunk(const ColumnTile &chunk, const ChunkPlace &place);
  llvm::Error emitParts(size_t product, size_t first, size_t count);
  void emitLoad(const StationaryTile &stationary, int64_t first, int64_t count);
  void emitMatmul(const ColumnTile &chunk, size_t index, int64_t count,
                  int64_t psum, const ChunkPlace &place);
  void emitDrain(const ColumnTile &chunk, int64_t first, int64_t count,
                 int64_t psum, const ChunkPlace &place);
  void setResult(isa::ActDrain &drain, const ColumnTile &chunk, int64_t first);
  void turnBlocks();
  void turnBack(const View &straight);
  void finish(const View &straight);

  Generator &generator;
  const machine::Description &machine;
  const TileContext &tile;
  const View &transposed;     ///< [positions, outputs], positions on partitions
  bool transposesWholeBlocks; ///< `transposed` is encoded, else f32
  Epilogue epilogue;
  int64_t positions;
  // The stationary operand: channels on partitions, positions at one distance.
  View source;
  int64_t tapStride = 0;
  int64_t positionStride = 0;
};

llvm::Error MovingWeightsEmitter::run() {
  source = tile.operands[0];
  if (tile.scratch.size() > (transposesWholeBlocks ? 1 : 2))
    gatherWindows();
  else if (llvm::Error error = findPositions())
    return error;
  size_t product = generator.streamedProduct(tile.op);
  llvm::ArrayRef<ColumnTile> columns =
      generator.weights.product(product).columns;
  for (size_t i = 0, count = 0; i < columns.size(); i += count) {
    count = columns.drop_front(i)
                .take_until([](const ColumnTile &c) { return c.ends; })
                .size() +
            1;
    if (count > 1) {
      if (llvm::Error error = emitParts(product, i, count))
        return error;
      continue;
    }
    auto place = generator.acquireWeights(product, i);
    if (!place)
      return place.takeError();
    emitChunk(columns[i], *place);
    generator.weights.release(product, i);
  }
  if (transposesWholeBlocks) {
    turnBlocks();
  } else {
    turnBack(tile.scratch[1]);
    finish(tile.scratch[1]);
  }
  return llvm::Error::success();
}

/// The distance of two positions of an operand that is read as it lies: the
/// layouts that the operation accepts have one.
llvm::Error MovingWeightsEmitter::findPositions() {
  npu::Layout layout = analysis::layoutOf(source, {}, machine);
  auto runs = layout.runs(layout.freeAxes());
  if (runs.size() > 1)
    return makeError(support::ErrorClass::Internal,
                     "node '{}': positions of a stationary operand lie in {} "
                     "runs, expected one",
                     analysis::getNodeName(tile.op->getLoc()), runs.size());
  positionStride = runs.empty() ? source.type.bytes() : runs[0].stride;
  return llvm::Error::success();
}

/// Copies the activations of every tap to consecutive positions, whole blocks
/// with their exponents; positions in the padding become zero.
void MovingWeightsEmitter::gatherWindows() {
  auto conv = cast<npu::PeConvOp>(tile.op);
  source = tile.scratch.back();
  tapStride = source.strides[0];
  positionStride = source.strides[2];
  for (int64_t tap = 0; tap < source.shape[0]; ++tap)
    gatherTap(conv, tap);
}

void MovingWeightsEmitter::gatherTap(npu::PeConvOp conv, int64_t tap) {
  const View &x = tile.operands[0];
  const Region &held = tile.operandRegions[0];
  auto kernel = analysis::shapeOf(conv.getW()).drop_front(2);
  // The tap's positions as a feature map of the result's extents.
  View target = source;
  target.type = x.type;
  target.axis = 1;
  target.base += tap * tapStride;
  target.shape = tile.out.size;
  target.shape[1] = x.shape[1];
  target.strides.assign(x.rank(), x.type.bytes());
  for (int64_t i = x.rank() - 2; i >= 0; --i)
    target.strides[i] =
        target.strides[i + 1] * (i + 1 == 1 ? 1 : target.shape[i + 1]);
  View from = x;
  Region valid = Region::whole(target.shape);
  bool padded = false, empty = false;
  int64_t rest = tap;
  for (int64_t i = x.rank() - 1; i >= 2; --i) {
    int64_t s = i - 2, k = rest % kernel[s];
    rest /= kernel[s];
    int64_t step = conv.getStrides()[s];
    int64_t origin = k * conv.getDilations()[s] - conv.getPads()[s];
    int64_t input = analysis::shapeOf(conv.getX())[i];
    int64_t low = origin >= 0 ? 0 : llvm::divideCeil(-origin, step);
    int64_t high =
        input - origin <= 0
            ? 0
            : static_cast<int64_t>(llvm::divideCeil(input - origin, step));
    high = std::min(high, target.shape[i]);
    valid.start[i] = low;
    valid.size[i] = high - low;
    padded |= low > 0 || high < target.shape[i];
    empty |= high <= low;
    from.base += (origin + low * step - held.start[i]) * x.strides[i];
    from.strides[i] = x.strides[i] * step;
  }
  if (padded)
    emitFill(generator.builder, target, 0);
  if (empty)
    return;
  from.shape = valid.size;
  emitCopy(generator.builder, from, target.slice(valid, machine));
}

void MovingWeightsEmitter::emitChunk(const ColumnTile &chunk,
                                     const ChunkPlace &place) {
  int64_t columns = machine.pe.columns;
  for (int64_t first = 0; first < positions; first += columns) {
    int64_t count = std::min(columns, positions - first);
    int64_t psum = generator.sums.next();
    for (size_t t = 0; t < chunk.tiles.size(); ++t) {
      emitLoad(chunk.tiles[t], first, count);
      generator.builder.emit(isa::PeSwap{});
      emitMatmul(chunk, t, count, psum, place);
    }
    emitDrain(chunk, first, count, psum, place);
  }
}

/// Weights of the same outputs that come in parts: the sums of as many groups
/// of positions as there are PSUM banks wait for the next part.
llvm::Error MovingWeightsEmitter::emitParts(size_t product, size_t first,
                                            size_t count) {
  const int64_t columns = machine.pe.columns;
  const int64_t together = columns * static_cast<int64_t>(machine.psum.banks);
  for (int64_t begin = 0; begin < positions; begin += together) {
    const int64_t end = std::min(begin + together, positions);
    llvm::SmallVector<int64_t, 4> banks;
    for (int64_t at = begin; at < end; at += columns)
      banks.push_back(generator.sums.next());
    for (size_t i = first; i < first + count; ++i) {
      const ColumnTile &part = generator.weights.product(product).columns[i];
      auto place = generator.acquireWeights(product, i);
      if (!place)
        return place.takeError();
      for (auto [group, psum] : llvm::enumerate(banks)) {
        const int64_t at = begin + static_cast<int64_t>(group) * columns;
        const int64_t steps = std::min(columns, end - at);
        for (size_t t = 0; t < part.tiles.size(); ++t) {
          emitLoad(part.tiles[t], at, steps);
          generator.builder.emit(isa::PeSwap{});
          emitMatmul(part, t, steps, psum, *place);
        }
        if (part.ends)
          emitDrain(part, at, steps, psum, *place);
      }
      generator.weights.release(product, i);
    }
  }
  return llvm::Error::success();
}

void MovingWeightsEmitter::emitLoad(const StationaryTile &stationary,
                                    int64_t first, int64_t count) {
  const analysis::StorageType &type = tile.operands[0].type;
  int64_t partitions = machine.sb.partitions;
  int64_t position = source.part + stationary.channel;
  isa::PeLoad load{};
  load.part = position % partitions;
  load.rows = stationary.rows;
  load.offset = source.base + position / partitions * source.tileStride +
                stationary.tap * tapStride + first * positionStride;
  load.cols = count;
  load.colStride = static_cast<int32_t>(positionStride);
  load.type = static_cast<isa::ElemType>(type.isaType());
  load.mantissa = type.format.mantissa;
  load.range = type.format.range;
  load.xr = generator.scaleRegister(tile.op->getOperand(0));
  generator.builder.emit(load);
}

void MovingWeightsEmitter::emitMatmul(const ColumnTile &chunk, size_t index,
                                      int64_t count, int64_t psum,
                                      const ChunkPlace &place) {
  analysis::StorageType type = storageOf(tile.op->getOperand(1));
  isa::PeMatmul matmul{};
  matmul.part = (source.part + chunk.tiles[index].channel) %
                static_cast<int64_t>(machine.sb.partitions);
  matmul.rows = chunk.tiles[index].rows;
  matmul.cols = count;
  matmul.offset = static_cast<int32_t>(
      place.tiles + static_cast<int64_t>(index) * place.tilePitch);
  matmul.type = static_cast<isa::ElemType>(type.isaType());
  matmul.mantissa = type.format.mantissa;
  matmul.range = type.format.range;
  matmul.xr = 0;
  matmul.accumulate = index > 0 || !chunk.begins;
  matmul.psum = psum;
  matmul.n2 = chunk.cols;
  matmul.stride2 = static_cast<int32_t>(type.bytes());
  matmul.psumStride2 = 1;
  matmul.hi0 = 1, matmul.hi1 = 1;
  matmul.hi2 = static_cast<int32_t>(chunk.cols);
  if (analysis::isNarrow(type, storageOf(tile.op->getOperand(0)), machine))
    setNarrow(matmul, machine);
  generator.builder.emit(matmul);
}

void MovingWeightsEmitter::emitDrain(const ColumnTile &chunk, int64_t first,
                                     int64_t count, int64_t psum,
                                     const ChunkPlace &place) {
  analysis::StorageType weights = storageOf(tile.op->getOperand(1));
  isa::ActDrain drain{};
  drain.psum = psum;
  drain.psumStride2 = 1;
  drain.n2 = chunk.cols;
  drain.cols = count;
  drain.xrA = 0;
  drain.xrS = generator.scaleRegister(tile.op->getOperand(0));
  drain.shift = -(tile.operands[0].type.format.range + weights.format.range);
  drain.paramAlongSteps = true;
  drain.paramPart = place.parameterPart;
  drain.paramOffset = place.parameters;
  drain.hasExp = true;
  drain.hasScale = bool(epilogue.scale);
  drain.hasBias = bool(epilogue.bias);
  if (epilogue.integer) {
    drain.mode = isa::DrainMode::Block;
    drain.biasAligned = drain.hasBias;
  }
  setResult(drain, chunk, first);
  generator.builder.emit(drain);
}

/// Encoded along the free axis, or f32 before residual and function; the
/// slopes of a function are in the records, and no residual is in between
/// (analysis::mayKeepActivations).
void MovingWeightsEmitter::setResult(isa::ActDrain &drain,
                                     const ColumnTile &chunk, int64_t first) {
  setResultType(generator, tile.op, transposed.type, drain);
  if (transposesWholeBlocks || epilogue.slope) {
    drain.function = epilogue.function.function;
    drain.alpha = epilogue.function.alpha;
    drain.beta = epilogue.function.beta;
    drain.alphaFromParam = bool(epilogue.slope);
  }
  if (transposesWholeBlocks)
    drain.dstOrientation = isa::Orientation::F;
  drain.dstPart = transposed.part + first;
  drain.dstOffset = transposed.base + chunk.firstOutput * transposed.strides[1];
  drain.dstStride2 = static_cast<int32_t>(transposed.strides[1]);
}

/// Whole blocks from positions across partitions to outputs across partitions:
/// tiles of all positions x as many outputs as the array has columns. Cells go
/// along; the register of the scale exponent stays.
void MovingWeightsEmitter::turnBlocks() {
  const View &y = tile.result;
  int64_t outputs = transposed.shape[1];
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  // Positions in result order: the last free dimensions, the innermost last.
  int64_t count[3] = {1, 1, 1}, stride[3] = {};
  for (int64_t i = y.rank() - 1, at = 2; i >= 0; --i)
    if (i != y.axis) {
      count[at] = y.shape[i];
      stride[at--] = y.strides[i];
    }
  int64_t size = 0;
  for (int64_t first = 0; first < outputs; first += size) {
    int64_t position = y.part + first;
    size = std::min({static_cast<int64_t>(machine.pe.columns), outputs - first,
                     partitions - position % partitions});
    isa::PeLoad load{};
    load.part = transposed.part;
    load.rows = positions;
    load.offset = transposed.base + first * transposed.strides[1];
    load.cols = size;
    load.colStride = static_cast<int32_t>(transposed.strides[1]);
    load.type = static_cast<isa::ElemType>(transposed.type.isaType());
    load.mantissa = transposed.type.format.mantissa;
    load.mode = isa::OperandMode::Select;
    load.orientation = isa::Orientation::F;
    generator.builder.emit(load);
    generator.builder.emit(isa::PeSwap{});
    isa::ActDrain drain{};
    drain.psum = generator.sums.next();
    emitIdentityWindow(generator, transposed.part, positions, size, drain.psum);
    drain.cols = size;
    drain.n0 = count[0], drain.n1 = count[1], drain.n2 = count[2];
    drain.psumStride2 = 1;
    drain.psumStride1 = static_cast<int32_t>(count[2]);
    drain.psumStride0 = static_cast<int32_t>(count[1] * count[2]);
    drain.mode = isa::DrainMode::Raw64;
    drain.dstType = static_cast<isa::ElemType>(transposed.type.isaType());
    drain.dstMantissa = transposed.type.format.mantissa;
    drain.dstPart = position % partitions;
    drain.dstOffset = y.base + position / partitions * y.tileStride;
    drain.dstStride0 = static_cast<int32_t>(stride[0]);
    drain.dstStride1 = static_cast<int32_t>(stride[1]);
    drain.dstStride2 = static_cast<int32_t>(stride[2]);
    generator.builder.emit(drain);
  }
}

/// [positions, outputs] with positions on partitions to the same with outputs
/// on partitions; in `straight` positions are contiguous in result order.
void MovingWeightsEmitter::turnBack(const View &straight) {
  View flat = straight;
  flat.shape = transposed.shape;
  flat.axis = 1;
  flat.strides = {transposed.type.bytes(), 0};
  emitCopy(generator.builder, transposed, flat);
}

void MovingWeightsEmitter::finish(const View &straight) {
  if (epilogue.residual) {
    MapParameters add;
    add.function = isa::Function::Add;
    emitMap(generator, straight, &tile.operands.back(), straight, add);
  }
  MapParameters last = epilogue.slope ? MapParameters() : epilogue.function;
  if (tile.result.type.encoded)
    last.target = generator.resultScale(tile.op);
  emitMap(generator, straight, nullptr, tile.result, last);
}

} // namespace

llvm::Error emitMovingWeights(Generator &generator, const TileContext &tile) {
  return MovingWeightsEmitter(generator, tile).run();
}

} // namespace ashlar::codegen
