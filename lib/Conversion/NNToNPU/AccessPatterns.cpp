// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every data movement maps result indices to source indices axis by axis;
// patterns are the maximal ranges over which all these maps are affine.

#include "AccessPatterns.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar {

using npu::AccessPattern;

namespace {

using Shape = llvm::SmallVector<int64_t, 6>;

Shape shapeOf(Value value) {
  return Shape(cast<RankedTensorType>(value.getType()).getShape());
}

AccessPattern emptyPattern(size_t sourceRank, size_t resultRank) {
  AccessPattern pattern;
  pattern.sourceStart.assign(sourceRank, 0);
  pattern.resultStart.assign(resultRank, 0);
  return pattern;
}

/// A range of result indices whose source indices advance by a constant step.
struct Run {
  int64_t result, extent, source, step;
};

llvm::SmallVector<Run, 4> runsOf(llvm::ArrayRef<int64_t> sources) {
  llvm::SmallVector<Run, 4> runs;
  for (int64_t i = 0; i < static_cast<int64_t>(sources.size()); ++i) {
    if (!runs.empty()) {
      Run &run = runs.back();
      int64_t step = sources[i] - (run.source + (run.extent - 1) * run.step);
      if (run.extent == 1)
        run.step = step;
      if (run.step == step && step >= -1 && step <= 1) {
        ++run.extent;
        continue;
      }
      if (run.extent == 1)
        run.step = 1;
    }
    runs.push_back({i, 1, sources[i], 1});
  }
  return runs;
}

/// Access patterns of a data movement that maps axis to axis: the product of
/// the axes' runs.
Movement separable(llvm::ArrayRef<llvm::SmallVector<int64_t>> maps) {
  Movement movement;
  llvm::SmallVector<llvm::SmallVector<Run, 4>> runs;
  for (const auto &map : maps)
    runs.push_back(runsOf(map));
  Shape index(maps.size(), 0);
  while (true) {
    AccessPattern pattern = emptyPattern(maps.size(), maps.size());
    for (size_t axis = 0; axis < maps.size(); ++axis) {
      const Run &run = runs[axis][index[axis]];
      int64_t a = axis;
      pattern.sourceStart[axis] = run.source;
      pattern.resultStart[axis] = run.result;
      pattern.dims.push_back(
          {run.extent, run.step == 0 ? -1 : a, run.step, a, 1});
    }
    movement.patterns.push_back(std::move(pattern));
    int64_t axis = static_cast<int64_t>(maps.size()) - 1;
    for (; axis >= 0; --axis) {
      if (++index[axis] < static_cast<int64_t>(runs[axis].size()))
        break;
      index[axis] = 0;
    }
    if (axis < 0)
      return movement;
  }
}

llvm::SmallVector<int64_t> iota(int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(0, count));
}

Movement transposePatterns(nn::TransposeOp op) {
  Shape source = shapeOf(op.getX());
  AccessPattern pattern = emptyPattern(source.size(), source.size());
  for (auto [i, axis] : llvm::enumerate(op.getPerm())) {
    int64_t result = i;
    pattern.dims.push_back({source[axis], axis, 1, result, 1});
  }
  return {{pattern}, {}};
}

/// Common refinement of the axes of two shapes with equal element counts, from
/// the innermost axis outwards; no patterns if there is none.
Movement reshapePatterns(nn::ReshapeOp op) {
  Shape source = shapeOf(op.getX()), result = shapeOf(op.getY());
  AccessPattern pattern = emptyPattern(source.size(), result.size());
  int64_t i = static_cast<int64_t>(source.size()) - 1;
  int64_t j = static_cast<int64_t>(result.size()) - 1;
  int64_t leftI = i >= 0 ? source[i] : 1, leftJ = j >= 0 ? result[j] : 1;
  int64_t stepI = 1, stepJ = 1;
  while (i >= 0 || j >= 0) {
    if (i >= 0 && leftI == 1) {
      leftI = --i >= 0 ? source[i] : 1;
      stepI = 1;
      continue;
    }
    if (j >= 0 && leftJ == 1) {
      leftJ = --j >= 0 ? result[j] : 1;
      stepJ = 1;
      continue;
    }
    int64_t extent = std::min(leftI, leftJ);
    if (extent == 0 || leftI % extent != 0 || leftJ % extent != 0)
      return {};
    pattern.dims.insert(pattern.dims.begin(), {extent, i, stepI, j, stepJ});
    leftI /= extent, leftJ /= extent;
    stepI *= extent, stepJ *= extent;
  }
  return {{pattern}, {}};
}

