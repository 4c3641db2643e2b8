// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A range of a spread axis begins and ends inside a group of neighbours: it is
// cut there. What is left has whole groups, a loop over groups and one over the
// lanes of a group; each is a step in memory. Where both sides spread one axis,
// it is taken index by index.

#include "ashlar/Analysis/Cost/LaneCopies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

namespace ashlar::analysis {
namespace {

/// A run of neighbours along W of a lane-folded result becomes loops over
/// memory indices. Whole pixels are one pattern, the ends of a run two.
void foldRun(const npu::AccessPattern &rest, const npu::PatternDim &run,
             const Lanes &lanes,
             llvm::SmallVectorImpl<npu::AccessPattern> &patterns) {
  const size_t wAxis = rest.resultStart.size() - 1;
  int64_t w = rest.resultStart[wAxis], done = 0;
  while (done < run.extent) {
    int64_t lane = (w + done) % lanes.count, left = run.extent - done;
    int64_t pixels = lane == 0 ? left / lanes.count : 0;
    int64_t inPixel =
        pixels > 0 ? lanes.count : std::min(left, lanes.count - lane);
    npu::AccessPattern part = rest;
    part.resultStart[wAxis] = (w + done) / lanes.count;
    part.resultStart[1] += lane * lanes.pitch;
    if (run.sourceAxis >= 0)
      part.sourceStart[run.sourceAxis] += done * run.sourceStep;
    if (pixels > 1)
      part.dims.push_back({pixels, run.sourceAxis, run.sourceStep * lanes.count,
                           run.resultAxis, 1});
    part.dims.push_back(
        {inPixel, run.sourceAxis, run.sourceStep, 1, lanes.pitch});
    patterns.push_back(std::move(part));
    done += inPixel * std::max<int64_t>(pixels, 1);
  }
}

/// Divides loop `loop` along axis `wAxis`, so that all elements of a part lie
/// in the same lane of `lanes`.
llvm::SmallVector<npu::AccessPattern, 4>
divideByLane(const npu::AccessPattern &pattern, size_t loop, size_t wAxis,
             int64_t lanes) {
  llvm::SmallVector<npu::AccessPattern, 4> parts;
  const npu::PatternDim &whole = pattern.dims[loop];
  const int64_t period = lanes / std::gcd(whole.resultStep, lanes);
  for (int64_t first = 0; first < std::min(period, whole.extent); ++first) {
    npu::AccessPattern part = pattern;
    npu::PatternDim &dim = part.dims[loop];
    dim.extent = llvm::divideCeil(whole.extent - first, period);
    dim.sourceStep *= period;
    dim.resultStep *= period;
    part.resultStart[wAxis] += first * whole.resultStep;
    if (whole.sourceAxis >= 0)
      part.sourceStart[whole.sourceAxis] += first * whole.sourceStep;
    parts.push_back(std::move(part));
  }
  return parts;
}

constexpr size_t kSource = 0, kResult = 1;

class Relay {
public:
  Relay(const FoldedMap &source, const FoldedMap &result,
        machine::TransferCosts &costs, CopyVisitor visit)
      : maps{&source, &result}, costs(costs), visit(visit) {}

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
      return forEachCopy(maps[kSource]->view, maps[kResult]->view, pattern,
                         costs, visit);
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

  const FoldedMap *maps[2];
  machine::TransferCosts &costs;
  CopyVisitor visit;
};

} // namespace

llvm::SmallVector<npu::AccessPattern, 4>
lanePatterns(const npu::AccessPattern &pattern, const Lanes &lanes) {
  if (!lanes.folded())
    return {pattern};
  const size_t wAxis = pattern.resultStart.size() - 1;
  auto along = [&](const npu::PatternDim &dim) {
    return dim.resultAxis == static_cast<int64_t>(wAxis) && dim.extent > 1;
  };
  llvm::SmallVector<npu::AccessPattern, 4> patterns;
  const auto *run = llvm::find_if(pattern.dims, along);
  if (run != pattern.dims.end() && run->resultStep == 1 &&
      llvm::count_if(pattern.dims, along) == 1) {
    npu::AccessPattern rest = pattern;
    rest.dims.erase(rest.dims.begin() + (run - pattern.dims.begin()));
    foldRun(rest, *run, lanes, patterns);
    return patterns;
  }
  patterns.push_back(pattern);
  for (size_t loop = 0; loop < pattern.dims.size(); ++loop) {
    if (!along(pattern.dims[loop]))
      continue;
    llvm::SmallVector<npu::AccessPattern, 4> parts;
    for (const npu::AccessPattern &part : patterns)
      parts.append(divideByLane(part, loop, wAxis, lanes.count));
    patterns = std::move(parts);
  }
  for (npu::AccessPattern &part : patterns) {
    part.resultStart[1] += part.resultStart[wAxis] % lanes.count * lanes.pitch;
    part.resultStart[wAxis] /= lanes.count;
    for (npu::PatternDim &dim : part.dims)
      if (along(dim))
        dim.resultStep /= lanes.count;
  }
  return patterns;
}

void forEachRelaid(const FoldedMap &source, const FoldedMap &result,
                   llvm::ArrayRef<int64_t> size, machine::TransferCosts &costs,
                   CopyVisitor visit) {
  Relay(source, result, costs, visit).run(size);
}

} // namespace ashlar::analysis
