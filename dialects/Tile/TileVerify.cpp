// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of types and operations: what needs neither machine nor plan.

#include "dialects/NN/NNTypes.h"
#include "dialects/NPU/NPUDialect.h"
#include "dialects/Tile/TileDialect.h"

using namespace mlir;

namespace ashlar::tile {

LogicalResult FoldAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t count, int64_t pitch, int64_t axis,
                               int64_t across, int64_t repeated) {
  // More than any machine has partitions.
  constexpr int64_t most = 1 << 16;
  if (count < 2 || count > most || pitch < 1 || pitch > most || axis < -1 ||
      across < 0 || repeated < 0 || repeated > 1)
    return emitError()
           << "expected from two neighbours, a pitch from 1 and axes, "
              "65536 at most, found count "
           << count << ", pitch " << pitch << ", axis " << axis << ", across "
           << across << ", repeated " << repeated;
  return success();
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 RankedTensorType tensor, int64_t axis,
                                 FoldAttr fold) {
  const int64_t rank = tensor.getRank();
  // buffer_c1
  if (!tensor.hasStaticShape() || axis < -1 || axis >= rank)
    return emitError() << "expected fixed extents and axis " << axis
                       << " to be one of " << tensor;
  // buffer_c2
  if (fold && (fold.getAxis() >= rank || fold.getAcross() >= rank))
    return emitError() << "expected the axes of the fold to be axes of "
                       << tensor;
  return success();
}

/// Where a step may be.
static LogicalResult verifyPlace(Operation *op) {
  if (isa_and_present<SequenceOp, ForOp>(op->getParentOp()))
    return success();
  return op->emitOpError("expected to be in a sequence or a loop");
}

/// Divisions by positive constants alone: every number has a value.
static bool isDefined(AffineMap map) {
  bool defined = true;
  map.walkExprs([&](AffineExpr expr) {
    const AffineExprKind kind = expr.getKind();
    if (kind != AffineExprKind::Mod && kind != AffineExprKind::FloorDiv &&
        kind != AffineExprKind::CeilDiv)
      return;
    auto divisor =
        dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(expr).getRHS());
    defined &= divisor && divisor.getValue() > 0;
  });
  return defined;
}

/// Numbers that are affine in the indices of the loops around.
static LogicalResult verifyNumbers(Operation *op, AffineMap map,
                                   OperandRange indices, size_t count) {
  if (map.getNumResults() != count || map.getNumInputs() != indices.size())
    return op->emitOpError("expected ")
           << count << " numbers, found " << map.getNumResults();
  if (!isDefined(map))
    return op->emitOpError("expected divisions by positive constants");
  for (Value index : indices)
    if (!isa<BlockArgument>(index) ||
        !isa<ForOp>(cast<BlockArgument>(index).getOwner()->getParentOp()))
      return op->emitOpError("expected indices of loops");
  return verifyPlace(op);
}

/// A region of `sizes`, in a buffer of `type` if there is one.
template <typename Op>
static LogicalResult verifyRegion(Op op, BufferType type) {
  llvm::ArrayRef<int64_t> sizes = op.getSizes();
  if (type && type.getTensor().getShape() != sizes)
    return op.emitOpError("has a region of other extents than ")
           << type.getTensor();
  if (llvm::any_of(sizes, [](int64_t size) { return size < 0; }))
    return op.emitOpError("has a region of a negative extent");
  return verifyNumbers(op, op.getStart(), op.getIndices(), sizes.size());
}

LogicalResult SequenceOp::verify() {
  Operation *node = getNode().getDefiningOp();
  // sequence_c1
  if (!isa_and_present<npu::DecisionInterface>(node))
    return emitOpError("expected the result of an operation of npu");
  for (Operation &op : getBody().getOps())
    if (op.getDialect() != getOperation()->getDialect())
      return op.emitOpError("is not an operation on tiles");
  return success();
}

LogicalResult ForOp::verify() {
  // for_c1
  const auto count = static_cast<int64_t>(getCount());
  if (count < 1 || count > kMostIterations)
    return emitOpError("expected from 1 to ")
           << kMostIterations << " iterations, found " << count;
  if (getBody().getNumArguments() != 1 || !getIndex().getType().isIndex())
    return emitOpError("expected one index");
  for (Operation &op : getBody().getOps())
    if (op.getDialect() != getOperation()->getDialect())
      return op.emitOpError("is not an operation on tiles");
  // for_c2
  return verifyPlace(getOperation());
}

LogicalResult AllocOp::verify() {
  // alloc_c1
  if (static_cast<int64_t>(getBytes()) < 0)
    return emitOpError("expected bytes from 0 on");
  return verifyNumbers(getOperation(), getAddress(), getIndices(), 1);
}

// load_c1
LogicalResult LoadOp::verify() {
  return verifyRegion(*this, getBuffer().getType());
}
// fill_c1
LogicalResult FillOp::verify() {
  return verifyRegion(*this, getBuffer().getType());
}
// view_c1
LogicalResult ViewOp::verify() {
  return verifyRegion(*this, getView().getType());
}
// store_c1
LogicalResult StoreOp::verify() {
  return verifyRegion(*this, getBuffer().getType());
}

LogicalResult ComputeOp::verify() {
  // compute_c1
  if (getReads().size() != getInputs().size())
    return emitOpError("reads ") << getReads().size() << " operands, but has "
                                 << getInputs().size() << " inputs";
  return verifyRegion(*this, {});
}

} // namespace ashlar::tile
