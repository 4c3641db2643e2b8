// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the patterns of a movement leave open of a tile is filled before they
// are copied: rows that windows over an end leave open, columns of the other
// rows, and in a lane fold the partitions between two lanes.

#include "../Generator.h"

#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Support/Half.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <bit>
#include <optional>

using namespace mlir;

namespace ashlar::codegen {

namespace {

using Range = std::pair<int64_t, int64_t>;
using Patterns = llvm::ArrayRef<npu::AccessPattern>;

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

/// Elements of each index along `axis` of a tile of `size` that `patterns`
/// leave open. Access patterns never overlap, so that counting elements is
/// enough.
std::vector<int64_t> openAlong(Patterns patterns, const analysis::Shape &size,
                               int64_t axis) {
  int64_t all = 1;
  for (int64_t extent : size)
    all *= extent;
  std::vector<int64_t> open(size[axis], all / size[axis]);
  for (const npu::AccessPattern &pattern : patterns) {
    int64_t perIndex = 1;
    llvm::SmallVector<int64_t> indices{pattern.resultStart[axis]};
    for (const npu::PatternDim &dim : pattern.dims) {
      if (dim.resultAxis != axis) {
        perIndex *= dim.extent;
        continue;
      }
      llvm::SmallVector<int64_t> starts = std::move(indices);
      indices.clear();
      for (int64_t i = 0; i < dim.extent; ++i)
        for (int64_t start : starts)
          indices.push_back(start + i * dim.resultStep);
    }
    for (int64_t index : indices)
      open[index] -= perIndex;
  }
  return open;
}

/// The ranges of indices with more than `least` open elements.
llvm::SmallVector<Range, 2> rangesAbove(llvm::ArrayRef<int64_t> open,
                                        int64_t least) {
  llvm::SmallVector<Range, 2> ranges;
  for (auto [i, count] : llvm::enumerate(open)) {
    const auto index = static_cast<int64_t>(i);
    if (count <= least)
      continue;
    if (!ranges.empty() && ranges.back().second == index)
      ++ranges.back().second;
    else
      ranges.push_back({index, index + 1});
  }
  return ranges;
}

/// Regions of a tile of `size` that cover what `patterns` leave open along one
/// axis.
llvm::SmallVector<Region, 4>
openRegions(Patterns patterns, const analysis::Shape &size, int64_t axis) {
  llvm::SmallVector<Region, 4> regions;
  // Access patterns come after the fill: filling too much costs time alone.
  if (size[axis] > kMostCount)
    return {Region::whole(size)};
  if (Region::whole(size).elements() == 0)
    return {};
  for (auto [begin, end] : rangesAbove(openAlong(patterns, size, axis), 0)) {
    Region region = Region::whole(size);
    region.start[axis] = begin;
    region.size[axis] = end - begin;
    regions.push_back(std::move(region));
  }
  return regions;
}

/// The rows in which windows leave as little open as in any other, if there are
/// rows in which they leave more.
std::optional<Range> innerRows(Patterns patterns, const analysis::Shape &size,
                               int64_t axis) {
  if (axis < 2 || size[axis] > kMostCount ||
      Region::whole(size).elements() == 0)
    return std::nullopt;
  for (const npu::AccessPattern &pattern : patterns)
    if (llvm::count_if(pattern.dims, [&](const npu::PatternDim &dim) {
          return dim.resultAxis == axis;
        }) > 1)
      return std::nullopt;
  std::vector<int64_t> open = openAlong(patterns, size, axis);
  const int64_t least = *llvm::min_element(open);
  for (int64_t &count : open)
    count = count == least;
  const auto ranges = rangesAbove(open, 0);
  if (ranges.size() != 1 || ranges[0] == Range(0, size[axis]))
    return std::nullopt;
  return ranges[0];
}

/// Regions of a tile of `size` that cover what `patterns` leave open: whole
/// rows at its ends, and columns of the rows between them.
llvm::SmallVector<Region, 4> openParts(Patterns patterns,
                                       const analysis::Shape &size) {
  const auto columns = static_cast<int64_t>(size.size()) - 1;
  const int64_t rows = columns - 1;
  const std::optional<Range> inner = innerRows(patterns, size, rows);
  if (!inner)
    return openRegions(patterns, size, columns);
  llvm::SmallVector<Region, 4> regions;
  for (auto [begin, end] : {Range(0, inner->first), // above and below
                            Range(inner->second, size[rows])}) {
    if (begin == end)
      continue;
    Region region = Region::whole(size);
    region.start[rows] = begin;
    region.size[rows] = end - begin;
    regions.push_back(std::move(region));
  }
  Region between = Region::whole(size);
  between.start[rows] = inner->first;
  between.size[rows] = inner->second - inner->first;
  llvm::SmallVector<npu::AccessPattern, 8> inside;
  for (npu::AccessPattern pattern : patterns)
    if (analysis::clipPattern(pattern, between))
      inside.push_back(std::move(pattern));
  for (Region region : openRegions(inside, between.size, columns)) {
    region.start[rows] += inner->first;
    regions.push_back(std::move(region));
  }
  return regions;
}

/// Fills a region of a tile that may lie in lanes, of whole pixels there. Zeros
/// are written to the `channels` of the lanes of its columns alone if they lie
/// in one pixel.
void fillRegion(Generator &generator, const View &target,
                const analysis::Lanes &lanes, Region region, int64_t channels,
                uint64_t bits) {
  if (lanes.folded()) {
    const size_t axis = region.size.size() - 1;
    const int64_t first = region.start[axis];
    const int64_t last = first + region.size[axis] - 1;
    region.start[axis] = first / lanes.count;
    region.size[axis] = last / lanes.count - region.start[axis] + 1;
    region.size[1] = target.shape[1];
    if (region.size[axis] == 1 && bits == 0) {
      region.start[1] = first % lanes.count * lanes.pitch;
      region.size[1] =
          last % lanes.count * lanes.pitch + channels - region.start[1];
    }
  }
  emitFill(generator.builder, target.slice(region, generator.machine), bits);
}

/// Clears what rows of `width` columns leave open of their last pixel: the
/// lanes after the last column.
void clearOpenPixel(Generator &generator, const View &target,
                    const analysis::Lanes &lanes, int64_t width,
                    int64_t channels) {
  if (width % lanes.count == 0)
    return;
  Region region = Region::whole(target.shape);
  region.start.back() = width / lanes.count;
  region.size.back() = 1;
  region.start[1] = width % lanes.count * lanes.pitch;
  region.size[1] = (lanes.count - 1) * lanes.pitch + channels - region.start[1];
  emitFill(generator.builder, target.slice(region, generator.machine), 0);
}

/// Clears the partitions between the `channels` of two lanes, which are encoded
/// along with them, unless an earlier tile has and no fill was `spread` there.
void clearBetweenLanes(Generator &generator, const TileContext &tile,
                       const View &target, int64_t channels, bool spread) {
  const analysis::Lanes &lanes = tile.model->lanes;
  if (channels >= lanes.pitch)
    return;
  if (tile.cleared && !tile.cleared->add(target, generator.machine) && !spread)
    return;
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    Region region = Region::whole(target.shape);
    region.start[1] = lane * lanes.pitch + channels;
    region.size[1] = lanes.pitch - channels;
    emitFill(generator.builder, target.slice(region, generator.machine), 0);
  }
}

} // namespace

void fillOpen(Generator &generator, const TileContext &tile, const View &target,
              llvm::ArrayRef<npu::AccessPattern> patterns) {
  auto move = cast<npu::DmaMoveOp>(tile.op);
  const analysis::Lanes &lanes = tile.model->lanes;
  const int64_t channels = lanes.folded() ? tile.out.size[1] : 0;
  // After copies from DRAM a queue answers late: fills that hand over to each
  // other on several queues would wait for the band before on each of them.
  const ProgramBuilder::OneQueue fills(
      generator.builder,
      !tile.scratch.empty() && llvm::none_of(tile.operands, [](const View &x) {
        return x.inStateBuffer();
      }));
  // An open pixel may hold columns of the fill; these may spread between lanes.
  if (lanes.folded())
    clearOpenPixel(generator, target, lanes, tile.out.size.back(), channels);
  const uint64_t bits =
      move.getFill()
          ? fillBits(target.type.plain, move.getFill()->convertToDouble())
          : 0;
  if (move.getFill())
    for (const Region &region : openParts(patterns, tile.out.size))
      fillRegion(generator, target, lanes, region, channels, bits);
  if (lanes.folded())
    clearBetweenLanes(generator, tile, target, channels, bits != 0);
}

} // namespace ashlar::codegen
