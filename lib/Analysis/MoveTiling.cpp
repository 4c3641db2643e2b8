// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiling models of data movements: what part of an operand the pieces inside a tile
// read, and which operands are staged with zeros around them.

#include "TileCuts.h"
#include "TilingModels.h"

#include "ashlar/Analysis/MoveView.h"
#include "dialects/NPU/Piece.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::analysis {

namespace {

/// True if two iterations of the loops over source axis `axis` read one
/// element: from the shortest step on, a loop steps less far than the loops
/// below it reach.
bool readsTwice(const npu::Piece &piece, int64_t axis) {
  llvm::SmallVector<std::pair<int64_t, int64_t>, 4> loops; // step, extent
  for (const npu::PieceDim &dim : piece.dims)
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

/// True if a piece reads outside its operand or reads elements several times
/// (im2col): its source region is staged, with zeros around it, and read there.
/// What reads an element twice without a loop that keeps its axis repeats whole
/// axes and is read as it lies.
bool needsStaging(const npu::Piece &piece, llvm::ArrayRef<int64_t> shape) {
  Shape low(piece.sourceStart), high(piece.sourceStart);
  for (const npu::PieceDim &dim : piece.dims)
    if (dim.sourceAxis >= 0)
      (dim.sourceStep < 0 ? low : high)[dim.sourceAxis] +=
          (dim.extent - 1) * dim.sourceStep;
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
    bool stays = llvm::any_of(piece.dims, [&](const npu::PieceDim &dim) {
      return dim.sourceAxis == axis && dim.resultAxis == axis;
    });
    if (low[axis] < 0 || high[axis] >= shape[axis] ||
        (stays && readsTwice(piece, axis)))
      return true;
  }
  return false;
}

/// Result axes that exactly one loop of every piece addresses: those that may
/// be cut without looking inside a loop nest.
llvm::SmallVector<int64_t, 6> cuttableAxes(npu::DmaMoveOp op, int64_t rank) {
  llvm::SmallVector<int64_t, 6> count(rank, 0), axes;
  for (Attribute attr : op.getPieces()) {
    npu::Piece piece =
        *npu::Piece::fromArray(cast<DenseI64ArrayAttr>(attr).asArrayRef());
    llvm::SmallVector<int64_t, 6> own(rank, 0);
    for (const npu::PieceDim &dim : piece.dims)
      ++own[dim.resultAxis];
    for (int64_t i = 0; i < rank; ++i)
      count[i] = std::max(count[i], own[i]);
  }
  for (int64_t i = 0; i < rank; ++i)
    if (count[i] <= 1)
      axes.push_back(i);
  return axes;
}

/// Source region that the part of a piece inside a result region reads.
Region pieceSource(const npu::Piece &piece, const Region &out) {
  Shape low(piece.sourceStart), high(piece.sourceStart);
  for (const npu::PieceDim &dim : piece.dims) {
    if (dim.sourceAxis < 0)
      continue;
    int64_t first = 0, last = dim.extent - 1;
    bool sole = llvm::count_if(piece.dims, [&](const npu::PieceDim &other) {
                  return other.resultAxis == dim.resultAxis;
                }) == 1;
    if (sole && dim.resultStep == 1) {
      int64_t origin = piece.resultStart[dim.resultAxis];
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

/// Source region that the parts of `pieces` inside a result region read; of no
/// elements if there are none.
Region sourceOf(llvm::ArrayRef<npu::Piece> pieces, const Region &out) {
  Region all;
  for (const npu::Piece &piece : pieces) {
    npu::Piece inside = piece;
    if (!clipPiece(inside, out))
      continue;
    const Region one = pieceSource(piece, out);
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
    all = {Shape(pieces.front().sourceStart.size(), 0),
           Shape(pieces.front().sourceStart.size(), 0)};
  return all;
}

/// Where pieces begin and end along every axis of a result of `rank`.
llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 6>
pieceEdges(llvm::ArrayRef<npu::Piece> pieces, int64_t rank) {
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 6> edges(rank);
  for (const npu::Piece &piece : pieces)
    for (int64_t axis = 0; axis < rank; ++axis) {
      int64_t last = piece.resultStart[axis];
      for (const npu::PieceDim &dim : piece.dims)
        if (dim.resultAxis == axis)
          last += (dim.extent - 1) * dim.resultStep;
      edges[axis].push_back(piece.resultStart[axis]);
      edges[axis].push_back(last + 1);
    }
  for (llvm::SmallVector<int64_t, 2> &own : edges) {
    llvm::sort(own);
    own.erase(llvm::unique(own), own.end());
  }
  return edges;
}

/// How the pieces of one operand read it. All of them read the copy if one has
/// to.
OperandModel moveOperand(Value input, llvm::SmallVector<npu::Piece, 2> pieces,
                         int64_t rank) {
  OperandModel operand;
  const llvm::ArrayRef<int64_t> shape = shapeOf(input);
  operand.padded = llvm::any_of(pieces, [&](const npu::Piece &piece) {
    return needsStaging(piece, shape);
  });
  operand.direct = !operand.padded;
  if (operand.direct)
    return operand;
  // Blocks stay across partitions; they are moved, never made anew.
  const StorageType type = storageOf(input);
  operand.axis = type.encoded ? type.blockAxis : shape.size() > 1 ? 1 : -1;
  operand.edges = pieceEdges(pieces, rank);
  operand.region = [pieces = std::move(pieces)](const Region &out) {
    return sourceOf(pieces, out);
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
  return llvm::any_of(op.getPieces(), [&](Attribute attr) {
    npu::Piece piece =
        *npu::Piece::fromArray(cast<DenseI64ArrayAttr>(attr).asArrayRef());
    int64_t run = type.bytes();
    for (auto axis = static_cast<int64_t>(shape.size()); axis-- > 0;) {
      int64_t extent = 1;
      for (const npu::PieceDim &dim : piece.dims)
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
  llvm::SmallVector<llvm::SmallVector<npu::Piece, 2>, 4> pieces(
      op.getInputs().size());
  for (Attribute attr : op.getPieces()) {
    npu::Piece piece =
        *npu::Piece::fromArray(cast<DenseI64ArrayAttr>(attr).asArrayRef());
    pieces[piece.operand].push_back(std::move(piece));
  }
  for (auto [input, own] : llvm::zip(op.getInputs(), pieces))
    model.operands.push_back(moveOperand(input, std::move(own), rank));
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
  npu::Piece piece = *npu::Piece::fromArray(op.getPiece());
  llvm::SmallVector<int64_t, 6> loops(model.resultShape.size(), 0);
  for (const npu::PieceDim &dim : piece.dims)
    loops[dim.resultAxis] += dim.extent > 1;
  for (int64_t axis : axesExcept(model.resultShape.size(), model.resultAxis))
    if (loops[axis] == 1)
      model.tileAxes.push_back(axis);
  if (loops[model.resultAxis] == 1)
    addChannelCut(model, machine);
  OperandModel x;
  x.axis = op.getSourceAxis();
  x.region = [piece](const Region &out) { return pieceSource(piece, out); };
  model.operands.push_back(x);
  return model;
}

} // namespace ashlar::analysis
