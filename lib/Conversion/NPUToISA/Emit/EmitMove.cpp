// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu.dma.move: every pattern is clipped to the tile and becomes DMA copies. A
// result of another storage type passes through scratch and the vector unit.

#include "../Generator.h"

#include "ashlar/Analysis/Cost/LaneCopies.h"
#include "ashlar/Analysis/Cost/WindowCopies.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::codegen {

namespace {

/// Converts folded scratch to the folded result. Both are plain maps in memory;
/// a block of the plain map must not reach into the next lane.
void emitFoldedConversion(Generator &generator, const TileContext &tile,
                          MapParameters parameters) {
  View result = tile.result;
  if (result.type.encoded)
    result.type.format.block = static_cast<int>(
        analysis::foldedBlock(result.type.format, tile.model->lanes));
  emitMap(generator, tile.scratch[0], nullptr, result, parameters);
}

/// Emits an access pattern that exchanges the axis across partitions inside the
/// chip in squares of one channel tile each way, the result's outermost: the
/// first follow a producer that still makes what the others read.
void emitSquares(Generator &generator, const View &source, const View &target,
                 const npu::AccessPattern &pattern) {
  auto loopOf = [&](auto isLoop) {
    const auto *loop = llvm::find_if(pattern.dims, isLoop);
    return loop != pattern.dims.end() &&
                   llvm::count_if(pattern.dims, isLoop) == 1
               ? loop
               : nullptr;
  };
  const npu::PatternDim *row = loopOf([&](const npu::PatternDim &dim) {
    return dim.resultAxis == target.axis && dim.extent > 1;
  });
  const npu::PatternDim *column = loopOf([&](const npu::PatternDim &dim) {
    return dim.sourceAxis == source.axis && dim.extent > 1;
  });
  const bool inside = source.inStateBuffer() && target.inStateBuffer() &&
                      source.axis >= 0 && target.axis >= 0;
  if (!inside || source.type.encoded || !row || !column || row == column ||
      column->resultAxis == target.axis ||
      !loopOf([&](const npu::PatternDim &dim) {
        return dim.resultAxis == column->resultAxis && dim.extent > 1;
      }))
    return emitPattern(generator.builder, source, target, pattern);
  const auto partitions = static_cast<int64_t>(generator.machine.sb.partitions);
  analysis::Shape extents = target.shape;
  extents[target.axis] = partitions * row->resultStep;
  extents[column->resultAxis] = partitions * column->resultStep;
  Region square = analysis::firstTile(target.shape, extents);
  do {
    npu::AccessPattern part = pattern;
    if (clipPattern(part, square))
      emitPattern(generator.builder, source,
                  target.slice(square, generator.machine), part);
  } while (analysis::nextTile(square, target.shape, extents));
}

/// Emits access patterns, what several taps read only once: first all fetches,
/// which the queues share, then the copies of what they have fetched.
void emitWindows(Generator &generator, const View &source, const View &target,
                 llvm::ArrayRef<npu::AccessPattern> patterns) {
  llvm::SmallVector<npu::AccessPattern, 8> repeated;
  for (const npu::AccessPattern &pattern : patterns) {
    const analysis::WindowCopies copies = analysis::windowCopies(
        source, target, pattern, generator.builder.costs);
    for (const npu::AccessPattern &copy : copies.fetched)
      emitSquares(generator, source, target, copy);
    repeated.append(copies.repeated.begin(), copies.repeated.end());
  }
  for (const npu::AccessPattern &copy : repeated)
    emitPattern(generator.builder, target, target, copy);
}

/// The operand in DRAM, dense in its own order: where it lies, or a copy with
/// its exponent cells.
View inDram(Generator &generator, const View &source) {
  if (!source.inStateBuffer())
    return source;
  ProgramBuilder &builder = generator.builder;
  const machine::Description &machine = generator.machine;
  int64_t base =
      builder.allocateDram(analysis::dramBytes(source.type, source.shape));
  int64_t cells = builder.allocateDram(
      analysis::dramCellBytes(source.type, source.shape, machine));
  View dram =
      analysis::denseDramView(source.type, source.shape, base, cells, machine);
  emitCopy(builder, source, dram);
  return dram;
}

/// A reshape without common refinement: the elements pass through DRAM in
/// row-major order, and so do their exponent cells, since a reshape of encoded
/// elements keeps the block axis, and the products of the axes before and after
/// it. `target` takes the tile `out` of the result, whose type `result` has.
void emitLinear(Generator &generator, const View &source,
                const analysis::StorageType &result, const Region &out,
                llvm::ArrayRef<int64_t> shape, const View &target) {
  const View image = inDram(generator, source);
  analysis::StorageType type = source.type;
  if (type.encoded)
    type.blockAxis = result.blockAxis;
  const View reshaped = analysis::denseDramView(
      type, shape, image.base, image.cellBase, generator.machine);
  emitCopy(generator.builder, reshaped.slice(out, generator.machine), target);
}

} // namespace

llvm::Error emitMove(Generator &generator, const TileContext &tile) {
  auto move = cast<npu::DmaMoveOp>(tile.op);
  if (tile.model->directResult && tile.model->homeLanes.spread()) {
    const Shape start(tile.out.size.size(), 0);
    emitRelaid(generator.builder, {tile.operands[0], {}, start},
               {tile.result, tile.model->homeLanes, start}, tile.out.size);
    return llvm::Error::success();
  }
  bool converts = !tile.scratch.empty();
  const Region &out = tile.out;
  View target =
      converts ? tile.scratch[0]
      : tile.model->directResult
          ? tile.result.slice(analysis::storedRegion(out, tile.model->lanes),
                              generator.machine)
          : tile.result;
  const analysis::Lanes &lanes = tile.model->lanes;
  llvm::SmallVector<npu::AccessPattern, 4> patterns;
  for (Attribute attr : move.getPatterns()) {
    npu::AccessPattern pattern = *npu::AccessPattern::fromArray(
        cast<DenseI64ArrayAttr>(attr).asArrayRef());
    if (clipPattern(pattern, out))
      patterns.push_back(std::move(pattern));
  }
  fillOpen(generator, tile, target, patterns);
  // The measured alternative: the operand is written to DRAM in its own order
  // and read from there in the new one.
  auto operands = tile.operands;
  if (npu::routeOf(move) == npu::Route::ThroughDram)
    operands[0] = inDram(generator, operands[0]);
  if (move.keepsOrder())
    emitLinear(generator, operands[0], tile.result.type, out,
               tile.model->resultShape, target);
  for (npu::AccessPattern &pattern : patterns) {
    const Region &held = tile.operandRegions[pattern.operand];
    for (size_t i = 0; i < held.start.size(); ++i)
      pattern.sourceStart[i] -= held.start[i];
    emitWindows(generator, operands[pattern.operand], target,
                analysis::lanePatterns(pattern, lanes));
  }
  if (converts) {
    MapParameters convert;
    convert.ownsPartitions = !lanes.folded() && ownsPartitions(tile, 0);
    if (tile.result.type.encoded)
      convert.target = generator.resultScale(tile.op);
    emitFoldedConversion(generator, tile, convert);
  }
  return llvm::Error::success();
}

} // namespace ashlar::codegen