Movement concatPatterns(nn::ConcatOp op) {
  Movement movement;
  int64_t start = 0;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    Shape shape = shapeOf(input);
    AccessPattern pattern = emptyPattern(shape.size(), shape.size());
    pattern.operand = i;
    for (auto [a, extent] : llvm::enumerate(shape)) {
      int64_t axis = a;
      pattern.dims.push_back({extent, axis, 1, axis, 1});
    }
    pattern.resultStart[op.getAxis()] = start;
    start += shape[op.getAxis()];
    movement.patterns.push_back(std::move(pattern));
  }
  return movement;
}

Movement interleavePatterns(nn::InterleaveOp op) {
  Movement movement;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    Shape shape = shapeOf(input);
    AccessPattern pattern = emptyPattern(shape.size(), shape.size());
    pattern.operand = i;
    llvm::copy(op.startOf(pattern.operand), pattern.resultStart.begin());
    for (auto [a, extent] : llvm::enumerate(shape)) {
      int64_t axis = a;
      pattern.dims.push_back({extent, axis, 1, axis, op.getFactors()[a]});
    }
    movement.patterns.push_back(std::move(pattern));
  }
  return movement;
}

Movement slicePatterns(nn::SliceOp op) {
  Shape source = shapeOf(op.getX()), result = shapeOf(op.getY());
  AccessPattern pattern = emptyPattern(source.size(), source.size());
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t axis = i;
    pattern.sourceStart[i] = op.getStarts()[i];
    pattern.dims.push_back({result[i], axis, op.getSteps()[i], axis, 1});
  }
  return {{pattern}, {}};
}

/// Loops (extent, step) that give all of `indices` after the first one: one, or
/// two as in an interleave; none if there is no such form.
llvm::SmallVector<std::pair<int64_t, int64_t>, 2>
affineLoops(llvm::ArrayRef<int64_t> indices) {
  int64_t count = indices.size();
  if (count == 1)
    return {{1, 1}};
  for (int64_t inner = count; inner > 0; --inner) {
    if (count % inner != 0)
      continue;
    int64_t step = inner > 1 ? indices[1] - indices[0] : 0;
    int64_t outerStep = inner < count ? indices[inner] - indices[0] : 0;
    auto fits = [&](int64_t i) {
      return indices[i] ==
             indices[0] + i / inner * outerStep + i % inner * step;
    };
    if (llvm::all_of(llvm::seq<int64_t>(0, count), fits))
      return {{count / inner, outerStep}, {inner, step}};
  }
  return {};
}

Movement gatherPatterns(nn::GatherOp op) {
  Shape source = shapeOf(op.getX());
  int64_t gathered = op.getAxis();
  if (auto loops = affineLoops(op.getIndices()); !loops.empty()) {
    AccessPattern pattern = emptyPattern(source.size(), source.size());
    pattern.sourceStart[gathered] = op.getIndices()[0];
    for (auto [i, extent] : llvm::enumerate(source)) {
      int64_t axis = i;
      if (axis != gathered) {
        pattern.dims.push_back({extent, axis, 1, axis, 1});
        continue;
      }
      int64_t left = op.getIndices().size();
      for (auto [count, step] : loops) {
        left /= count;
        if (count > 1 || left == 1)
          pattern.dims.push_back(
              {count, step == 0 ? -1 : axis, step, axis, left});
      }
    }
    return {{pattern}, {}};
  }
  llvm::SmallVector<llvm::SmallVector<int64_t>> maps;
  for (int64_t extent : source)
    maps.push_back(iota(extent));
  maps[gathered].assign(op.getIndices().begin(), op.getIndices().end());
  return separable(maps);
}

