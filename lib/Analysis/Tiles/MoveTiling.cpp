// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiling models of data movements: what part of an operand the patterns inside
// a tile read, and which operands are staged with zeros around them.

#include "TileCuts.h"
#include "TilingModels.h"

#include "ashlar/Analysis/Cost/WindowCopies.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "dialects/NPU/AccessPattern.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>

using namespace mlir;

namespace ashlar::analysis {

namespace {

/// True if two iterations of the loops over source axis `axis` read one
/// element: from the shortest step on, a loop steps less far than the loops
/// below it reach.
bool readsTwice(const npu::AccessPattern &pattern, int64_t axis) {
  llvm::SmallVector<std::pair<int64_t, int64_t>, 4> loops; // step, extent
  for (const npu::PatternDim &dim : pattern.dims)
    if (dim.sourceAxis == axis && dim.extent > 1)
      loops.push_back({std::abs(dim.sourceStep), dim.extent});
  llvm::sort(loops);
  int64_t span = 1;
  for (auto [step, extent] : loops) {
    if (step < span)
      return true;
    span += (extent - 1) * step;
  }
  return false;
}

/// True if an access pattern reads outside its operand or reads elements
/// several times (im2col): its source region is staged, with zeros around it,
/// and read there. What reads an element twice without a loop that keeps its
/// axis repeats whole axes and is read as it lies. So is what windows share
/// along one axis other than the last, whose elements lie side by side: floats
/// (`sharing`) are fetched once, and copied to the other taps.
bool needsStaging(const npu::AccessPattern &pattern,
                  llvm::ArrayRef<int64_t> shape, bool sharing) {
  Shape low(pattern.sourceStart), high(pattern.sourceStart);
  for (const npu::PatternDim &dim : pattern.dims)
    if (dim.sourceAxis >= 0)
      (dim.sourceStep < 0 ? low : high)[dim.sourceAxis] +=
          (dim.extent - 1) * dim.sourceStep;
  int64_t shared = 0;
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
    bool stays = llvm::any_of(pattern.dims, [&](const npu::PatternDim &dim) {
      return dim.sourceAxis == axis && dim.resultAxis == axis;
    });
    if (low[axis] < 0 || high[axis] >= shape[axis])
      return true;
    if (!stays || !readsTwice(pattern, axis))
      continue;
    const bool last = axis + 1 == static_cast<int64_t>(shape.size());
    if (!sharing || last || ++shared > 1 || !sharesTaps(pattern, axis))
      return true;
  }
  return false;
}

/// Result axes that exactly one loop of every pattern addresses: those that may
/// be cut without looking inside a loop nest.
llvm::SmallVector<int64_t, 6> cuttableAxes(npu::DmaMoveOp op, int64_t rank) {
  llvm::SmallVector<int64_t, 6> count(rank, 0), axes;
  for (Attribute attr : op.getPatterns()) {
    npu::AccessPattern pattern = *npu::AccessPattern::fromArray(
        cast<DenseI64ArrayAttr>(attr).asArrayRef());
    llvm::SmallVector<int64_t, 6> own(rank, 0);
    for (const npu::PatternDim &dim : pattern.dims)
      ++own[dim.resultAxis];
    for (int64_t i = 0; i < rank; ++i)
      count[i] = std::max(count[i], own[i]);
  }
  for (int64_t i = 0; i < rank; ++i)
    if (count[i] <= 1)
      axes.push_back(i);
  return axes;
}

/// Source region that the part of an access pattern inside a result region
/// reads.
Region patternSource(const npu::AccessPattern &pattern, const Region &out) {
  Shape low(pattern.sourceStart), high(pattern.sourceStart);
  for (const npu::PatternDim &dim : pattern.dims) {
    if (dim.sourceAxis < 0)
      continue;
    int64_t first = 0, last = dim.extent - 1;
    bool sole = llvm::count_if(pattern.dims, [&](const npu::PatternDim &other) {
                  return other.resultAxis == dim.resultAxis;
                }) == 1;
    if (sole && dim.resultStep == 1) {
      int64_t origin = pattern.resultStart[dim.resultAxis];
      first = std::max<int64_t>(0, out.start[dim.resultAxis] - origin);
      last = std::min(last, out.start[dim.resultAxis] +
                                out.size[dim.resultAxis] - 1 - origin);
    }
    low[dim.sourceAxis] +=
        std::min(first * dim.sourceStep, last * dim.sourceStep);
    high[dim.sourceAxis] +=
        std::max(first * dim.sourceStep, last * dim.sourceStep);
  }
  Region region{low, low};
  for (size_t i = 0; i < low.size(); ++i)
    region.size[i] = high[i] - low[i] + 1;
  return region;
}

/// Source region that the parts of `patterns` inside a result region read; of
/// no elements if there are none.
Region sourceOf(llvm::ArrayRef<npu::AccessPattern> patterns,
                const Region &out) {
  Region all;
  for (const npu::AccessPattern &pattern : patterns) {
    npu::AccessPattern inside = pattern;
    if (!clipPattern(inside, out))
      continue;
    const Region one = patternSource(pattern, out);
    if (all.size.empty())
      all = one;
    for (size_t i = 0; i < one.size.size(); ++i) {
      const int64_t end =
          std::max(all.start[i] + all.size[i], one.start[i] + one.size[i]);
      all.start[i] = std::min(all.start[i], one.start[i]);
      all.size[i] = end - all.start[i];
    }
  }
  if (all.size.empty())
    all = {Shape(patterns.front().sourceStart.size(), 0),
           Shape(patterns.front().sourceStart.size(), 0)};
  return all;
}

/// Where patterns begin and end along every axis of a result of `rank`.
llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 6>
patternEdges(llvm::ArrayRef<npu::AccessPattern> patterns, int64_t rank) {
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 6> edges(rank);
  for (const npu::AccessPattern &pattern : patterns)
    for (int64_t axis = 0; axis < rank; ++axis) {
      int64_t last = pattern.resultStart[axis];
      for (const npu::PatternDim &dim : pattern.dims)
        if (dim.resultAxis == axis)
          last += (dim.extent - 1) * dim.resultStep;
      edges[axis].push_back(pattern.resultStart[axis]);
      edges[axis].push_back(last + 1);
    }
  for (llvm::SmallVector<int64_t, 2> &own : edges) {
    llvm::sort(own);
    own.erase(llvm::unique(own), own.end());
  }
  return edges;
}

/// What tiles next to each other share of an operand that `patterns` read where
/// it lies (OperandModel::shared).
llvm::SmallVector<int64_t, 6>
sharedIndices(llvm::ArrayRef<npu::AccessPattern> patterns, int64_t rank) {
  llvm::SmallVector<int64_t, 6> shared(rank, 0);
  for (const npu::AccessPattern &pattern : patterns)
    for (const npu::PatternDim &position : pattern.dims) {
      const int64_t axis = position.sourceAxis;
      if (axis < 0 || axis >= rank || position.resultAxis != axis)
        continue;
      int64_t reach = 1;
      for (const npu::PatternDim &tap : pattern.dims)
        if (tap.sourceAxis == axis && tap.resultAxis != axis)
          reach += (tap.extent - 1) * std::abs(tap.sourceStep);
      shared[axis] =
          std::max(shared[axis], reach - std::abs(position.sourceStep));
    }
  if (llvm::all_of(shared, [](int64_t count) { return count == 0; }))
    shared.clear();
  return shared;
}

/// How the patterns of one operand read it. All of them read the copy if one
/// has to. What `converts` is written to scratch memory first.
OperandModel moveOperand(Value input,
                         llvm::SmallVector<npu::AccessPattern, 2> patterns,
                         int64_t rank, bool converts) {
  OperandModel operand;
  const llvm::ArrayRef<int64_t> shape = shapeOf(input);
  const StorageType type = storageOf(input);
  operand.padded =
      llvm::any_of(patterns, [&](const npu::AccessPattern &pattern) {
        return needsStaging(pattern, shape, converts && !type.encoded);
      });
  operand.direct = !operand.padded;
  if (operand.direct) {
    operand.shared = sharedIndices(patterns, rank);
    return operand;
  }
  // Blocks stay across partitions; they are moved, never made anew.
  operand.axis = type.encoded ? type.blockAxis : shape.size() > 1 ? 1 : -1;
  operand.edges = patternEdges(patterns, rank);
  operand.region = [patterns = std::move(patterns)](const Region &out) {
    return sourceOf(patterns, out);
  };
  return operand;
}

/// True if operands of `op` lie side by side in the result in runs so short
/// that most of every burst would be lost in DRAM.
bool makesShortRuns(npu::DmaMoveOp op, const machine::Description &machine) {
  const Shape shape(shapeOf(op.getY()));
  const StorageType type = storageOf(op.getY());
  if (op.getInputs().size() < 2 || type.encoded)
    return false;
  return llvm::any_of(op.getPatterns(), [&](Attribute attr) {
    npu::AccessPattern pattern = *npu::AccessPattern::fromArray(
        cast<DenseI64ArrayAttr>(attr).asArrayRef());
    int64_t run = type.bytes();
    for (auto axis = static_cast<int64_t>(shape.size()); axis-- > 0;) {
      int64_t extent = 1;
      for (const npu::PatternDim &dim : pattern.dims)
        extent *= dim.resultAxis == axis ? dim.extent : 1;
      run *= extent;
      if (extent != shape[axis])
        break;
    }
    return 2 * run <= static_cast<int64_t>(machine.dram.burstBytes);
  });
}

} // namespace

