// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A range of a spread axis begins and ends inside a group of neighbours: it is
// cut there. What is left has whole groups, a loop over groups and one over the
// lanes of a group; each is a step in memory. Where both sides spread one axis,
// it is taken index by index.

#include "CopyLanes.h"

#include <algorithm>

namespace ashlar::codegen {
namespace {

using analysis::Lanes;

constexpr size_t kSource = 0, kResult = 1;

class Relay {
public:
  Relay(ProgramBuilder &builder, const FoldedMap &source,
        const FoldedMap &result)
      : builder(builder), maps{&source, &result} {}

  void run(llvm::ArrayRef<int64_t> size) {
    npu::AccessPattern pattern = identityPattern(size);
    pattern.sourceStart.assign(maps[kSource]->start.begin(),
                               maps[kSource]->start.end());
    pattern.resultStart.assign(maps[kResult]->start.begin(),
                               maps[kResult]->start.end());
    cut(kSource, std::move(pattern));
  }

private:
  static int64_t &stepOf(npu::PatternDim &dim, size_t side) {
    return side == kSource ? dim.sourceStep : dim.resultStep;
  }
  static int64_t &axisOf(npu::PatternDim &dim, size_t side) {
    return side == kSource ? dim.sourceAxis : dim.resultAxis;
  }
  static int64_t &startOf(npu::AccessPattern &pattern, size_t side,
                          int64_t axis) {
    return (side == kSource ? pattern.sourceStart : pattern.resultStart)[axis];
  }

  /// The pattern with the spread axis of `side` cut, then that of the next
  /// side.
  void cut(size_t side, npu::AccessPattern pattern) {
    if (side > kResult)
      return emitPattern(builder, maps[kSource]->view, maps[kResult]->view,
                         pattern);
    const Lanes &lanes = maps[side]->lanes;
    if (!lanes.folded())
      return cut(side + 1, std::move(pattern));
    if (lanes.repeated) {
      pattern.dims.insert(pattern.dims.begin(),
                          {lanes.count, -1, 0, lanes.across, lanes.pitch});
      return cut(side + 1, std::move(pattern));
    }
    auto along = std::find_if(
        pattern.dims.begin(), pattern.dims.end(),
        [&](npu::PatternDim &dim) { return axisOf(dim, side) == lanes.axis; });
    cutAxis(side, pattern, along - pattern.dims.begin());
  }

  /// The parts of a range: up to the first whole group, whole groups, the rest.
  void cutAxis(size_t side, const npu::AccessPattern &pattern, size_t index) {
    const Lanes &lanes = maps[side]->lanes;
    const Lanes &other = maps[1 - side]->lanes;
    const bool both = side == kSource && other.spread() && !other.repeated &&
                      other.axis == lanes.axis;
    const int64_t extent = pattern.dims[index].extent;
    npu::AccessPattern first = pattern;
    const int64_t begin = startOf(first, side, lanes.axis);
    for (int64_t done = 0; done < extent;) {
      const int64_t lane = (begin + done) % lanes.count;
      const int64_t left = extent - done;
      const int64_t groups = both || lane != 0 ? 0 : left / lanes.count;
      const int64_t within = both         ? 1
                             : groups > 0 ? lanes.count
                                          : std::min(left, lanes.count - lane);
      emitPart(side, pattern, index, done, groups, within);
      done += std::max<int64_t>(groups, 1) * within;
    }
  }

  /// `within` lanes of `groups` whole groups, or of a part of one.
  void emitPart(size_t side, npu::AccessPattern part, size_t index,
                int64_t done, int64_t groups, int64_t within) {
    const Lanes &lanes = maps[side]->lanes;
    npu::PatternDim &dim = part.dims[index];
    startOf(part, 1 - side, axisOf(dim, 1 - side)) +=
        done * stepOf(dim, 1 - side);
    int64_t &start = startOf(part, side, lanes.axis);
    const int64_t at = start + done;
    start = at / lanes.count;
    startOf(part, side, lanes.across) += at % lanes.count * lanes.pitch;
    npu::PatternDim outer = dim;
    outer.extent = groups;
    stepOf(outer, 1 - side) *= lanes.count;
    dim.extent = within;
    axisOf(dim, side) = lanes.across;
    stepOf(dim, side) = lanes.pitch;
    if (groups > 1)
      part.dims.insert(part.dims.begin() + static_cast<ptrdiff_t>(index),
                       outer);
    cut(side + 1, std::move(part));
  }

  ProgramBuilder &builder;
  const FoldedMap *maps[2];
};

} // namespace

void emitRelaid(ProgramBuilder &builder, const FoldedMap &source,
                const FoldedMap &result, llvm::ArrayRef<int64_t> size) {
  Relay(builder, source, result).run(size);
}

} // namespace ashlar::codegen