/// Source index of a padded axis of `extent` elements at position `i`.
int64_t paddedIndex(nn::PadMode mode, int64_t i, int64_t extent) {
  if (mode == nn::PadMode::Edge)
    return std::clamp<int64_t>(i, 0, extent - 1);
  if (mode == nn::PadMode::Wrap)
    return (i % extent + extent) % extent;
  if (extent == 1)
    return 0;
  int64_t period = 2 * (extent - 1);
  int64_t folded = (i % period + period) % period;
  return folded < extent ? folded : period - folded;
}

/// The elements of a constant padding that survive cropping.
Movement constantPad(nn::PadOp op) {
  Shape source = shapeOf(op.getX()), result = shapeOf(op.getY());
  AccessPattern pattern = emptyPattern(source.size(), source.size());
  Movement movement;
  movement.fill = op.getValue().convertToDouble();
  for (size_t i = 0; i < source.size(); ++i) {
    int64_t axis = i, low = op.getLow()[i];
    int64_t step = op.getInterior().empty() ? 1 : op.getInterior()[i] + 1;
    int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    int64_t last = (result[i] - 1 - low) / step;
    last = std::min(last, source[i] - 1);
    if (first > last)
      return movement;
    pattern.sourceStart[i] = first;
    pattern.resultStart[i] = low + first * step;
    pattern.dims.push_back({last - first + 1, axis, 1, axis, step});
  }
  movement.patterns.push_back(std::move(pattern));
  return movement;
}

Movement padPatterns(nn::PadOp op) {
  if (op.getMode() == nn::PadMode::Constant)
    return constantPad(op);
  Shape source = shapeOf(op.getX()), result = shapeOf(op.getY());
  llvm::SmallVector<llvm::SmallVector<int64_t>> maps;
  for (size_t i = 0; i < source.size(); ++i) {
    maps.emplace_back();
    for (int64_t k = 0; k < result[i]; ++k)
      maps.back().push_back(
          paddedIndex(op.getMode(), k - op.getLow()[i], source[i]));
  }
  return separable(maps);
}

Movement broadcastPatterns(nn::BroadcastOp op) {
  Shape source = shapeOf(op.getX()), result = shapeOf(op.getY());
  AccessPattern pattern = emptyPattern(source.size(), result.size());
  int64_t offset = result.size() - source.size();
  for (int64_t i = 0; i < static_cast<int64_t>(result.size()); ++i) {
    int64_t own = i - offset;
    bool repeats = own < 0 || (source[own] == 1 && result[i] != 1);
    pattern.dims.push_back({result[i], repeats ? -1 : own, 1, i, 1});
  }
  return {{pattern}, {}};
}

/// The channels and positions of an im2col as loops; padding lies outside the
/// operand.
AccessPattern im2colLoops(nn::Im2ColOp op) {
  Shape source = shapeOf(op.getX()), result = shapeOf(op.getY());
  size_t spatial = op.getKernel().size();
  AccessPattern pattern = emptyPattern(source.size(), result.size());
  pattern.dims.push_back({source[0], 0, 1, 0, 1});
  int64_t taps = 1;
  for (int64_t k : op.getKernel())
    taps *= k;
  // Channels of the result are ordered (c, taps...).
  pattern.dims.push_back({source[1], 1, 1, 1, taps});
  for (size_t s = 0; s < spatial; ++s) {
    int64_t axis = 2 + static_cast<int64_t>(s);
    taps /= op.getKernel()[s];
    pattern.dims.push_back(
        {op.getKernel()[s], axis, op.getDilations()[s], 1, taps});
    pattern.sourceStart[axis] = -op.getPads()[s];
  }
  for (size_t s = 0; s < spatial; ++s) {
    int64_t axis = 2 + static_cast<int64_t>(s);
    pattern.dims.push_back({result[axis], axis, op.getStrides()[s], axis, 1});
  }
  return pattern;
}

