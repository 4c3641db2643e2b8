// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of an operation as loops of tile operations. The buffers and regions
// are those that planning has sized and checked (analysis::tileBuffers).

#include "SequenceBuilder.h"

#include "TileLoops.h"
#include "ashlar/Analysis/Layout/ResidentConstants.h"
#include "ashlar/Analysis/Tiles/TileSequence.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;

namespace ashlar::tile {

using analysis::Lanes;
using analysis::Region;
using analysis::Shape;
using analysis::TileBuffer;

namespace {

/// What tiles have in common that differ in their place alone.
struct TileClass {
  Shape out;                                ///< extents of the result
  llvm::SmallVector<Shape, 4> operands;     ///< extents that are read; none of
                                            ///< those that no region is read of
  llvm::SmallVector<TileBuffer, 6> buffers; ///< in a slot at byte 0
};

/// The leaf of released weights; tiles have the numbers of their class after.
constexpr int64_t kRelease = 0;

/// A number that loops advance: its first value, and a step for each loop.
struct Number {
  int64_t first = 0;
  llvm::SmallVector<int64_t, 4> steps;
};

class SequenceBuilder {
public:
  SequenceBuilder(OpBuilder &builder, Operation *op,
                  const analysis::Residents &residents,
                  const machine::Description &machine)
      : builder(builder), op(op), machine(machine),
        model(analysis::buildTilingModel(op, machine)),
        staging(residents.stagingOf(op, model)), tiling(npu::tilingOf(op)),
        extents(tiling.getTile().asArrayRef()) {
    for (auto [value, operand] : llvm::zip(op->getOperands(), model.operands))
      uniform.push_back(staging.operands[uniform.size()] && !operand.padded
                            ? analysis::uniformBits(value)
                            : std::nullopt);
  }

  SequenceSize run();

private:
  using Role = TileBuffer::Role;

  // Tiles as patterns.
  bool hasRegion(size_t operand) const {
    return !model.operands[operand].streamed && !model.operands[operand].direct;
  }
  Run tilesFrom(size_t level);
  Run tileAt();
  int64_t classOf(llvm::ArrayRef<Region> regions);

  // Patterns as operations.
  void write(const Run &run);
  void write(llvm::ArrayRef<int64_t> patterns, llvm::ArrayRef<Number> numbers);
  void writeLoop(const TileLoops::Pattern &loop,
                 llvm::ArrayRef<Number> numbers);
  void writeTile(const TileClass &tile, llvm::ArrayRef<Number> numbers);
  llvm::SmallVector<Value, 6> allocate(const TileClass &tile,
                                       const Number &count);
  Value readOperand(size_t index, const TileClass &tile, Value buffer,
                    llvm::ArrayRef<Number> start);
  Value tensor(std::optional<int64_t> operand, Value value);
  BufferType typeOf(const TileBuffer &buffer) const;

  /// Numbers as a map over the loops that they depend on.
  struct Affine {
    AffineMapAttr map;
    llvm::SmallVector<Value, 4> indices;
  };
  Affine affine(llvm::ArrayRef<Number> numbers) const;
  Affine addressOf(const Number &count, int64_t offset) const;

  OpBuilder &builder;
  Operation *op;
  const machine::Description &machine;
  analysis::TilingModel model;
  analysis::Staging staging;
  npu::TilingAttr tiling;
  llvm::ArrayRef<int64_t> extents;
  llvm::SmallVector<std::optional<uint64_t>, 4> uniform;

  llvm::SmallVector<int64_t, 6> axes; ///< in the order of the tiles
  Region out;                         ///< of the tile that is looked at
  int64_t count = 0;
  TileLoops loops;
  std::vector<TileClass> classes;
  std::map<llvm::SmallVector<int64_t, 24>, int64_t> known;