TilingModel moveModel(npu::DmaMoveOp op, const machine::Description &machine) {
  TilingModel model = baseModel(op);
  int64_t rank = model.resultShape.size();
  StorageType source = storageOf(op.getInputs()[0]);
  bool converts = source.encoded != model.resultType.encoded ||
                  source.plain != model.resultType.plain;
  const bool gathers = makesShortRuns(op, machine);
  model.directResult = !converts && !gathers;
  llvm::SmallVector<llvm::SmallVector<npu::AccessPattern, 2>, 4> patterns(
      op.getInputs().size());
  for (Attribute attr : op.getPatterns()) {
    npu::AccessPattern pattern = *npu::AccessPattern::fromArray(
        cast<DenseI64ArrayAttr>(attr).asArrayRef());
    patterns[pattern.operand].push_back(std::move(pattern));
  }
  for (auto [input, own] : llvm::zip(op.getInputs(), patterns))
    model.operands.push_back(
        moveOperand(input, std::move(own), rank, converts));
  bool padded = llvm::any_of(model.operands,
                             [](const OperandModel &o) { return o.padded; });
  if (!converts && !padded && !gathers)
    return model;
  int64_t blockAxis =
      model.resultType.encoded ? model.resultType.blockAxis : -1;
  for (int64_t axis : cuttableAxes(op, rank))
    if (axis != blockAxis)
      model.tileAxes.push_back(axis);
  if (!converts)
    return model;
  int64_t axis = model.resultAxis;
  Lanes lanes = model.lanes;
  model.scratch = [=](const Region &out) {
    return llvm::SmallVector<ScratchBuffer, 4>{
        {source, storedShape(out.size, lanes), axis}};
  };
  return model;
}

/// Both axes across partitions may be cut where channel tiles end, the others
/// anywhere.
TilingModel transposeModel(npu::PeTransposeOp op,
                           const machine::Description &machine) {
  TilingModel model = baseModel(op);
  npu::AccessPattern pattern = *npu::AccessPattern::fromArray(op.getPattern());
  llvm::SmallVector<int64_t, 6> loops(model.resultShape.size(), 0);
  for (const npu::PatternDim &dim : pattern.dims)
    loops[dim.resultAxis] += dim.extent > 1;
  for (int64_t axis : axesExcept(model.resultShape.size(), model.resultAxis))
    if (loops[axis] == 1)
      model.tileAxes.push_back(axis);
  if (loops[model.resultAxis] == 1)
    addChannelCut(model, machine);
  OperandModel x;
  x.axis = op.getSourceAxis();
  x.region = [pattern](const Region &out) {
    return patternSource(pattern, out);
  };
  model.operands.push_back(x);
  return model;
}

} // namespace ashlar::analysis