/// True if the windows take columns of rows that stay, none of them twice.
bool foldsColumns(nn::Im2ColOp op) {
  size_t spatial = op.getKernel().size();
  for (size_t s = 0; s + 1 < spatial; ++s)
    if (op.getKernel()[s] != 1 || op.getStrides()[s] != 1 ||
        op.getPads()[s] != 0 || op.getPads()[spatial + s] != 0)
      return false;
  int64_t reach = (op.getKernel().back() - 1) * op.getDilations().back() + 1;
  return reach <= op.getStrides().back() && op.getPads()[spatial - 1] >= 0;
}

/// A fold of columns reads its operand where it lies, wherever that is: windows
/// inside the row are one pattern, each that reaches over an end is one of its
/// own, without the columns outside. Those are zeros.
Movement foldPatterns(nn::Im2ColOp op) {
  AccessPattern whole = im2colLoops(op);
  size_t last = op.getKernel().size() - 1;
  int64_t axis = 2 + static_cast<int64_t>(last);
  int64_t taps = op.getKernel()[last], dilation = op.getDilations()[last];
  int64_t stride = op.getStrides()[last], low = op.getPads()[last];
  int64_t width = shapeOf(op.getX())[axis];
  size_t column = whole.dims.size() - 1;
  size_t tap = 2 + last;
  Movement movement;
  // Windows [first, last) with taps [begin, end).
  auto add = [&](int64_t first, int64_t count, int64_t begin, int64_t end) {
    if (begin >= end) {
      movement.fill = 0.0;
      return;
    }
    if (end - begin < taps)
      movement.fill = 0.0;
    AccessPattern pattern = whole;
    pattern.sourceStart[axis] = first * stride + begin * dilation - low;
    pattern.resultStart[axis] = first;
    pattern.resultStart[1] = begin * whole.dims[tap].resultStep;
    pattern.dims[tap].extent = end - begin;
    pattern.dims[column].extent = count;
    movement.patterns.push_back(std::move(pattern));
  };
  int64_t inside = 0, firstInside = 0;
  for (int64_t w = 0; w < shapeOf(op.getY())[axis]; ++w) {
    int64_t origin = w * stride - low;
    int64_t begin = origin >= 0 ? 0 : (-origin + dilation - 1) / dilation;
    int64_t end = origin >= width ? 0 : (width - origin - 1) / dilation + 1;
    end = std::min(end, taps);
    if (begin == 0 && end == taps) {
      firstInside = inside == 0 ? w : firstInside;
      ++inside;
    } else {
      add(w, 1, begin, end);
    }
  }
  if (inside > 0)
    add(firstInside, inside, 0, taps);
  return movement;
}

Movement im2colPatterns(nn::Im2ColOp op) {
  if (foldsColumns(op))
    return foldPatterns(op);
  return {{im2colLoops(op)}, {}};
}

} // namespace

std::optional<Movement> movementOf(Operation *op) {
  using Result = std::optional<Movement>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([](nn::TransposeOp o) -> Result { return transposePatterns(o); })
      .Case([](nn::ReshapeOp o) -> Result { return reshapePatterns(o); })
      .Case([](nn::ConcatOp o) -> Result { return concatPatterns(o); })
      .Case([](nn::InterleaveOp o) -> Result { return interleavePatterns(o); })
      .Case([](nn::SliceOp o) -> Result { return slicePatterns(o); })
      .Case([](nn::GatherOp o) -> Result { return gatherPatterns(o); })
      .Case([](nn::PadOp o) -> Result { return padPatterns(o); })
      .Case([](nn::BroadcastOp o) -> Result { return broadcastPatterns(o); })
      .Case([](nn::Im2ColOp o) -> Result { return im2colPatterns(o); })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

} // namespace ashlar