  llvm::SmallVector<Value, 4> indices; ///< of the loops being written
  llvm::SmallVector<Value, 4> tensors; ///< by operand; the result last
  bool measures = false;
  SequenceSize size;
};

//===----------------------------------------------------------------------===//
// Tiles as patterns
//===----------------------------------------------------------------------===//

int64_t SequenceBuilder::classOf(llvm::ArrayRef<Region> regions) {
  llvm::SmallVector<int64_t, 24> key(out.size.begin(), out.size.end());
  for (const Region &region : regions)
    key.append(region.size.begin(), region.size.end());
  for (const analysis::ScratchBuffer &scratch : model.scratch(out)) {
    key.push_back(scratch.axis);
    key.append(scratch.shape.begin(), scratch.shape.end());
  }
  auto [entry, inserted] =
      known.insert({std::move(key), static_cast<int64_t>(classes.size())});
  if (inserted) {
    TileClass fresh;
    fresh.out = out.size;
    for (const Region &region : regions)
      fresh.operands.push_back(region.size);
    fresh.buffers = analysis::sequenceBuffers(op, model, staging, out,
                                              /*base=*/0, machine);
    classes.push_back(std::move(fresh));
  }
  return entry->second;
}

/// The numbers of a tile: how many come before it, its first indices, and
/// those of what it reads.
Run SequenceBuilder::tileAt() {
  llvm::SmallVector<Region, 4> regions(model.operands.size());
  llvm::SmallVector<int64_t, 24> numbers{count++};
  numbers.append(out.start);
  for (size_t i = 0; i < regions.size(); ++i)
    if (hasRegion(i)) {
      regions[i] = model.operands[i].region(out);
      numbers.append(regions[i].start);
    }
  return loops.leaf(kRelease + 1 + classOf(regions), numbers);
}

/// The tiles along the axes from `level` on; what is outside is fixed.
Run SequenceBuilder::tilesFrom(size_t level) {
  if (level == axes.size())
    return tileAt();
  const int64_t axis = axes[level], extent = model.resultShape[axis];
  std::vector<Run> runs;
  int64_t start = 0;
  do {
    out.start[axis] = start;
    out.size[axis] = std::min(extents[axis], extent - start);
    Run run;
    // Other outputs have other weights.
    if (start > 0 && axis == model.outputAxis)
      run = loops.leaf(kRelease, {});
    run.append(tilesFrom(level + 1));
    runs.push_back(std::move(run));
    start += extents[axis];
  } while (start < extent);
  return loops.fold(std::move(runs));
}

//===----------------------------------------------------------------------===//
// Patterns as operations
//===----------------------------------------------------------------------===//

SequenceBuilder::Affine
SequenceBuilder::affine(llvm::ArrayRef<Number> numbers) const {
  MLIRContext *context = builder.getContext();
  Affine result;
  llvm::SmallVector<AffineExpr, 6> exprs;
  for (const Number &number : numbers)
    exprs.push_back(getAffineConstantExpr(number.first, context));
  for (auto [depth, index] : llvm::enumerate(indices)) {
    if (llvm::all_of(numbers, [d = depth](const Number &number) {
          return number.steps[d] == 0;
        }))
      continue;
    AffineExpr dim = getAffineDimExpr(result.indices.size(), context);
    result.indices.push_back(index);
    for (auto [expr, number] : llvm::zip(exprs, numbers))
      expr = dim * number.steps[depth] + expr;
  }
  result.map = AffineMapAttr::get(
      AffineMap::get(result.indices.size(), 0, exprs, context));
  return result;
}

/// Slots take turns.
SequenceBuilder::Affine SequenceBuilder::addressOf(const Number &count,
                                                   int64_t offset) const {
  Affine address = affine(count);
  AffineMap map = address.map.getValue();
  AffineExpr slot = map.getResult(0) % tiling.getSlots();
  slot = slot * tiling.getSlot() + (tiling.getScratch() + offset);
  map = AffineMap::get(map.getNumDims(), 0, slot);
  if (map.isConstant())
    address.indices.clear(), map = AffineMap::get(0, 0, slot);
  address.map = AffineMapAttr::get(map);
  return address;
}

BufferType SequenceBuilder::typeOf(const TileBuffer &buffer) const {
  // Scratch memory is as large as its shape says, folds included.
  Lanes lanes;
  llvm::ArrayRef<int64_t> shape = buffer.view.shape;
  if (buffer.role == Role::Operand)
    lanes = model.operands[buffer.index].lanes, shape = buffer.region.size;
  else if (buffer.role == Role::Result)
    lanes = model.lanes, shape = buffer.region.size;
  return analysis::bufferType(builder.getContext(), buffer.view.type, shape,
                              buffer.view.axis, lanes);
}

llvm::SmallVector<Value, 6> SequenceBuilder::allocate(const TileClass &tile,
                                                      const Number &count) {
  llvm::SmallVector<Value, 6> buffers;
  for (const TileBuffer &buffer : tile.buffers) {
    Affine address = addressOf(count, buffer.view.base);
    buffers.push_back(AllocOp::create(builder, op->getLoc(), typeOf(buffer),
                                      address.indices, address.map,
                                      builder.getI64IntegerAttr(buffer.bytes)));
  }
  return buffers;
}

/// What a tile reads of an operand: a copy in `buffer`, or where it lies.
Value SequenceBuilder::readOperand(size_t index, const TileClass &tile,
                                   Value buffer, llvm::ArrayRef<Number> start) {
  const analysis::OperandModel &operand = model.operands[index];
  if (operand.direct)
    return tensors[index];
  Location loc = op->getLoc();
  Affine place = affine(start);
  auto number = builder.getI64IntegerAttr(static_cast<int64_t>(index));
  auto sizes = builder.getDenseI64ArrayAttr(tile.operands[index]);
  if (!buffer)
    return ViewOp::create(
        builder, loc,
        analysis::bufferType(builder.getContext(),
                             analysis::storageOf(op->getOperand(index)),
                             tile.operands[index], operand.axis, operand.lanes),
        number, place.indices, place.map, sizes);
  if (uniform[index])
    FillOp::create(
        builder, loc, number, place.indices, place.map, sizes,
        builder.getI64IntegerAttr(static_cast<int64_t>(*uniform[index])),
        buffer);
  else
    LoadOp::create(builder, loc, number, place.indices, place.map, sizes,
                   operand.padded ? builder.getUnitAttr() : UnitAttr(), buffer);
  return buffer;
}

void SequenceBuilder::writeTile(const TileClass &tile,
                                llvm::ArrayRef<Number> numbers) {
  Location loc = op->getLoc();
  llvm::SmallVector<Value, 6> buffers = allocate(tile, numbers.front());
  auto bufferOf = [&](Role role, size_t index) {
    for (auto [buffer, value] : llvm::zip(tile.buffers, buffers))
      if (buffer.role == role && buffer.index == index)
        return value;
    return Value();
  };
  auto start = numbers.drop_front().take_front(tile.out.size());
  numbers = numbers.drop_front(1 + start.size());
  llvm::SmallVector<int64_t, 4> reads;
  llvm::SmallVector<Value, 4> inputs, scratch;
  for (size_t i = 0; i < model.operands.size(); ++i) {
    if (model.operands[i].streamed)
      continue;
    const size_t rank = hasRegion(i) ? tile.operands[i].size() : 0;
    reads.push_back(static_cast<int64_t>(i));
    inputs.push_back(readOperand(i, tile, bufferOf(Role::Operand, i),
                                 numbers.take_front(rank)));
    numbers = numbers.drop_front(rank);
  }
  for (auto [buffer, value] : llvm::zip(tile.buffers, buffers))
    if (buffer.role == Role::Scratch)
      scratch.push_back(value);
  Affine place = affine(start);
  auto sizes = builder.getDenseI64ArrayAttr(tile.out);
  Value made = bufferOf(Role::Result, 0), target = made;
  if (!target && model.directResult)
    target = tensors.back();
  if (!target)
    target = ViewOp::create(
        builder, loc,
        analysis::bufferType(builder.getContext(), model.resultType, tile.out,
                             model.resultAxis, model.homeLanes),
        IntegerAttr(), place.indices, place.map, sizes);
  ComputeOp::create(builder, loc, place.indices, place.map, sizes,
                    measures ? builder.getUnitAttr() : UnitAttr(),
                    builder.getDenseI64ArrayAttr(reads), inputs, target,
                    scratch);
  if (made && !measures)
    StoreOp::create(builder, loc, made, place.indices, place.map, sizes);
  if (!buffers.empty())
    FreeOp::create(builder, loc, buffers);
}

void SequenceBuilder::writeLoop(const TileLoops::Pattern &loop,
                                llvm::ArrayRef<Number> numbers) {
  OpBuilder::InsertionGuard guard(builder);
  auto repeat = ForOp::create(builder, op->getLoc(), loop.count);
  builder.setInsertionPointToEnd(&repeat.getBody().front());
  indices.push_back(repeat.getIndex());
  llvm::SmallVector<Number> inside(numbers);
  for (auto [number, step] : llvm::zip(inside, loop.body.numbers))
    number.steps.push_back(step);
  write(loop.body.patterns, inside);
  indices.pop_back();
}

void SequenceBuilder::write(llvm::ArrayRef<int64_t> patterns,
                            llvm::ArrayRef<Number> numbers) {
  for (int64_t index : patterns) {
    const TileLoops::Pattern &pattern = loops.pattern(index);
    auto own = numbers.take_front(pattern.numbers);
    numbers = numbers.drop_front(pattern.numbers);
    if (pattern.leaf < 0)
      writeLoop(pattern, own);
    else if (pattern.leaf == kRelease)
      ReleaseWeightsOp::create(builder, op->getLoc());
    else
      writeTile(classes[pattern.leaf - kRelease - 1], own);
  }
}

void SequenceBuilder::write(const Run &run) {
  llvm::SmallVector<Number> numbers;
  for (int64_t number : run.numbers)
    numbers.push_back({number, {}});
  write(run.patterns, numbers);
}

Value SequenceBuilder::tensor(std::optional<int64_t> operand, Value value) {
  return TensorOp::create(builder, op->getLoc(), value.getType(),
                          operand ? builder.getI64IntegerAttr(*operand)
                                  : IntegerAttr());
}

SequenceSize SequenceBuilder::run() {
  auto sequence = SequenceOp::create(builder, op->getLoc(), op->getResult(0));
  if (npu::isAliased(op))
    return size;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&sequence.getBody().front());
  for (auto [i, operand] : llvm::enumerate(model.operands))
    tensors.push_back(operand.direct
                          ? tensor(static_cast<int64_t>(i), op->getOperand(i))
                          : Value());
  tensors.push_back(model.directResult ? tensor(std::nullopt, op->getResult(0))
                                       : Value());
  const auto rank = static_cast<int64_t>(model.resultShape.size());
  out = {Shape(rank, 0), Shape(rank, 0)};
  if (model.outputAxis >= 0)
    axes.push_back(model.outputAxis);
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != model.outputAxis)
      axes.push_back(axis);
  const Run tiles = tilesFrom(0);
  size.tiles = count;
  if (analysis::measuresTensor(op)) {
    measures = true;
    write(tiles);
    measures = false;
  }
  write(tiles);
  sequence.getBody().walk([&](Operation *) { ++size.operations; });
  return size;
}

} // namespace

SequenceSize buildSequence(OpBuilder &builder, Operation *op,
                           const analysis::Residents &residents,
                           const machine::Description &machine) {
  return SequenceBuilder(builder, op, residents, machine).run();
}

} // namespace ashlar::tile
