// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu.dma.move: every pattern is clipped to the tile and becomes DMA copies. A
// result of another storage type passes through scratch and the vector unit.

#include "../Generator.h"

#include "ashlar/Analysis/Cost/LaneCopies.h"
#include "ashlar/Analysis/Cost/WindowCopies.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Support/Half.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <bit>

using namespace mlir;

namespace ashlar::codegen {

namespace {

/// Clears `size` indices of a folded map from `start` along `axis`.
void clear(Generator &generator, const View &target, int64_t axis,
           int64_t start, int64_t size) {
  Region region = Region::whole(target.shape);
  region.start[axis] = start;
  region.size[axis] = size;
  emitFill(generator.builder, target.slice(region, generator.machine), 0);
}

/// Clears the partitions between the `channels` of two lanes, which are encoded
/// along with them.
void clearBetweenLanes(Generator &generator, const View &target,
                       const analysis::Lanes &lanes, int64_t channels) {
  if (channels < lanes.pitch)
    for (int64_t lane = 0; lane < lanes.count; ++lane)
      clear(generator, target, 1, lane * lanes.pitch + channels,
            lanes.pitch - channels);
}

/// Columns, of `width`, of a tile that `patterns` do not cover whole, as
/// ranges. Access patterns never overlap, so that counting elements is enough.
llvm::SmallVector<std::pair<int64_t, int64_t>, 2>
uncoveredColumns(llvm::ArrayRef<npu::AccessPattern> patterns,
                 const Region &out) {
  const int64_t axis = static_cast<int64_t>(out.size.size()) - 1;
  const int64_t width = out.size[axis];
  // Access patterns come after the fill: filling too much costs time alone.
  if (width > kMostCount)
    return {{0, width}};
  if (width == 0)
    return {};
  std::vector<int64_t> missing(width, out.elements() / width);
  for (const npu::AccessPattern &pattern : patterns) {
    int64_t perColumn = 1;
    llvm::SmallVector<int64_t> columns{pattern.resultStart[axis]};
    for (const npu::PatternDim &dim : pattern.dims) {
      if (dim.resultAxis != axis) {
        perColumn *= dim.extent;
        continue;
      }
      llvm::SmallVector<int64_t> starts = std::move(columns);
      columns.clear();
      for (int64_t i = 0; i < dim.extent; ++i)
        for (int64_t start : starts)
          columns.push_back(start + i * dim.resultStep);
    }
    for (int64_t column : columns)
      missing[column] -= perColumn;
  }
  llvm::SmallVector<std::pair<int64_t, int64_t>, 2> ranges;
  for (int64_t column = 0; column < width; ++column) {
    if (missing[column] == 0)
      continue;
    if (!ranges.empty() && ranges.back().second == column)
      ++ranges.back().second;
    else
      ranges.push_back({column, column + 1});
  }
  return ranges;
}

/// Pixels of a folded feature map, as ranges, that hold the columns which
/// patterns leave open.
llvm::SmallVector<std::pair<int64_t, int64_t>, 2>
uncoveredPixels(llvm::ArrayRef<npu::AccessPattern> patterns, const Region &out,
                const analysis::Lanes &lanes) {
  auto ranges = uncoveredColumns(patterns, out);
  for (auto &[begin, end] : ranges) {
    begin = begin / lanes.count;
    end = (end - 1) / lanes.count + 1;
  }
  return ranges;
}

/// Clears what a row of `width` columns leaves open of its last pixel, unless
/// `zeroed`, ranges of pixels, have it.
void clearOpenPixel(Generator &generator, const View &target,
                    const analysis::Lanes &lanes, int64_t width,
                    llvm::ArrayRef<std::pair<int64_t, int64_t>> zeroed) {
  const int64_t last = width / lanes.count;
  if (width % lanes.count != 0 &&
      llvm::none_of(zeroed, [&](const std::pair<int64_t, int64_t> &range) {
        return range.first <= last && last < range.second;
      }))
    clear(generator, target, target.rank() - 1, last, 1);
}

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

/// Low bytes of one element with the value `fill`.
uint64_t fillBits(support::ElementType type, double fill) {
  using E = support::ElementType;
  auto number = static_cast<float>(fill);
  switch (type) {
  case E::F32:
    return std::bit_cast<uint32_t>(number);
  case E::F64:
    return std::bit_cast<uint64_t>(fill);
  case E::F16:
    return support::floatToHalf(number);
  case E::BF16:
    return support::floatToBfloat(number);
  default:
    return static_cast<uint64_t>(static_cast<int64_t>(fill));
  }
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
    const analysis::WindowCopies copies =
        analysis::windowCopies(source, target, pattern, generator.machine);
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

/// Fills what the patterns of a tile leave open.
static void fillOpen(Generator &generator, const TileContext &tile,
                     const View &target,
                     llvm::ArrayRef<npu::AccessPattern> patterns) {
  auto move = cast<npu::DmaMoveOp>(tile.op);
  const analysis::Lanes &lanes = tile.model->lanes;
  // After copies from DRAM a queue answers late: fills that hand over to each
  // other on several queues would wait for the band before on each of them.
  const ProgramBuilder::OneQueue fills(
      generator.builder,
      !tile.scratch.empty() && llvm::none_of(tile.operands, [](const View &x) {
        return x.inStateBuffer();
      }));
  llvm::SmallVector<std::pair<int64_t, int64_t>, 2> filled;
  if (move.getFill())
    filled = uncoveredPixels(patterns, tile.out, lanes);
  const uint64_t bits =
      move.getFill()
          ? fillBits(target.type.plain, move.getFill()->convertToDouble())
          : 0;
  // An open pixel may hold columns of the fill; these may spread between lanes.
  if (lanes.folded())
    clearOpenPixel(generator, target, lanes, tile.out.size.back(),
                   bits == 0 ? llvm::ArrayRef(filled)
                             : llvm::ArrayRef(filled).take_front(0));
  for (auto [begin, end] : filled) {
    Region region = Region::whole(target.shape);
    region.start.back() = begin;
    region.size.back() = end - begin;
    emitFill(generator.builder, target.slice(region, generator.machine), bits);
  }
  if (lanes.folded())
    clearBetweenLanes(generator, target, lanes, tile.out.size[1]);
}

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
  if (move.getPatterns().empty() && !move.getFill())
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
    if (tile.result.type.encoded)
      convert.target = generator.resultScale(tile.op);
    emitFoldedConversion(generator, tile, convert);
  }
  return llvm::Error::success();
}

} // namespace ashlar::codegen
