// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tile finds when it is computed, and that all tiles are.

#include "SequenceChecker.h"

using namespace mlir;

namespace ashlar::tile {

using analysis::LoopIndices;
using analysis::Region;

static std::string listOf(llvm::ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

static InFlightDiagnostic wrongTile(ComputeOp op, const Region &out) {
  return op.emitOpError("makes the tile of ")
         << listOf(out.size) << " at " << listOf(out.start) << ", ";
}

/// The part of an operand that the tile reads is there.
LogicalResult SequenceChecker::checkInput(ComputeOp op, size_t input,
                                          const Region &out) {
  const int64_t index = op.getReads()[input];
  Value value = op.getInputs()[input];
  const Place &place = places[value];
  if (!isAlive(value) || place.holds != Place::Holds::Operand ||
      place.operand != index)
    return wrongTile(op, out) << "but what it reads as operand " << index
                              << " does not hold a part of that operand";
  if (model.operands[index].direct)
    return success();
  const Region needed = model.operands[index].region(out);
  if (place.region == needed)
    return success();
  return wrongTile(op, out) << "but has " << listOf(place.region.size) << " at "
                            << listOf(place.region.start) << " of operand "
                            << index << ", expected " << listOf(needed.size)
                            << " at " << listOf(needed.start);
}

/// The tile goes to a buffer of its own, which a store empties, or straight to
/// its place.
LogicalResult SequenceChecker::checkTarget(ComputeOp op, int64_t tile,
                                           const Region &out) {
  Value target = op.getTarget();
  if (!isAlive(target))
    return wrongTile(op, out) << "but not in a buffer in use";
  Place &place = places[target];
  if (place.view) {
    const bool whole = isa<RankedTensorType>(target.getType());
    if (place.holds != Place::Holds::Result || (!whole && place.region != out))
      return wrongTile(op, out) << "but not in its place in the result";
    if (op.getMeasures() || stored.insert(tile))
      return success();
    return wrongTile(op, out) << "which is written twice";
  }
  const auto type = cast<BufferType>(target.getType());
  if (model.directResult ||
      !isType(type, model.resultType, model.resultAxis, model.lanes) ||
      type.getTensor().getShape() != llvm::ArrayRef(out.size))
    return wrongTile(op, out) << "but its buffer is " << type;
  if (residents.holds(node->getResult(0), model.resultAxis, model.lanes))
    return wrongTile(op, out)
           << "in a buffer, although the operation writes its result in place";
  place.holds = op.getMeasures() ? Place::Holds::Nothing : Place::Holds::Result;
  place.region = out;
  return success();
}

/// Memory that the operation asks for besides.
LogicalResult SequenceChecker::checkScratch(ComputeOp op, const Region &out) {
  llvm::SmallVector<analysis::ScratchBuffer, 4> needed = model.scratch(out);
  if (npu::routeOf(node) == npu::Route::SwapBlocks) {
    needed.clear();
    for (const analysis::TileBuffer &buffer :
         analysis::sequenceBuffers(node, model, {}, out, /*base=*/0, machine))
      needed.push_back({buffer.view.type, buffer.view.shape, buffer.view.axis});
  }
  if (op.getScratch().size() != needed.size())
    return wrongTile(op, out) << "with " << op.getScratch().size()
                              << " buffers besides, expected " << needed.size();
  for (auto [value, expected] : llvm::zip(op.getScratch(), needed)) {
    const auto type = cast<BufferType>(value.getType());
    if (!isAlive(value) || places[value].view ||
        !isType(type, expected.type, expected.axis, {}) ||
        type.getTensor().getShape() != llvm::ArrayRef(expected.shape))
      return wrongTile(op, out)
             << "but the buffer besides is " << type << ", expected extents "
             << listOf(expected.shape) << " in a buffer in use";
    if (value == op.getTarget() || llvm::is_contained(op.getInputs(), value) ||
        llvm::count(op.getScratch(), value) > 1)
      return wrongTile(op, out) << "but uses one buffer twice";
    // What was in it is no longer there.
    places[value].holds = Place::Holds::Nothing;
  }
  if (llvm::is_contained(op.getInputs(), op.getTarget()))
    return wrongTile(op, out) << "but uses one buffer twice";
  return success();
}

/// Weights of other outputs leave before those of this tile come.
LogicalResult SequenceChecker::checkWeights(ComputeOp op, const Region &out) {
  if (model.outputAxis < 0)
    return success();
  const int64_t now = out.start[model.outputAxis];
  if (outputs && *outputs != now)
    return wrongTile(op, out) << "but the weights of other outputs have not "
                                 "been released before";
  outputs = now;
  return success();
}

LogicalResult SequenceChecker::check(ComputeOp op, const LoopIndices &loops) {
  const Region out = loops.regionOf(op);
  auto tile = computed.indexOf(out);
  if (!tile)
    return wrongTile(op, out) << "which is no tile of the plan: a result of "
                              << listOf(model.resultShape) << " in tiles of "
                              << listOf(tiling.getTile().asArrayRef());
  TileSet &done = op.getMeasures() ? measured : computed;
  if (!done.insert(*tile))
    return wrongTile(op, out) << "which has been made before";
  size_t next = 0;
  for (auto [i, operand] : llvm::enumerate(model.operands)) {
    if (operand.streamed)
      continue;
    if (next >= op.getReads().size() ||
        op.getReads()[next] != static_cast<int64_t>(i))
      return wrongTile(op, out) << "without operand " << i;
    if (failed(checkInput(op, next++, out)))
      return failure();
  }
  if (next != op.getReads().size())
    return wrongTile(op, out) << "and reads more operands than it has";
  if (!op.getMeasures() && !measured.empty() && !measured.complete())
    return wrongTile(op, out) << "before all tiles are measured";
  return success(succeeded(checkTarget(op, *tile, out)) &&
                 succeeded(checkScratch(op, out)) &&
                 succeeded(checkWeights(op, out)));
}

LogicalResult SequenceChecker::checkComplete() {
  if (!alive.empty())
    return sequence.emitOpError("ends with ")
           << alive.size() << " buffers that have not been freed";
  const bool measures = analysis::measuresTensor(node);
  if (measures ? !measured.complete() : !measured.empty())
    return sequence.emitOpError("measures ")
           << (measures ? "not all tiles" : "tiles")
           << " of a result whose exponent "
           << (measures ? "the whole tensor shares" : "is given");
  if (!computed.complete() || !stored.complete())
    return sequence.emitOpError("leaves ")
           << std::max(computed.missing(), stored.missing())
           << " tiles of its result open";
  return success();
}

} // namespace ashlar::tile
